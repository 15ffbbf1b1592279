"""What an execute machine persists so that it can resume after it was killed.

Two kinds of record, plain data both (`roost.model.plain`): one for each slot (`persisted`, `restored`) and one for what
the slots of a machine share (`persisted_machine`, `restored_machine`). They hold claims and their leases, jobs, states
with their times, drains, latches, and the dynamic slots. They do not hold what can be determined again: configuration
and policy, readings of sensors, layouts.

Write the record before carrying out the effects of the step that led to it. If the daemon is killed in between, effects
were never carried out; `resumption` repeats them.

The records contain claim ids with their secrets, so only the daemon's own account may read the file.

What is read is checked member by member, and then as a whole against the invariants of a slot. A record that fails is
not used at all: the daemon can start over, and the claims that it held end with their leases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from roost.base.records import dataclass, field
from roost.classad import ClassAd
from roost.model.events import MachineFacts
from roost.model.plain import AdTexts, Plain, PlainError, from_plain, to_plain
from roost.model.slots import SlotShape
from roost.startd.draining import MachineDraining
from roost.startd.layout.at_work import DynamicShape
from roost.startd.slot_ad.latches import Latches
from roost.startd.slot_state import NO_FACTS, SlotState
from roost.startd.validation import violations

#: Version of both records. It grows with every change of their shape.
VERSION: Final = 1

_SLOT: Final = "roost slot"
_MACHINE: Final = "roost machine"

#: Fields of a slot that its next poll sets; that it is broken, which the administrator who restarts the daemon has
#: checked; and that it leaves, which follows from the configuration.
_SENSED: Final = frozenset(("ad", "machine", "broken", "leaving"))

T = TypeVar("T")


class UnreadableRecord(ValueError):
    """A record that cannot be resumed from; the message says what is wrong with it and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRecord:
    """State that the slots of a machine share."""

    draining: MachineDraining = field(default_factory=MachineDraining)
    #: Name of a slot to its latches.
    latches: Mapping[str, Latches] = field(default_factory=dict)
    #: Dynamic slots, in the order in which they were cut.
    dynamic: tuple[DynamicShape, ...] = ()
    #: The first block of claim ids that is still unused.
    next_block: int = 1
    #: Static and partitionable slots: those that are held stay until their jobs are gone.
    fixed: tuple[SlotShape, ...] = field(default=(), metadata={"added": True})


def persisted(state: SlotState, ads: AdTexts | None = None) -> Plain:
    """The record of a slot; `ads` as for `to_plain`."""
    return {"format": _SLOT, "version": VERSION, "content": to_plain(state, _SENSED, ads)}


def restored(record: object, *, ad: ClassAd, machine: MachineFacts = NO_FACTS) -> SlotState:
    """The slot of a record, with a freshly polled ad and facts of the machine. Raises UnreadableRecord."""
    state = _content(record, _SLOT, SlotState, {"ad": ad, "machine": machine, "broken": None, "leaving": None})
    found = violations(state)
    if found:
        raise UnreadableRecord(f"{state.name} in {state.pair}: {'; '.join(found)}. {_REMEDY}")
    return state


def persisted_machine(record: MachineRecord) -> Plain:
    """The record of the state that slots share."""
    return {"format": _MACHINE, "version": VERSION, "content": to_plain(record)}


def restored_machine(record: object) -> MachineRecord:
    """The state that slots share, from a record. Raises UnreadableRecord."""
    return _content(record, _MACHINE, MachineRecord, {})


_REMEDY: Final = "Without this record, the daemon starts afresh and its claims end when their leases expire"


def _content(record: object, wanted: str, kind: type[T], given: Mapping[str, object]) -> T:
    if not isinstance(record, dict) or set(record) != {"format", "version", "content"} or record["format"] != wanted:
        raise UnreadableRecord(f"This is not the record of a {wanted.removeprefix('roost ')}. {_REMEDY}")
    if record["version"] != VERSION or isinstance(record["version"], bool):
        text = f"The record has version {record['version']!r}, and only {VERSION} can be read"
        raise UnreadableRecord(f"{text}: it was written by another version of Roost. {_REMEDY}")
    try:
        return from_plain(kind, record["content"], wanted.removeprefix("roost "), given)
    except PlainError as error:
        raise UnreadableRecord(f"{error}. {_REMEDY}") from error
