"""Taking a backup of a pool, whether it runs or not.

The databases are copied first, then the files that the queue keeps for jobs, by hard links, which takes no time and
no space. Until both are there the queue removes no such files (`backup_lock`), so every job in the copy has its files.
Then all of it is written into one file, which gets its name when it is whole.

What is not in a backup: logs, records and scratch directories of running jobs, and what daemons make again when they
start. So jobs that were running at the time start again after a restore, unless they still run on a machine that the
restored queue can reach.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from roost import __version__
from roost.base.records import dataclass
from roost.config import Config
from roost.runtime import backup_lock
from roost.runtime.backup.archive import AUDIT, ELSEWHERE, HEAD, HOME, QUEUE, BackupError, Head, Writer
from roost.runtime.backup.databases import copy_to_file, databases, runs_of
from roost.runtime.files.whole_files import open_beside
from roost.runtime.home import Home
from roost.runtime.identity import host_name

#: Where copies are while the backup is written.
_STAGE: Final = ".backup"
#: Of the state directory: made again by daemons, or of this machine's running jobs only.
_NOT: Final = frozenset(
    ("run", "log", "execute", "jobs", "db", "spool", "local", "users", "master.lock", "backup.lock", _STAGE)
)
#: Of `run`: what users have used, and with the keys what claim ids are made from; without it another one is made.
_PRIORITIES: Final = "run/priorities.json"
_SECRET: Final = "run/secret"
#: Secret files, by what their paths begin and end with.
_SECRETS: Final = (("authority/", ".seed"), ("authority/", ".key"), ("member/", "keys.json"))
#: How often the files of jobs are looked at again because they changed meanwhile.
_ROUNDS_MAX: Final = 20
#: What the queue names directories of which the files have not all come.
_COMING: Final = ".new"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What is in a backup."""

    head: Head
    bytes: int
    #: Jobs that were running, and where.
    runs: list[tuple[str, str]]


def take(home: Home, config: Config, target: Path, *, keys: bool) -> Taken:
    """Write a backup. Raises BackupError, ConfigError, OSError."""
    if target.exists():
        raise BackupError(f"{target} exists; name another file")
    if not target.parent.is_dir():
        raise BackupError(f"cannot write {target}: directory {target.parent} does not exist")
    with _staged(home) as stage:
        schemas = {}
        for kept in databases(home, config):
            version = copy_to_file(kept, stage / kept.name)
            if version is not None:
                schemas[kept.name] = version
        if QUEUE not in schemas and (home.database.exists() or home.identity("queue").exists()):
            raise BackupError("the database of jobs is missing; see docs/guides/operations.md, Damage to the database")
        _link_spool(home.spool, stage / "spool")
        left_out = [] if keys else sorted(each for each in _files(home) if is_secret(each) and each != _SECRET)
        head = Head(
            roost=__version__,
            taken_at=int(time.time()),
            machine=host_name(),
            home=str(home.path),
            schemas=schemas,
            keys=keys,
            left_out=left_out,
            server=next((each.shown for each in databases(home, config) if each.file is None), ""),
        )
        size = _write(home, config, stage, target, head)
        runs = runs_of(stage / QUEUE) if QUEUE in schemas else []
    return Taken(head=head, bytes=size, runs=runs)


def is_secret(name: str) -> bool:
    """Whether a file of the state directory, by its path in it, has a secret key."""
    return name == _SECRET or any(name.startswith(begin) and name.endswith(end) for begin, end in _SECRETS)


@contextmanager
def _staged(home: Home) -> Iterator[Path]:
    """A directory for copies; the queue removes no files of jobs while it is used."""
    try:
        with backup_lock.held(home.path):
            stage = home.path / _STAGE
            # Of one that was killed.
            shutil.rmtree(stage, ignore_errors=True)
            stage.mkdir(mode=0o700)
            try:
                yield stage
            finally:
                shutil.rmtree(stage, ignore_errors=True)
    except backup_lock.BackupRuns:
        raise BackupError(f"another backup of {home.path} is being taken; wait until it is done") from None


def _write(home: Home, config: Config, stage: Path, target: Path, head: Head) -> int:
    descriptor, fresh = open_beside(target, mode=0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            writer = Writer(file)
            writer.text(HEAD, json.dumps(head.to_data(), indent=1) + "\n")
            for name in (QUEUE, AUDIT):
                if name in head.schemas:
                    writer.add(stage / name, name)
            for name in _files(home):
                if head.keys or not is_secret(name):
                    with contextlib.suppress(FileNotFoundError):
                        writer.add(home.path / name, f"{HOME}/{name}")
            for path in _tree(stage / "spool"):
                writer.add(path, f"{HOME}/{path.relative_to(stage)}")
            for path in _elsewhere(home, config):
                writer.add(path, f"{ELSEWHERE}{path}")
            writer.finish()
            file.flush()
            os.fsync(descriptor)
            size = file.tell()
        # Not over a file that has come to be meanwhile.
        os.link(fresh, target)
    except FileExistsError:
        raise BackupError(f"{target} exists; name another file") from None
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink()
    return size


def _files(home: Home) -> list[str]:
    """Paths in the state directory of what a backup has, directories before what is in them."""
    found = [name for name in (_PRIORITIES, _SECRET) if (home.path / name).exists()]
    for path in sorted(home.path.iterdir()):
        if path.name not in _NOT and path.suffix != ".identity" and not path.name.startswith(".roost-"):
            found += [str(each.relative_to(home.path)) for each in _tree(path)]
    return found


def _tree(path: Path) -> Iterator[Path]:
    """A file, or a directory and all that is in it."""
    if not path.is_symlink() and not path.exists():
        return
    yield path
    if path.is_dir() and not path.is_symlink():
        for each in sorted(path.iterdir()):
            yield from _tree(each)


def _elsewhere(home: Home, config: Config) -> Iterator[Path]:
    """Files of the configuration outside of the state directory."""
    for name in dict.fromkeys(config.sources):
        path = Path(name)
        if path.is_absolute() and path.is_file() and not path.is_relative_to(home.path):
            yield path


def _link_spool(spool: Path, copy: Path) -> None:
    """Link the files of jobs as they are now: each directory of a job whole, as of one time. Raises BackupError."""
    if not spool.is_dir():
        return
    _like(spool, copy)
    seen: dict[str, tuple[int, int]] = {}
    for _ in range(_ROUNDS_MAX):
        now = _listing(spool)
        if now == seen:
            return
        for name in seen.keys() - now.keys():
            _remove(copy / name)
        for name, identity in now.items():
            if seen.get(name) != identity:
                _remove(copy / name)
                with contextlib.suppress(FileNotFoundError):
                    _link(spool / name, copy / name)
        seen = now
    raise BackupError(f"the files in {spool} change too fast to be copied; try again")


def _listing(spool: Path) -> dict[str, tuple[int, int]]:
    """What is kept for each job, and which file or directory that is."""
    found = {}
    for path in sorted(spool.iterdir()):
        with contextlib.suppress(FileNotFoundError):
            status = path.lstat()
            if path.suffix != _COMING and not path.name.startswith(".roost-"):
                found[path.name] = (status.st_ino, status.st_mtime_ns)
    return found


def _link(path: Path, copy: Path) -> None:
    """Link a file, or all files of a directory into a new one. Raises FileNotFoundError for one that goes away."""
    if path.is_dir() and not path.is_symlink():
        _like(path, copy)
        for each in sorted(path.iterdir()):
            _link(each, copy / each.name)
    else:
        os.link(path, copy, follow_symlinks=False)


def _like(path: Path, copy: Path) -> None:
    """Make a directory with the mode and owner of another one."""
    found = path.stat()
    copy.mkdir(mode=0o700)
    if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
        os.chown(copy, found.st_uid, found.st_gid)
    copy.chmod(found.st_mode & 0o7777)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
