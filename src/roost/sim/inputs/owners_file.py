"""Recorded traces of owners: a CSV file with the columns ``machine``, ``time``, ``keyboard`` and ``load``.

Each line holds from its time on; an empty cell means no change. Lines and columns may be in any order, and additional
columns are ignored. Any other file is refused with line, column and remedy: a trace that is silently misread would
produce figures that cannot be trusted.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NoReturn

from roost.sim.inputs.owners import OwnerTrace, merged, rising

#: Columns, and the valid values of each.
_CELLS: Final[Mapping[str, str]] = {
    "time": "a number of seconds since the beginning, not negative",
    "keyboard": "1 while keys are pressed and 0 while not",
    "load": "a number that is not negative",
}
#: Maximum number of times and loads.
NUMBER_MAX: Final = 1e9
#: Maximum number of lines: each takes some 200 bytes of memory.
LINES_MAX: Final = 10_000_000
_NAME: Final = re.compile(r"[\w.-]+")


class TraceProblem(ValueError):
    """A recorded trace that cannot be read, with the place and what to do."""


def read_csv(text: str, start: float, *, file: str = "<trace>") -> dict[str, OwnerTrace]:
    """Recorded traces by machine, their times relative to `start`. Raises TraceProblem."""
    machines: dict[str, list[tuple[float, float | None, float | None]]] = {}
    for name, time, keyboard, load in _lines(text, file):
        machines.setdefault(name, []).append((start + int(time), keyboard, load))
    return {name: _recorded(sorted(lines, key=lambda line: line[0])) for name, lines in machines.items()}


def _lines(text: str, file: str) -> Iterator[tuple[str, float, float | None, float | None]]:
    rows = csv.DictReader(text.removeprefix("\ufeff").splitlines(), skipinitialspace=True)
    try:
        _check_columns(rows.fieldnames or (), file)
        for row in rows:
            place = f"{file}:{rows.line_num}"
            if rows.line_num > LINES_MAX:
                raise TraceProblem(f"{place}: more than {LINES_MAX:,} lines; record for fewer machines or days")
            if None in row:
                raise TraceProblem(f"{place}: more cells than the first line names columns")
            time = _number(row, "time", place)
            if time is None:
                _fail(place, "time", "")
            yield _name(row["machine"], place), time, _number(row, "keyboard", place), _number(row, "load", place)
    except csv.Error as error:
        raise TraceProblem(f"{file}:{rows.reader.line_num}: it is not CSV: {error}") from None


def _check_columns(names: Sequence[str], file: str) -> None:
    missing = [name for name in ("machine", "time") if name not in names]
    if not missing:
        return
    advice = "the first line names the columns: machine,time,keyboard,load"
    if len(names) == 1 and any(mark in names[0] for mark in ";\t"):
        advice = "columns are separated by commas: machine,time,keyboard,load"
    raise TraceProblem(f"{file}:1: no column {' and no column '.join(missing)}; {advice}")


def _name(cell: str | None, place: str) -> str:
    name = (cell or "").strip()
    if not _NAME.fullmatch(name):
        raise TraceProblem(f"{place}: machine is a name of letters, digits, dots, - and _; found {name!r}")
    return name


def _number(row: Mapping[str, str | None], column: str, place: str) -> float | None:
    """The number in a cell; None if it is empty."""
    cell = (row.get(column) or "").strip()
    if not cell:
        return None
    try:
        value = float(cell)
    except ValueError:
        _fail(place, column, cell)
    if not 0 <= value <= NUMBER_MAX:
        _fail(place, column, cell)
    return value


def _fail(place: str, column: str, cell: str) -> NoReturn:
    raise TraceProblem(f"{place}: {column} is {_CELLS[column]}; found {cell[:40]!r}")


def _recorded(lines: Sequence[tuple[float, float | None, float | None]]) -> OwnerTrace:
    present: list[tuple[float, float]] = []
    loads: list[tuple[float, float]] = []
    since: float | None = None
    for time, keyboard, load in lines:
        if keyboard and since is None:
            since = time
        elif keyboard == 0 and since is not None:
            present.append((since, time))
            since = None
        if load is not None and (not loads or loads[-1][1] != load):
            loads.append((time, load))
    if since is not None:
        present.append((since, since + NUMBER_MAX))
    return OwnerTrace(present=merged(present), loads=rising(loads), last_key_before=lines[0][0])
