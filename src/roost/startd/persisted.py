"""What an execute machine writes down, so that it goes on after it was killed.

Two kinds of record, plain data both (`roost.model.plain`): one for each slot (`persisted`, `restored`) and one for what
the slots of a machine share (`persisted_machine`, `restored_machine`). They hold claims and their leases, jobs, states
with their times, drains, latches, and which dynamic slots there are. They do not hold what is found anew: configuration
and policy, readings of sensors, layouts.

Write the record before carrying out the orders of the step that led to it. A daemon that is killed in between leaves
orders that were never carried out; `resumption` gives them again.

Claim ids are in the records with their secrets: a file with them is for the daemon's own account only.

What is read is checked member by member, and then as a whole by the invariants of a slot. A record that does not pass
is not used at all: the daemon can begin anew, in which case the claims that it held end by their leases.
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

#: Fields of a slot that its next poll gives it; that it is broken, which the administrator who starts the daemon
#: anew has looked at; and that it leaves, which follows from the configuration.
_SENSED: Final = frozenset(("ad", "machine", "broken", "leaving"))

T = TypeVar("T")


class UnreadableRecord(ValueError):
    """A record that cannot be gone on from; the message says where the mistake is and what can be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRecord:
    """What the slots of a machine share."""

    draining: MachineDraining = field(default_factory=MachineDraining)
    #: Name of a slot to its latches.
    latches: Mapping[str, Latches] = field(default_factory=dict)
    #: Dynamic slots, in the order in which they were cut.
    dynamic: tuple[DynamicShape, ...] = ()
    #: The first block of claim ids that no slot has had.
    next_block: int = 1
    #: Static and partitionable slots: those that are held stay until their jobs are gone.
    fixed: tuple[SlotShape, ...] = field(default=(), metadata={"added": True})


def persisted(state: SlotState, ads: AdTexts | None = None) -> Plain:
    """The record of a slot; `ads` as for `to_plain`."""
    return {"format": _SLOT, "version": VERSION, "content": to_plain(state, _SENSED, ads)}


def restored(record: object, *, ad: ClassAd, machine: MachineFacts = NO_FACTS) -> SlotState:
    """The slot of a record, with the ad and the facts of a fresh look at the machine. Raises UnreadableRecord."""
    state = _content(record, _SLOT, SlotState, {"ad": ad, "machine": machine, "broken": None, "leaving": None})
    found = violations(state)
    if found:
        raise UnreadableRecord(f"{state.name} in {state.pair}: {'; '.join(found)}. {_REMEDY}")
    return state


def persisted_machine(record: MachineRecord) -> Plain:
    """The record of what slots share."""
    return {"format": _MACHINE, "version": VERSION, "content": to_plain(record)}


def restored_machine(record: object) -> MachineRecord:
    """What slots share, of a record. Raises UnreadableRecord."""
    return _content(record, _MACHINE, MachineRecord, {})


_REMEDY: Final = "Without this record the daemon begins anew, and its claims end by their leases"


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
