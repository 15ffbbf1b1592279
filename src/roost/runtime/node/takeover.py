"""Handling the runs of an earlier daemon when a node daemon starts: adopting them, or ending them.

The earlier daemon stored the state of its machine (`node_state`) and, with its shepherds, a record of every run
(`records`). Slot and starter are in one or the other from before a program is started until the queue has been notified
of its end, so a run continues where it was: its processes are unaffected, and the output of a job that has ended
meanwhile is delivered as usual. A run whose slot no longer exists, because the machine has other slots now, is killed
and removed; its queue learns that it ended only if a shepherd observed that and there was nothing to deliver, and
otherwise that it has to run again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from roost.model.codes import VacateCode
from roost.model.starter import Ending
from roost.model.starter_effects import StartJob
from roost.node.machine import NodeSlot
from roost.node.records import UnreadableRecord, left_slots, restore, starter_of
from roost.runtime.node.runs.job_tasks import SLAVES
from roost.runtime.node.runs.job_tmpdir import LISTED, remove_tmpdir
from roost.runtime.node.runs.reports import file_name
from roost.runtime.node.runs.reused_sandboxes import ASIDE
from roost.runtime.node.runs.runner import BASELINE
from roost.runtime.processes.family import Family, adopt, bury
from roost.runtime.processes.hook_programs import remove_hook_calls
from roost.runtime.processes.run_records import RunRecord
from roost.runtime.processes.sandbox import remove_tree
from roost.runtime.processes.shepherd.processes import marks
from roost.runtime.processes.spawn_order import ProcessEnd, key_of
from roost.starter.persisted import UnreadableStarter
from roost.starter.transfer_plan import moves_files
from roost.wire.messages import ClaimGone, RunEnded

if TYPE_CHECKING:
    from roost.config import Config
    from roost.node.machine import Machine, Outs
    from roost.node.plan import NodePlan
    from roost.runtime.clock import Clock
    from roost.runtime.node.outbox import Outbox
    from roost.runtime.node.runs.reports import Reports
    from roost.runtime.node.runs.scratch import Scratch
    from roost.runtime.node.starter_orders import StarterOrders
    from roost.runtime.node.state import NodeState
    from roost.runtime.node.tasks.slave_tasks import SlaveTasks
    from roost.runtime.role import RoleContext
    from roost.startd.layout.change import PresentLayout

_log = logging.getLogger("roost.node")


class TakeoverDaemon(Protocol):
    """The interface of the machine's daemon for adopting earlier runs."""

    context: RoleContext
    clock: Clock
    machine: Machine
    starter_orders: StarterOrders
    outbox: Outbox
    reports: Reports
    scratch: Scratch
    slave_tasks: SlaveTasks
    state: NodeState

    def plan_with(self, present: PresentLayout, config: Config | None = None) -> NodePlan:
        """The plan of a machine that already has slots."""

    def carry_out(self, outs: Outs | None) -> None:
        """Carry out the effects of the machine's core."""


async def take_over(daemon: TakeoverDaemon, records: Mapping[str, RunRecord]) -> None:
    """Adopt or end what an earlier daemon left; `records` are those of its runs."""
    home, machine = daemon.context.home, daemon.machine
    await remove_hook_calls(home.execute)
    for run in records:
        machine.was_named(run)
    shared, slots = daemon.state.load(records)
    doubtful = await _end_unrecorded(daemon, records) or bool(daemon.reports.unreadable())
    if shared is not None:
        left = left_slots(machine, shared, slots)
        plan = None if left is None else daemon.plan_with(left)
        if left is not None and plan is not None:
            machine.start_with(plan, left.slots.values(), daemon.clock.now())
        told = frozenset(run for run, record in records.items() if record.ticket and record.report is None)
        outs, problems = restore(machine, shared, slots, told, daemon.clock.now())
        for problem in problems:
            _log.error("cannot use the saved state of a slot: %s", problem)
        again = {out.slot.name for out in outs if isinstance(out.effect, StartJob)}
        for slot in [slot for slot in machine.slots if slot.starter is not None]:
            await _adopt(daemon, slot, records.get(slot.run_name, RunRecord()), starts=slot.name in again)
        daemon.carry_out(outs)
        _report_unrecorded(daemon, records, slots, doubtful=doubtful)
        if plan is not None:
            daemon.carry_out(machine.reconfigure(plan, daemon.clock.now()))
    here = {slot.run_name for slot in machine.slots if slot.starter is not None}
    for run, record in records.items():
        if run not in here:
            await _end(daemon, run, record)
    await _clear(daemon, {file_name(run) for run in here}, daemon.slave_tasks.load())


async def _end_unrecorded(daemon: TakeoverDaemon, records: Mapping[str, RunRecord]) -> bool:
    """End the remains of runs whose records are gone or cannot be read: their queues will run the jobs again.

    Returns whether there were any.
    """
    jobs = daemon.context.home.jobs
    keys = {key for mark in await asyncio.to_thread(marks) if (key := key_of(mark, jobs))}
    unrecorded = {key: run for key in sorted(keys) if (run := key.rpartition("/")[0] or key) not in records}
    for key, run in unrecorded.items():
        _log.warning("run %s has no readable record; killing its remaining processes", run)
        await asyncio.to_thread(bury, daemon.reports.record(run), key, None)
    return bool(unrecorded)


def _report_unrecorded(
    daemon: TakeoverDaemon, records: Mapping[str, RunRecord], slots: Mapping[str, object], *, doubtful: bool
) -> None:
    """Notify queues of runs whose records are gone, while their slots have the claims, so that they need not ask first.

    A queue ignores this for a run that it knows to be over. `doubtful`: the record of a later run on the same claim may
    be among those that are lost, so the claim is ended, and with it any run on it.
    """
    for slot in daemon.machine.slots:
        kept = slots.get(slot.name)
        if slot.starter is not None or not slot.schedd or not isinstance(kept, dict) or kept.get("starter") is None:
            continue
        run = str(kept.get("run", ""))
        if not run or run in records or run in daemon.reports:
            continue
        try:
            began = starter_of(kept).started_at is not None
        except (UnreadableRecord, UnreadableStarter, KeyError):
            began = True
        ticket = {"claim_id": slot.state.claim.id.text, "slot": slot.name}
        report = _report(run, ticket, None, began, daemon.clock.now())
        daemon.outbox.report(slot.schedd, report)
        if doubtful:
            gone = ClaimGone(claim_id=report.claim_id, reason=report.text, code=report.code)
            daemon.outbox.to_queue(slot.schedd, gone)


async def _adopt(daemon: TakeoverDaemon, slot: NodeSlot, record: RunRecord, *, starts: bool) -> None:
    """Give a starter a runner again, with its job; a starter that `starts` its program again finds it then."""
    starter = slot.starter
    assert starter is not None
    daemon.reports.resume(slot.run_name)
    runner = daemon.starter_orders.runner_of(slot, starter, resumed=True)
    runner.resume(starter.state)
    number = starter.state.run
    key = f"{slot.run_name}/{number}"
    if starter.state.process and key in record.keys and not starts:
        family = await adopt(runner.record, key)
        if isinstance(family, Family):
            runner.adopted(family, number)
            _log.info("%s: run %s continues", slot.name, slot.run_name)


async def _end(daemon: TakeoverDaemon, run: str, record: RunRecord) -> None:
    """End a run that no longer belongs to a slot, and notify its queue."""
    end: ProcessEnd | None = None
    for key in record.keys:
        found = await adopt(daemon.reports.record(run), key)
        end = None
        if isinstance(found, Family):
            ended = found.is_ended
            if not ended:
                await found.kill()
            outcome = await found.wait()
            end = outcome if ended and outcome.is_seen and _has_nothing_to_deliver(record) else None
    ticket = record.ticket
    if run not in daemon.reports and ticket.get("schedd"):
        daemon.reports.keep(ticket["schedd"], _report(run, ticket, end, bool(record.starts), daemon.clock.now()))
    if record.report is None:
        _log.warning("run %sno longer belongs to a slot; %s", run, "its end was seen" if end else "it is being killed")
    daemon.reports.done(run)


def _has_nothing_to_deliver(record: RunRecord) -> bool:
    """Whether the end of the program was that of the run: no output to transfer, and no program to run afterwards."""
    try:
        state = starter_of(record.slot)
    except (UnreadableRecord, UnreadableStarter, KeyError):
        return False
    attended = state.hooked or state.prolog_begun or state.environment_begun or state.hook_keyword
    return not attended and not moves_files(state.job_ad, state.launch.shares, from_queue=state.launch.from_queue)


def _report(run: str, ticket: Mapping[str, str], end: ProcessEnd | None, began: bool, now: float) -> RunEnded:
    if end is None:
        return RunEnded(
            claim_id=ticket.get("claim_id", ""),
            run=run,
            at=now,
            ending=str(Ending.EVICT),
            started=began,
            code=int(VacateCode.STARTER_ERROR),
            text="the machine's daemon was killed, and the run could not be taken over",
            slot=ticket.get("slot", ""),
        )
    return RunEnded(
        claim_id=ticket.get("claim_id", ""),
        run=run,
        at=end.ended_at or now,
        ending=str(Ending.EXIT),
        started=True,
        exit_code=end.exit_code,
        exit_signal=end.signal,
        core_dumped=end.core_dumped,
        slot=ticket.get("slot", ""),
        attributes={"RemoteUserCpu": end.user_cpu_s, "RemoteSysCpu": end.system_cpu_s},
    )


async def _clear(daemon: TakeoverDaemon, kept: set[str], of_tasks: set[str]) -> None:
    """Remove the remains of other runs."""
    home = daemon.context.home
    for listed in (*home.jobs.glob(f"*{BASELINE}"), *home.jobs.glob(f"*{SLAVES}")):
        if listed.stem not in kept:
            with contextlib.suppress(OSError):
                listed.unlink(missing_ok=True)
    for listed in home.jobs.glob(f"*{LISTED}"):
        if listed.stem not in kept and (problem := await asyncio.to_thread(remove_tmpdir, listed)):
            _log.warning("%s", problem)
    for execute in daemon.scratch.known:
        await asyncio.to_thread(remove_tree, execute / ASIDE)
        for left in sorted(execute.glob("dir_*")):
            if left.name.removeprefix("dir_") not in kept | of_tasks:
                problem = await asyncio.to_thread(remove_tree, left)
                if problem:
                    _log.warning("%s", problem)
    daemon.scratch.forget_empty()
