"""A real queue core and a real machine core, and messages between them that are lost, doubled and delayed.

Messages go through the daemons' own translations (`queue.messages`, `QueueRequests`, `node.messages`). The starter
tells jobs to end, and they take their time for it. The queue's disk is that of the queue's own tests.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from roost.model import effects as ef
from roost.model import events as mev
from roost.model import starter_effects as sef
from roost.model import starter_events as sev
from roost.node.claim_news import run_ended
from roost.node.host import Out
from roost.node.host_slots import Starter
from roost.node.machine import NodeSlot, Outs
from roost.runtime.node.messages import activation_answer, claim_answer, ended_run
from roost.runtime.node.queue_requests import QueueRequests
from roost.runtime.queue.messages import events_of, order_to
from roost.schedd import effects as qef
from roost.schedd import events as qev
from roost.schedd.identifiers import JobId
from roost.schedd.queue import Queue
from roost.sim.queue.disk import Disk
from roost.startd.states import State
from roost.wire import messages as m
from roost.wire.ads import ad_data
from tests.node.kit import NOW, SENSED, machine
from tests.schedd.kit import SETTINGS, source
from tests.schedd.soundness import Past

#: How often queue and machine look after themselves, s.
TICK_S = 5.0
#: Every so many of them a machine tells queues of their claims.
CLAIMS_EVERY = 3
#: Time a message takes, s.
TRIP_S = 0.01


@dataclass(frozen=True)
class Fate:
    """What becomes of a message."""

    lost: bool = False
    #: The same message arrives again so much later, s; None if it does not.
    again_s: float | None = None
    #: The message, and those behind it, are late by so much, s.
    late_s: float = 0.0


class Reports(dict[str, m.RunEnded]):
    """Ends of runs that the queue has not taken."""

    def run_of(self, claim_id: str) -> str:
        return next((run for run, each in self.items() if each.claim_id == claim_id), "")

    def waiting(self) -> list[tuple[str, m.RunEnded]]:
        return [(SETTINGS.name, each) for each in self.values()]

    def taken(self, runs: list[str]) -> None:
        for run in runs:
            self.pop(run, None)


class World:
    """One queue, one machine."""

    def __init__(self, policy: str, *, fate: Callable[[], Fate] = Fate, farewell_s: float = 8.0) -> None:
        self.now = NOW
        self.fate = fate
        self.farewell_s = farewell_s
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        #: When the last message of a direction arrives.
        self._arrives = {"queue": NOW, "node": NOW}
        self._timers: dict[Any, float] = {}
        self.disk = Disk()
        self.past = Past()
        self.queue = Queue(SETTINGS, self.now)
        self.machine = machine(policy, cores=1)
        self.reports = Reports()
        clock = SimpleNamespace(now=lambda: self.now)
        outbox = SimpleNamespace(to_queue=lambda schedd, message: self._send_to_queue(message))
        self.words = QueueRequests(
            SimpleNamespace(
                machine=self.machine, clock=clock, outbox=outbox, reports=self.reports, carry_out=self._carry_out
            )  # type: ignore[arg-type]
        )
        #: Job to how often its program was started, and how often its run was cut short.
        self.starts: dict[str, int] = {}
        self.evictions: dict[str, int] = {}
        self.run_s: dict[str, float] = {}
        self.numbers: list[str] = []
        self.machine.host.observer = self  # type: ignore[assignment]
        self.feed(qev.SignificantChanged(attributes=("Boss",)))
        self._every(TICK_S, self._tick)

    # -- observing -----------------------------------------------------------------------------------

    def stepped(self, slot: Any, before: Any, taken: Any, now: float) -> None:
        self.numbers += [each.number for each in taken.transitions]

    def starter_stepped(self, slot: Any, starter: Any, taken: Any, now: float) -> None:
        pass

    # -- time ----------------------------------------------------------------------------------------

    def at(self, when: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._due, (when, next(self._numbers), act))

    def _every(self, seconds: float, act: Callable[[], None]) -> None:
        def again() -> None:
            act()
            self.at(self.now + seconds, again)

        self.at(self.now, again)

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Let time pass until a condition holds; whether it did."""
        end = self.now + seconds
        while not until():
            if not self._due or self._due[0][0] > end:
                self.now = end
                return until()
            self.now, _, act = heapq.heappop(self._due)
            act()
        return True

    _ticks = 0

    def _tick(self) -> None:
        self.feed(qev.Ticked())
        self._carry_out(self.machine.poll(SENSED, self.now))
        for report in self.reports.values():
            self._send_to_queue(report)
        for known in self.machine.silent_claims(self.now).values():
            self._send_to_queue(m.ClaimsKnown(reply_to="", known=known, unknown=[], renew=True))
        if self._ticks % CLAIMS_EVERY == 0:
            for known in self.machine.held_claims().values():
                self._send_to_queue(m.ClaimsKnown(reply_to="", known=known, unknown=[]))
        self._ticks += 1
        self._match()

    # -- messages ------------------------------------------------------------------------------------

    def _send(self, to: str, arrive: Callable[[], None]) -> None:
        fate = self.fate()
        if not fate.lost:
            self._arrives[to] = max(self._arrives[to], self.now + TRIP_S + fate.late_s)
            self.at(self._arrives[to], arrive)
        if fate.again_s is not None:
            self.at(self.now + TRIP_S + fate.again_s, arrive)

    def _send_to_queue(self, message: Any) -> None:
        def arrive() -> None:
            for event in events_of(message, "here"):
                self.feed(event)

        self._send("queue", arrive)

    def feed(self, event: qev.Event) -> None:
        step = self.queue.step(event, self.now)
        self.disk.keep(step.changes)
        self.past.took(step)
        for effect in step.effects:
            if not isinstance(effect, qef.Reply | qef.OfferJobs | qef.Decline | qef.ForgetFiles):
                _, message = order_to(effect, SETTINGS.name, SETTINGS.alive_interval_s)
                self._send("node", lambda message=message: self.words.on_message(message, SETTINGS.name, ""))  # type: ignore[misc]

    # -- the matchmaker --------------------------------------------------------------------------------

    def _match(self) -> None:
        """Give free slots to all jobs, and used ones to the boss's; the boss's jobs come first."""
        groups = [group for each in self.queue.book.waiting().values() for group in each]
        for group in sorted(groups, key=lambda each: not self._is_boss(each.cluster)):
            found = next(
                (each for each in self.machine.slots if self._is_for(each, self._is_boss(group.cluster))), None
            )
            if found is None or group.first() is None:
                continue
            cluster = self.queue.book.clusters[group.cluster]
            self.feed(
                qev.MatchGiven(
                    submitter=cluster.submitter,
                    autocluster=group.autocluster,
                    slot=found.name,
                    node="here",
                    claim_id=found.state.offered.text,
                    slot_ad=self.machine.ad(found, self.now),
                )
            )

    def _is_boss(self, cluster: int) -> bool:
        return self.queue.book.clusters[cluster].ad.eval("Boss") is True

    def _is_for(self, slot: NodeSlot, boss: bool) -> bool:
        state = slot.state
        if state.offered.text in self.queue.claim_table.claims:
            return False
        if state.state is State.UNCLAIMED:
            return int(self.machine.ad(slot, self.now).eval("Cpus")) > 0  # type: ignore[arg-type]
        held_by_boss = state.claim.job_ad is not None and state.claim.job_ad.eval("Boss") is True
        return boss and state.state is State.CLAIMED and state.waiting is None and not held_by_boss

    # -- the machine's orders --------------------------------------------------------------------------

    def _carry_out(self, outs: Outs | None) -> None:
        for out in outs or ():
            if out.starter is None:
                self._of_slot(out.slot, out.effect)
            else:
                self._of_starter(out, out.starter)

    def _of_slot(self, slot: NodeSlot, effect: Any) -> None:
        match effect:
            case ef.SetTimer(timer=timer, at=at):
                self._timer((slot, timer), at, lambda: self.machine.host.receive(
                    slot, mev.TimerFired(timer=timer), self.now))  # fmt: skip
            case ef.CancelTimer(timer=timer):
                self._timers.pop((slot, timer), None)
            case ef.SendClaimReply(accepted=accepted):
                ad = ad_data(self.machine.ad(slot, self.now)) if accepted else None
                self._send_to_queue(claim_answer(slot, effect, ad)[1])
            case ef.SendActivationReply():
                self._send_to_queue(activation_answer(effect)[1])
            case ef.TellSchedd(claim_id=claim, reason=reason, cause=cause):
                code, run = 0 if cause is None else int(cause), self.reports.run_of(claim.text)
                self._send_to_queue(m.ClaimGone(claim_id=claim.text, reason=str(reason), code=code, run=run))

    def _of_starter(self, out: Out[NodeSlot], starter: Starter) -> None:
        slot = out.slot

        def tell(event: sev.StarterEvent, after_s: float = 0.1) -> None:
            self.at(self.now + after_s, lambda: self._carry_out(
                self.machine.host.receive_starter(slot, starter, event, self.now)))  # fmt: skip

        match out.effect:
            case sef.MakeSandbox():
                tell(sev.SandboxMade())
            case sef.TransferInput():
                tell(sev.InputTransferred())
            case sef.StartJob(run=number):
                name = slot.run_name.partition("#")[0]
                self.starts[name] = self.starts.get(name, 0) + 1
                tell(sev.JobStarted(run=number, pid=7))
                tell(sev.JobEnded(run=number, exit_code=0), self.run_s[name])
                began = m.JobBegan(
                    claim_id=starter.claim_id.text, run=slot.run_name, at=self.now, pid=7, slot=slot.name
                )
                self._send_to_queue(began)
            case sef.SignalJob():
                tell(sev.JobEnded(run=starter.state.run, signal=15), self.farewell_s)
            case sef.KillProcesses():
                tell(sev.JobEnded(run=starter.state.run, signal=9))
            case sef.TransferOutput():
                tell(sev.OutputTransferred())
            case sef.RemoveSandbox():
                tell(sev.SandboxRemoved())
            case sef.SetStarterTimer(timer=timer, at=at):
                self._timer((starter, timer), at, lambda: self.machine.host.receive_starter(
                    slot, starter, sev.StarterTimerFired(timer=timer), self.now))  # fmt: skip
            case sef.CancelStarterTimer(timer=timer):
                self._timers.pop((starter, timer), None)
            case sef.ReportExit(report=report):
                name = slot.run_name.partition("#")[0]
                if report.ending != "exit":
                    self.evictions[name] = self.evictions.get(name, 0) + 1
                ended = run_ended(slot, report, node="m", claim_id=starter.claim_id.text, at=self.now)
                self.reports[slot.run_name] = ended_run(slot, ended)
                self._send_to_queue(self.reports[slot.run_name])

    def _timer(self, key: Any, at: float, fire: Callable[[], Outs]) -> None:
        self._timers[key] = at

        def due() -> None:
            if self._timers.get(key) == at:
                del self._timers[key]
                self._carry_out(fire())

        self.at(max(at, self.now), due)

    # -- what tests do -----------------------------------------------------------------------------------

    def submit(self, run_s: float, **attributes: Any) -> str:
        number = self.queue.book.next_cluster
        jobs = source(1, RequestCpus=1, RequestDisk=10, Cmd="/bin/true", ShouldTransferFiles="NO", JobUniverse=5,
                      **attributes)  # fmt: skip
        self.run_s[f"{number}.0"] = run_s
        self.feed(qev.Submitted(clusters=(jobs,), owner="ann", reply_to="r"))
        return f"{number}.0"

    def is_done(self, name: str) -> bool:
        return JobId.read(name) in [job for job, _ in self.past.history]

    def restart_queue(self) -> None:
        """The queue is killed and starts again."""
        self.queue = self.disk.load(SETTINGS, self.now, self.queue.book.next_cluster)
        self.feed(qev.Started(claims=self.disk.kept_claims))
        self.feed(qev.SignificantChanged(attributes=("Boss",)))
