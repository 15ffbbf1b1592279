"""The reporting file's lines in the queue's database, numbered, until they are known to be in the file.

The last line that is in the file is kept, so that numbers continue after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sqlalchemy import BigInteger, Column, Connection, Integer, MetaData, Table, Text, delete, func, insert, select

from roost.base.records import replace
from roost.model.cell_reporting import JobReport, Report
from roost.runtime.identity import groups_of

_METADATA: Final = MetaData()
#: `Store.state` key of the number of the last line in the file.
REPORTED: Final = "reporting-filed"
#: Maximum number of users whose group and department are cached.
_PEOPLE_MAX: Final = 10_000

LINES: Final = Table(
    "reporting_lines",
    _METADATA,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("line", Text, nullable=False),
)


def create_reporting_tables(connection: Connection) -> None:
    """Create the tables that do not exist."""
    _METADATA.create_all(connection)


class ReportWriter:
    """Appends lines. Used in the thread of the store."""

    def __init__(self) -> None:
        self._next: int | None = None
        #: User and groups to the department.
        self._department: Callable[[str, tuple[str, ...]], str] = lambda user, groups: ""
        self._people: dict[str, tuple[str, str]] = {}

    def use(self, department: Callable[[str, tuple[str, ...]], str]) -> None:
        """Use the cell's new departments of users."""
        self._department, self._people = department, {}

    def write(self, connection: Connection, reports: Sequence[Report]) -> tuple[int, str] | None:
        """Append lines; return the number of the first and the line. The caller owns the transaction, and calls
        `forget` if it fails.
        """
        if not reports:
            return None
        # A queue without a cell does not need it.
        from roost.gridengine.reporting_lines import line_of

        if self._next is None:
            self._next = int(connection.execute(select(func.max(LINES.c.id))).scalar_one() or 0) + 1
        first = self._next
        lines = [line_of(self._whole(each)) for each in reports]
        rows = [{"id": number, "line": line} for number, line in enumerate(lines, self._next)]
        connection.execute(insert(LINES), rows)
        self._next += len(rows)
        return first, lines[0]

    def forget(self) -> None:
        """Note that the last append was not committed."""
        self._next = None

    def _whole(self, report: Report) -> Report:
        """A report with the group and department of the user."""
        if not isinstance(report, JobReport) or (report.group and report.department):
            return report
        known = self._people.get(report.owner)
        if known is None:
            if len(self._people) >= _PEOPLE_MAX:
                self._people.clear()
            groups = groups_of(report.owner)
            known = (*groups, report.owner)[0], self._department(report.owner, groups)
            self._people[report.owner] = known
        return replace(report, group=report.group or known[0], department=report.department or known[1])


def drop_reported(connection: Connection, filed: int) -> None:
    """Delete lines up to this one, which are in the file."""
    connection.execute(delete(LINES).where(LINES.c.id < filed))


def reports_after(connection: Connection, number: int, limit: int) -> list[tuple[int, str]]:
    """The next lines after a number, with their numbers."""
    query = select(LINES.c.id, LINES.c.line).where(LINES.c.id > number).order_by(LINES.c.id).limit(limit)
    return [(row.id, row.line) for row in connection.execute(query)]
