"""One run of a job on a slot: the effects of its starter, carried out with a simulated process.

The result of an effect goes back to the starter's core. The process is measured whenever the core evaluates its policy
or makes a report.

Events that cannot matter are left out. The core sets a timer every few seconds for its policy, and every few minutes
for a report; `starter_quiescence` says until when they change nothing, and only the timer of the first one that may
matter fires. Before an event reaches the core, its deadlines are moved to where they would have been (`catch_up`).

Hooks, prolog and epilog do what `scripts` says. Transfers of files never fail.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from roost.base.fast_records import replace
from roost.classad import ClassAd
from roost.model import effects as slot_ef
from roost.model import starter_effects as ef
from roost.model import starter_events as ev
from roost.model.starter import Ending, ExitReport, HookPoint, Method, StarterTimer, Usage
from roost.node.host_slots import Starter
from roost.sim.engine import RANK_STARTER
from roost.sim.inputs.workload import Job
from roost.sim.machine.process import End, Process
from roost.sim.machine.starter_quiescence import asked_for, poll_matters_at, report_matters_at
from roost.starter.queue_environment import task_of
from roost.starter.scripts import expanded
from roost.starter.states import State

if TYPE_CHECKING:
    from roost.sim.machine.host import Machine, SimulatedSlot


#: Hooks whose output changes the job's ad.
_CHANGES: Final = (HookPoint.PREPARE_EARLY, HookPoint.PREPARE)
#: Effects of polls that may be left out; no death happens between them, because it would then happen elsewhere.
REPEATED: Final = (ef.SetStarterTimer, ef.CancelStarterTimer, ef.ReportUsage, ef.Warn, slot_ef.WarnOfExpression)
#: Number of the process, which has no effect.
_PID: Final = 1000
#: Initial number of settings of each timer.
_UNSET: Final = dict.fromkeys(StarterTimer, 0)
_TIMERS: Final = tuple(StarterTimer)
#: The timers that `Run.plan_anew` sets.
_PLANNED: Final = (StarterTimer.POLL, StarterTimer.UPDATE)
#: More than the number of slots of any machine.
_SLOTS: Final = 1 << 20

_OUTCOMES: Final = {Ending.EXIT: "completed", Ending.EVICT: "evicted", Ending.HOLD: "held", Ending.REMOVE: "evicted"}


class Run:
    """One run."""

    __slots__ = (
        "_asking", "_crash_in", "_finished", "_timers", "_work", "asked_for", "checkpoints", "engine", "machine",
        "process", "reported", "slot", "starter",
    )  # fmt: skip

    def __init__(self, slot: SimulatedSlot, starter: Starter, job: Job, done_s: float, crash_in: int | None) -> None:
        self.slot = slot
        self.machine: Machine = slot.machine
        self.engine = self.machine.engine
        self.starter = starter
        self.process = Process(self.engine, job, done_s, self._ended, self._stretch)
        #: Number of saved states of the job.
        self.checkpoints = 0
        #: Names of reported attributes to which expressions refer, and the policy and the job of those expressions.
        self._asking = slot.plan.policy.expressions, starter.state.job_ad
        self.asked_for = asked_for(*self._asking)
        #: The slot's last report of the job.
        self.reported: ClassAd = starter.state.job_ad
        #: Number of the only current setting of each timer, and of each kind of work.
        self._timers = _UNSET.copy()
        self._work = 0
        #: Number of effects until it dies by itself; None if it does not.
        self._crash_in = crash_in
        #: The end of the run is recorded.
        self._finished = False

    def tell(self, event: ev.StarterEvent, now: float) -> None:
        """Deliver an event to the starter."""
        self.machine.tell_starter(self.slot, self.starter, event, now)

    # -- orders ------------------------------------------------------------------------------------------

    def perform(self, effect: ef.StarterEffect, now: float) -> None:
        """Carry out an effect of the starter, unless it dies before."""
        if self._crash_in is not None and not isinstance(effect, REPEATED):
            self._crash_in -= 1
            if self._crash_in < 0:
                self._crash_in = None
                self.crash(now)
        if not self._finished or isinstance(effect, ef.RemoveSandbox):
            self._perform(effect, now)

    def _perform(self, effect: ef.StarterEffect, now: float) -> None:
        truth = self.process.job.truth
        match effect:
            case ef.SetStarterTimer(timer=timer, at=at):
                if timer in _PLANNED and self.machine.plans_anew(self):
                    self._timers[timer] += 1
                else:
                    self._set_timer(timer, at, now)
            case ef.CancelStarterTimer(timer=timer):
                self._timers[timer] += 1
            case ef.MakeSandbox():
                self.tell(ev.SandboxMade(), now)
            case ef.RemoveSandbox():
                self.tell(ev.SandboxRemoved(), now)
            case ef.StartJob(run=run):
                self.process.start(now)
                if run == 1:
                    self.machine.queue_link.began(self.slot, self.starter, now)
                self.tell(ev.JobStarted(run=run, pid=_PID + run), now)
            case ef.KillProcesses():
                self.process.kill(now)
            case ef.ReportExit(report=report):
                self._report(report, now)
            case ef.RunHook(point=point, path=path):
                script, status = self.machine.watcher.scripts.run(path)
                if effect.awaited:
                    printed = script.prints if point in _CHANGES else None
                    ended = ev.HookEnded(point=point, status=status, printed=printed)
                    self._later(script.takes_s, ended, now)
            case ef.RunScript():
                self._run_script(effect, now)
            case ef.TransferInput():
                self._move("input", truth.input_s, ev.InputTransferred(), now)
            case ef.TransferCheckpoint(run=run):
                self._move("output", truth.output_s, ev.CheckpointTransferred(run=run), now)
            case ef.TransferOutput():
                self._move("output", truth.output_s, ev.OutputTransferred(), now)
            case ef.AbortWork():
                self._work += 1
            case ef.SuspendProcesses():
                if self.process.here:
                    self.process.suspend(now)
                    self.machine.queue_link.stood_still(self.slot, self.starter, True, now)
            case ef.ContinueProcesses():
                self.process.resume(now)
                self.machine.queue_link.stood_still(self.slot, self.starter, False, now)
            case ef.RunMethod(method=method):
                self._method(method, now)
            case ef.SignalJob(signal=signal):
                self._signal(signal, now)
            case ef.ReportCheckpoint(checkpoints=number, attributes=attributes):
                self.machine.queue_link.saved(self.slot, self.starter, number, attributes, now)
            case ef.ReportUsage(attributes=attributes):
                self.reported = attributes
                if self.machine.watcher.measures(self.process.job):
                    self.machine.queue_link.measured(self.slot, self.starter, attributes, now)

    def _run_script(self, effect: ef.RunScript, now: float) -> None:
        watcher, values = self.machine.watcher, self._script_values()
        owner = values["job_owner"]
        user = effect.command.split("/")[0].rpartition("@")[0] or owner
        if user != owner and user not in self.machine.plan.script_users:
            # It does not run.
            self._later(0.0, ev.ScriptEnded(point=effect.point, status=None), now)
            return
        script, status = watcher.scripts.run(effect.command)
        if not script.qconf:
            self._later(script.takes_s, ev.ScriptEnded(point=effect.point, status=status), now)
            return
        self._work += 1
        number = self._work

        def done(then: float) -> None:
            if number == self._work:
                lines = (" ".join(expanded(tuple(line.split()), values)) for line in script.qconf)
                ended = [watcher.qconf(line, user, then) for line in lines]
                found = ended[-1] if script.passes_on else status
                self.tell(ev.ScriptEnded(point=effect.point, status=found), then)

        self.engine.at(now + script.takes_s, done)

    def _script_values(self) -> dict[str, str]:
        """The pseudo-variables of programs around a job that have a value here."""
        context, job_ad = self.starter.state.launch.context, self.starter.state.job_ad
        return {
            "host": self.machine.plan.name if context is None else context.host,
            "queue": self.slot.plan.name.partition("@")[0] if context is None else context.queue,
            "job_id": str(job_ad.eval("ClusterId")),
            "ja_task_id": task_of(job_ad).number,
            "job_owner": str(job_ad.eval("Owner")),
        }

    def _move(self, what: str, seconds: float, event: ev.StarterEvent, now: float) -> None:
        """Transfer files; the queue learns when that begins and ends, if it takes time or event logs are read."""
        link, told = self.machine.queue_link, seconds > 0 or self.machine.watcher.tells_files
        if told:
            link.moved(self.slot, self.starter, f"{what}-started", now)
        self._work += 1
        number = self._work

        def done(then: float) -> None:
            if number != self._work:
                return
            if told:
                link.moved(self.slot, self.starter, f"{what}-finished", then)
            self.tell(event, then)

        if seconds <= 0:
            done(now)
        else:
            self.engine.at(now + seconds, done)

    def _later(self, seconds: float, event: ev.StarterEvent, now: float) -> None:
        """Deliver the result of work that takes a while, unless it is stopped."""
        if seconds <= 0:
            self.tell(event, now)
            return
        self._work += 1
        number = self._work
        self.engine.at(now + seconds, lambda then: self.tell(event, then) if number == self._work else None)

    def _method(self, method: Method, now: float) -> None:
        """Run a method of a queue instance: it takes no time, and has its intended effect."""
        match method:
            case Method.SUSPEND:
                self._perform(ef.SuspendProcesses(), now)
            case Method.RESUME:
                self._perform(ef.ContinueProcesses(), now)
            case Method.TERMINATE | Method.MIGRATE:
                self.process.kill(now)
            case Method.CHECKPOINT:
                self.process.save(now)
        self.tell(ev.MethodEnded(method=method), now)

    def _signal(self, signal: str, now: float) -> None:
        if self.starter.state.state is State.RUNNING:
            self.process.save(now)
        else:
            self.process.signal(signal, now)

    def checkpoint(self, now: float) -> None:
        """Save the work of a standard universe job without its starter."""
        if self.starter.state.universe == 1:
            self.process.save(now)

    # -- timers ------------------------------------------------------------------------------------------

    def _set_timer(self, timer: StarterTimer, at: float, now: float) -> None:
        self._timers[timer] += 1
        policy = self.starter.policy
        if not self.machine.exhaustive:
            if timer is StarterTimer.POLL:
                at = on_grid(at, policy.polling_interval_s, poll_matters_at(self, now))
            elif timer is StarterTimer.UPDATE:
                at = on_grid(at, policy.update_interval_s, report_matters_at(self, now))
        if at == math.inf:
            return
        number = self._timers[timer]

        def fire(then: float) -> None:
            if number == self._timers[timer] and self.starter.alive and self.machine.alive:
                self._look(timer, then)

        place = (self.machine.index * _SLOTS + self.slot.order) * len(_TIMERS) + _TIMERS.index(timer)
        self.engine.at(max(at, now), fire, RANK_STARTER, place)

    def plan_anew(self, now: float) -> None:
        """Plan again: what was planned for the job before may come too late after a change."""
        self._ask()
        times = self.starter.state.deadlines
        for timer, at in zip(_PLANNED, (times.poll_at, times.update_at), strict=True):
            if at is not None:
                self._set_timer(timer, at, now)

    def reconfigured(self) -> None:
        """Note that the slot's policy has changed."""
        self._ask()

    def _ask(self) -> None:
        """Update the attributes to which expressions refer, keeping earlier ones: a superset changes nothing."""
        policy, job = self.slot.plan.policy.expressions, self.starter.state.job_ad
        if policy is not self._asking[0] or job is not self._asking[1]:
            self._asking = policy, job
            self.asked_for |= asked_for(policy, job)

    def catch_up(self, now: float) -> None:
        """Move the deadlines as the polls and reports that were left out would have done."""
        state, policy = self.starter.state, self.starter.policy
        times = state.deadlines
        poll_at, update_at = times.poll_at, times.update_at
        looked_at = -math.inf
        if poll_at is not None and poll_at < now:
            poll_at = on_grid(poll_at, policy.polling_interval_s, now)
            looked_at = poll_at - policy.polling_interval_s
        if update_at is not None and update_at < now:
            update_at = on_grid(update_at, policy.update_interval_s, now)
            looked_at = max(looked_at, update_at - policy.update_interval_s)
        if looked_at > -math.inf:
            usage = self._seen(state.usage, looked_at, now) if self.process.here and state.process else state.usage
            self.starter.state = replace(
                state, deadlines=replace(times, poll_at=poll_at, update_at=update_at), usage=usage
            )

    def _seen(self, before: Usage | None, looked_at: float, now: float) -> Usage:
        """The results of a poll that was left out."""
        found = self.process.usage(looked_at, now)
        if before is None or before.image_size_kib <= found.image_size_kib:
            return found
        sizes = {"image_size_kib": before.image_size_kib, "resident_kib": max(before.resident_kib, found.resident_kib)}
        return replace(found, **sizes)

    def _look(self, timer: StarterTimer, now: float) -> None:
        state = self.starter.state
        if timer in (StarterTimer.POLL, StarterTimer.UPDATE) and self.process.here and state.process:
            self.tell(ev.UsageSampled(run=state.run, usage=self.process.usage(now)), now)
        self.tell(ev.StarterTimerFired(timer=timer), now)

    # -- the process ---------------------------------------------------------------------------------------

    def _ended(self, code: int | None, signal: int | None, now: float) -> None:
        if self._finished:
            return
        # The load of the job belongs to the polls before its end.
        self.machine.sync(now)
        self.process.gone(now, code)
        self.tell(ev.JobEnded(run=self.starter.state.run, exit_code=code, signal=signal), now)

    def _stretch(self, process: Process, begin: float, end: float) -> None:
        self.machine.watcher.ran(self.machine, self.slot, process, begin, end)

    # -- the end -------------------------------------------------------------------------------------------

    def _report(self, report: ExitReport, now: float) -> None:
        cause = report.cause
        self.machine.queue_link.ended(self.slot, self.starter, report, now)
        self._finish(
            _OUTCOMES[report.ending],
            None if cause is None else cause.text,
            self.starter.state.killed,
            now,
        )

    def _finish(self, outcome: str, cause: str | None, hard: bool, now: float) -> None:
        if self._finished:
            return
        self._finished = True
        process = self.process
        end = End(
            outcome=outcome,
            run_s=process.run_s,
            suspended_s=process.suspended_s,
            kept_s=process.run_s if outcome == "completed" else process.saved_s,
            cause=cause,
            hard=hard,
        )
        self.machine.watcher.run_ended(self.machine, self.slot, self, end, now)

    def crash(self, now: float) -> None:
        """Let the starter die without a message, with its job. Its slot notices."""
        cause = self.starter.state.cause
        self.machine.sync(now)
        self._vanish(now)
        outcome = "lost" if cause is None else "evicted"
        self._finish(outcome, None if cause is None else cause.text, True, now)
        self.machine.queue_link.lost(self.slot, self.starter, now)
        self.machine.starter_lost(self.slot, self.starter, now)

    def vanish(self, now: float, outcome: str = "lost") -> None:
        """Let the run vanish with its machine; only the bookkeeping learns of it."""
        self._vanish(now)
        self._finish(outcome, None, False, now)

    def _vanish(self, now: float) -> None:
        self._work += 1
        self.process.vanish(now)
        self.process.forget()
        if self.slot.run is self:
            self.slot.run = None


def on_grid(at: float, interval: float, now: float) -> float:
    """The first instant of a grid from `at` on that is not before `now`."""
    if at >= now:
        return at
    return math.inf if now == math.inf else at + math.ceil((now - at) / interval) * interval
