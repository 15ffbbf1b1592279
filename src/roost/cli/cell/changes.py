"""Changes of a cell as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.gridengine.difference import Change, Verb

_SIGNS: Final = {Verb.ADD: "+", Verb.MODIFY: "~", Verb.DELETE: "-"}


def change_lines(change: Change) -> Iterator[str]:
    """A change as text."""
    yield f"{_SIGNS[change.verb]} {change.what}"
    for attribute, before, after in change.details:
        yield f"    {attribute}: {before or '(not set)'} -> {after or '(not set)'}"


def counted(changes: tuple[Change, ...]) -> str:
    """How many objects are added, modified and deleted."""
    if not changes:
        return "no difference"
    numbers = [(sum(one.verb is verb for one in changes), verb) for verb in Verb]
    return ", ".join(f"{number} to {verb}" for number, verb in numbers if number)


def change_document(change: Change) -> dict[str, object]:
    """A change as a JSON object."""
    return {
        "verb": str(change.verb),
        "kind": change.kind,
        "name": change.name,
        "attributes": [
            {"attribute": attribute, "before": before, "after": after} for attribute, before, after in change.details
        ],
    }
