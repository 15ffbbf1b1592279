"""The state of a machine on disk: records of slots with jobs, and of the state that slots share, written soon after
changes.

The file of a slot is written only when its run has lasted a while, so that short jobs cost nothing. The state of slot
and starter before the program is started is in the record of the run itself (`records`), to which appending a line is
cheap; so every program is in one of the two. The same is recorded before the first of the hooks, prolog and epilog
around a job, because what was begun must be ended, and what is over must not be begun again; and before and after each
method of its queue instance, and before a job is notified. Of file and line the later one counts. A run's usage changes
at every poll, and is measured again after a restart: it is only written together with other changes, and once in a
while because of its maxima.

Files are not forced to disk: they must survive the daemon, not the machine, with which all jobs are gone anyway.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from roost.base.records import dataclass, replace
from roost.model.plain import AdTexts
from roost.model.starter import Method
from roost.node.machine import Machine, NodeSlot
from roost.node.records import is_kept, machine_record, slot_record
from roost.runtime.bus.server import write_private
from roost.runtime.clock import Clock
from roost.runtime.node.runs.reports import Reports, file_name
from roost.runtime.processes.run_records import RunRecord
from roost.runtime.processes.shepherd.processes import boot_id
from roost.startd.slot_state import SlotState
from roost.startd.states import BUSY
from roost.starter.starter_state import StarterState

_log = logging.getLogger("roost.node")

#: Delay before writing, s.
SETTLE_S: Final = 0.25
#: Minimum age of a run, or of a claim without one, before the file of its slot is written, s.
RIPE_S: Final = 1.0

#: How long the record of a claim without a run is left unchanged, s.
RESTED_S: Final = 5.0

#: Maximum age of a run's usage in its record, s.
MEASURED_S: Final = 60.0

_SHARED: Final = "machine.json"
_BIRTH: Final = "birth"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """The last written state of a slot."""

    #: The claim and the run, "" for none.
    claim: str = ""
    run: str = ""
    #: Time of writing, epoch s.
    at: float = 0.0
    #: The slot and its starter without what is measured again; None if an earlier daemon wrote it.
    content: tuple[SlotState, StarterState | None] | None = None


class NodeState:
    """The records of one machine."""

    def __init__(self, directory: Path, clock: Clock, reports: Reports) -> None:
        self._directory = directory
        self._clock = clock
        self._reports = reports
        #: Slot to its run and what had been begun for it at the last writing, to a file or as a line.
        self._begun: dict[str, tuple[str, _Begun]] = {}
        #: Slot to the ads of its last record.
        self._ads: dict[str, AdTexts] = {}
        self._boot = boot_id()
        #: The last written state that slots share, except what changes at every poll.
        self._shared: object = None
        # A failure now is retried at each poll (`restore`).
        with contextlib.suppress(OSError):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._dirty: set[str] = set()
        self._written: dict[str, _Written] = {}
        self._soon: asyncio.TimerHandle | None = None

    def load(self, runs: Mapping[str, RunRecord]) -> tuple[object, dict[str, object]]:
        """Return the record of the machine, and those of slots by name; `runs` are the records of runs."""
        shared = _read(self._directory / _SHARED)
        records: dict[str, dict[str, Any]] = {}
        for path in sorted(self._directory.glob("*.slot")):
            record = _read(path)
            if isinstance(record, dict) and isinstance(record.get("name"), str):
                records[record["name"]] = record
                self._written[record["name"]] = _Written()
        for run, each in runs.items():
            record = each.slot
            name = record.get("name")
            if each.report is not None or record.get("run") != run:
                # Over, or nothing was begun for it.
                continue
            if isinstance(name, str) and _at(record) >= _at(records.get(name, {})):
                records[name] = record
        return shared, {**records}

    def next_birth(self) -> int:
        """A unique time of the daemon's start, epoch s, or later: no two daemons of the machine have the same.

        Claim ids begin with it. If they repeated those of an earlier daemon, which may have been killed within the same
        second or whose clock was set back since, a message about a claim of that daemon would reach another slot.
        """
        path = self._directory / _BIRTH
        birth = int(self._clock.now())
        with contextlib.suppress(OSError, ValueError):
            birth = max(birth, int(path.read_text()) + 1)
        try:
            write_private(path, str(birth))
        except OSError as error:
            _log.error("cannot write %s: %s", path, error.strerror)
        return birth

    def restore(self, machine: Machine) -> None:
        """Write everything again if the directory was removed: without records no job would be adopted."""
        try:
            if self._directory.exists():
                return
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            # The next poll retries.
            _log.error("cannot save the state of the machine: %s", error)
            return
        self._written.clear()
        for slot in machine.slots:
            self.touch(slot, machine)

    def touch(self, slot: NodeSlot, machine: Machine) -> None:
        """Note that a slot has changed."""
        self._dirty.add(slot.name)
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(SETTLE_S, self.write, machine)

    def starter_stepped(self, slot: NodeSlot, machine: Machine) -> None:
        """Record a step of a starter, whose effects are carried out next."""
        self.touch(slot, machine)
        begun = slot.run_name, _begun(None if slot.starter is None else slot.starter.state)
        if begun[1] == _NOTHING or begun == self._begun.get(slot.name):
            return
        self._begun[slot.name] = begun
        shared = _shape(machine)
        if shared != self._shared:
            try:
                self._keep_shared(machine)
            except OSError as error:
                # The run's record cannot be written either, and then nothing is begun.
                _log.error("cannot save the state of the machine: %s", error)
        self._reports.begins_program(slot.run_name, self._record(slot))

    def write(self, machine: Machine, unripe: bool = False) -> None:
        """Write what has changed; `unripe`: also young runs, because there is no later opportunity."""
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
                # Before the slots: the record of a slot is useless if it does not list that slot.
                self._keep_shared(machine)
            for slot in changed:
                self._keep(slot, now)
            for name in gone:
                self._path(name).unlink(missing_ok=True)
                del self._written[name]
                self._begun.pop(name, None)
                self._ads.pop(name, None)
        except OSError as error:
            _log.error("cannot save the state of the machine: %s", error)

    def keep_claim(self, slot: NodeSlot, machine: Machine) -> None:
        """Write a claim without a run at once, because slave tasks begin on it. Raises OSError."""
        if slot.starter is None and self._written.get(slot.name, _Written()).claim != slot.state.claim.id.text:
            self._keep_shared(machine)
            self._keep(slot, self._clock.now())

    def _keep_shared(self, machine: Machine) -> None:
        write_private(self._directory / _SHARED, json.dumps(machine_record(machine)))
        self._shared = _shape(machine)

    def _keep(self, slot: NodeSlot, now: float) -> None:
        write_private(self._path(slot.name), json.dumps(self._record(slot)))
        claim, run = _kept_by(slot)
        self._written[slot.name] = _Written(claim=claim, run=run, at=now, content=_content(slot))

    def _record(self, slot: NodeSlot) -> dict[str, Any]:
        ads = self._ads.get(slot.name)
        if ads is None:
            ads = self._ads[slot.name] = AdTexts()
        # Time since boot, independent of changes of the clock: processes live no longer either.
        return {"name": slot.name, "boot": self._boot, "at": time.monotonic(), **slot_record(slot, ads)}

    def _is_due(self, slot: NodeSlot, now: float) -> bool:
        """Whether a slot must be written now; a claim between two runs is unchanged since the previous gap."""
        last = self._written.get(slot.name, _Written())
        rests = (last.claim, last.run) == _kept_by(slot) and not last.run and abs(now - last.at) < RESTED_S
        return not rests and _is_ripe(slot, now)

    def _is_fresh(self, name: str, content: tuple[SlotState, StarterState | None], now: float) -> bool:
        """Whether the record of a slot has what a restart needs."""
        last = self._written.get(name)
        return last is not None and last.content == content and abs(now - last.at) < MEASURED_S

    def close(self) -> None:
        """Stop writing."""
        if self._soon is not None:
            self._soon.cancel()

    def _path(self, name: str) -> Path:
        return self._directory / f"{file_name(name)}.slot"


def _kept_by(slot: NodeSlot) -> tuple[str, str]:
    """The claim and the run of a slot."""
    return slot.state.claim.id.text, "" if slot.starter is None else slot.run_name


def _content(slot: NodeSlot) -> tuple[SlotState, StarterState | None]:
    """A slot and its starter, without what is measured again and timers that are set again anyway."""
    if slot.starter is None:
        return slot.state, None
    state = slot.starter.state
    deadlines = replace(state.deadlines, poll_at=None, update_at=None)
    return slot.state, replace(state, usage=None, deadlines=deadlines)


def _is_ripe(slot: NodeSlot, now: float) -> bool:
    claim = slot.state.claim
    if claim.activation is not None:
        return now - claim.activation.started_at >= RIPE_S or not _goes_well(slot)
    return claim.granted_at is None or now - claim.granted_at >= RIPE_S


def _goes_well(slot: NodeSlot) -> bool:
    """Whether nothing was asked of the job except to run."""
    state = None if slot.starter is None else slot.starter.state
    return slot.state.pair == BUSY and (state is None or not (state.suspend_wanted or state.frozen or state.cause))


#: Work begun by a starter that must not be forgotten: hooks, the prolog, how often the program was started, methods of
#: the queue instance, notifications, and that the job is being ended.
_Begun: TypeAlias = tuple[bool, bool, bool, int, tuple[Method, ...], Method | None, bool]
_NOTHING: Final[_Begun] = (False, False, False, 0, (), None, False)


def _begun(state: StarterState | None) -> _Begun:
    if state is None:
        return _NOTHING
    around = state.hooked, state.prolog_begun, state.environment_begun, state.run
    return (*around, state.methods, state.notice, state.terminating)


def _shape(machine: Machine) -> object:
    """The dynamic slots, and names of claims: without them no dynamic slot can be resumed."""
    accounts = machine.host.dynamic_slots
    assert accounts is not None
    slots = accounts.slots
    return tuple(slots.dynamic.values()), tuple(slots.fixed.values()), accounts.next_block


def _at(record: Mapping[str, object]) -> float:
    """When a record was written, as time since boot; 0 if before that."""
    at = record.get("at")
    return at if isinstance(at, float) and record.get("boot") == boot_id() else 0.0


def _read(path: Path) -> object:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        _log.error("%s cannot be read: %s", path, error)
        return None
