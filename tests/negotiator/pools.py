"""Small pools, drawn at random from texts that people write."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from roost.classad import ClassAd, Expr
from roost.classad.vector import Table
from roost.negotiator.accountant import Accountant
from roost.negotiator.settings import LimitSettings, NegotiatorSettings, PolicySettings
from roost.negotiator.snapshot import Request, Snapshot, SubmitterDemand

STARTS = (
    "true",
    "KeyboardIdle > 900",
    'TARGET.Owner == "ann" || LoadAvg < 0.5',
    "TARGET.RequestMemory <= Memory && KeyboardIdle > 60",
    "TARGET.ImageSize < Memory * 100",
    "false",
    "Nothing > 3",
)
RANKS = ("0.0", "0", 'TARGET.Owner == "bob"', "TARGET.JobPrio * 10 + (TARGET.ImageSize < 10000)", '"text"')
REQUIREMENTS = (
    "true",
    "TARGET.Memory >= RequestMemory && TARGET.Cpus >= RequestCpus",
    'TARGET.Arch == "X86_64" && TARGET.Memory >= RequestMemory',
    "LoadAvg < 1.0 || TARGET.KeyboardIdle > 600",
    "false",
)
JOB_RANKS = (None, "0.0", "TARGET.Memory", "TARGET.Memory / 1024.0 - TARGET.LoadAvg", "Undefined1")
PREEMPTIONS = (
    "false",
    None,
    "true",
    "MY.RemoteUserPrio > TARGET.SubmitterUserPrio * 1.2",
    "TARGET.JobPrio > 0 && MY.TotalJobRunTime > 100",
)
RESOURCE_POLICIES = (None, None, 'TARGET.Owner =!= "cid" || MY.Memory < 2048', "MY.LoadAvg < 1.5", "TARGET.Nothing")
JOB_POLICIES = (None, None, 'MY.Owner != "ann" || TARGET.Cpus > 1')
USERS = ("ann", "bob", "cid", "dee")
NOW = 1_700_000_000.0


@dataclass
class Pool:
    """A pool that can change between cycles, as the collector would tell of it."""

    seed: int
    slots: dict[str, ClassAd] = field(default_factory=dict)
    settings: NegotiatorSettings = field(default_factory=NegotiatorSettings)
    demands: tuple[SubmitterDemand, ...] = ()
    accounts: Accountant = field(default_factory=Accountant)
    table: Table = field(default_factory=Table)
    versions: np.ndarray = field(default_factory=lambda: np.zeros(1000, np.int64))
    clock: int = 0
    promised: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.source = random.Random(self.seed)

    def put(self, name: str, ad: ClassAd) -> None:
        self.clock += 1
        self.slots[name] = ad
        self.table.put(name, ad)
        self.versions[self.table.place(name)] = self.clock

    def remove(self, name: str) -> None:
        self.clock += 1
        row = self.table.place(name)
        self.table.remove(name)
        self.versions[row] = self.clock
        del self.slots[name]

    def snapshot(self) -> Snapshot:
        return Snapshot(
            slots=self.table,
            claims={name: f"claim-{name}" for name in self.slots},
            nodes=dict.fromkeys(self.slots, "node"),
            demands=self.demands,
            now=NOW,
            promised=frozenset(self.promised),
            versions=self.versions,
        )


def make_slot(source: random.Random, number: int) -> ClassAd:
    ad = ClassAd(
        MyType="Machine", Name=f"slot{number}", SlotID=number % 4 + 1, Cpus=source.choice((1, 1, 2, 4)),
        Memory=source.choice((512, 1024, 2048, 4096)), Arch=source.choice(("X86_64", "AARCH64")),
        LoadAvg=source.choice((0.0, 0.3, 0.7, 1.2, 2.0)), KeyboardIdle=source.choice((10, 100, 1000)),
        State="Unclaimed", Activity="Idle",
    )  # fmt: skip
    if source.random() < 0.5:
        ad["KFlops"] = source.choice((1000, 50_000))
    ad["START"] = Expr.parse(source.choice(STARTS))
    ad["Requirements"] = Expr.parse(source.choice(("START", "START && TARGET.RequestCpus <= Cpus", "true")))
    ad["Rank"] = Expr.parse(source.choice(RANKS))
    if source.random() < 0.1:
        del ad["Requirements"]
    if source.random() < 0.4:
        occupy(source, ad)
    return ad


def occupy(source: random.Random, ad: ClassAd) -> None:
    user = source.choice(USERS) + "@x"
    ad["State"], ad["Activity"] = "Claimed", "Busy"
    ad["RemoteUser"] = ad["RemoteOwner"] = user
    ad["CurrentRank"] = source.choice((0.0, 0.0, 1.0, 20.0))
    ad["TotalJobRunTime"] = source.choice((5, 500, 5000))
    ad["RetirementTimeRemaining"] = source.choice((0, 0, 0, 100))
    if source.random() < 0.2:
        ad["PreemptingUser"], ad["PreemptingRank"] = source.choice(USERS) + "@x", source.choice((0.0, 5.0))
    if source.random() < 0.3:
        ad["ConcurrencyLimits"] = source.choice(("lic", "lic:2,db", "db.x:1.5"))


def make_job(source: random.Random, owner: str) -> ClassAd:
    ad = ClassAd(
        MyType="Job", Owner=owner, User=f"{owner}@x", JobPrio=source.randrange(-2, 3), JobUniverse=5,
        RequestCpus=source.choice((1, 1, 2)), RequestMemory=source.choice((100, 1000, 3000)),
        ImageSize=source.choice((100, 60_000, 300_000)),
    )  # fmt: skip
    ad["Requirements"] = Expr.parse(source.choice(REQUIREMENTS))
    rank = source.choice(JOB_RANKS)
    if rank is not None:
        ad["Rank"] = Expr.parse(rank)
    if source.random() < 0.25:
        ad["ConcurrencyLimits"] = source.choice(("lic", "db", "lic:2, db.x", "db.y:0.5"))
    if source.random() < 0.1:
        ad["ConcurrencyLimits"] = Expr.parse('strcat("db.", TARGET.Arch == "X86_64" ? "x" : "y")')
    return ad


def make_demands(source: random.Random) -> tuple[SubmitterDemand, ...]:
    demands, number = [], 0
    for schedd in ("s1", "s2")[: source.randrange(1, 3)]:
        for owner in source.sample(USERS, source.randrange(1, 4)):
            requests = []
            for _ in range(source.randrange(1, 4)):
                number += 1
                ad = make_job(source, owner)
                count = source.choice((1, 2, 5, 30))
                requests.append(Request(autocluster=number, ad=ad, count=count, job=f"{number}.0"))
            demands.append(SubmitterDemand(schedd=schedd, submitter=f"{owner}@x", requests=tuple(requests)))
    return tuple(demands)


def make_settings(source: random.Random) -> NegotiatorSettings:
    def expr(texts: tuple[str | None, ...]) -> Expr | None:
        text = source.choice(texts)
        return None if text is None else Expr.parse(text)

    default = NegotiatorSettings()
    return NegotiatorSettings(
        consider_preemption=source.random() < 0.8,
        consider_early_preemption=source.random() < 0.3,
        ignore_priorities=source.random() < 0.2,
        use_weights=source.random() < 0.8,
        pre_job_rank=source.choice((default.pre_job_rank, None, Expr.parse("RemoteOwner =?= UNDEFINED"))),
        post_job_rank=source.choice((default.post_job_rank, None)),
        preemption_requirements=expr(PREEMPTIONS),
        preemption_rank=source.choice((default.preemption_rank, None)),
        slot_constraint=expr((None, None, None, "Memory > 600")),
        limits=LimitSettings(named={"lic": 3.0, "db": 2.0}, below={"db": 2.5}),
        policy=PolicySettings(
            startd_only=expr((None, None, "KFlops < 2000")),
            job_only=expr((None, None, "MY.ImageSize > 100000")),
            resource=expr(RESOURCE_POLICIES),
            job=expr(JOB_POLICIES),
            log_only=source.random() < 0.2,
        ),
    )


def make_pool(seed: int, size: int = 14) -> Pool:
    pool = Pool(seed)
    source = pool.source
    for number in range(source.randrange(1, size)):
        pool.put(f"slot{number}", make_slot(source, number))
    pool.settings = make_settings(source)
    pool.demands = make_demands(source)
    for user in USERS:
        pool.accounts.user(user + "@x").priority = source.choice((0.5, 0.5, 3.0, 12.0))
        if source.random() < 0.1:
            pool.accounts.set_bounds(user + "@x", floor=source.choice((None, 3.0)), ceiling=source.choice((None, 4.0)))
    return pool


def change(pool: Pool) -> None:
    """What happens in a pool between two cycles."""
    source = pool.source
    for name in list(pool.slots):
        dice = source.random()
        if dice < 0.15:
            pool.put(name, make_slot(source, int(name.removeprefix("slot"))))
        elif dice < 0.2 and len(pool.slots) > 1:
            pool.remove(name)
        elif dice < 0.3:
            pool.promised ^= {name}
    if source.random() < 0.3:
        number = 100 + pool.clock
        pool.put(f"slot{number}", make_slot(source, number))
    if source.random() < 0.3:
        pool.demands = make_demands(source)
