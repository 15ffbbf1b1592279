"""What a starter writes down, so that it goes on with its job after it was killed.

The record is plain data (`roost.model.plain`) and holds all of the starter's state: the job's ad, what was granted to
it, state, stage and times, what is waited for, and how the job fared. Configuration and policy are read anew.

A record is to be written before the orders of the step are carried out that led to it; `resumption` gives them again.
What is read is checked member by member, and then as a whole by the invariants of a starter.
"""

from __future__ import annotations

from typing import Final

from roost.model.plain import AdTexts, Plain, PlainError, from_plain, to_plain
from roost.starter.starter_state import StarterState
from roost.starter.validation import breaches

#: Version of the record. It grows with every change of its shape.
VERSION: Final = 2

_FORMAT: Final = "roost starter"
_REMEDY: Final = "Without this record the job is killed, and goes back to the queue"


class UnreadableRecord(ValueError):
    """A record that cannot be gone on from; the message says where the mistake is and what can be done."""


def persisted(state: StarterState, ads: AdTexts | None = None) -> Plain:
    """The record of a starter; `ads` as for `to_plain`."""
    return {"format": _FORMAT, "version": VERSION, "content": to_plain(state, ads=ads)}


def restored(record: object) -> StarterState:
    """The starter of a record. Raises UnreadableRecord."""
    if not isinstance(record, dict) or set(record) != {"format", "version", "content"} or record["format"] != _FORMAT:
        raise UnreadableRecord(f"This is not the record of a starter. {_REMEDY}")
    if record["version"] not in (1, VERSION) or isinstance(record["version"], bool):
        text = f"The record has version {record['version']!r}, and only those to {VERSION} can be read"
        raise UnreadableRecord(f"{text}: it was written by another version of Roost. {_REMEDY}")
    try:
        content = _of_version_1(record["content"]) if record["version"] == 1 else record["content"]
        state = from_plain(StarterState, content, "starter")
    except PlainError as error:
        raise UnreadableRecord(f"{error}. {_REMEDY}") from error
    found = breaches(state)
    if found:
        raise UnreadableRecord(f"A starter in {state.pair}: {'; '.join(found)}. {_REMEDY}")
    return state


def _of_version_1(content: object) -> object:
    """Its content as it is written now: no job waited for its time then."""
    times = content.get("deadlines") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(times, dict):
        return content
    return {**content, "deadlines": {"deferred_until": None, **times}}
