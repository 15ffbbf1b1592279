"""``qacct``: usage of finished runs, from the pool's database or from an accounting file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roost.cli.gridengine.accounting_tables import Figures, block, table
from roost.cli.gridengine.asking import ask, cell_files
from roost.cli.gridengine.qacct_options import COLUMNS, OPTIONS, Asked, read_options
from roost.gridengine.accounting_lines import read_line
from roost.gridengine.commands.errors import Failure
from roost.model.cell_accounting import NONE, AccountingRecord
from roost.wire.requests import cell, central

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

__all__ = ["OPTIONS", "run"]


def run(name: str, arguments: list[str]) -> int:
    """Run ``qacct``."""
    asked = read_options(arguments)
    if "f" in asked:
        return _of_file(asked)
    return ask(name, lambda pool: _of_pool(pool, asked))


# -- the pool's database ---------------------------------------------------------------------------------------------


def _of_pool(pool: Pool, asked: Asked) -> int:
    if not cell_files(pool):
        raise Failure("error: the pool has no Grid Engine cell")
    admits = _admission(pool, asked)
    fields: dict[str, Any] = {
        "host": asked.text("h"), "instances": _instances(pool, asked.text("q")), "group": asked.text("g"),
        "owner": asked.text("o"), "project": asked.text("P"), "department": asked.text("D"),
        "environment": asked.text("pe"), "slots": asked.number("slots"), "account": asked.text("A"),
        "since": asked.since, "until": asked.until, "by_end": "E" in asked,
    }  # fmt: skip
    means = _chooser(asked) if "ar" in asked else None
    if "j" in asked:
        request = cell.AccountingLines(**fields, job=asked.job, tasks=tuple(sorted(asked.tasks)), name=asked.name)
        lines = pool.ask(request)
        records = (read_line(line) for line in lines)
        suffixes = pool.ask(cell.AskAccountingForm()).suffixes if lines else False
        chosen = (
            record for record in records if admits(record.queue, record.host, 1) and (means is None or means(record))
        )
        return _print_blocks(asked, chosen, suffixes=suffixes, told=admits.tell)
    if means is not None:
        # The database has no sums by advance reservation.
        records = (read_line(line) for line in pool.ask(cell.AccountingLines(**fields)))
        chosen = (record for record in records if means(record) and admits(record.queue, record.host, 1))
        return _print_sums(asked, chosen, admits.tell)
    sums: dict[tuple[str | int, ...], Figures] = {}
    members = [member for _, member in asked.columns]
    fields["by"] = _keys(asked, members)
    for row in pool.ask(cell.AccountingSums(**fields)):
        if admits(row.queue, row.host, row.runs):
            _add(sums, tuple(getattr(row, member) for member in members), tuple(row.figures.values()))
    admits.tell()
    sys.stdout.write(table([column for column, _ in asked.columns], sums))
    return 0


def _keys(asked: Asked, members: list[str]) -> tuple[str, ...]:
    """The fields by which the queue sums: the columns, and those needed for -l."""
    keys: dict[str, None] = dict.fromkeys(members)
    if "l" in asked:
        keys |= {"host": None, "queue": None}
    return tuple(keys)


class _Admission:
    """The queue instances that -l selects; runs in others that no longer exist are counted."""

    def __init__(self, known: frozenset[str] | None, chosen: frozenset[str]) -> None:
        #: None without -l
        self._known, self._chosen = known, chosen
        self._ignored = 0

    def __call__(self, queue: str, host: str, runs: int) -> bool:
        if self._known is None:
            return True
        name = f"{queue}@{host}"
        if name not in self._known:
            self._ignored += runs
        return name in self._chosen

    def tell(self) -> None:
        """Report how many runs were in queue instances that no longer exist."""
        if self._ignored:
            sys.stdout.write(f"{self._ignored} jobs ignored for accounting. Jobs' master queue no longer exists.\n\n")


def _admission(pool: Pool | None, asked: Asked) -> _Admission:
    requests = asked.text("l")
    if requests is None or pool is None:
        return _Admission(None, frozenset())
    from roost.cli.gridengine.selecting import select

    _check_resources(pool, requests)
    chosen = select(pool, {"l": [part for part in requests.split(",") if part]})
    known = frozenset(one.name for one in pool.ask(central.QueueInstances()))
    return _Admission(known, frozenset(one.name for one in chosen))


def _check_resources(pool: Pool, requests: str) -> None:
    from roost.gridengine.cell import read_cell
    from roost.gridengine.objects.complex import by_any_name

    known = by_any_name(read_cell(cell_files(pool)).complexes.values())
    for part in filter(None, requests.split(",")):
        if (name := part.partition("=")[0]) not in known:
            raise Failure(f'error: unknown resource "{name}"')


def _instances(pool: Pool | None, text: str | None) -> tuple[str, ...]:
    """Patterns of the instances that -q names: a queue, an instance, a domain. Raises Failure."""
    if not text:
        return ()
    queue, at, host = text.partition("@")
    if not host.startswith("@"):
        return (f"{queue}@{host if at else '*'}",)
    if pool is None:
        return tuple(ask("qacct", lambda found: _instances(found, text)))
    from roost.gridengine.cell import read_cell
    from roost.gridengine.instances import resolve
    from roost.gridengine.scheduling.patterns import QueuePatterns

    found = read_cell(cell_files(pool))
    reader = QueuePatterns(found)
    names = tuple(one.name for one in resolve(found) if reader.any_instance([text], one))
    # A pattern that matches no instance.
    return names or ("@",)


# -- a file ----------------------------------------------------------------------------------------------------------


def _of_file(asked: Asked) -> int:
    path = asked.text("f") or "-"
    if path != "-":
        try:
            with Path(path).open(encoding="utf-8", errors="surrogateescape") as file:
                return _of_lines(asked, file)
        except OSError as error:
            raise Failure(f"{path}: {error.strerror}\nno jobs running since startup") from None
    return _of_lines(asked, sys.stdin)


def _of_lines(asked: Asked, lines: Iterable[str]) -> int:
    admits = ask("qacct", lambda pool: _admission(pool, asked)) if "l" in asked else _admission(None, asked)
    means = _chooser(asked)
    records = (record for record in _records(lines) if means(record) and admits(record.queue, record.host, 1))
    if "j" in asked:
        chosen = (record for record in records if _is_job(asked, record))
        return _print_blocks(asked, chosen, suffixes=_suffixes(), told=admits.tell)
    return _print_sums(asked, records, admits.tell)


def _print_sums(asked: Asked, records: Iterable[AccountingRecord], told: Callable[[], None]) -> int:
    sums: dict[tuple[str | int, ...], Figures] = {}
    members = [member for _, member in asked.columns]
    for record in records:
        used = record.resources
        figures = (
            float(record.wallclock_s), used["ru_utime"], used["ru_stime"], record.cpu_s, record.mem, record.io,
            record.io_wait,
        )  # fmt: skip
        _add(sums, tuple(getattr(record, member) for member in members), figures)
    told()
    sys.stdout.write(table([column for column, _ in asked.columns], sums))
    return 0


def _records(lines: Iterable[str]) -> Iterator[AccountingRecord]:
    for number, line in enumerate(lines, 1):
        if line.startswith("#") or len(line) <= 2:
            continue
        try:
            yield read_line(line.rstrip("\n"))
        except ValueError:
            sys.stderr.write(f"error: ignoring invalid entry in line {number}\n")


def _chooser(asked: Asked) -> Callable[[AccountingRecord], bool]:
    exact = {
        member: int(value) if member in ("slots", "reservation") else value
        for option, _, member in COLUMNS
        if option not in ("h", "q") and (value := asked.text(option)) is not None
    }
    if not exact.get("reservation"):
        exact.pop("reservation", None)
    host = (asked.text("h") or "").lower()
    instances = _instances(None, asked.text("q"))

    def means(record: AccountingRecord) -> bool:
        at = record.ended if "E" in asked else record.started
        return (
            all(getattr(record, member) == value for member, value in exact.items())
            and (not host or record.host.lower() == host)
            and (asked.since is None or at >= asked.since)
            and (asked.until is None or at <= asked.until)
            and ("m" not in asked or record.part == NONE)
            and (not instances or any(fnmatchcase(f"{record.queue}@{record.host}", each) for each in instances))
        )

    return means


def _is_job(asked: Asked, record: AccountingRecord) -> bool:
    if asked.tasks and record.task not in asked.tasks:
        return False
    if asked.job is not None:
        return record.job == asked.job
    return not asked.name or fnmatchcase(record.job_name, asked.name)


def _suffixes() -> bool:
    """QACCT_UNIT_SUFFIXES of this machine's configuration."""
    from roost.config import ConfigError
    from roost.runtime.home import Home, HomeError

    try:
        home = Home.find(None)
        return home.config_file.exists() and home.config(None, "SCHEDD").get_bool("QACCT_UNIT_SUFFIXES")
    except (ConfigError, HomeError, OSError):
        return False


# -- both ------------------------------------------------------------------------------------------------------------


def _add(sums: dict[tuple[str | int, ...], Figures], key: tuple[str | int, ...], more: Figures) -> None:
    before = sums.get(key)
    sums[key] = more if before is None else tuple(one + other for one, other in zip(before, more, strict=True))


def _print_blocks(
    asked: Asked, records: Iterable[AccountingRecord], *, suffixes: bool, told: Callable[[], None]
) -> int:
    found = False
    for record in records:
        sys.stdout.write(block(record, suffixes=suffixes))
        found = True
    told()
    if found:
        return 0
    if asked.text("j") is None:
        # As in Grid Engine: without a run, the table of zeros.
        sys.stdout.write(table([column for column, _ in asked.columns], {}))
        return 0
    if asked.tasks:
        of = f"{asked.job}" if asked.job is not None else f'"{asked.name}"'
        raise Failure(f"error: Job-array tasks {of}.{asked.ranges} not found")
    kind = "job id" if asked.job is not None else "job name"
    raise Failure(f"error: {kind} {asked.text('j')} not found")
