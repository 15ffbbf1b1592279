"""Tables of options, one per line: the option, its arguments and, after a bar between spaces, its meaning."""

from __future__ import annotations

from collections.abc import Mapping

from roost.gridengine.commands.options import Option


def options(table: str, refused: Mapping[str, str] | None = None) -> tuple[Option, ...]:
    """The options of a table; `refused` has the reasons of those that are not supported."""
    rows = (line.partition(" | ") for line in table.strip().splitlines())
    found = (
        Option(name, meaning.strip(), takes.strip(), (refused or {}).get(name, ""))
        for name, _, takes, meaning in ((*head.strip().partition(" "), meaning) for head, _, meaning in rows)
    )
    return tuple(found)
