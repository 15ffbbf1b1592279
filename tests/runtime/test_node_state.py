"""When the state of a machine is written to disk."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from roost.classad import ClassAd
from roost.model import events as ev
from roost.model import starter_events as sev
from roost.model.starter import ScriptPoint, Usage
from roost.node.machine import Machine
from roost.node.records import starter_of
from roost.runtime.clock import Clock
from roost.runtime.node import state as node_state
from roost.runtime.node.runs.reports import Reports
from roost.runtime.node.state import MEASURED_S, RIPE_S, SETTLE_S, NodeState
from roost.runtime.processes.run_records import read_record
from roost.runtime.processes.shepherd.processes import boot_id
from roost.wire.messages import RunEnded
from tests.node.kit import NOW, granted, machine, started, starter_hears

RUN = "1.0#1@q"


class At(Clock):
    """A clock that stands still until it is set."""

    time = NOW

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        return self.time


class Kept:
    """A machine whose job runs, and what is on its disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = At()
        self.reports = Reports(path)
        self.state = NodeState(path, self.clock, self.reports)
        self.machine: Machine = machine()
        (self.slot, *_) = self.machine.slots
        started(self.machine, granted(self.machine, self.slot), RUN)
        self.pass_(RIPE_S + 1)

    def pass_(self, seconds: float) -> None:
        """Time goes on, and what has changed is written if it is to be."""
        self.clock.time += seconds
        self.state._dirty.add(self.slot.name)
        self.state.write(self.machine)

    def sampled(self, cpu_s: float) -> None:
        """The job was measured."""
        usage = Usage(user_cpu_s=cpu_s, system_cpu_s=0.0, resident_kib=100, image_size_kib=100, process_count=1)
        starter_hears(self.machine, RUN, sev.UsageSampled(run=1, usage=usage), self.clock.time)

    @property
    def record(self) -> tuple[int, str]:
        """Which file it is, for each record is a new one, and what it says."""
        (file,) = self.path.glob("*.slot")
        return file.stat().st_mtime_ns, file.read_text()


def test_what_a_run_uses_is_not_written_at_every_poll(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    before = kept.record
    for poll in range(1, 6):
        kept.sampled(5.0 * poll)
        kept.pass_(5)
    assert kept.record == before


def test_what_a_run_uses_is_written_once_in_a_while_and_when_the_daemon_leaves(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.sampled(4321.0)
    kept.pass_(MEASURED_S)
    assert "4321" in kept.record[1]
    kept.sampled(6543.0)
    kept.pass_(1)
    assert "6543" not in kept.record[1]
    kept.state.write(kept.machine, unripe=True)
    assert "6543" in kept.record[1]


def test_whatever_a_restart_needs_is_written_when_it_changes(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    before = kept.record
    claim_id = kept.slot.state.claim.id
    kept.machine.host.receive(kept.slot, ev.AliveReceived(claim_id=claim_id), kept.clock.time)
    kept.pass_(1)
    renewed = kept.record
    assert renewed != before
    kept.machine.host.receive(kept.slot, ev.SuspendRequested(claim_id=claim_id), kept.clock.time)
    kept.pass_(1)
    assert kept.record != renewed


def test_what_slots_share_is_written_before_them_for_a_daemon_may_be_killed_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    write = node_state.write_private

    def noted(path: Path, text: str) -> None:
        written.append(path.name)
        write(path, text)

    monkeypatch.setattr(node_state, "write_private", noted)
    kept = Kept(tmp_path)
    assert written == ["machine.json", kept.state._path(kept.slot.name).name]


def test_changes_within_a_moment_are_written_together(tmp_path: Path) -> None:
    async def changes() -> None:
        kept = Kept(tmp_path)
        for _ in range(3):
            kept.state.touch(kept.slot, kept.machine)
        assert kept.state._soon is not None
        assert kept.state._soon.when() <= asyncio.get_running_loop().time() + SETTLE_S
        kept.state.close()

    asyncio.run(changes())


def _stages(text: str, path: Path) -> list[int]:
    """How many starts of the program the run's record knows of after each step; below 0 where it knows nothing."""
    made = machine(text)
    (slot, *_) = made.slots
    reports, seen = Reports(path), []
    state = NodeState(path, At(), reports)
    made.activate(granted(made, slot), RUN, ClassAd({"Cmd": "/bin/true", "ShouldTransferFiles": "NO"}), NOW)
    for event in (sev.SandboxMade(), sev.ScriptEnded(point=ScriptPoint.PROLOG, status=0)):
        if text or not seen:
            starter_hears(made, RUN, event, NOW)
            state.starter_stepped(slot, made)
            record = read_record(reports.record(RUN)).slot
            seen.append(starter_of(record).run if record else -1)
    state.close()
    assert not list(path.glob("*.slot")), "that of the slot is not written for a run that is young"
    assert (path / "machine.json").exists(), "nor can a slot be gone on with that was cut and is not known"
    return seen


def test_a_run_is_written_down_before_anything_is_begun_for_it(tmp_path: Path) -> None:
    async def stages() -> None:
        assert _stages("STARTER_PROLOG = /bin/true", tmp_path / "a") == [0, 1]
        assert _stages("", tmp_path / "b") == [1]

    asyncio.run(stages())


def test_of_file_and_line_the_later_one_counts(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.reports.begins_program(RUN, {"name": kept.slot.name, "run": RUN, "slot": {}, "boot": boot_id(), "at": 1e18})
    for boot, later in (("another boot of the machine", False), (boot_id(), True)):
        line = {"name": kept.slot.name, "run": RUN, "slot": {"later": True}, "boot": boot, "at": 1e18}
        kept.reports.begins_program(RUN, line)
        _, found = kept.state.load({RUN: read_record(kept.reports.record(RUN))})
        record = found[kept.slot.name]
        assert isinstance(record, dict) and (record["slot"] == {"later": True}) == later
    kept.reports.keep("q", RunEnded(claim_id="", run=RUN, at=1.0, ending="exit", started=True))
    _, found = kept.state.load({RUN: read_record(kept.reports.record(RUN))})
    record = found[kept.slot.name]
    assert isinstance(record, dict) and record["slot"] != {"later": True}, "a run whose end is told is over"


def test_where_a_run_cannot_be_written_down_its_program_is_not_started(tmp_path: Path) -> None:
    reports = Reports(tmp_path / "absent")
    reports.begins_program(RUN, {})
    assert "cannot write" in reports.problem(RUN) and "No such file" in reports.problem(RUN)
    (tmp_path / "absent").mkdir()
    reports.begins_program(RUN, {})
    assert reports.problem(RUN) == ""


def test_daemons_of_a_machine_have_different_births_also_within_a_second_and_after_a_clock_was_set_back(
    tmp_path: Path,
) -> None:
    clock = At()

    def birth(time: float) -> int:
        clock.time = time
        return NodeState(tmp_path, clock, Reports(tmp_path)).next_birth()

    assert [birth(time) for time in (100.2, 100.9, 50.0, 200.0)] == [100, 101, 102, 200]


def test_a_damaged_record_of_the_birth_is_replaced(tmp_path: Path) -> None:
    clock = At()
    (tmp_path / "birth").write_text("?")
    assert NodeState(tmp_path, clock, Reports(tmp_path)).next_birth() == int(clock.time)
    assert (tmp_path / "birth").read_text() == str(int(clock.time))
