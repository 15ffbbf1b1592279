"""A cycle of the matchmaker: cold, and with what it remembers of the one before."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable

import numpy as np

from bench.classad_vector import make_jobs, make_slots
from bench.measure import Row
from roost.classad import ClassAd, parse_expression
from roost.classad.vector import Table
from roost.negotiator.accountant import Accountant
from roost.negotiator.cycle import negotiate, negotiation
from roost.negotiator.memory import Memory
from roost.negotiator.settings import NegotiatorSettings, PolicySettings
from roost.negotiator.snapshot import Plan, Request, Snapshot, SubmitterDemand
from roost.negotiator.timing import Steps

#: What is wanted, s: a cold cycle, and one with 1 % of the ads changed.
COLD_S = 2.0
WARM_S = 0.2
#: Share of the ads that change between two cycles.
CHANGED = 0.01
#: What the policy may cost of a cycle.
POLICY_SHARE = 0.1
#: Rounds by which that is measured: one cycle without and one with it.
POLICY_ROUNDS = 9
POLICY = PolicySettings(
    startd_only=parse_expression("Memory < 128 || KFlops < 1000"),
    job_only=parse_expression('MY.Owner == "smith" && MY.NumJobStarts > 10'),
    resource=parse_expression('TARGET.Group =!= "students" || MY.KFlops < 500000'),
    job=parse_expression('MY.Group =!= "x" || TARGET.Machine != "y.example.org"'),
)


class Pool:
    """Slots as a collector keeps them, and the demand of a few users."""

    def __init__(self, slots: int, requests: int) -> None:
        self.ads = dict(make_slots(slots, 1))
        for number, ad in enumerate(self.ads.values()):
            if ad["State"] == "Claimed":
                ad["RemoteOwner"] = ad["RemoteUser"] = f"user{number % 20}@example.org"
                ad["CurrentRank"] = 0.0
            ad["SlotID"] = number % 8 + 1
        # The ads of the benchmark itself are not to be walked while something is timed.
        gc.collect()
        gc.freeze()
        self.table = Table(self.ads.items())
        self.versions = np.ones(slots, np.int64)
        self.clock = 1
        self.promised: set[str] = set()
        by_user: dict[str, list[Request]] = {}
        for number, ad in enumerate(make_jobs(requests, 2)):
            request = Request(autocluster=number, ad=ad, count=number % 40 + 1, job=f"{number}.0")
            by_user.setdefault(str(ad["Owner"]), []).append(request)
        self.demands = tuple(
            SubmitterDemand(schedd="queue", submitter=f"{user}@example.org", requests=tuple(wanted))
            for user, wanted in by_user.items()
        )
        self.names = dict.fromkeys(self.ads, "node")

    def snapshot(self, now: float) -> Snapshot:
        return Snapshot(
            slots=self.table,
            claims=self.names,
            nodes=self.names,
            demands=self.demands,
            now=now,
            promised=self.promised,
            versions=self.versions,
        )

    def change(self, source: random.Random, share: float) -> None:
        """New measurements from some of the machines."""
        for name in source.sample(sorted(self.ads), int(len(self.ads) * share)):
            ad: ClassAd = self.ads[name].copy()
            ad["LoadAvg"], ad["KeyboardIdle"] = source.random(), source.randrange(10**4)
            self.clock += 1
            self.table.put(name, ad)
            self.versions[self.table.place(name)] = self.clock


def _timed(run: Callable[[], Plan]) -> tuple[Plan, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    plan = run()
    return plan, time.perf_counter() - wall, time.process_time() - cpu


def run(*, quick: bool) -> list[Row]:
    """Rows: cold, 1 % changed, the share of a policy."""
    slots, requests = (5_000, 100) if quick else (50_000, 1_000)
    pool, memory, accounts = Pool(slots, requests), Memory(), Accountant()
    source = random.Random(7)
    cold, wall, cpu = _timed(lambda: negotiate(pool.snapshot(1.7e9), accounts=accounts, memory=memory))
    pool.promised.update(match.slot for match in cold.matches)
    # What was given away is known by now, and a queue has been told.
    negotiate(pool.snapshot(1.7e9 + 20), accounts=accounts, memory=memory)
    warm = []
    for step in range(5):
        pool.change(source, CHANGED)
        now = 1.7e9 + 60 * (step + 1)
        plan, wall_, cpu_ = _timed(lambda: negotiate(pool.snapshot(now), accounts=accounts, memory=memory))  # noqa: B023
        warm.append((cpu_, wall_, plan))
        pool.promised.update(match.slot for match in plan.matches)
    gc.unfreeze()
    warm.sort(key=lambda each: each[0])
    cpu_, wall_, plan = warm[2]
    about = f"{requests:,} autoclusters, {slots:,} slots"
    return [
        Row(
            name=f"pool (d) a cycle from nothing: {about}",
            ratio=COLD_S / cpu,
            wanted=None if quick else 1.0,
            detail=f"{cpu:.2f} s of processor, {wall:.2f} s; {len(cold.matches):,} matches; {COLD_S} s / time",
            bound="some 0.5 ms a request for both Requirements on 50,000 slots, 0.6 ms for ranks",
        ),
        Row(
            name=f"pool (d) the next one, {CHANGED:.0%} of the ads changed",
            ratio=WARM_S / cpu_,
            wanted=None if quick else 1.0,
            detail=f"{cpu_:.3f} s of processor, {wall_:.3f} s; {len(plan.matches):,} matches, "
            f"{plan.record['judged_slots']} slots judged; {WARM_S} s / time",
            bound="some 0.1 us for each pair of a slot that changed and a request, 10 us for each list of best slots",
        ),
        _policy_row(pool, quick=quick),
    ]


def _policy_row(pool: Pool, *, quick: bool) -> Row:
    """Two cycles from nothing, request by request in turn: one without a policy and one with it.

    So whatever else the machine does hits both alike; a whole cycle after another would differ by more than a policy
    costs. The tables forget what they know before each round.
    """
    pool.promised.clear()
    gc.freeze()
    rounds = []
    for number in range(POLICY_ROUNDS):
        # Each variant is first in every other round.
        times = _in_turn(pool, (False, True) if number % 2 else (True, False))
        rounds.append((times[True] / times[False], times[False]))
    gc.unfreeze()
    without = statistics.median(each for _, each in rounds)
    low, share, high = statistics.quantiles([share for share, _ in rounds], n=4)
    return Row(
        name="pool (d) a cycle from nothing with a pool-wide policy, and without",
        ratio=(1 + POLICY_SHARE) / share,
        wanted=None if quick else 1.0,
        detail=f"{share - 1:+.1%} of {without:.2f} s of processor (quartiles {low - 1:+.1%} and {high - 1:+.1%} of "
        f"{POLICY_ROUNDS} rounds), all four expressions set; wanted is less than {POLICY_SHARE:+.0%}",
        bound="a look at each request's ad; what a condition gives is shared by the requests that look the same to it",
    )


def _in_turn(pool: Pool, policies: tuple[bool, bool]) -> dict[bool, float]:
    """Seconds of the processor that a cycle takes with a policy and without, a step of each in turn."""
    cycles: dict[bool, Steps[Plan]] = {}
    times = dict.fromkeys(policies, 0.0)
    for policy in policies:
        pool.table = Table(pool.ads.items())
        settings = NegotiatorSettings(policy=POLICY if policy else PolicySettings())
        cycles[policy] = negotiation(pool.snapshot(1.7e9), settings=settings)
    gc.collect()
    told: float | None = None
    while cycles:
        for policy, steps in list(cycles.items()):
            begun = time.process_time()
            try:
                steps.send(told)  # type: ignore[arg-type]
            except StopIteration:
                del cycles[policy]
            times[policy] += time.process_time() - begun
        told = 0.0
    return times
