"""A real pool that tells machines of matches: slots are Matched before they are claimed."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.integration.kit import Pool, eventually

Start = Callable[..., Pool]


def _taken(pool: Pool) -> list[tuple[str, str, str]]:
    """Number, source and target of each transition, in order."""
    path = pool.home / "log" / "transitions.jsonl"
    text = path.read_text() if path.exists() else ""
    rows = [json.loads(line) for line in text.splitlines() if line]
    return [(row["number"], row["from"], row["to"]) for row in rows]


_MATCHED = ("6", "Unclaimed/Idle", "Matched/Idle")
_CLAIMED = ("9", "Matched/Idle", "Claimed/Idle")


def test_a_slot_is_matched_and_then_claimed(start: Start) -> None:
    pool = start("NEGOTIATOR_INFORM_STARTD = True\nNUM_SLOTS = 1", cpus=1)
    pool.wait(pool.submit("", "exit 0"))
    # The machine writes them down a moment after they have happened.
    busy = ("11", "Claimed/Idle", "Claimed/Busy")
    eventually(lambda: busy in _taken(pool))
    taken = _taken(pool)
    assert taken.index(_MATCHED) < taken.index(_CLAIMED) < taken.index(busy)
