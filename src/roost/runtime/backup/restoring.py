"""Putting a backup into an empty state directory.

The file is read to its end and compared with its digests before anything is written. It is unpacked below a directory
of its own, and what is in it gets its place at the end: a restore that is killed leaves no pool that looks whole.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Final

from roost.base.records import dataclass
from roost.config import ConfigError
from roost.runtime.backup.archive import AUDIT, ELSEWHERE, HOME, QUEUE, BackupError, Head, Reader
from roost.runtime.backup.databases import Kept, databases, fill, number_on, refuse_used, runs_of
from roost.runtime.home import Home

_STAGE: Final = ".restoring"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What was put back, and what is left to do."""

    head: Head
    #: Jobs that were running at the time of the backup, and where.
    runs: list[tuple[str, str]]
    #: Files of the configuration that are outside of the state directory, and where their copies are.
    elsewhere: dict[str, str]


def restore(path: Path, home: Home, *, database: str | None) -> Restored:
    """Restore a backup into an empty state directory. Raises BackupError, ConfigError, OSError.

    `database`: the URL of the database to restore to instead of the one that the backup's configuration names.
    """
    _refuse_used(home)
    reader = Reader(path)
    head = reader.head()
    _refuse_newer(head)
    reader.check()
    home.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    stage = home.path / _STAGE
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir(mode=0o700)
    made: list[Path] = []
    try:
        reader.extract(stage)
        return _put(home, stage, head, database, made)
    except BaseException:
        for each in made:
            _remove(each)
        raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _refuse_used(home: Home) -> None:
    pid = home.master()
    if pid:
        raise BackupError(
            f"a pool is running in {home.path} (process {pid}); restore into another directory with --home, "
            "or stop it with `roost down` and move its state directory away"
        )
    with contextlib.suppress(FileNotFoundError):
        found = sorted(each.name for each in home.path.iterdir() if each.name != _STAGE)
        if found:
            raise BackupError(
                f"{home.path} is not empty ({', '.join(found[:3])}{', …' if found[3:] else ''}); move it away, "
                "or restore into another directory with --home"
            )


def _refuse_newer(head: Head) -> None:
    from roost.runtime.central.audit_store import SCHEMA as AUDIT_SCHEMA
    from roost.runtime.queue.database.tables import SCHEMA as QUEUE_SCHEMA

    for name, schema in ((QUEUE, QUEUE_SCHEMA), (AUDIT, AUDIT_SCHEMA)):
        version, known = head.schemas.get(name, 0), len(schema.migrations)
        if version > known:
            raise BackupError(
                f"its {name} has schema version {version}, but this program supports versions up to {known}; "
                f"use the newer Roost that wrote it ({head.roost})"
            )


def _put(home: Home, stage: Path, head: Head, database: str | None, made: list[Path]) -> Restored:
    source = stage / HOME
    source.mkdir(exist_ok=True)
    if database is not None:
        with (source / home.config_file.name).open("a") as file:
            file.write(f"\n# Where the queue's database was restored to.\nDATABASE_URL = {database}\n")
    runs = []
    if QUEUE in head.schemas:
        try:
            number_on(stage / QUEUE)
            runs = runs_of(stage / QUEUE)
        except sqlite3.Error as error:
            raise BackupError(f"its {QUEUE} is damaged: {error}") from None
    _move(source, home.path, made)
    places = _places(home)
    if head.server and places[0].file is not None and database is None:
        raise BackupError(
            f"its pool used the database {head.server}, which the configuration in it does not name; "
            "name the database to restore to with --database"
        )
    for kept in places:
        if kept.name in head.schemas:
            refuse_used(kept)
            if kept.file is not None:
                made.append(kept.file)
            fill(kept, stage / kept.name)
    elsewhere = {}
    outside = stage / ELSEWHERE
    if outside.exists():
        _move_one(outside, home.path / ELSEWHERE, made)
        for each in sorted((home.path / ELSEWHERE).rglob("*")):
            if each.is_file():
                elsewhere[f"/{each.relative_to(home.path / ELSEWHERE)}"] = str(each)
    return Restored(head=head, runs=runs, elsewhere=elsewhere)


def _places(home: Home) -> tuple[Kept, ...]:
    try:
        return databases(home, home.config(None, "SCHEDD"))
    except ConfigError as error:
        raise BackupError(f"its configuration cannot be read: {error}") from None


def _move(source: Path, target: Path, made: list[Path]) -> None:
    for each in sorted(source.iterdir()):
        _move_one(each, target / each.name, made)


def _move_one(source: Path, target: Path, made: list[Path]) -> None:
    made.append(target)
    source.rename(target)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
