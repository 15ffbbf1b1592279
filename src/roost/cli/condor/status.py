"""``condor_status``: the ads of the pool, slots above all, in tables or as the user says."""

from __future__ import annotations

import sys
from typing import Final

from roost.cli.condor.asking import Place
from roost.cli.condor.choosing import Choice
from roost.cli.condor.errors import ToolError
from roost.cli.condor.options import Given, Option, given, number
from roost.cli.condor.printing.chosen import OUTPUT_OPTIONS, Output, Wanted, rows_of_file
from roost.cli.condor.printing.columns import lines
from roost.cli.condor.printing.rows import Row, needed
from roost.cli.condor.status_tables import Table, sums
from roost.cli.pool import Pool, Refused
from roost.wire.requests import central, machine

OPTIONS: Final = (
    *OUTPUT_OPTIONS,
    Option("constraint", "ads for which this is true", takes="EXPR", least=3),
    Option("compact", "one line per machine", least=3),
    Option("nocompact", "one line per slot (default)", least=3),
    Option("avail", "slots that would take jobs", least=2),
    Option("claimed", "slots that are claimed", least=2),
    Option("run", "slots that run jobs, and whose", least=1),
    Option("server", "slots with their sizes", least=3),
    Option("state", "slots with their states and since when", least=4),
    Option("schedd", "queues", least=2),
    Option("submitters", "users with jobs", least=3),
    Option("master", "masters of machines", least=2),
    Option("collector", "collectors", least=3),
    Option("negotiator", "matchmakers", least=3),
    Option("startd", "slots (default)", least=5),
    Option("slots", "the same", least=2),
    Option("any", "ads of every type", least=2),
    Option("generic", "ads of types that no daemon has", least=1),
    Option("subsystem", "ads of this type", takes="TYPE", least=3),
    Option("defrag", "ads of defragmentation", least=4),
    Option("total", "only the totals", least=1),
    Option("ads", "ads of a file, instead of the pool's", takes="FILE", least=3),
    Option("direct", "ask this machine itself", takes="NAME", least=2),
    Option("name", "slots of this machine, or ads of this name", takes="NAME", least=1),
    Option("pool", "the pool to ask, by its name or its central manager", takes="HOST", least=2),
    Option("sort", "in this order", takes="EXPR", least=2),
    Option("target", "accepted, without effect", takes="FILE", least=3),
    Option("statistics", "accepted, without effect", takes="NAME", least=5),
    Option("limit", "at most N ads", takes="N", least=2),
    Option("wide", "accepted: columns are as wide as what they show", least=1),
    Option("verbose", "the same as -long", least=1),
    Option("expert", "accepted, without effect", least=1),
    Option("merge", "accepted, without effect", takes="FILE", least=3),
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
#: Types that daemons have; ads of others are generic.
_OF_DAEMONS: Final = frozenset(("Machine", "Submitter", "Scheduler", "DaemonMaster", "Collector", "Negotiator",
                                "Accounting"))  # fmt: skip


class Query:
    """What the command line asks for."""

    def __init__(self) -> None:
        self.place = Place()
        self.output = Output()
        self.choice = Choice()
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
    def table(self) -> Table:
        """The table that is meant."""
        from roost.cli.condor import status_tables

        found = getattr(status_tables, self.table_name)
        assert isinstance(found, Table)
        return found


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_status``."""
    query = Query()
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


def _offline(query: Query) -> list[Row]:
    constraint = query.choice.constraint
    rows = [row for row in rows_of_file(query.file) if constraint is None or row.value(constraint) is True]
    return [row for row in rows if _is_meant(query, row)]


def _online(query: Query) -> list[Row]:
    wanted = _wanted(query)

    def ask(pool: Pool) -> list[Row]:
        if query.direct:
            found = pool.ask(machine.Ads(), machine=query.direct.rpartition("@")[2])
            constraint = query.choice.constraint
            rows = [Row(each) for each in found]
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


def _wanted(query: Query) -> Wanted:
    beside = (*query.sort, "Name", "Machine", "MyType")
    if query.output.is_own and "total" not in query.flags:
        return query.output.wanted(*beside)
    from roost.cli.condor.status_compact import LOOKED_AT

    more = LOOKED_AT if query.table_name == "COMPACT" else ()
    return Wanted(needed([*query.table.expressions, *beside, *more]) or [])


def _is_meant(query: Query, row: Row) -> bool:
    if "generic" in query.flags and row.text("MyType") in _OF_DAEMONS:
        return False
    if not query.names:
        return True
    name, machine = row.text("Name"), row.text("Machine")
    known = {name, machine, machine.partition(".")[0], name.partition(".")[0]}
    return any(wanted in known for wanted in query.names)


def _sort(query: Query, rows: list[Row]) -> None:
    rows.sort(key=lambda row: _natural(row.text("Machine"), row.text("Name")))
    for expression in reversed(query.sort):
        rows.sort(key=lambda row: _sortable(row, expression))


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


def _sortable(row: Row, expression: str) -> tuple[int, float, str]:
    value = row.value(expression)
    return (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, str(value))


def _show(query: Query, rows: list[Row]) -> None:
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
