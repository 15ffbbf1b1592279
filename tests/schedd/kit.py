"""A queue that a test tells what happens, event by event, and the jobs to submit to it. Nobody answers its orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roost.classad import ClassAd, parse_expression
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd.claims.claim_table import QueueSettings
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import Job
from roost.schedd.queue import Queue, Step
from roost.sim.queue.disk import Disk
from tests.schedd import soundness

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

    def mistake(self, index: int) -> str:
        return ""

    @property
    def longest(self) -> int:
        return 0

    def items(self, jobs: int) -> int:
        return jobs

    def to_data(self) -> Any:
        return self


def source(count: int, *, own: Mapping[str, tuple[Any, ...]] | None = None, **attributes: Any) -> Source:
    """Jobs with a log; a text that begins with = is an expression."""
    ad = ClassAd({"JobStatus": 1, "UserLog": "/log", "RequestMemory": 10, "Requirements": True, "JobPrio": 0})
    for name, value in attributes.items():
        if isinstance(value, str) and value.startswith("="):
            ad[name] = parse_expression(value[1:])
        else:
            ad[name] = value
    return Source(ad, count, own or {})


class Driven:
    """A queue, what it kept, and the effects that it ordered."""

    def __init__(self, settings: QueueSettings = SETTINGS) -> None:
        self.now = 1_700_000_000.0
        self.queue = Queue(settings, self.now)
        self.disk = Disk()
        self.past = soundness.Past()
        self.ordered: list[ef.Effect] = []
        self._slots = 0

    def feed(self, event: ev.Event) -> Step:
        before = soundness.statuses_of(self.queue)
        step = self.queue.step(event, self.now)
        soundness.check_rows(before, step, self.queue)
        self.disk.keep(step.changes)
        self.past.took(step)
        self.ordered += step.effects
        return step

    def check(self) -> None:
        soundness.check(self.queue, self.disk, self.past)
        soundness.check_restart(self.queue, self.disk, self.now)

    def restart(self) -> None:
        """The queue was killed and starts again."""
        self.queue = self.disk.load(self.queue.claim_table.settings, self.now, self.queue.book.next_cluster)
        self.feed(ev.Started(claims=self.disk.kept_claims))

    def job(self, cluster: int, proc: int = 0) -> Job:
        found = self.queue.book.find(JobId(cluster, proc))
        assert found is not None
        return found

    @property
    def reply(self) -> ef.Reply:
        """The last one."""
        return next(each for each in reversed(self.ordered) if isinstance(each, ef.Reply))

    # -- users ---------------------------------------------------------------------------------------

    def submit(self, jobs: Source, owner: str = "ann") -> int:
        number = self.queue.book.next_cluster
        self.feed(ev.Submitted(clusters=(jobs,), owner=owner, reply_to="r"))
        return number

    def act(self, action: ev.Action, *jobs: JobId, superuser: bool = False, **attributes: Any) -> None:
        user, ad = "eve" if superuser else "ann", ClassAd(attributes)
        self.feed(ev.Acted(action=action, jobs=jobs, user=user, superuser=superuser, reply_to="r", attributes=ad))

    def act_on_cluster(self, action: ev.Action, number: int, user: str = "ann", **attributes: Any) -> None:
        """Do something to a whole cluster, as the queue's daemon does: its factory comes first, except in an edit."""
        cluster = self.queue.book.clusters[number]
        jobs, ad = tuple(JobId(number, proc) for proc in cluster.procs()), ClassAd(attributes)
        parts = [{"factories": (number,)}, {"jobs": jobs}]
        for part in parts[::-1] if action is ev.Action.EDIT else parts:
            fields = {"jobs": (), "factories": ()} | part
            self.feed(ev.Acted(action=action, user=user, reply_to="r", attributes=ad, **fields))

    # -- the matchmaker and a machine ----------------------------------------------------------------

    def match(self, slot_ad: ClassAd | None = None) -> ef.AskForSlot | None:
        """Another slot of machine a for the first group of waiting jobs; what the queue asks of the machine."""
        group = next((group for groups in self.queue.book.waiting().values() for group in groups), None)
        if group is None:
            return None
        self._slots += 1
        name = f"slot{self._slots}@a"
        given = ev.MatchGiven(
            submitter=group.submitter,
            autocluster=group.autocluster,
            slot=name,
            node="a",
            claim_id=f"<a>#{self._slots}",
            slot_ad=slot_ad or ad_of_slot(name),
        )
        return next((each for each in self.feed(given).effects if isinstance(each, ef.AskForSlot)), None)

    def answer(self, asked: ef.AskForSlot, refusal: str = "") -> Step:
        """The machine grants a slot, or refuses it."""
        return self.feed(
            ev.ClaimAnswered(
                node=asked.node,
                asked_id=asked.claim_id,
                accepted=not refusal,
                refusal=refusal,
                claim_id=asked.claim_id,
                slot=asked.slot,
                slot_ad=None if refusal else ad_of_slot(asked.slot),
            )
        )

    def begun(self, job: Job) -> None:
        """The run of a job has begun."""
        claim = self.queue.claim_table.claims[job.claim_id]
        self.feed(ev.RunBegan(claim_id=claim.id, run=job.run, at=self.now, slot=claim.slot))

    def start(self) -> Job:
        """The first waiting job gets a slot and begins to run."""
        asked = self.match()
        assert asked is not None
        self.answer(asked)
        claim = self.queue.claim_table.claims[asked.claim_id]
        assert claim.job is not None
        job = self.job(claim.job.cluster, claim.job.proc)
        self.begun(job)
        return job

    def end(self, job: Job, ending: str = "exit", **more: Any) -> Step:
        """The run of a job ends: "exit", "evict" or "hold"."""
        assert job.run
        report: dict[str, Any] = {
            "node": "a",
            "claim_id": job.claim_id,
            "run": job.run,
            "at": self.now,
            "ending": ending,
            "started": True,
            "code": 0 if ending == "exit" else 1001,
            "text": "ended",
            "exit_code": 0 if ending == "exit" else None,
            "attributes": ClassAd({"RemoteUserCpu": 1.0, "JobStatus": 4, "Owner": "mallory"}),
        }
        return self.feed(ev.RunEnded(**(report | more)))


def ad_of_slot(name: str) -> ClassAd:
    """The ad of a slot that takes any job."""
    return ClassAd({"Name": name, "Memory": 1000, "Requirements": True})
