"""The queue of a simulated pool: the real core (`roost.schedd.queue`), with its effects carried out as messages.

Jobs of the workload are submitted at their time; messages from machines, the negotiator and users become events of the
core. The changes of a step are stored (`disk`) before its effects are carried out, so the queue may die between any two
effects and continue from the stored state. `queue_clock` decides when it ticks.

Nothing here makes decisions. The facts about a job that the world knows and no policy sees, such as completed work, are
kept here.
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
from roost.sim.inputs.workload import Job
from roost.sim.machine.host import Machine
from roost.sim.machine.process import End
from roost.sim.machine.run import Run
from roost.sim.machine.starter_quiescence import reported_in
from roost.sim.queue.clock import QueueClock
from roost.sim.queue.disk import Disk
from roost.sim.queue.job_changes import JobChange, job_change
from roost.sim.queue.sources import Source, past_of, submissions_of
from roost.sim.record import Recorder

#: The name of the queue, and the domain of its users if the configuration names none.
NAME: Final = "sim"
DEFAULT: Final = QueueSettings(name=NAME, uid_domain=NAME)

#: Time within which machines answer, s; and within which they refuse to run a job on a claim that has just become free.
ANSWERED_S: Final = 4 * AT_ONCE * TRIP_S_MAX

#: Effects that are messages to a machine.
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
        #: Whether event logs and the figures of running jobs are read.
        self.told = told
        self.machines: dict[str, Machine] = {}
        self.jobs: dict[str, Job] = {}
        #: The workload's name of a job to the queue's, and back.
        self.ids: dict[str, JobId] = {}
        self.names: dict[JobId, str] = {}
        #: Status, or final status, of each job that came into the queue; and whether it has left the queue.
        self.status: dict[str, JobStatus] = {}
        self.left: Counter[str] = Counter()
        #: Cluster whose jobs come into the queue a few at a time to the number of those that did.
        self.made: dict[int, int] = {}
        #: Completed work of a job that does not have to be repeated, s.
        self.done_s: dict[str, float] = {}
        self.starts: Counter[str] = Counter()
        self.exits: Counter[str] = Counter()
        self.evictions: Counter[str] = Counter()
        #: Count of changes that slots in use may show.
        self.turns = 0
        self.logs: dict[str, list[str]] = {}
        #: If they are read: the last ads of jobs that have left, and the status changes of jobs, in order.
        self.last_ads: dict[str, ClassAd] = {}
        self.changes: list[JobChange] = []
        self.refused: dict[str, str] = {}
        #: The clusters of the submission in progress, which is answered in the same step.
        self._submitting: list[list[Job]] = []
        self.decline: Callable[[str], None] = lambda claim_id: None
        self.leave: Callable[[tuple[tuple[str, str], ...]], None] = lambda slots: None
        #: The cell of the pool; None if there is none.
        self.cell: SimulatedCell | None = None
        #: Count of steps of its core.
        self.fed = 0
        #: Called after each step.
        self.watchers: list[Callable[[float], None]] = []
        self.disk = Disk() if bus.faulty else None
        self.core.kept = self.disk is not None
        self._alive = True
        self._muted = False
        #: Job to the code of why the last order did nothing with it.
        self._not_done: dict[str, str] = {}
        #: When machines have answered the questions of a restarted queue. A negotiator that acts on every message does
        #: so after that: its answer to the queue's demand takes as many messages, and a cycle.
        self.answered_at = -math.inf
        #: The action when it dies between two messages, and the number of messages until then; None if it does not.
        self.cut: Callable[[], None] = lambda: None
        self._cut_in: int | None = None
        #: Names of measured attributes of running jobs to which the administrator's policy refers.
        self.asks = _asked_by(settings.policy)
        self.clock = QueueClock(self, eager=exhaustive or bus.faulty)

    # -- life ------------------------------------------------------------------------------------------

    def die_after(self, messages: int | None) -> None:
        """Die between two messages, after that many of them."""
        self._cut_in = messages

    @property
    def alive(self) -> bool:
        """Whether it runs and is connected."""
        return self._alive and not self._muted

    @property
    def running(self) -> bool:
        """Whether its daemon runs."""
        return self._alive

    def die(self) -> None:
        """Stop, and lose everything in memory."""
        assert self.disk is not None, "a queue dies in worlds in which things go wrong"
        self._alive = False

    def revive(self, now: float) -> None:
        """Start again from the stored state."""
        assert self.disk is not None
        self._alive = True
        self.core = self.disk.load(self.core.claim_table.settings, now, self.core.book.next_cluster)
        if self.cell is not None:
            self.cell.begin()
        self.clock.begin(now)
        self._ask_machines(ev.Started(claims=self.disk.kept_claims))

    def reconfigure(self, settings: QueueSettings) -> None:
        """Read the configuration again."""
        claim_table = self.core.claim_table
        claim_table.settings = replace(settings, local_node=claim_table.settings.local_node)
        self.asks = _asked_by(settings.policy)
        self.clock.reconfigured()

    def mute(self, muted: bool) -> None:
        """Cut it off from all others, or reconnect it."""
        self.clock.watch_closely()
        for machine in self.machines.values():
            machine.queue_link.repeat(self.engine.now)
        self._muted = muted
        if not muted and self._alive:
            self._ask_machines(ev.BusCameBack())

    def _ask_machines(self, event: ev.Started | ev.BusCameBack) -> None:
        """Learn what happened to its jobs, and request slots after that."""
        self.answered_at = self.engine.now + ANSWERED_S
        self.feed(event)

    # -- jobs ------------------------------------------------------------------------------------------

    def expect(self, jobs: Iterable[Job]) -> None:
        """Note jobs that will be submitted."""
        for clusters in submissions_of(jobs):
            self.engine.at(clusters[0][0].submitted_at, partial(self._submit, clusters))
            self._know(clusters)

    def submit(self, jobs: list[Job], now: float) -> str:
        """Submit unexpected jobs of one cluster; return why they are refused, "" if they are not."""
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
            # The submitter retries until the queue answers.
            self.engine.at(now + 5, partial(self._submit, clusters))
            return
        book, number = self.core.book, int(first.name.partition(".")[0])
        # Jobs keep the numbers of the workload, unless those are already in use.
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
        """Handle the answer to a submission, if it is one."""
        if reply.to not in self.jobs or reply.ok:
            return
        for job in itertools.chain.from_iterable(self._submitting):
            self.refused[job.name] = reply.text
            self.recorder.write(now, "refused", job=job.name, owner=job.owner, text=reply.text)

    def job_of(self, ad: ClassAd) -> tuple[Job, float]:
        """The job of an ad that the queue made, and its completed work, s."""
        name = self.names[JobId(ad["ClusterId"], ad["ProcId"])]
        return self.jobs[name].again(self.exits[name]), self.done_s[name]

    def ad_of(self, name: str) -> ClassAd | None:
        """The ad of a job in the queue."""
        job = self.ids.get(name)
        cluster = None if job is None else self.core.book.clusters.get(job.cluster)
        if job is None or cluster is None or cluster.status(job.proc) is JobStatus.GONE:
            return None
        return cluster.ad_of(job.proc)

    def any_ad_of(self, name: str) -> ClassAd | None:
        """The ad of a job in the queue; or the last one of a job that has left, if those are kept."""
        return self.ad_of(name) or self.last_ads.get(name)

    def idle_ads(self) -> list[tuple[str, ClassAd]]:
        """Names and ads of all idle jobs."""
        idle = [name for name, status in self.status.items() if status is JobStatus.IDLE]
        return [(name, ad) for name in idle if (ad := self.ad_of(name)) is not None]

    # -- steps -----------------------------------------------------------------------------------------

    def hear(self, event: ev.Event, now: float) -> None:
        """Handle a message."""
        if self.alive:
            self.feed(event)

    def feed(self, event: ev.Event) -> None:
        """Handle an event."""
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
                case ch.PutCluster(cluster=cluster, count=count) if not change.factory:
                    self._taken(cluster, range(count), now)
                case ch.PutFactory(cluster=cluster, factory=text):
                    self._made(cluster, int(text.partition(" ")[0]), now)
                case ch.AppendLog(path=path, text=text):
                    self.logs.setdefault(path, []).append(text)
        heard = isinstance(event, ev.ClaimsHeard)
        for effect in step.effects:
            if isinstance(effect, ef.Reply) and isinstance(event, ev.Acted):
                self._not_done = (effect.data or {}).get("refused", {})
            self._perform(effect, now, heard)
        self.clock.stepped(step)
        # In the seeded world no other request has to be served meanwhile.
        while (self.core.book.unplaced or self.core.book.making) and not isinstance(event, ev.WentOn):
            self.feed(ev.WentOn())
        for watcher in self.watchers:
            watcher(now)

    def _made(self, cluster: int, count: int, now: float) -> None:
        """Note that a factory has made `count` jobs so far."""
        before = self.made.get(cluster, 0)
        self.made[cluster] = count
        self._taken(cluster, range(before, count), now)

    def _taken(self, cluster: int, procs: range, now: float) -> None:
        """Note that jobs have come into the queue."""
        # Noop jobs may have left in the step that accepted them, and with the last of them their cluster.
        there = self.core.book.clusters.get(cluster)
        for proc in procs:
            name = self.names[JobId(cluster, proc)]
            job = self.jobs[name]
            self.recorder.write(now, "submit", job=name, owner=job.owner, kind=job.kind)
            self.status[name] = JobStatus.IDLE
            if there is not None and (status := there.status(proc)) is not JobStatus.GONE:
                self._see(name, status, now)

    def _see(self, name: str, status: JobStatus, now: float, *, left: bool = False) -> None:
        """Record the current status of a job if it has changed."""
        before, self.status[name] = self.status.get(name, JobStatus.IDLE), status
        if left:
            self.left[name] += 1
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
                # The negotiator asks at each cycle.
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
        """Send an effect. `steadily`: it is a keepalive, or follows from the answer to one, and these may have been
        left out.
        """
        if self._cut_in is not None:
            self._cut_in -= 1
            if self._cut_in <= 0:
                self._cut_in = None
                self.cut()
        # A dead daemon sends nothing; what it meant to send is stored.
        machine = self.machines.get(effect.node)
        if not self.alive or machine is None:
            return
        if steadily:
            self.clock.send(effect.node, partial(machine.queue_link.hear, effect))
        else:
            self.bus.send(f"queue>{effect.node}", partial(machine.queue_link.hear, effect, context=context))

    # -- runs ------------------------------------------------------------------------------------------

    def run_begun(self, run: Run) -> None:
        """Note that a starter has started a job."""
        self.starts[run.process.job.name] += 1

    def run_ended(self, run: Run, end: End) -> None:
        """Note the end of a run and the work it completed, whatever is reported to the queue."""
        name = run.process.job.name
        # A program that ended by itself starts over if it is started again.
        is_done = end.outcome == "completed" or run.process.is_done
        self.done_s[name] = 0.0 if is_done else self.done_s[name] + end.kept_s
        self.exits[name] += is_done
        self.evictions[name] += end.outcome == "evicted"

    # -- orders of users -------------------------------------------------------------------------------

    def act(self, action: ev.Action, name: str, now: float, *, reason: str = "") -> str:
        """Apply a user's action to a submitted job; why nothing was done, "" if something was."""
        self.recorder.write(now, "order", job=name, action=str(action))
        if not self._alive:
            return "the queue is away"
        if name not in self.ids:
            return "the job has not been submitted"
        self._not_done = {}
        self._acted(action, self.ids[name], reason=reason)
        return next(iter(self._not_done.values()), "")

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
