"""Tables of options, one per line: the option, its arguments and, after a bar between spaces, its meaning."""

from __future__ import annotations

from roost.gridengine.commands.options import Option


def options(table: str) -> tuple[Option, ...]:
    """The options of a table."""
    rows = (line.partition(" | ") for line in table.strip().splitlines())
    found = (
        Option(name, meaning.strip(), takes.strip())
        for name, _, takes, meaning in ((*head.strip().partition(" "), meaning) for head, _, meaning in rows)
    )
    return tuple(found)
