"""``condor_status``: the ads of the pool, especially slots, in tables or in the user's format."""

from __future__ import annotations

import sys
from typing import Final

from roost.cli.condor.asking import DaemonLocation
from roost.cli.condor.choosing import JobSelection
from roost.cli.condor.errors import ToolError
from roost.cli.condor.options import Given, Option, given, number
from roost.cli.condor.printing.chosen import OUTPUT_OPTIONS, Output, Projection, rows_of_file, sortable
from roost.cli.condor.printing.columns import lines
from roost.cli.condor.printing.rows import AdRow, needed
from roost.cli.condor.status_tables import StatusTable, sums
from roost.cli.pool_connection import Pool, Refused
from roost.wire.requests import central, machine

OPTIONS: Final = (
    *OUTPUT_OPTIONS,
    Option("constraint", "only ads for which EXPR is true", takes="EXPR", least=3),
    Option("compact", "show one line per machine", least=3),
    Option("nocompact", "show one line per slot (default)", least=3),
    Option("avail", "show slots that are available for jobs", least=2),
    Option("claimed", "show claimed slots", least=2),
    Option("run", "show slots that run jobs, and whose jobs", least=1),
    Option("server", "show slots with their resources", least=3),
    Option("state", "show slots with their states and how long they have been in them", least=4),
    Option("schedd", "queues", least=2),
    Option("submitters", "show users with jobs", least=3),
    Option("master", "show the masters of the machines", least=2),
    Option("collector", "collectors", least=3),
    Option("negotiator", "matchmakers", least=3),
    Option("startd", "slots (default)", least=5),
    Option("slots", "the same", least=2),
    Option("any", "show ads of every type", least=2),
    Option("generic", "show ads of types that no daemon publishes", least=1),
    Option("subsystem", "show ads of this type", takes="TYPE", least=3),
    Option("defrag", "show defragmentation ads", least=4),
    Option("total", "show only the totals", least=1),
    Option("ads", "read ads from a file instead of the collector", takes="FILE", least=3),
    Option("direct", "query this machine directly", takes="NAME", least=2),
    Option("name", "show slots of this machine, or ads with this name", takes="NAME", least=1),
    Option("pool", "query this pool, named by its name or its central manager", takes="HOST", least=2),
    Option("sort", "sort by these expressions", takes="EXPR", least=2),
    Option("target", "accepted, has no effect", takes="FILE", least=3),
    Option("statistics", "accepted, has no effect", takes="NAME", least=5),
    Option("limit", "show at most N ads", takes="N", least=2),
    Option("wide", "accepted; columns are always as wide as their contents", least=1),
    Option("verbose", "the same as -long", least=1),
    Option("expert", "accepted, has no effect", least=1),
    Option("merge", "accepted, has no effect", takes="FILE", least=3),
)  # fmt: skip
_TABLES: Final = {
    "run": "RUN", "server": "SERVER", "state": "STATE", "schedd": "SCHEDDS", "submitters": "SUBMITTERS",
    "master": "MASTERS", "collector": "COLLECTORS", "negotiator": "NEGOTIATORS", "any": "ANY", "generic": "ANY",
    "compact": "COMPACT",
}  # fmt: skip
_WHERE: Final = {
    "avail": 'State == "Unclaimed"',
    "claimed": 'State == "Claimed"',
    "run": 'State == "Claimed"',
}
#: Types of daemons' ads; any other ads are generic.
_OF_DAEMONS: Final = frozenset(("Machine", "Submitter", "Scheduler", "DaemonMaster", "Collector", "Negotiator",
                                "Accounting"))  # fmt: skip


class StatusQuery:
    """The parsed command line."""

    def __init__(self) -> None:
        self.place = DaemonLocation()
        self.output = Output()
        self.choice = JobSelection()
        self.table_name = "SLOTS"
        self.kind: str | None = None
        self.names: list[str] = []
        self.sort: list[str] = []
        self.limit = 0
        self.file = ""
        self.direct = ""
        self.flags: set[str] = set()

    def take(self, option: Given) -> None:
        """Note an argument."""
        match option.name:
            case "" | "name":
                self.names.append(option.value)
            case "pool":
                self.place.pool = option.value
            case "constraint":
                self.choice = self.choice.but(option.value)
            case "subsystem":
                self.kind, self.table_name = option.value, "ANY"
            case "sort":
                self.sort.append(option.value)
            case "limit":
                self.limit = number(option)
            case "ads":
                self.file = option.value
            case "direct":
                self.direct = option.value
            case "verbose":
                self.output.document = "long"
            case _:
                if not self.output.take(option):
                    self._kind(option.name)

    def _kind(self, name: str) -> None:
        self.flags.add(name)
        self.table_name = _TABLES.get(name, self.table_name)
        if name == "defrag":
            self.kind, self.table_name = "Defrag", "ANY"
        if name in _WHERE:
            self.choice = self.choice.but(_WHERE[name])

    @property
    def table(self) -> StatusTable:
        """The selected table."""
        from roost.cli.condor import status_tables

        found = getattr(status_tables, self.table_name)
        assert isinstance(found, StatusTable)
        return found


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_status``."""
    query = StatusQuery()
    for option in given(arguments, OPTIONS):
        query.take(option)
    custom = query.output.custom
    if custom is not None and custom.where:
        query.choice = query.choice.but(custom.where)
    rows = _offline(query) if query.file else _online(query)
    _sort(query, rows)
    rows = rows[: query.limit or None]
    if query.output.is_own and "total" not in query.flags:
        query.output.print(rows)
        return 0
    _show(query, rows)
    return 0


def _offline(query: StatusQuery) -> list[AdRow]:
    constraint = query.choice.constraint
    rows = [row for row in rows_of_file(query.file) if constraint is None or row.value(constraint) is True]
    return [row for row in rows if _is_meant(query, row)]


def _online(query: StatusQuery) -> list[AdRow]:
    wanted = _wanted(query)

    def ask(pool: Pool) -> list[AdRow]:
        if query.direct:
            found = pool.ask(machine.Ads(), machine=query.direct.rpartition("@")[2])
            constraint = query.choice.constraint
            rows = [AdRow(each) for each in found]
            return [row for row in rows if constraint is None or row.value(constraint) is True]
        kind = query.table.kind if query.kind is None else query.kind
        asked = central.Ads(
            kind=kind,
            constraint=query.choice.constraint,
            projection=tuple(wanted.names),
            values=bool(wanted.names) and not wanted.raw,
            texts=wanted.texts,
        )
        return wanted.rows(pool.ask(asked))

    try:
        rows = query.place.ask(ask, lost="Error: communication error")
    except Refused as refused:
        raise ToolError(f"Error: {refused}") from None
    return [row for row in rows if _is_meant(query, row)]


def _wanted(query: StatusQuery) -> Projection:
    beside = (*query.sort, "Name", "Machine", "MyType")
    if query.output.is_own and "total" not in query.flags:
        return query.output.wanted(*beside)
    from roost.cli.condor.status_compact import LOOKED_AT

    more = LOOKED_AT if query.table_name == "COMPACT" else ()
    return Projection(needed([*query.table.expressions, *beside, *more]) or [])


def _is_meant(query: StatusQuery, row: AdRow) -> bool:
    if "generic" in query.flags and row.text("MyType") in _OF_DAEMONS:
        return False
    if not query.names:
        return True
    name, machine = row.text("Name"), row.text("Machine")
    known = {name, machine, machine.partition(".")[0], name.partition(".")[0]}
    return any(wanted in known for wanted in query.names)


def _sort(query: StatusQuery, rows: list[AdRow]) -> None:
    rows.sort(key=lambda row: _natural(row.text("Machine"), row.text("Name")))
    for expression in reversed(query.sort):
        rows.sort(key=lambda row: sortable(row, expression))


def _natural(machine: str, name: str) -> tuple[str, list[tuple[int, str]]]:
    """Slots of a machine in the order of their numbers."""
    parts, number = [], ""
    for sign in f"{name} ":
        if sign.isdigit():
            number += sign
            continue
        if number:
            parts.append((int(number), ""))
            number = ""
        parts.append((-1, sign))
    return machine, parts


def _show(query: StatusQuery, rows: list[AdRow]) -> None:
    if not rows:
        return
    table = query.table
    if "total" not in query.flags:
        shown = rows
        if query.table_name == "COMPACT":
            from roost.cli.condor.status_compact import machines

            shown = machines(rows)
        head, *body = lines(table.mask, shown)
        sys.stdout.write(f"{head}\n")
        sys.stdout.writelines(body)
        if table.sums:
            sys.stdout.write("\n")
    if table.sums:
        sys.stdout.writelines(sums(table, rows))
