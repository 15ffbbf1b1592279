"""The queue of a simulated pool: the real core (`roost.schedd.queue`), and all that it orders carried out by messages.

Jobs of the workload are submitted when their time comes; what machines, the matchmaker and users say becomes an event
of the core. What a step changes is kept (`disk`) before anything that it orders is done, so the queue may die between
any two orders, and goes on from what was kept. `queue_clock` says when it looks after itself.

Nothing here decides anything. What the world knows of a job and no policy sees, the work that is done, is kept here.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, TypeAlias

from roost.base.records import replace
from roost.classad import ClassAd
from roost.model.queue_context import QueueContext
from roost.schedd import changes as ch
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd import queue as core
from roost.schedd.claims.claim_table import QueueSettings
from roost.schedd.identifiers import JobId
from roost.schedd.job_policy.expressions import SystemPolicy
from roost.schedd.status import ON_MACHINE, JobStatus
from roost.sim.bus import AT_ONCE, TRIP_S_MAX, Bus
from roost.sim.cell import OPERATOR, NoSuchQueue, SimulatedCell
from roost.sim.engine import Engine
from roost.sim.forecast.starter_quiescence import reported_in
from roost.sim.inputs.workload import Job
from roost.sim.machine.host import Machine
from roost.sim.machine.process import End
from roost.sim.machine.run import Run
from roost.sim.queue.clock import QueueClock
from roost.sim.queue.disk import Disk
from roost.sim.queue.job_changes import JobChange, job_change
from roost.sim.queue.sources import Source, past_of, submissions_of
from roost.sim.record import Recorder

#: What the queue is called, and the domain of its users where the configuration names none.
NAME: Final = "sim"
DEFAULT: Final = QueueSettings(name=NAME, uid_domain=NAME)

#: Within which time machines answer, s; and say that they will not run a job on a claim that has just become free.
ANSWERED_S: Final = 4 * AT_ONCE * TRIP_S_MAX

#: What a machine is told.
ToMachine: TypeAlias = (
    ef.AskForSlot | ef.GiveBack | ef.StartRun | ef.EndRun | ef.StandStill | ef.Taken | ef.SayAlive | ef.AskAgain
)


class Queue:
    """One queue for the pool."""

    def __init__(
        self,
        engine: Engine,
        bus: Bus,
        recorder: Recorder,
        settings: QueueSettings = DEFAULT,
        *,
        exhaustive: bool = False,
        told: bool = False,
    ) -> None:
        self.engine = engine
        self.bus = bus
        self.recorder = recorder
        self.core = core.Queue(settings, engine.now)
        #: Whether event logs and the figures of running jobs are looked at.
        self.told = told
        self.machines: dict[str, Machine] = {}
        self.jobs: dict[str, Job] = {}
        #: The workload's name of a job to the queue's, and back.
        self.ids: dict[str, JobId] = {}
        self.names: dict[JobId, str] = {}
        #: What each job that was submitted is doing, or how it ended; and whether it has left the queue.
        self.status: dict[str, JobStatus] = {}
        self.left: Counter[str] = Counter()
        #: Work of a job that need not be done again, s.
        self.done_s: dict[str, float] = {}
        self.starts: Counter[str] = Counter()
        self.exits: Counter[str] = Counter()
        self.evictions: Counter[str] = Counter()
        #: Changes that slots in use may show, counted.
        self.turns = 0
        self.logs: dict[str, list[str]] = {}
        #: Where they are looked at: the last ads of jobs that have left, and what jobs have done, in order.
        self.last_ads: dict[str, ClassAd] = {}
        self.changes: list[JobChange] = []
        self.refused: dict[str, str] = {}
        #: The clusters of the submission that is carried out, which is answered in the same step.
        self._submitting: list[list[Job]] = []
        self.decline: Callable[[str], None] = lambda claim_id: None
        self.leave: Callable[[tuple[tuple[str, str], ...]], None] = lambda slots: None
        #: The cell of the pool; None where there is none.
        self.cell: SimulatedCell | None = None
        #: Steps of its core, counted.
        self.fed = 0
        #: Told after each step.
        self.watchers: list[Callable[[float], None]] = []
        self.disk = Disk() if bus.faulty else None
        self.core.kept = self.disk is not None
        self._alive = True
        self._muted = False
        #: When machines have answered to the questions of a queue that is back. A matchmaker that acts on every word
        #: does so after that: what it makes of the queue's wishes takes as many messages, and a cycle.
        self.answered_at = -math.inf
        #: What happens when it dies between two messages, and after how many of them it does; None where it does not.
        self.cut: Callable[[], None] = lambda: None
        self._cut_in: int | None = None
        #: Names of what is measured of running jobs that the administrator's policy asks for.
        self.asks = _asked_by(settings.policy)
        self.clock = QueueClock(self, eager=exhaustive or bus.faulty)

    # -- life ------------------------------------------------------------------------------------------

    def die_after(self, messages: int | None) -> None:
        """Die between two messages, so many of them from now."""
        self._cut_in = messages

    @property
    def alive(self) -> bool:
        """Whether it runs, and can be heard."""
        return self._alive and not self._muted

    @property
    def running(self) -> bool:
        """Whether its daemon runs."""
        return self._alive

    def die(self) -> None:
        """What it had in memory is gone."""
        assert self.disk is not None, "a queue dies in worlds in which things go wrong"
        self._alive = False

    def revive(self, now: float) -> None:
        """It starts again with what was kept."""
        assert self.disk is not None
        self._alive = True
        self.core = self.disk.load(self.core.claim_table.settings, now, self.core.book.next_cluster)
        if self.cell is not None:
            self.cell.begin()
        self.clock.begin(now)
        self._ask_machines(ev.Started(claims=self.disk.kept_claims))

    def reconfigure(self, settings: QueueSettings) -> None:
        """The daemon reads its configuration anew."""
        claim_table = self.core.claim_table
        claim_table.settings = replace(settings, local_node=claim_table.settings.local_node)
        self.asks = _asked_by(settings.policy)
        self.clock.reconfigured()

    def mute(self, muted: bool) -> None:
        """Cut it off from all others, or let it hear and be heard again."""
        self.clock.watch_closely()
        for machine in self.machines.values():
            machine.queue_link.repeat(self.engine.now)
        self._muted = muted
        if not muted and self._alive:
            self._ask_machines(ev.BusCameBack())

    def _ask_machines(self, event: ev.Started | ev.BusCameBack) -> None:
        """Hear what became of its jobs, and ask for slots after that."""
        self.answered_at = self.engine.now + ANSWERED_S
        self.feed(event)

    # -- jobs ------------------------------------------------------------------------------------------

    def expect(self, jobs: Iterable[Job]) -> None:
        """Jobs that will be submitted."""
        for clusters in submissions_of(jobs):
            self.engine.at(clusters[0][0].submitted_at, partial(self._submit, clusters))
            self._know(clusters)

    def submit(self, jobs: list[Job], now: float) -> str:
        """Submit jobs of one cluster that were not expected; why it is refused, "" if it is not."""
        self._know([jobs])
        self._submit([jobs], now)
        return self.refused.get(jobs[0].name, "")

    def _know(self, clusters: list[list[Job]]) -> None:
        for job in itertools.chain.from_iterable(clusters):
            self.jobs[job.name] = job
            self.done_s[job.name] = 0.0

    def _submit(self, clusters: list[list[Job]], now: float) -> None:
        first = clusters[0][0]
        if not self._alive:
            # The submitter tries until the queue answers.
            self.engine.at(now + 5, partial(self._submit, clusters))
            return
        book, number = self.core.book, int(first.name.partition(".")[0])
        # Jobs keep the numbers that the workload gives them, unless others have had them.
        if any(JobId(number + place, 0) in self.names for place in range(len(clusters))):
            number = max(each.cluster for each in self.names) + 1
        book.next_cluster = number
        for place, jobs in enumerate(clusters):
            for proc, job in enumerate(jobs):
                name = JobId(number + place, proc)
                self.ids[job.name], self.names[name] = name, job.name
        sources = tuple(Source(jobs, logs=self.told) for jobs in clusters)
        self._submitting = clusters
        if self.cell is not None and (
            why := self.cell.refusal(sources, first.owner, self.core.book.count_of(first.owner))
        ):
            self._replied(ef.Reply(to=first.name, ok=False, text=why), now)
            return
        self.feed(ev.Submitted(clusters=sources, owner=first.owner, reply_to=first.name))
        for source in sources:
            self.clock.submitted(source)
        for job in itertools.chain.from_iterable(clusters):
            past = past_of(job)
            if past is not None:
                self._acted(ev.Action.NOTE, self.ids[job.name], attributes=past)

    def _replied(self, reply: ef.Reply, now: float) -> None:
        """The answer to a submission, if it is one."""
        if reply.to not in self.jobs or reply.ok:
            return
        for job in itertools.chain.from_iterable(self._submitting):
            self.refused[job.name] = reply.text
            self.recorder.write(now, "refused", job=job.name, owner=job.owner, text=reply.text)

    def job_of(self, ad: ClassAd) -> tuple[Job, float]:
        """The job of an ad that the queue made, and the work of it that is done, s."""
        name = self.names[JobId(ad["ClusterId"], ad["ProcId"])]
        return self.jobs[name].again(self.exits[name]), self.done_s[name]

    def ad_of(self, name: str) -> ClassAd | None:
        """The ad of a job that is in the queue."""
        job = self.ids.get(name)
        cluster = None if job is None else self.core.book.clusters.get(job.cluster)
        if job is None or cluster is None or cluster.status(job.proc) is JobStatus.GONE:
            return None
        return cluster.ad_of(job.proc)

    def any_ad_of(self, name: str) -> ClassAd | None:
        """The ad of a job that is in the queue; or the last one of a job that has left, if those are kept."""
        return self.ad_of(name) or self.last_ads.get(name)

    def idle_ads(self) -> list[tuple[str, ClassAd]]:
        """Names and ads of all jobs that wait."""
        idle = [name for name, status in self.status.items() if status is JobStatus.IDLE]
        return [(name, ad) for name in idle if (ad := self.ad_of(name)) is not None]

    # -- steps -----------------------------------------------------------------------------------------

    def hear(self, event: ev.Event, now: float) -> None:
        """A message arrives."""
        if self.alive:
            self.feed(event)

    def feed(self, event: ev.Event) -> None:
        """Something has happened."""
        now = self.engine.now
        step = self.core.step(event, now)
        self.fed += 1
        if self.disk is not None:
            self.disk.keep(step.changes)
        for change in step.changes:
            match change:
                case ch.PutJob(job=job, status=status):
                    self._see(self.names[job], status, now)
                case ch.AddHistory(status=status):
                    for job, ad in zip(
                        change.jobs, change.ads() if self.told else itertools.repeat(None), strict=False
                    ):
                        if ad is not None:
                            self.last_ads[self.names[job]] = ad
                        self._see(self.names[job], status, now, left=True)
                case ch.PutCluster(cluster=cluster, count=count):
                    self._taken(cluster, count, now)
                case ch.AppendLog(path=path, text=text):
                    self.logs.setdefault(path, []).append(text)
        heard = isinstance(event, ev.ClaimsHeard)
        for effect in step.effects:
            self._perform(effect, now, heard)
        self.clock.stepped(step)
        # In the seeded world no other request has to be served meanwhile.
        while self.core.book.unplaced and not isinstance(event, ev.WentOn):
            self.feed(ev.WentOn())
        for watcher in self.watchers:
            watcher(now)

    def _taken(self, cluster: int, count: int, now: float) -> None:
        held = self.core.book.clusters[cluster].statuses
        for proc in range(count):
            name = self.names[JobId(cluster, proc)]
            job = self.jobs[name]
            self.recorder.write(now, "submit", job=name, owner=job.owner, kind=job.kind)
            self.status[name] = JobStatus.IDLE
            self._see(name, JobStatus(held[proc]), now)

    def _see(self, name: str, status: JobStatus, now: float, *, left: bool = False) -> None:
        """What a job is doing now; a change is recorded."""
        before, self.status[name] = self.status.get(name, JobStatus.IDLE), status
        self.left[name] += left
        if before is status:
            return
        if self.told:
            self.changes.append(job_change(name, now, status, self.ad_of(name)))
        if (before in ON_MACHINE) is not (status in ON_MACHINE):
            self.turns += 1
        match status:
            case JobStatus.COMPLETED:
                starts, evictions = self.starts[name], self.evictions[name]
                self.recorder.write(now, "complete", job=name, starts=starts, evictions=evictions)
            case JobStatus.HELD:
                ad = self.ad_of(name)
                code, text = (None, None) if ad is None else (ad.get("HoldReasonCode"), ad.get("HoldReason"))
                self.recorder.write(now, "hold", job=name, code=code, text=text)
            case JobStatus.REMOVED:
                self.recorder.write(now, "remove", job=name)
            case JobStatus.IDLE if before is JobStatus.HELD:
                self.recorder.write(now, "release", job=name)

    def _perform(self, effect: ef.Effect, now: float, heard: bool) -> None:
        match effect:
            case ef.OfferJobs(left=left):
                # The matchmaker asks at each cycle.
                self.leave(left)
            case ef.ForgetFiles():
                # Files are not simulated.
                pass
            case ef.Decline(claim_id=claim_id):
                self.decline(claim_id)
            case ef.Reply():
                self._replied(effect, now)
            case ef.StartRun() if self.cell is not None:
                self._start(self.cell, effect)
            case _:
                self._send(
                    effect, steadily=isinstance(effect, ef.SayAlive) or (heard and isinstance(effect, ef.GiveBack))
                )

    def _start(self, cell: SimulatedCell, effect: ef.StartRun) -> None:
        """Order a run with the context of its queue instance."""
        try:
            self._send(effect, steadily=False, context=cell.context(effect.job_ad))
        except NoSuchQueue as problem:
            refused = ev.RunRefused(claim_id=effect.claim_id, run=effect.run, refusal=str(problem))
            self.engine.at(self.engine.now, partial(self.hear, refused))

    def _send(self, effect: ToMachine, *, steadily: bool, context: QueueContext | None = None) -> None:
        """`steadily`: it is a sign of life, or follows from the answer to one, and these may have been left out."""
        if self._cut_in is not None:
            self._cut_in -= 1
            if self._cut_in <= 0:
                self._cut_in = None
                self.cut()
        # A daemon that is dead says nothing; whatever it meant to say has been written down.
        machine = self.machines.get(effect.node)
        if not self.alive or machine is None:
            return
        if steadily:
            self.clock.send(effect.node, partial(machine.queue_link.hear, effect))
        else:
            self.bus.send(f"queue>{effect.node}", partial(machine.queue_link.hear, effect, context=context))

    # -- runs ------------------------------------------------------------------------------------------

    def run_begun(self, run: Run) -> None:
        """A starter has begun with a job."""
        self.starts[run.process.job.name] += 1

    def run_ended(self, run: Run, end: End) -> None:
        """A run is over: what it did of the job's work, whatever the queue hears of it."""
        name = run.process.job.name
        # A program that came to its own end begins anew if it is started again.
        is_done = end.outcome == "completed" or run.process.is_done
        self.done_s[name] = 0.0 if is_done else self.done_s[name] + end.kept_s
        self.exits[name] += is_done
        self.evictions[name] += end.outcome == "evicted"

    # -- orders of users -------------------------------------------------------------------------------

    def act(self, action: ev.Action, name: str, now: float, *, reason: str = "") -> None:
        """A user acts on a job that was submitted."""
        self.recorder.write(now, "order", job=name, action=str(action))
        if self._alive and name in self.ids:
            self._acted(action, self.ids[name], reason=reason)

    def _acted(self, action: ev.Action, job: JobId, *, reason: str = "", attributes: ClassAd | None = None) -> None:
        self.feed(
            ev.Acted(
                action=action,
                jobs=(job,),
                user=OPERATOR,
                superuser=True,
                reply_to="",
                reason=reason,
                attributes=ClassAd() if attributes is None else attributes,
            )
        )


def _asked_by(policy: SystemPolicy) -> frozenset[str]:
    rules = (*policy.vacate, *policy.hold, *policy.release, *policy.remove)
    expressions = [each for rule in rules for each in (rule.condition, rule.reason, rule.subcode) if each is not None]
    return frozenset[str]().union(*map(reported_in, expressions))


__all__ = ["DEFAULT", "NAME", "OPERATOR", "Queue"]
