"""Accounting of a cell in the queue's database: a row for each finished run, written together with the job's next
state.

A record has three parts. `RECORDS` has its line of the accounting file, and the keys by which single records are found.
`KINDS` has the fields by which records are summed (queue, host, owner and so on), once for all records that share them.
`SUMS` has the figures that are summed, by kind: one pass over it alone yields the sums of all kinds, and those are few.

The accounting file is written from `RECORDS`, in the order of their numbers; `FILED` has the number of the last one
that is known to be in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Float,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    and_,
    func,
    insert,
    select,
)

from roost.base.records import dataclass
from roost.model.cell_accounting import AccountingRecord

_METADATA: Final = MetaData()
#: `Store.state` key of the number of the last record in the file.
FILED: Final = "accounting-filed"
#: Maximum number of kinds that a store caches.
KNOWN_MAX: Final = 20_000


class SummaryKey(NamedTuple):
    """The fields by which records are summed."""

    host: str
    queue: str
    group: str
    owner: str
    project: str
    department: str
    environment: str
    slots: int
    account: str


KINDS: Final = Table(
    "accounting_kinds",
    _METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    *(Column(name, Integer if name == "slots" else Text, nullable=False) for name in SummaryKey._fields),
    UniqueConstraint(*SummaryKey._fields),
)
RECORDS: Final = Table(
    "accounting_records",
    _METADATA,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("job", Integer, nullable=False),
    Column("task", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind", Integer, nullable=False),
    #: Epoch s.
    Column("started", BigInteger, nullable=False),
    Column("ended", BigInteger, nullable=False),
    Column("line", Text, nullable=False),
    Index("accounting_job", "job", "task"),
    Index("accounting_name", "name"),
)
#: The figures that are summed, in the order of `qacct`.
FIGURES: Final = ("wallclock", "utime", "stime", "cpu", "mem", "io", "iow")
SUMS: Final = Table(
    "accounting_sums",
    _METADATA,
    Column("kind", Integer, primary_key=True, autoincrement=False),
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    #: Epoch s.
    Column("started", BigInteger, nullable=False),
    Column("ended", BigInteger, nullable=False),
    *(Column(name, Float(53), nullable=False) for name in FIGURES),
    # The rows of a kind are adjacent, with nothing else in between.
    sqlite_with_rowid=False,
)


def create_accounting_tables(connection: Connection) -> None:
    """Create the tables that do not exist."""
    _METADATA.create_all(connection)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which records are selected."""

    #: By the fields of `SummaryKey`; a missing field may have any value.
    kinds: Callable[[SummaryKey], bool] | None = None
    #: Earliest and latest start, or end, epoch s; None for no limit.
    since: int | None = None
    until: int | None = None
    by_end: bool = False
    #: Number of the job, tasks of it (empty for all), or a name: a pattern, or a plain name.
    job: int | None = None
    tasks: frozenset[int] = frozenset()
    name: str = ""
    is_pattern: bool = False


class AccountingWriter:
    """Appends records. Used in the thread of the store."""

    def __init__(self) -> None:
        self._known: dict[SummaryKey, int] = {}
        self._next: tuple[int, int] | None = None
        #: The number of the first record of the last append, whether committed or not; 0 for none.
        self.first = 0

    def write(self, connection: Connection, records: Sequence[AccountingRecord]) -> None:
        """Append records; the caller owns the transaction, and calls `forget` if it fails."""
        if not records:
            return
        if self._next is None:
            self._next = (_after(connection, RECORDS), _after(connection, KINDS))
        # A queue without a cell does not need it.
        from roost.gridengine.accounting_lines import line_of, plain

        number, kind_number = self._next
        self.first = number
        rows, sums = [], []
        #: Kinds that are new.
        fresh: dict[SummaryKey, int] = {}
        for record in records:
            kind = kind_of(record, plain)
            known = self._known.get(kind) or fresh.get(kind)
            if known is None:
                known = _number_of(connection, kind)
                if known is None:
                    known = fresh[kind] = kind_number
                    kind_number += 1
                if len(self._known) >= KNOWN_MAX:
                    self._known.clear()
                self._known[kind] = known
            rows.append(_row(number, known, plain(record.job_name), record, line_of(record)))
            sums.append({"kind": known, "id": number, "started": record.started, "ended": record.ended,
                         **dict(zip(FIGURES, _figures(record), strict=True))})  # fmt: skip
            number += 1
        kinds = [{"id": known, **kind._asdict()} for kind, known in fresh.items()]
        for table, values in ((KINDS, kinds), (RECORDS, rows), (SUMS, sums)):
            if values:
                connection.execute(insert(table), values)
        self._next = (number, kind_number)

    def forget(self) -> None:
        """Note that the last append was not committed."""
        self._known.clear()
        self._next = None


def _after(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.max(table.c.id))).scalar_one() or 0) + 1


def _number_of(connection: Connection, kind: SummaryKey) -> int | None:
    query = select(KINDS.c.id).where(and_(*(KINDS.c[name] == value for name, value in kind._asdict().items())))
    return connection.execute(query).scalar_one_or_none()


def kind_of(record: AccountingRecord, plain: Callable[[str], str]) -> SummaryKey:
    """The fields of a record by which it is summed."""
    return SummaryKey(
        host=plain(record.host),
        queue=plain(record.queue),
        group=plain(record.group),
        owner=plain(record.owner),
        project=plain(record.project),
        department=plain(record.department),
        environment=plain(record.environment),
        slots=record.slots,
        account=plain(record.account),
    )


def _row(number: int, kind: int, name: str, record: AccountingRecord, line: str) -> dict[str, Any]:
    return {
        "id": number, "job": record.job, "task": record.task, "name": name, "kind": kind,
        "started": record.started, "ended": record.ended, "line": line,
    }  # fmt: skip


def _figures(record: AccountingRecord) -> tuple[float, ...]:
    used = record.resources
    times = used.get("ru_utime", 0.0), used.get("ru_stime", 0.0)
    return (float(record.wallclock_s), *times, record.cpu_s, record.mem, record.io, record.io_wait)


# -- questions -------------------------------------------------------------------------------------------------------


def lines_after(connection: Connection, number: int, limit: int) -> list[tuple[int, str]]:
    """The next records after a number, with their numbers."""
    query = select(RECORDS.c.id, RECORDS.c.line).where(RECORDS.c.id > number).order_by(RECORDS.c.id).limit(limit)
    return [(row.id, row.line) for row in connection.execute(query)]


def sums(connection: Connection, wanted: Wanted) -> Iterator[tuple[SummaryKey, int, tuple[float, ...]]]:
    """Each kind that has selected records, their number, and their sums."""
    kinds = _kinds(connection, wanted)
    figures = [func.sum(SUMS.c[name]) for name in FIGURES]
    query = select(SUMS.c.kind, func.count(), *figures).where(*_times(SUMS, wanted)).group_by(SUMS.c.kind)
    if len(kinds) < _FEW:
        query = query.where(SUMS.c.kind.in_(kinds))
    for row in connection.execute(query):
        kind = kinds.get(row[0])
        if kind is not None:
            yield kind, int(row[1]), tuple(float(each) for each in row[2:])


#: Maximum number of kinds, or names, in a query; with more, all are read and filtered.
_FEW: Final = 500
_NAMES: Final = select(RECORDS.c.name).distinct()


def _kinds(connection: Connection, wanted: Wanted) -> dict[int, SummaryKey]:
    rows = connection.execute(select(KINDS))
    found = ((row[0], SummaryKey(*row[1:])) for row in rows)
    return {number: kind for number, kind in found if wanted.kinds is None or wanted.kinds(kind)}


def lines(connection: Connection, wanted: Wanted) -> Iterator[str]:
    """The lines of records, oldest first."""
    query = select(RECORDS.c.line, RECORDS.c.kind, RECORDS.c.name, RECORDS.c.task).where(*_times(RECORDS, wanted))
    if wanted.job is not None:
        query = query.where(RECORDS.c.job == wanted.job)
    elif wanted.name and not wanted.is_pattern:
        query = query.where(RECORDS.c.name == wanted.name)
    elif wanted.is_pattern:
        # The index has the names without the lines.
        names = [each for each in connection.execute(_NAMES).scalars() if fnmatchcase(each, wanted.name)]
        if len(names) < _FEW:
            query = query.where(RECORDS.c.name.in_(names))
    kinds = None if wanted.kinds is None else _kinds(connection, wanted)
    if kinds is not None and len(kinds) < _FEW:
        query = query.where(RECORDS.c.kind.in_(kinds))
    with connection.execution_options(yield_per=1000).execute(query.order_by(RECORDS.c.id)) as rows:
        for row in rows:
            if (kinds is not None and row.kind not in kinds) or (wanted.tasks and row.task not in wanted.tasks):
                continue
            if not wanted.is_pattern or fnmatchcase(row.name, wanted.name):
                yield row.line


def _times(table: Table, wanted: Wanted) -> Iterable[ColumnElement[bool]]:
    at = table.c.ended if wanted.by_end else table.c.started
    if wanted.since is not None:
        yield at >= wanted.since
    if wanted.until is not None:
        yield at <= wanted.until
