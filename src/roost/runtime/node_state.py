"""The state of a machine on disk: records of slots with jobs, and of what slots share, written soon after they change.

A run is only written down when it has lasted a while, so that short jobs cost nothing; a daemon killed before that
finds the record of the run, but no slot for it: it tells the run's end if there was one, and else ends
it (`takeover`). One around which hooks, prolog or epilog are run is written down before the first of them, and before
its program: what was begun for it is to be ended, and what is over is not to be begun again. What a run uses changes at
every poll, and is measured again after a start: it is only written down with other things, and once in a while for the
sake of its peaks.

Files are not forced to the disk: they are to outlive the daemon, not the machine, with which all jobs are gone anyway.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from roost.node.machine import Machine, NodeSlot
from roost.node.records import is_kept, machine_record, slot_record
from roost.runtime.clock import Clock
from roost.runtime.nats_server import write_private
from roost.runtime.reports import file_name
from roost.startd.slot_state import SlotState
from roost.starter.starter_state import StarterState

_log = logging.getLogger("roost.node")

#: How long writing is put off, s.
SETTLE_S: Final = 0.25
#: How long a run, or a claim without one, has lasted when it is written down, s.
RIPE_S: Final = 1.0

#: How long the record of a claim without a run is left as it is, s.
RESTED_S: Final = 5.0

#: How old the figures of a run may be in its record, s.
MEASURED_S: Final = 60.0

_SHARED: Final = "machine.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """What was written down of a slot last."""

    #: The claim and the run, "" for none.
    claim: str = ""
    run: str = ""
    #: When, epoch s.
    at: float = 0.0
    #: The slot and its starter without what is measured again; None for what an earlier daemon wrote.
    content: tuple[SlotState, StarterState | None] | None = None


class NodeState:
    """The records of one machine."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._directory = directory
        self._clock = clock
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._dirty: set[str] = set()
        self._written: dict[str, _Written] = {}
        self._soon: asyncio.TimerHandle | None = None

    def load(self) -> tuple[object, dict[str, object]]:
        """The record of the machine, and those of slots by their names."""
        shared = _read(self._directory / _SHARED)
        records: dict[str, object] = {}
        for path in sorted(self._directory.glob("*.slot")):
            record = _read(path)
            if isinstance(record, dict) and isinstance(record.get("name"), str):
                records[record["name"]] = record
                self._written[record["name"]] = _Written()
        return shared, records

    def restore(self, machine: Machine) -> None:
        """Write everything again if the directory was removed: without records no job would be adopted."""
        if self._directory.exists():
            return
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._written.clear()
        for slot in machine.slots:
            self.touch(slot, machine)

    def touch(self, slot: NodeSlot, machine: Machine) -> None:
        """A slot has changed."""
        self._dirty.add(slot.name)
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(SETTLE_S, self.write, machine)

    def starter_stepped(self, slot: NodeSlot, machine: Machine) -> None:
        """A starter has taken a step, whose orders are carried out next."""
        self.touch(slot, machine)
        if _is_attended(slot):
            content = self._written.get(slot.name, _Written()).content
            state = None if slot.starter is None else slot.starter.state
            if _begun(state) != _begun(None if content is None else content[1]):
                self.write(machine)

    def write(self, machine: Machine, unripe: bool = False) -> None:
        """Write what has changed; `unripe`: young runs, too, for there is no later."""
        self.close()
        self._soon = None
        dirty, self._dirty = self._dirty, set()
        slots = {slot.name: slot for slot in machine.slots if is_kept(slot)}
        now = self._clock.now()
        changed: list[NodeSlot] = []
        for name in sorted(dirty & set(slots)):
            if not unripe and not self._is_due(slots[name], now):
                self.touch(slots[name], machine)
            elif not unripe and self._is_fresh(name, _content(slots[name]), now):
                self._dirty.add(name)
            else:
                changed.append(slots[name])
        gone = sorted(set(self._written) - set(slots))
        try:
            if changed or gone:
                # Before the slots: the record of one that it does not know is worth nothing.
                write_private(self._directory / _SHARED, json.dumps(machine_record(machine)))
            for slot in changed:
                self._keep(slot, now)
            for name in gone:
                self._path(name).unlink(missing_ok=True)
                del self._written[name]
        except OSError as error:
            _log.error("the state of the machine can't be kept: %s", error)

    def _keep(self, slot: NodeSlot, now: float) -> None:
        record: dict[str, Any] = {"name": slot.name, **slot_record(slot)}  # type: ignore[dict-item]
        write_private(self._path(slot.name), json.dumps(record))
        claim, run = _kept_by(slot)
        self._written[slot.name] = _Written(claim=claim, run=run, at=now, content=_content(slot))

    def _is_due(self, slot: NodeSlot, now: float) -> bool:
        """Whether a slot is to be written down now; a claim between two runs is as it was between the last two."""
        last = self._written.get(slot.name, _Written())
        rests = (last.claim, last.run) == _kept_by(slot) and not last.run and abs(now - last.at) < RESTED_S
        return not rests and _is_ripe(slot, now)

    def _is_fresh(self, name: str, content: tuple[SlotState, StarterState | None], now: float) -> bool:
        """Whether the record of a slot says what a restart needs."""
        last = self._written.get(name)
        return last is not None and last.content == content and abs(now - last.at) < MEASURED_S

    def close(self) -> None:
        """Write no more."""
        if self._soon is not None:
            self._soon.cancel()

    def _path(self, name: str) -> Path:
        return self._directory / f"{file_name(name)}.slot"


def _kept_by(slot: NodeSlot) -> tuple[str, str]:
    """The claim and the run of a slot."""
    return slot.state.claim.id.text, "" if slot.starter is None else slot.run


def _content(slot: NodeSlot) -> tuple[SlotState, StarterState | None]:
    """A slot and its starter, without what is measured again and timers that come again anyway."""
    if slot.starter is None:
        return slot.state, None
    state = slot.starter.state
    deadlines = replace(state.deadlines, poll_at=None, update_at=None)
    return slot.state, replace(state, usage=None, deadlines=deadlines)


def _is_ripe(slot: NodeSlot, now: float) -> bool:
    claim = slot.state.claim
    if claim.activation is not None:
        return now - claim.activation.started_at >= RIPE_S or _is_attended(slot)
    return claim.granted_at is None or now - claim.granted_at >= RIPE_S


def _is_attended(slot: NodeSlot) -> bool:
    """Whether programs of others are run around the job of a slot."""
    starter = slot.starter
    if starter is None:
        return False
    policy = starter.policy
    return bool(policy.hooks.get(starter.state.hook_keyword) or policy.prolog or policy.epilog)


def _begun(state: StarterState | None) -> tuple[bool, bool, int]:
    """What a starter has had begun that may not be forgotten: hooks, the prolog, how many starts of the program."""
    return (False, False, 0) if state is None else (state.hooked, state.prolog_begun, state.run)


def _read(path: Path) -> object:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        _log.error("%s can't be read: %s", path, error)
        return None
