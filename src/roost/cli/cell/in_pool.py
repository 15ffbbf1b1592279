"""``roost cell import``, ``export``, ``apply``, ``log``, and ``diff`` with a pool: the cell of a pool.

Changes are shown before they are made. The request names the revision of the cell that was shown: if the cell has
changed since, nothing is changed.
"""

from __future__ import annotations

import argparse
import os
import pwd
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from roost.base import records
from roost.cli.cell.changes import change_document, change_lines, counted
from roost.cli.cell.files import CellFiles, Unreadable, read_files, read_standard_input
from roost.cli.listing import print_json
from roost.cli.pool_connection import Pool, with_pool
from roost.gridengine.cell import NOT_OBJECTS, Cell, file_of, new_cell, read_cell, write_cell
from roost.gridengine.changes import replace
from roost.gridengine.difference import Change, Verb
from roost.gridengine.pool.lacking import not_carried_out
from roost.gridengine.problems import Refused
from roost.runtime.files.whole_files import write_whole
from roost.wire.requests.cell import (
    CellChange,
    CellLog,
    ChangeCell,
    ChangedInstance,
    ChangeInstances,
    ClearUsage,
    InstanceChange,
    ReadCell,
    Usage,
)
from roost.wire.requests.central import QueueInstances
from roost.wire.structs import data_of

#: the file of a dump with the last job number
JOB_NUMBERS: Final = "jobseqnum"
#: numbers of jobs are 32-bit integers
LAST_JOB_MAX: Final = 2**31 - 2
#: width of the column of names, as in qstat
_NAME_WIDTH = 30


@records.dataclass(frozen=True, slots=True, kw_only=True)
class PoolCell:
    """The cell of a pool as it was read."""

    revision: int
    files: Mapping[str, str]

    @property
    def cell(self) -> Cell:
        """The cell; without objects if the pool has none."""
        return read_cell(self.files) if self.files else Cell()


def looked_at(pool: Pool) -> PoolCell:
    """Read the cell of a pool."""
    rows = pool.ask(ReadCell())
    return PoolCell(revision=rows[0].revision if rows else 0, files={row.name: row.text for row in rows})


def source(path: str) -> CellFiles:
    """The files of a path, `-` for standard input."""
    return read_standard_input(sys.stdin.buffer) if path == "-" else read_files(Path(path))


def configured(cell: Cell) -> Cell:
    """A cell without load values that hosts reported to the system from which it comes."""
    hosts = {name: records.replace(host, load_values=(), processors=0) for name, host in cell.hosts.items()}
    return records.replace(cell, hosts=hosts)


def wanted(given: CellFiles, present: PoolCell) -> Cell:
    """The target cell in files: a whole one, or the current one with one object changed."""
    if given.whole:
        return configured(read_cell(given.files))
    base = present.files or write_cell(new_cell())
    return configured(read_cell({**base, **given.files}))


def take(args: argparse.Namespace) -> int:
    """Run ``import``."""
    given = source(args.path)

    def work(pool: Pool) -> int:
        present = looked_at(pool)
        if given.whole and present.files and not args.replace:
            hint = "`roost cell apply` changes it to match a directory, `--replace` replaces it"
            raise Unreadable(f"the pool already has a cell, revision {present.revision}; {hint}")
        last_job = _last_job(given)
        left_out = sorted(set(given.files) & set(NOT_OBJECTS) - {JOB_NUMBERS})
        if left_out and not args.json:
            print(f"skipped, not part of a cell: {', '.join(left_out)}")
        return _change(pool, present, wanted(given, present), args, last_job)

    return with_pool(args, work)


def _last_job(given: CellFiles) -> int:
    """The last job number of the system that wrote a whole cell; 0 if unknown."""
    text = given.files.get(JOB_NUMBERS, "").strip() if given.whole else ""
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and int(text) <= LAST_JOB_MAX):
        raise Unreadable(f"{JOB_NUMBERS}: {text[:40]!r} is not a job number from 0 to {LAST_JOB_MAX}")
    return int(text)


def apply(args: argparse.Namespace) -> int:
    """Run ``apply``."""
    given = source(args.path)
    if not given.whole:
        raise Unreadable(f"{args.path} is a single object: use `roost cell import`")
    return with_pool(args, lambda pool: _change(pool, present := looked_at(pool), wanted(given, present), args))


def _change(pool: Pool, present: PoolCell, cell: Cell, args: argparse.Namespace, last_job: int = 0) -> int:
    """Show the changes, and make them."""
    changed = replace(present.cell, cell)
    plan_only = getattr(args, "plan", False)
    if not args.json:
        _show(changed.changes)
    revision = present.revision
    if (changed.changes or not present.files) and not plan_only:
        # The plan is on the screen before anything happens.
        sys.stdout.flush()
        files = write_cell(changed.cell)
        put = {name: text for name, text in files.items() if present.files.get(name) != text}
        drop = tuple(name for name in present.files if name not in files)
        revision = pool.ask(ChangeCell(revision=present.revision, put=put, drop=drop, last_job=last_job)).revision
    if args.json:
        done = revision != present.revision
        print_json({"revision": revision, "done": done, "changes": [change_document(one) for one in changed.changes]})
    elif plan_only:
        print("nothing was changed (--plan)")
    elif revision != present.revision:
        print(f"the pool's cell has revision {revision}")
        if last_job:
            print(f"new jobs are numbered above {last_job}")
    for each in not_carried_out(changed.cell):
        print(f"roost cell: not yet supported by pools: {each}", file=sys.stderr)
    return 0


def _show(changes: tuple[Change, ...]) -> None:
    for one in changes:
        print("\n".join(change_lines(one)))
    print(counted(changes))


def export(args: argparse.Namespace) -> int:
    """Run ``export``."""
    present = with_pool(args, looked_at)
    if not present.files:
        raise Unreadable("the pool has no cell; import one with `roost cell import`")
    directory = Path(args.path)
    written = _write(directory, present.files)
    if args.json:
        print_json({"revision": present.revision, "files": sorted(present.files)})
    else:
        print(f"revision {present.revision}: {len(present.files)} files in {directory}, {written} of them changed")
    return 0


def _write(directory: Path, files: Mapping[str, str]) -> int:
    """Write the files, and remove those of objects that no longer exist; return how many changed."""
    there = read_files(directory).files if directory.is_dir() and any(directory.iterdir()) else {}
    strange = sorted(name for name in there if name not in NOT_OBJECTS and not _is_object(name, there[name]))
    if strange:
        raise Unreadable(f"{directory}/{strange[0]} does not belong to a cell; export to an empty directory")
    changed = 0
    for name, text in files.items():
        if there.get(name) != text:
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
            changed += 1
    for name in there:
        if name not in files and name not in NOT_OBJECTS:
            (directory / name).unlink()
            changed += 1
    return changed


def _is_object(name: str, text: str) -> bool:
    try:
        return not text or file_of(text, name) == name
    except Refused:
        # Its object cannot be read, if its directory belongs to a cell.
        return "/" in name


def difference_with_pool(args: argparse.Namespace) -> tuple[Change, ...]:
    """The changes that make the pool's cell equal to that of a directory."""
    given = source(args.before)

    def work(pool: Pool) -> tuple[Change, ...]:
        present = looked_at(pool)
        return replace(present.cell, wanted(given, present)).changes

    return with_pool(args, work)


def log(args: argparse.Namespace) -> int:
    """Run ``log``."""
    entries = with_pool(args, lambda pool: pool.ask(CellLog(limit=args.limit)))
    if args.json:
        print_json(
            [
                {
                    "revision": one.revision,
                    "at": one.at,
                    "actor": one.actor,
                    "changes": [change_document(_change_of(each)) for each in one.changes],
                }
                for one in entries
            ]
        )
        return 0
    for one in entries:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one.at))
        print(f"revision {one.revision}, {when}, {one.actor}")
        for each in one.changes:
            print("\n".join(f"    {line}" for line in change_lines(_change_of(each))))
    return 0


def _change_of(told: CellChange) -> Change:
    details = tuple((one.name, one.before, one.after) for one in told.attributes)
    return Change(verb=Verb(told.verb), kind=told.kind, name=told.name, details=details)


def _by_state(state: str) -> tuple[str, str]:
    """`qmod`'s messages for an instance that changed, and for one already in that state."""
    return (
        f'{{who}} changed state of "{{name}}" ({state})',
        f'Queue instance "{{name}}" is already in the specified state: {state}',
    )


_STATES: Final[dict[InstanceChange, tuple[str, str]]] = {
    "disable": _by_state("disabled"),
    "enable": _by_state("enabled"),
    "suspend": _by_state("suspended"),
    "resume": _by_state("unsuspended"),
    "clear": ("{name} accepts jobs again", "{name} is not in the error state"),
}


def change_states(args: argparse.Namespace) -> int:
    """Run ``disable``, ``enable``, ``suspend`` and ``resume``."""
    return _change_states(args, args.cell_command, args.names)


def clear(args: argparse.Namespace) -> int:
    """Run ``clear``."""
    return _change_states(args, "clear", args.instances)


def _change_states(args: argparse.Namespace, action: InstanceChange, names: Sequence[str]) -> int:
    def work(pool: Pool) -> int:
        rows = pool.ask(ChangeInstances(action=action, names=tuple(names)))
        if args.json:
            print_json([data_of(row) for row in rows])
        for row in () if args.json else rows:
            _say_outcome(row, *_STATES[action])
        return int(any(row.outcome in ("denied", "unknown") for row in rows))

    return with_pool(args, work)


def _say_outcome(row: ChangedInstance, changed: str, already: str) -> None:
    """Print the result for an instance."""
    user = pwd.getpwuid(os.getuid()).pw_name
    match row.outcome:
        case "changed":
            print(changed.format(who=f"{user}@{os.uname().nodename}", name=row.name))
        case "already":
            print(already.format(name=row.name))
        case "denied":
            print(f'{user} - you have no permission to modify queue "{row.name}"', file=sys.stderr)
        case "unknown":
            print(f'invalid queue "{row.name}"', file=sys.stderr)


def queues(args: argparse.Namespace) -> int:
    """Run ``queues``."""

    def work(pool: Pool) -> int:
        rows = pool.ask(QueueInstances())
        if args.json:
            print_json([data_of(row) for row in rows])
            return 0
        if not rows:
            print("the pool has no queue instances; import a cell with `roost cell import`")
            return 0
        width = max(_NAME_WIDTH, *(len(row.name) for row in rows))
        print(f"{'queuename':<{width}} qtype used/tot. load_avg arch          states")
        for row in rows:
            used = f"{row.used}/{row.total}"
            load = "-NA-" if row.load is None else f"{row.load:.2f}"
            line = (
                f"{row.name:<{width}} {row.types:<5} {used:<9} {load:<8} {row.architecture or '-NA-':<13} {row.states}"
            )
            print(line.rstrip())
            for reason in row.reasons:
                print(f"\t{reason}")
        return 0

    return with_pool(args, work)


#: The columns of usage, in the order of `qstat -ext`, and their widths.
_USED: Final = {"cpu": 12, "mem": 12, "io": 12}


def usage(args: argparse.Namespace) -> int:
    """Run ``usage``."""
    rows = with_pool(args, lambda pool: pool.ask(Usage()))
    if args.json:
        print_json([data_of(row) for row in rows])
        return 0
    if not rows:
        print("no job of a cell has used anything yet")
        return 0
    titles = {"user": "user", "project": "project", "department": "department"}
    widths = {name: max(len(title), *(len(getattr(row, name)) for row in rows)) for name, title in titles.items()}
    figures = "".join(f"{name:>{wide}}" for name, wide in (*_USED.items(), *((f"lt{n}", w) for n, w in _USED.items())))
    print(" ".join(f"{title:<{widths[name]}}" for name, title in titles.items()) + f"{'usage':>12}{figures}")
    for row in rows:
        names = " ".join(f"{getattr(row, name) or '-':<{wide}}" for name, wide in widths.items())
        sums = (*((row.recent, name) for name in _USED), *((row.total, name) for name in _USED))
        print(f"{names}{row.usage:12.3f}" + "".join(f"{each.get(name, 0.0):{_USED[name]}.3f}" for each, name in sums))
    return 0


def clear_usage(args: argparse.Namespace) -> int:
    """Run ``clear-usage``."""
    done = with_pool(args, lambda pool: pool.ask(ClearUsage()))
    if args.json:
        print_json(data_of(done))
    else:
        print(f"the usage of {done.accounts} account{'' if done.accounts == 1 else 's'} was cleared")
    return 0
