"""``roost backup`` and ``roost restore``: everything that a pool keeps, in one file, and back."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.listing import counted, print_json
from roost.cli.pool_connection import add_pool_options
from roost.cli.terminal import CommandError, Exit, complain, say
from roost.runtime.home import Home, HomeError

if TYPE_CHECKING:
    from roost.config import Config

#: Most jobs and files that are listed.
_LISTED_MAX: Final = 20


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``backup`` and ``restore``."""
    parser = subparsers.add_parser(
        "backup",
        help="copy all data of a pool into one file",
        description="Copy everything that a pool keeps in its state directory and databases into one file, while the "
        "pool runs or not: jobs, history, audit trail, files of jobs, priorities, cell and configuration.",
    )
    add_pool_options(parser)
    parser.add_argument("file", metavar="FILE", help="file to write; it must not exist")
    parser.add_argument(
        "--keys",
        action="store_true",
        help="include the secret keys of the pool and of this machine; a reader of the file can act as the pool",
    )
    parser = subparsers.add_parser(
        "restore",
        help="restore a pool from a backup",
        description="Restore a backup into an empty state directory. Nothing is written unless the whole file is as "
        "it was written.",
    )
    add_pool_options(parser)
    parser.add_argument("file", metavar="FILE", help="file that `roost backup` wrote")
    parser.add_argument(
        "--database",
        metavar="URL",
        help="restore the jobs into this database, and name it in roost.config (default: the one that the restored "
        "configuration names)",
    )


def run(args: argparse.Namespace) -> int:
    """Run ``backup`` or ``restore``."""
    from roost.config import ConfigError
    from roost.runtime.backup.archive import BackupError

    home = Home.find(args.home)
    work = _backup if args.command == "backup" else _restore
    try:
        return work(home, args)
    except BackupError as error:
        what = f"cannot restore {args.file}" if args.command == "restore" else f"cannot back up {home.path}"
        raise CommandError(f"{what}: {error}") from None
    except (ConfigError, HomeError) as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f"{error.filename or args.file}: {error.strerror or error}") from None


def _backup(home: Home, args: argparse.Namespace) -> int:
    from roost.runtime.backup.taking import take

    target = Path(args.file).absolute()
    taken = take(home, _config(home), target, keys=args.keys)
    head = taken.head
    if args.json:
        found = {"file": str(target), "bytes": taken.bytes, "keys": head.keys, "left_out": head.left_out}
        print_json(found | {"running": [job for job, _ in taken.runs]})
    else:
        say(f"wrote {target} ({taken.bytes} bytes)")
        if taken.runs:
            say(f"{counted(len(taken.runs), 'job')} running now; after a restore, jobs whose run is lost run again")
    if head.keys:
        complain(
            f"warning: {target} has the secret keys of the pool: anyone who can read it can act as any machine "
            "and user. Encrypt it, or keep it as safe as the server"
        )
    elif head.left_out:
        complain(
            f"warning: {counted(len(head.left_out), 'file')} with secret keys left out; without them the pool cannot "
            "be restored. Keep a copy of them elsewhere, or use --keys"
        )
        _list(head.left_out)
    return Exit.OK


def _config(home: Home) -> Config:
    """The configuration that the pool uses: that of the running one, else the usual file."""
    try:
        roots = home.contact().get("roots")
    except HomeError:
        roots = None
        if not home.config_file.exists():
            what = f"{home.path} has no pool; name its state directory with --home or ROOST_HOME"
            raise CommandError(what) from None
    config = home.config(tuple(roots) if roots else None, "SCHEDD")
    if config.errors:
        from roost.config.not_text import joined

        raise CommandError(f"the configuration has errors:\n{joined(config.errors, config.dropped)}")
    return config


def _restore(home: Home, args: argparse.Namespace) -> int:
    from roost.runtime.backup.restoring import restore

    restored = restore(Path(args.file).absolute(), home, database=args.database)
    head = restored.head
    if args.json:
        found = {"home": str(home.path), "taken_at": head.taken_at, "machine": head.machine, "roost": head.roost}
        missing = {"missing": head.left_out, "elsewhere": restored.elsewhere}
        print_json(found | {"running": [job for job, _ in restored.runs]} | missing)
        return Exit.OK
    taken = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(head.taken_at))
    say(f"{home.path} is as the pool in {head.home} on {head.machine} was at {taken}")
    if restored.runs:
        say("These jobs were running. Those whose machines still have them go on; the others run again:")
        _list([f"{job} on {machine}" if machine else job for job, machine in restored.runs])
    if head.left_out:
        complain("warning: the backup has no secret keys; put these files there before `roost up`:")
        _list([str(home.path / each) for each in head.left_out])
    if restored.elsewhere:
        complain("warning: these files of the configuration were outside of the state directory; put them back:")
        _list([f"{path} (copy in {copy})" for path, copy in restored.elsewhere.items()])
    say("Next: make sure that the pool no longer runs elsewhere, then `roost up --detach`")
    return Exit.OK


def _list(names: list[str]) -> None:
    for name in names[:_LISTED_MAX]:
        say(f"  {name}")
    if names[_LISTED_MAX:]:
        say(f"  and {len(names) - _LISTED_MAX} more (--json lists all)")
