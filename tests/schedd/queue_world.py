"""A queue among machines that answer late, twice or not at all; its disk, and a slow model of what it has to be.

Messages of one sender to one receiver keep their order, as those on the bus do; any of them may be lost or come twice.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roost.classad import ClassAd, parse_expression
from roost.schedd import changes as ch
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd.claims import Stage
from roost.schedd.holder import QueueSettings
from roost.schedd.identifiers import JobId
from roost.schedd.queue import Queue, Step
from roost.schedd.status import ON_MACHINE, JobStatus
from roost.wire.ads import ad_data, ad_from

SETTINGS = QueueSettings(name="q@here", uid_domain="here", alive_interval_s=60.0, periodic_interval_s=20.0)


@dataclass(frozen=True)
class Source:
    """Jobs that differ in what they are told to differ in."""

    common: ClassAd
    count: int
    own: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def for_cluster(self, number: int) -> Source:
        return self

    @property
    def varying(self) -> frozenset[str]:
        return frozenset(name.lower() for name in self.own)

    def differences(self, index: int) -> dict[str, Any]:
        return {name: values[index % len(values)] for name, values in self.own.items()}

    def to_data(self) -> Any:
        return {"common": ad_data(self.common), "count": self.count, "own": {k: list(v) for k, v in self.own.items()}}

    @classmethod
    def of(cls, data: Any) -> Source:
        own = {name: tuple(values) for name, values in data["own"].items()}
        return cls(ad_from(data["common"]), data["count"], own)


def source(count: int, *, own: Mapping[str, tuple[Any, ...]] | None = None, **attributes: Any) -> Source:
    """Jobs with a log."""
    ad = ClassAd({"JobStatus": 1, "UserLog": "/log", "RequestMemory": 10, "Requirements": True, "JobPrio": 0})
    for name, value in attributes.items():
        if isinstance(value, str) and value.startswith("="):
            ad[name] = parse_expression(value[1:])
        else:
            ad[name] = value
    return Source(ad, count, own or {})


class Disk:
    """What was kept, and what was told to users' logs and to the history."""

    def __init__(self) -> None:
        self.clusters: dict[int, ch.PutCluster] = {}
        self.gone: dict[int, str] = {}
        self.told: dict[int, str] = {}
        self.jobs: dict[JobId, ch.PutJob] = {}
        self.claims: dict[str, ch.PutClaim] = {}
        self.history: list[tuple[JobId, JobStatus]] = []
        self.ends: Counter[JobId] = Counter()

    def keep(self, changes: tuple[ch.Change, ...]) -> None:
        for change in changes:
            match change:
                case ch.PutCluster():
                    self.clusters[change.cluster] = change
                case ch.PutGone():
                    self.gone[change.cluster] = change.gone
                case ch.PutTold():
                    self.told[change.cluster] = change.told
                case ch.DropCluster():
                    self.clusters.pop(change.cluster)
                    self.gone.pop(change.cluster, None)
                    self.told.pop(change.cluster, None)
                    assert not [job for job in self.jobs if job.cluster == change.cluster]
                case ch.PutJob():
                    self.jobs[change.job] = change
                case ch.DropJob():
                    self.jobs.pop(change.job, None)
                case ch.PutClaim():
                    self.claims[change.claim_id] = change
                case ch.DropClaim():
                    self.claims.pop(change.claim_id, None)
                case ch.AddHistory():
                    self.history += [(job, change.status) for job in change.jobs]
                case ch.AppendLog():
                    self._read_log(change.text)

    def _read_log(self, text: str) -> None:
        for line in text.splitlines():
            if line.startswith(("005 (", "009 (")):
                cluster, proc, _ = line[5:].partition(")")[0].split(".")
                self.ends[JobId(int(cluster), int(proc))] += 1

    def load(self, now: float, next_cluster: int) -> Queue:
        """A queue that has just been started."""
        queue = Queue(SETTINGS, now)
        for number in sorted(self.clusters):
            each = self.clusters[number]
            queue.restore_cluster(
                number,
                each.ad,
                Source.of(each.plan),
                count=each.count,
                owner=each.owner,
                submitted_at=each.submitted_at,
                gone=self.gone.get(number, ""),
                told=self.told.get(number, ""),
            )
        for job in self.jobs.values():
            attributes = ad_from(ad_data(job.attributes))
            queue.restore_job(ch.PutJob(job=job.job, status=job.status, attributes=attributes))
        queue.book.next_cluster = max(queue.book.next_cluster, next_cluster)
        return queue


class Node:
    """A machine with a few slots, which it gives to whoever has the present name of their claim."""

    def __init__(self, name: str, slots: int) -> None:
        self.name = name
        self._numbers = 0
        self.offered = {f"slot{n}@{name}": self._claim() for n in range(1, slots + 1)}
        #: Slot to the claim that is held.
        self.held: dict[str, str] = {}
        self.runs: dict[str, str] = {}
        self.last_run: dict[str, str] = {}
        self.reports: dict[str, ev.RunEnded] = {}
        self.unwilling = False

    def _claim(self) -> str:
        self._numbers += 1
        return f"<{self.name}>#{self._numbers}"

    def _slot(self, claim_id: str) -> str | None:
        return next((slot for slot, held in self.held.items() if held == claim_id), None)

    def _drop(self, slot: str) -> None:
        del self.held[slot]
        self.runs.pop(slot, None)
        self.offered[slot] = self._claim()

    def hears(self, order: ef.Effect, now: float) -> list[ev.Event]:
        match order:
            case ef.AskForSlot():
                return [self._asked(order)]
            case ef.GiveBack(claim_id=claim_id):
                slot = self._slot(claim_id)
                if slot is not None:
                    self._drop(slot)
            case ef.StartRun(claim_id=claim_id, run=run):
                slot = self._slot(claim_id)
                if slot is not None and self.last_run.get(slot) == run:
                    return []
                if slot is None or slot in self.runs or self.unwilling:
                    return [ev.RunRefused(claim_id=claim_id, run=run, refusal="no")]
                self.runs[slot] = self.last_run[slot] = run
                return [ev.RunBegan(claim_id=claim_id, run=run, at=now, slot=slot)]
            case ef.EndRun(claim_id=claim_id, run=run, ending=ending):
                slot = self._slot(claim_id)
                if slot is None and run not in self.reports:
                    return [ev.ClaimsHeard(node=self.name, known={}, unknown=(claim_id,))]
                if slot is not None and self.runs.get(slot) == run:
                    return [self.ends(slot, now, ending)]
            case ef.StandStill(claim_id=claim_id, still=still):
                slot = self._slot(claim_id)
                if slot in self.runs:
                    assert slot is not None
                    return [ev.RunStoodStill(claim_id=claim_id, run=self.runs[slot], at=now, still=still)]
            case ef.SayAlive(claim_ids=ids, serial=serial):
                return [self._known(ids, serial)]
            case ef.AskAgain(claims=claims, serial=serial):
                answer = self._known(tuple(claims), serial)
                for slot in [slot for slot, held in self.held.items() if held not in claims]:
                    self._drop(slot)
                return [answer]
            case ef.Taken(runs=runs):
                for run in runs:
                    self.reports.pop(run, None)
        return []

    def _asked(self, order: ef.AskForSlot) -> ev.ClaimAnswered:
        slot, accepted = order.slot, False
        if self.held.get(slot) == order.claim_id:
            accepted = True
        elif self.offered.get(slot) == order.claim_id and not self.unwilling:
            self.held[slot] = self.offered.pop(slot)
            accepted = True
        return ev.ClaimAnswered(
            node=self.name,
            asked_id=order.claim_id,
            accepted=accepted,
            refusal="" if accepted else "no",
            claim_id=order.claim_id,
            slot=slot,
            slot_ad=slot_ad(slot) if accepted else None,
        )

    def _known(self, ids: tuple[str, ...], serial: int) -> ev.ClaimsHeard:
        reported = {report.claim_id: run for run, report in self.reports.items()}
        known, unknown = {}, []
        for claim_id in ids:
            slot = self._slot(claim_id)
            if slot is not None or claim_id in reported:
                known[claim_id] = self.runs.get(slot or "", reported.get(claim_id, ""))
            else:
                unknown.append(claim_id)
        return ev.ClaimsHeard(node=self.name, known=known, unknown=tuple(unknown), serial=serial)

    def ends(self, slot: str, now: float, ending: str = "exit", code: int = 0) -> ev.RunEnded:
        """The run on a slot comes to its end."""
        run = self.runs.pop(slot)
        report = self.reports[run] = ev.RunEnded(
            node=self.name,
            claim_id=self.held[slot],
            run=run,
            at=now,
            ending=ending,
            started=True,
            code=0 if ending == "exit" else 1001,
            text="ended",
            exit_code=code if ending == "exit" else None,
            attributes=ClassAd({"RemoteUserCpu": 1.0, "JobStatus": 4, "Owner": "mallory"}),
        )
        return report

    def gives_up(self, slot: str) -> ev.ClaimLost:
        """The machine ends a claim."""
        claim_id = self.held[slot]
        reported = next((run for run, each in self.reports.items() if each.claim_id == claim_id), "")
        self._drop(slot)
        return ev.ClaimLost(claim_id=claim_id, reason="the owner is back", code=1001, reported=reported)


def slot_ad(name: str) -> ClassAd:
    """The ad of a slot that takes any job."""
    return ClassAd({"Name": name, "Memory": 1000, "Requirements": True})


class World:
    """A queue, its machines, and all that is under way."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0
        self.disk = Disk()
        self.queue = Queue(SETTINGS, self.now)
        self.nodes = {name: Node(name, 2) for name in ("a", "b")}
        self.to_node: dict[str, deque[ef.Effect]] = {name: deque() for name in self.nodes}
        self.to_queue: dict[str, deque[ev.Event]] = {name: deque() for name in self.nodes}
        self.submitted: set[JobId] = set()
        self.replies: list[ef.Reply] = []
        self._checks = 0

    def feed(self, event: ev.Event, *, dies: bool = False) -> None:
        """One step; a queue that dies after its commit has told nobody."""
        before = self._statuses()
        step = self.queue.step(event, self.now)
        self._took_rows(before, step)
        self.disk.keep(step.changes)
        if dies:
            return
        for effect in step.effects:
            match effect:
                case ef.Reply():
                    self.replies.append(effect)
                case ef.OfferJobs() | ef.Decline() | ef.ForgetFiles():
                    pass
                case _:
                    self.to_node[effect.node].append(effect)

    def _statuses(self) -> dict[JobId, JobStatus]:
        clusters = self.queue.book.clusters.values()
        return {JobId(each.number, proc): each.status(proc) for each in clusters for proc in range(each.count)}

    def _took_rows(self, statuses: dict[JobId, JobStatus], step: Step) -> None:
        """No job has another status but by rows of the table, each from where the one before led to."""
        for change in step.changes:
            if isinstance(change, ch.PutCluster):
                held = change.ad.cell("jobstatus") == JobStatus.HELD
                first = JobStatus.HELD if held else JobStatus.IDLE
                statuses |= {JobId(change.cluster, proc): first for proc in range(change.count)}
            elif isinstance(change, ch.AddHistory) and change.last is not None:
                statuses |= dict.fromkeys(change.jobs, JobStatus.GONE)
        for job, row in step.transitions:
            assert statuses[job] is row.source, (job, statuses[job], row)
            statuses[job] = row.target
        after = self._statuses()
        assert {job: after.get(job, JobStatus.GONE) for job in statuses} == statuses

    # -- what may happen -----------------------------------------------------------------------------

    def submit(self, jobs: Source, owner: str = "ann") -> int:
        number = self.queue.book.next_cluster
        self.feed(ev.Submitted(clusters=(jobs,), owner=owner, reply_to="r"))
        self.submitted |= {JobId(number, proc) for proc in range(jobs.count)}
        return number

    def act(self, action: ev.Action, *jobs: JobId, superuser: bool = False, **attributes: Any) -> None:
        user, ad = "eve" if superuser else "ann", ClassAd(attributes)
        self.feed(ev.Acted(action=action, jobs=jobs, user=user, superuser=superuser, reply_to="r", attributes=ad))

    def match(self) -> bool:
        """The matchmaker gives a free slot to the first group of jobs."""
        waiting = [group for groups in self.queue.book.waiting().values() for group in groups]
        for node in self.nodes.values():
            for slot, claim_id in node.offered.items():
                if waiting and claim_id not in self.queue.holder.claims:
                    group = waiting[0]
                    submitter = self.queue.book.clusters[group.cluster].submitter
                    given = ev.MatchGiven(
                        submitter=submitter,
                        autocluster=group.autocluster,
                        slot=slot,
                        node=node.name,
                        claim_id=claim_id,
                        slot_ad=slot_ad(slot),
                    )
                    self.feed(given)
                    return True
        return False

    def deliver_order(self, name: str, *, lost: bool = False, twice: bool = False) -> None:
        if not self.to_node[name]:
            return
        order = self.to_node[name].popleft()
        for _ in range(0 if lost else 2 if twice else 1):
            self.to_queue[name] += self.nodes[name].hears(order, self.now)

    def deliver_word(self, name: str, *, lost: bool = False, twice: bool = False) -> None:
        if not self.to_queue[name]:
            return
        word = self.to_queue[name].popleft()
        for _ in range(0 if lost else 2 if twice else 1):
            self.feed(word)

    def restart(self) -> None:
        """The queue was killed and starts again. What it had not sent is lost with it."""
        self.queue = self.disk.load(self.now, self.queue.book.next_cluster)
        self.feed(ev.Started(claims=tuple(self.disk.claims[key] for key in sorted(self.disk.claims))))

    def repeat_reports(self) -> None:
        for name, node in self.nodes.items():
            self.to_queue[name] += list(node.reports.values())
            held = {claim_id: node.runs.get(slot, "") for slot, claim_id in node.held.items()}
            self.to_queue[name].append(ev.ClaimsHeard(node=name, known=held))

    # -- what has to be ------------------------------------------------------------------------------

    def check(self) -> None:
        self._check_jobs()
        self._check_claims()
        self._check_groups()
        self._checks += 1
        if self._checks % 4 == 0:
            self._check_restart()

    def _check_jobs(self) -> None:
        present = set(self.queue.book.ids())
        past = Counter(job for job, _ in self.disk.history)
        assert not [job for job, times in past.items() if times > 1], "a job has one end"
        assert set(past) | present == self.submitted, "no job is lost"
        assert not set(past) & present, "what has ended is in the queue no more"
        assert all(status in (JobStatus.COMPLETED, JobStatus.REMOVED) for _, status in self.disk.history)
        for job in past:
            assert self.disk.ends[job] == 1, "the user's log tells one end of each job"
        for cluster in self.queue.book.clusters.values():
            for proc in cluster.procs():
                ad = cluster.ad_of(proc)
                assert ad.eval("JobStatus") == int(cluster.status(proc))
                assert ad.eval("Owner") == cluster.owner
        counts = Counter(cluster.status(p) for cluster in self.queue.book.clusters.values() for p in cluster.procs())
        assert self.queue.counts() == {s.name.lower(): counts[s] for s in JobStatus if s}

    def _check_claims(self) -> None:
        claims = self.queue.holder.claims
        for cluster in self.queue.book.clusters.values():
            for job in cluster.jobs.values():
                assert bool(job.run) <= bool(job.claim_id)
                if job.claim_id:
                    assert claims[job.claim_id].job == job.id
                    assert claims[job.claim_id].run == job.run
                assert (job.status in ON_MACHINE) <= bool(job.run), "a job that runs has a run"
                assert not (job.status is JobStatus.COMPLETED and job.claim_id)
        for claim_id, claim in claims.items():
            assert claim.id == claim_id
            if claim.stage is Stage.ASKED:
                assert not claim.run
            kept = self.disk.claims.get(claim_id)
            assert claim.unwanted or (kept.run if kept is not None else "") == claim.run
        assert set(self.disk.claims) <= set(claims), "what is kept is held"

    def _check_groups(self) -> None:
        book = self.queue.book
        for cluster in book.clusters.values():
            idle = {p for p in cluster.procs() if cluster.is_idle(p)}
            seen: Counter[int] = Counter()
            for (prio, autocluster), group in cluster.groups.items():
                members = {p for p in idle if cluster.is_idle_in(p, group) and self._belongs(cluster, p, group)}
                assert group.count == len(members), (cluster.number, group.count, members)
                assert group.first() == min(members, default=None)
                for proc in members:
                    ad = cluster.ad_of(proc)
                    assert (ad.eval("JobPrio"), book.autoclusters.of(ad)) == (prio, autocluster)
                seen.update(members)
            assert set(seen) == idle
            assert all(times == 1 for times in seen.values()), "a job waits in one place"

    def _belongs(self, cluster: Any, proc: int, group: Any) -> bool:
        """Jobs that nothing has happened to are told apart by their ads only."""
        job = cluster.jobs.get(proc)
        if job is not None and job.group is not None:
            return job.group is group
        ad = cluster.submitted_ad(proc)
        return (ad.eval("JobPrio"), self.queue.book.autoclusters.of(ad)) == (group.prio, group.autocluster)

    def _check_restart(self) -> None:
        again = self.disk.load(self.now, self.queue.book.next_cluster)
        assert _shown(again) == _shown(self.queue)

    def _left(self) -> list[str]:
        book = self.queue.book
        jobs = [f"{job} {book.clusters[job.cluster].status(job.proc).name}" for job in book.ids()]
        jobs += [f"{node.name} offers {node.offered}, {node.held} held" for node in self.nodes.values()]
        waiting = {name: [(g.cluster, g.count) for g in groups] for name, groups in self.queue.book.waiting().items()}
        jobs.append(f"waiting: {waiting}")
        return jobs + [f"{each.id} {each.stage} {each.job} {each.run}" for each in self.queue.holder.claims.values()]

    # -- the end -------------------------------------------------------------------------------------

    def calm(self) -> None:
        """Nothing is lost any more, all jobs are released and end: the queue has to become empty."""
        for node in self.nodes.values():
            node.unwilling = False
        since = self.now
        for _ in range(80):
            self.now += 25
            self.feed(ev.Ticked())
            held = [job for job in self.queue.book.ids() if self.queue.book.find(job).status is JobStatus.HELD]  # type: ignore[union-attr]
            if held:
                # Some cannot be helped: what they need of a machine is nowhere.
                hopeless = self.now > since + 1500
                self.act(ev.Action.REMOVE if hopeless else ev.Action.RELEASE, *held)
            while self.match():
                pass
            self.repeat_reports()
            while any(self.to_node.values()) or any(self.to_queue.values()):
                for name in self.nodes:
                    self.deliver_order(name)
                    self.deliver_word(name)
            for name, node in self.nodes.items():
                for slot in list(node.runs):
                    self.to_queue[name].append(node.ends(slot, self.now))
            if not self.queue.book.clusters and not any(node.held for node in self.nodes.values()):
                break
        self.check()
        assert not self.queue.book.clusters, f"left: {self._left()}"
        assert not self.queue.holder.claims
        for node in self.nodes.values():
            assert not node.runs
            assert not node.held, "a claim that nobody holds"


def _shown(queue: Queue) -> dict[str, Any]:
    return {
        str(job): sorted((name.lower(), str(value)) for name, value in ad_data(_ad(queue, job)).items())
        for job in queue.book.ids()
    }


def _ad(queue: Queue, job: JobId) -> ClassAd:
    return queue.book.clusters[job.cluster].ad_of(job.proc)
