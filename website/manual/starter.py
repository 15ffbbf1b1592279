"""The blocks of the page about the starter, made from the transition table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from roost.policy.catalogue import KNOB_POLICIES
from roost.starter.policy_inputs import OTHERWISE
from roost.starter.states import State
from roost.starter.transitions import TRANSITIONS, Transition
from roost.tables import pages


def diagram() -> Iterator[str]:
    """States and what leads from one to another."""
    edges = [
        (source, target, row.reason)
        for source in State
        for target in State
        for row in TRANSITIONS
        if source is not target and (row.source.state, row.target.state) == (source, target)
    ]
    return pages.diagram(edges, start=(State.PREPARING,), ends=(State.DONE,))


def expressions() -> Iterator[str]:
    """The starter's expressions."""
    rows = [(f"`{name}`", KNOB_POLICIES[name]) for name in OTHERWISE]
    return pages.table(
        ("Expression", "Asked", "Default", "UNDEFINED, ERROR", "Meaning"),
        ((name, row.when, f"`{row.default}`", row.when_undefined, row.meaning) for name, row in rows),
    )


def table() -> Iterator[str]:
    """All rows."""
    return pages.table(("#", "From", "To", "On", "If", "Reason", "Does"), _lines())


def _lines() -> Iterator[tuple[object, ...]]:
    for number in sorted({row.number for row in TRANSITIONS}):
        rows = [row for row in TRANSITIONS if row.number == number]
        for target in dict.fromkeys(row.target for row in rows):
            yield _line([row for row in rows if row.target == target])


def _line(rows: list[Transition]) -> tuple[object, ...]:
    row = rows[0]
    sources = ", ".join(str(each.source) for each in rows)
    return row.number, sources, row.target, ", ".join(row.on), " and ".join(row.when), row.reason, "; ".join(row.entry)


def blocks() -> dict[str, dict[str, Iterable[str]]]:
    """Page below docs/ to its blocks: name to lines."""
    return {"concepts/starter.md": {"diagram": diagram(), "expressions": expressions(), "table": table()}}
