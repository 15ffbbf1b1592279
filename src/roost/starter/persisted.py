"""What a starter persists so that it can resume its job after it was killed.

The record is plain data (`roost.model.plain`) and holds all of the starter's state: the job's ad, what was granted to
it, state, stage and times, the work in progress, and the job's results so far. Configuration and policy are read again
at a restart.

The record must be written before the effects of the step that led to it are carried out; `resumption` repeats those
effects. What is read is checked member by member, and then as a whole against the invariants of a starter.
"""

from __future__ import annotations

from typing import Final

from roost.model.plain import AdTexts, Plain, PlainError, from_plain, to_plain
from roost.starter.starter_state import StarterState
from roost.starter.validation import breaches

#: Version of the record. It grows with every change of its shape.
VERSION: Final = 2

_FORMAT: Final = "roost starter"
_REMEDY: Final = "Without this record, the job is killed and returns to the queue"


class UnreadableStarter(ValueError):
    """A record that cannot be resumed from; the message says what is wrong with it and what to do."""


def persisted(state: StarterState, ads: AdTexts | None = None) -> Plain:
    """Return the record of a starter; `ads` as for `to_plain`."""
    return {"format": _FORMAT, "version": VERSION, "content": to_plain(state, ads=ads)}


def restored(record: object) -> StarterState:
    """Return the starter of a record. Raises UnreadableStarter."""
    if not isinstance(record, dict) or set(record) != {"format", "version", "content"} or record["format"] != _FORMAT:
        raise UnreadableStarter(f"This is not the record of a starter. {_REMEDY}")
    if record["version"] not in (1, VERSION) or isinstance(record["version"], bool):
        text = f"The record has version {record['version']!r}, and only those to {VERSION} can be read"
        raise UnreadableStarter(f"{text}: it was written by another version of Roost. {_REMEDY}")
    try:
        content = _of_version_1(record["content"]) if record["version"] == 1 else record["content"]
        state = from_plain(StarterState, content, "starter")
    except PlainError as error:
        raise UnreadableStarter(f"{error}. {_REMEDY}") from error
    found = breaches(state)
    if found:
        raise UnreadableStarter(f"A starter in {state.pair}: {'; '.join(found)}. {_REMEDY}")
    return state


def _of_version_1(content: object) -> object:
    """Convert a record of version 1, when no job could wait for a start time."""
    times = content.get("deadlines") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(times, dict):
        return content
    return {**content, "deadlines": {"deferred_until": None, **times}}
