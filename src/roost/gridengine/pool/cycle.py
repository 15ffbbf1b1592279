"""A cycle of a pool with a cell: the matchmaker's snapshot in, the matchmaker's plan out.

1. The running tasks are the claimed slots with a `CellTask`, plus the tasks of matches that were handed out but whose
   slots have not reported them yet.
2. Each group of idle jobs that the queues distinguish is a job; several processes of a cluster are an array.
3. The scheduling run decides which queue instance each job gets.
4. A task starts on an available slot of its host's machine that matches the job. A partitionable slot is given away
   once per cycle, because its machine offers its next claim only after it has created the dynamic slot for the previous
   one. Other tasks of the run that should start there wait for the next cycle. A parallel job gets one dynamic slot for
   all its slots on a host, or as many static slots, on each of its hosts: all of them in one match, or nothing in this
   cycle.
5. The causes that must suspend tasks are compared with those that their slots report (`suspensions`).

What it does not do
    Jobs that request more than one core wait, with that reason; a job with a parallel environment requests one core per
    slot. Concurrency limits, fair-share priorities, group quotas and preemption of the matchmaker do not apply: the
    cell's own policies replace them.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from roost.base.records import dataclass, field
from roost.classad import ClassAd
from roost.classad.reading import amount_in
from roost.gridengine.instances import QueueInstance, Resolver
from roost.gridengine.objects.host import GLOBAL
from roost.gridengine.pool.active_cell import ActiveCell
from roost.gridengine.pool.hosts import Hosts, global_loads, load_values
from roost.gridengine.pool.instance_states import letters_of
from roost.gridengine.pool.requests import Groups, Reader
from roost.gridengine.pool.reservations import booked
from roost.gridengine.pool.suspensions import OccupiedSlot, SuspendOrder, Suspensions
from roost.gridengine.pool.tasks import (
    Parts,
    Start,
    cluster_of,
    gang_of,
    grants_of,
    instance_of,
    part_of,
    running_task,
    task_ad,
)
from roost.gridengine.pool.usage import used_by_account
from roost.gridengine.scheduling import (
    CellSnapshot,
    Dispatch,
    Grant,
    HostReport,
    NotScheduled,
    PendingJob,
    Priority,
    RunningTask,
    SchedulingPlan,
    running,
    turn,
)
from roost.gridengine.scheduling.loads import host_of
from roost.gridengine.scheduling.reasons import ReasonCode
from roost.model.cell_requests import (
    DEADLINE,
    FOLLOWS,
    NEXT_ON_MACHINE,
    NOT_BEFORE,
    OVERRIDE_TICKETS,
    RESERVATION,
    RESERVE,
    SHARE,
    TASK,
)
from roost.model.cycle_answers import JobInCell, SlotInCycle
from roost.model.identifiers import public_of
from roost.negotiator.snapshot import Match, Part, Pledge, Rejection, Request, Snapshot, SubmitterDemand
from roost.negotiator.snapshot import Plan as Matches
from roost.negotiator.timing import Steps, bounded
from roost.schedd.jobs.idle import Autoclusters

#: States of slots in use.
_TAKEN: Final = frozenset(("Claimed", "Preempting", "Matched"))
#: Slots examined per step.
_STEP: Final = 256
#: How many more tasks of an array a run considers than may start in it.
_TASKS_MORE: Final = 1
_EPOCH: Final = datetime.datetime(1970, 1, 1)
#: `qsub -p`
_PRIORITIES: Final = (-1023, 1024)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A slot that may be given away, now or as soon as its machine offers a claim for the rest of it."""

    slot: str
    row: int
    partitionable: bool
    #: Number of one-slot tasks that fit.
    room: int


class Task(NamedTuple):
    """A task that is running or about to run."""

    ad: ClassAd
    #: Epoch s.
    started: float
    #: Its slot and the slot's ad; "" and an empty ad for one that is about to run.
    slot: str = ""
    slot_ad: ClassAd = ClassAd()


@dataclass(slots=True)
class PoolHosts:
    """The machines of the pool as hosts of the cell."""

    seats: dict[str, list[Seat]] = field(default_factory=dict)
    #: Host to the ad of one slot of its machine.
    machines: dict[str, ClassAd] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)

    def jobs(self) -> list[list[Task]]:
        """The tasks by job: each alone, or with the other parts of a parallel job, the master's first."""
        found: dict[str, list[Task]] = {}
        for place, task in enumerate(self.tasks):
            found.setdefault(gang_of(task.ad) or str(place), []).append(task)
        return [sorted(some, key=lambda each: part_of(each.ad)) for some in found.values()]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A group of idle jobs as a job of the run."""

    demand: SubmitterDemand
    request: Request

    @property
    def key(self) -> tuple[str, int]:
        return self.demand.schedd, self.request.autocluster


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRecord:
    """The record of a cycle for explanations."""

    at: float
    revision: int
    plan: SchedulingPlan | None
    #: By queue and autocluster: the number in the plan.
    numbers: Mapping[tuple[str, int], int] = field(default_factory=dict)
    #: By queue and autocluster: why the run did not consider jobs, or could not start them where planned.
    apart: Mapping[tuple[str, int], str] = field(default_factory=dict)
    #: Suspension orders for machines.
    suspensions: tuple[SuspendOrder, ...] = ()
    #: By queue and cluster: the number in the plan, for waiting and running jobs.
    clusters: Mapping[tuple[str, int], int] = field(default_factory=dict)
    #: Offset of local time from UTC, s east.
    zone_offset_s: float = 0.0

    def priorities(self) -> Iterator[tuple[str, int, Priority, bool]]:
        """Queue, cluster and priority of each job, and whether it waits because of a limit of its user."""
        if self.plan is None:
            return
        known, waiting = self.plan.priorities, self.plan.waiting
        for (schedd, cluster), number in self.clusters.items():
            if number in known:
                reasons = waiting[number].reasons if number in waiting else ()
                yield schedd, cluster, known[number], any(one.code is ReasonCode.USER_LIMIT for one in reasons)

    def about_request(self, schedd: str, submitter: str, autocluster: int) -> JobInCell | None:
        """Why a request got nothing; None if it was not in the cycle."""
        key = schedd, autocluster
        if key not in self.numbers and key not in self.apart:
            return None
        number = self.numbers.get(key, -1)
        priority = None if self.plan is None else self.plan.priorities.get(number)
        return JobInCell(
            at=self.at,
            revision=self.revision,
            reasons=list(self.reasons(key)),
            priority=None if priority is None else priority.priority,
        )

    def reasons(self, key: tuple[str, int]) -> Iterator[str]:
        """Why jobs wait, in sentences, as `qstat -j` prints them."""
        if key in self.apart:
            yield self.apart[key]
        if self.plan is not None and key in self.numbers:
            yield from self.plan.scheduling_info(self.numbers[key])
            if reserved := self._reserved(self.numbers[key]):
                yield reserved

    def _reserved(self, number: int) -> str:
        """The resources reserved for a job, in a sentence; "" for none."""
        found = [one for one in self.plan.reservations if one.job == number] if self.plan is not None else []
        if not found:
            return ""
        when = _EPOCH + datetime.timedelta(seconds=found[0].start + self.zone_offset_s)
        grants = ",".join(f"{instance}={slots}" for instance, slots in found[0].grants)
        more = f", and for {len(found) - 1} more of its tasks" if len(found) > 1 else ""
        return f"reservation begins at {when:%m/%d/%Y %H:%M:%S} on {grants}{more}"

    def about_slot(self, slot: str) -> SlotInCycle | None:
        """None: slots take part through their hosts, so a run has no verdict on a slot."""
        return None


def cell_cycle(
    active: ActiveCell,
    snapshot: Snapshot,
    groups: Groups,
    significant: Sequence[str],
    suspensions: Suspensions | None = None,
) -> Steps[Matches]:
    """Decide what the pool's idle jobs get, in steps; its inputs must not change between steps.

    `significant` are the job attributes that machine policies use; `suspensions` has the orders to machines in earlier
    cycles.
    """
    return bounded(_cycle(active, snapshot, groups, significant, suspensions or Suspensions()))


def _cycle(
    active: ActiveCell, snapshot: Snapshot, groups: Groups, significant: Sequence[str], suspensions: Suspensions
) -> Steps[Matches]:
    hosts = Hosts(active.cell, active.instances)
    found = yield from pool_hosts(snapshot, hosts)
    reader, verdicts = Reader(active.cell, groups), _Verdicts(snapshot, found, significant)
    wanted: list[_Wanted] = []
    apart: dict[tuple[str, int], str] = {}
    for demand in snapshot.demands:
        for request in demand.requests:
            each = _Wanted(demand, request)
            why = _misfit(request.ad)
            if why:
                apart[each.key] = why
            else:
                wanted.append(each)
    wanted.sort(key=lambda each: (amount_in(each.request.ad, "QDate"), *_job(each.request.job), *each.key))
    limit = active.cell.scheduler.max_pending_tasks_per_job + _TASKS_MORE
    jobs: dict[int, _Wanted] = dict(enumerate(wanted, 1))
    pending: list[PendingJob] = []
    for number, each in jobs.items():
        pending.append(_pending(number, each.request, reader, verdicts, limit, snapshot.now))
        yield
    clusters = _clusters(jobs)
    told = cell_snapshot(active, snapshot, found, suspensions, pending, clusters)
    try:
        plan = yield from running(told)
    except NotScheduled as refusal:
        apart.update({each.key: str(refusal) for each in wanted})
        return _plan(active, snapshot, found, jobs, apart, clusters, _CarriedOut())
    starts = _starts(active, snapshot, found, plan, jobs, pending, verdicts)
    orders = _orders(found, plan, suspensions, snapshot.now)
    return _plan(active, snapshot, found, jobs, apart, clusters, _CarriedOut(plan, starts, orders))


def _clusters(jobs: Mapping[int, _Wanted]) -> dict[tuple[str, int], int]:
    """Queue and cluster to the number of the job that stands for it."""
    return {(each.demand.schedd, _job(each.request.job)[0]): number for number, each in jobs.items()}


class _CarriedOut(NamedTuple):
    """The effects of a plan, if there is one: jobs with their matches, as `_starts` yields them, and orders to
    suspended jobs.
    """

    plan: SchedulingPlan | None = None
    starts: Iterator[tuple[int, Match | None]] = iter(())
    orders: tuple[SuspendOrder, ...] = ()


def _orders(pool: PoolHosts, plan: SchedulingPlan, suspensions: Suspensions, now: float) -> tuple[SuspendOrder, ...]:
    # A parallel job is suspended at its master.
    masters = (some[0] for some in pool.jobs())
    found = [each for each in zip(masters, plan.suspenders, plan.suspenders_after, strict=True) if each[0].slot]
    places = [OccupiedSlot(each.slot, each.slot_ad, instance_of(each.ad)) for each, _, _ in found]
    return tuple(suspensions.orders(places, [causes for _, causes, _ in found], now, [after for *_, after in found]))


# -- machines ---------------------------------------------------------------------------------------------------------


def pool_hosts(snapshot: Snapshot, hosts: Hosts) -> Steps[PoolHosts]:
    """Collect the hosts and tasks from all slots."""
    found, table = PoolHosts(), snapshot.slots
    pledged = _pledged(snapshot)
    for row, name in enumerate(map(str, table.keys())):
        if row % _STEP == 0:
            yield
        ad = table.ad(name)
        host = hosts.of(str(ad.get("Machine", "")))
        task = ad.get(TASK)
        if isinstance(task, ClassAd):
            found.tasks.append(Task(task, amount_in(ad, "JobStart") or amount_in(task, "Granted"), name, ad))
        if host is None:
            continue
        found.machines.setdefault(host, ad)
        seats = found.seats.setdefault(host, [])
        if name in snapshot.claims and ad.get("State") not in _TAKEN:
            partitionable = ad.get("PartitionableSlot") is True
            room = int(amount_in(ad, "Cpus")) if partitionable else 1
            if name in snapshot.promised:
                # The rest of a partitionable slot can be given away as soon as its machine has created the dynamic
                # slot.
                room -= pledged[host] if partitionable else room
            if room > 0:
                seats.append(Seat(slot=name, row=row, partitionable=partitionable, room=room))
    found.tasks += [Task(each.task, snapshot.now) for each in snapshot.pledges if each.task is not None]
    return found


def _pledged(snapshot: Snapshot) -> Counter[str]:
    """Host to the slots of tasks that machines have not reported yet."""
    found: Counter[str] = Counter()
    for each in snapshot.pledges:
        if each.task is not None:
            found[host_of(instance_of(each.task))] += sum(grant.slots for grant in grants_of(each.task))
    return found


class _Verdicts:
    """The hosts whose machines refuse a job; evaluated once for jobs that machines cannot distinguish."""

    def __init__(self, snapshot: Snapshot, pool: PoolHosts, significant: Sequence[str]) -> None:
        self._snapshot, self._kinds = snapshot, Autoclusters(significant)
        size = len(snapshot.slots)
        self._names = [host for host, seats in pool.seats.items() if seats]
        #: Row to the place of its host in the names, -1 for an unavailable slot.
        self._hosts = np.full(size, -1, np.int64)
        for place, host in enumerate(self._names):
            for seat in pool.seats[host]:
                self._hosts[seat.row] = place
        self._known: dict[int, tuple[np.ndarray, frozenset[str]]] = {}

    def _of(self, ad: ClassAd) -> tuple[np.ndarray, frozenset[str]]:
        kind = self._kinds.of(ad)
        if kind not in self._known:
            mask = self._snapshot.slots.match(ad, self._snapshot.world) & (self._hosts >= 0)
            taking = set(np.unique(self._hosts[mask]).tolist())
            refused = frozenset(name for place, name in enumerate(self._names) if place not in taking)
            self._known[kind] = mask, refused
        return self._known[kind]

    def refused(self, ad: ClassAd) -> frozenset[str]:
        """The hosts that have available slots, but none for this job."""
        return self._of(ad)[1]

    def takes(self, ad: ClassAd, seat: Seat) -> bool:
        """Whether a slot and a job match."""
        return bool(self._of(ad)[0][seat.row])


def _of_cell(active: ActiveCell, pool: PoolHosts, now: float) -> dict[str, HostReport]:
    """Load values of the cell from load sensors; empty if there are none."""
    values = global_loads(pool.machines.values(), active.cell.complexes)
    return {GLOBAL: HostReport(time=now, values=values)} if values else {}


def cell_snapshot(
    active: ActiveCell,
    snapshot: Snapshot,
    pool: PoolHosts,
    suspensions: Suspensions,
    pending: Sequence[PendingJob] = (),
    clusters: dict[tuple[str, int], int] | None = None,
) -> CellSnapshot:
    """The snapshot for the run; `clusters` has the numbers of waiting jobs by queue and cluster, and running ones are
    added."""
    numbers = {} if clusters is None else clusters
    tasks: list[RunningTask] = []
    for place, some in enumerate(pool.jobs()):
        master = some[0]
        number = numbers.setdefault(cluster_of(master.ad), len(numbers) + len(pending) + 1)
        letters = suspensions.letters(master.slot, master.slot_ad) if master.slot else ""
        tasks.append(running_task([each.ad for each in some], number, master.started, place, letters))
    states = dict(_given(active))
    return CellSnapshot(
        cell=active.cell,
        instances=(
            *active.instances,
            *_orphans(active, [grant.instance for each in pool.tasks for grant in grants_of(each.ad)]),
        ),
        reports={
            # The ads of a machine that is away for too long have expired.
            host: HostReport(time=snapshot.now, values=load_values(ad, active.cell.complexes))
            for host, ad in pool.machines.items()
        }
        | _of_cell(active, pool, snapshot.now),
        now=snapshot.now,
        local_time=_EPOCH + datetime.timedelta(seconds=snapshot.now + snapshot.zone_offset_s),
        states=states,
        running=tuple(tasks),
        threshold_times=suspensions.threshold_times,
        pending=tuple(pending),
        reservations=booked(active, states, pool.machines),
        usage=used_by_account(active.usage, active.cell, snapshot.now),
        seats={host: sum(seat.room for seat in seats) for host, seats in pool.seats.items()},
    )


def _given(active: ActiveCell) -> Iterator[tuple[str, str]]:
    """States of instances that do not follow from calendars or loads."""
    known = dict(active.states)
    for one in active.instances:
        at, started = active.given_at.get(one.name, 0.0), active.started.get(one.host, 0.0)
        known[one.name] = letters_of(one, active.states.get(one.name), at, started)
    for name in {**known, **active.errors}:
        yield name, known.get(name, "") + ("E" if name in active.errors else "")


def _orphans(active: ActiveCell, occupied: Sequence[str]) -> Iterator[QueueInstance]:
    """Instances in which tasks run although the cell no longer has them."""
    known = {one.name for one in active.instances}
    resolver = Resolver(active.cell)
    for name in dict.fromkeys(occupied):
        queue = active.cell.queues.get(name.partition("@")[0])
        if name not in known and queue is not None:
            yield resolver.instance(queue, host_of(name), orphaned=True)


# -- jobs -------------------------------------------------------------------------------------------------------------


def _misfit(ad: ClassAd) -> str:
    """Why a run could never start a job; empty if it could."""
    cpus = amount_in(ad, "RequestCpus")
    if cpus > 1:
        return f"asks for {cpus:g} cores, and pools start jobs of one slot only in a cell: request_cpus must be 1"
    if isinstance(ad.get("ConcurrencyLimits"), str) and ad.get("ConcurrencyLimits"):
        return (
            "asks for concurrency_limits, which a pool with a cell does not count: "
            f"ask with cell_resources for a consumable of {GLOBAL}"
        )
    return ""


def _pending(number: int, request: Request, reader: Reader, verdicts: _Verdicts, limit: int, now: float) -> PendingJob:
    ad, (_, first) = request.ad, _job(request.job)
    several = first > 0 or request.count > 1
    low, high = _PRIORITIES
    return PendingJob(
        number=number,
        request=reader.request(ad, verdicts.refused(ad), now),
        submitted=amount_in(ad, "QDate"),
        priority=max(low, min(high, int(amount_in(ad, "JobPrio")))),
        share=max(0, int(amount_in(ad, SHARE))),
        override=max(0, int(amount_in(ad, OVERRIDE_TICKETS))),
        deadline=amount_in(ad, DEADLINE) or None,
        reserve=ad.get(RESERVE) is True,
        not_before=amount_in(ad, NOT_BEFORE),
        reservation=max(0, int(amount_in(ad, RESERVATION))),
        tasks=tuple(range(first + 1, first + 1 + min(request.count, limit))) if several else (0,),
    )


# -- the plan ---------------------------------------------------------------------------------------------------------


def _starts(
    active: ActiveCell,
    snapshot: Snapshot,
    pool: PoolHosts,
    plan: SchedulingPlan,
    jobs: Mapping[int, _Wanted],
    pending: Sequence[PendingJob],
    verdicts: _Verdicts,
) -> Iterator[tuple[int, Match | None]]:
    """The number of the job of each dispatch, with its match; None for one that must wait for its slot."""
    given = set(snapshot.promised)
    nth: Counter[int] = Counter()
    by_number = {job.number: job for job in pending}
    first = _first_waiting(active, snapshot, plan, jobs, pending)
    for dispatch in plan.dispatches:
        each, job = jobs[dispatch.job], by_number[dispatch.job]
        if job.request.interactive and dispatch.job in plan.waiting:
            # Not all of its parts can start, so none does.
            continue
        taken = _taken(dispatch, pool, given, each.request.ad, verdicts)
        if taken is None:
            yield dispatch.job, None
            continue
        given.update(seat.slot for seat, _ in taken)
        cluster, proc = _job(each.request.job)
        name = f"{cluster}.{proc + nth[dispatch.job]}"
        nth[dispatch.job] += 1
        schedd, submitter = each.demand.schedd, each.demand.submitter
        claims = [snapshot.claims[seat.slot] for seat, _ in taken]
        parts = Parts(public_of(claims[0]), [grants for _, grants in taken]) if dispatch.environment else None
        start = Start(name, schedd, active.revision, snapshot.now)
        pledges = [
            Pledge(
                submitter=submitter,
                weight=1.0,
                task=task_ad(active.cell, dispatch, job, start, parts=parts, part=part),
            )
            for part in range(len(taken))
        ]
        if dispatch.job == first and pledges[0].task is not None and not dispatch.environment:
            pledges[0].task[FOLLOWS] = each.demand.arrivals
        for pledge in pledges if job.reservation else ():
            assert pledge.task is not None
            pledge.task["ReservedAt"] = active.reserved_at(job.reservation)
        slots = [seat.slot for seat, _ in taken]
        nodes = [snapshot.nodes[slot] for slot in slots]
        yield (
            dispatch.job,
            Match(
                schedd=schedd,
                submitter=submitter,
                autocluster=each.request.autocluster,
                job=each.request.job,
                among=each.request.count,
                submission=each.request.submission,
                slot=slots[0],
                node=nodes[0],
                claim_id=claims[0],
                pledge=pledges[0],
                parts=tuple(
                    Part(slot=slot, node=node, claim_id=claim_id, pledge=pledge)
                    for slot, node, claim_id, pledge in zip(slots[1:], nodes[1:], claims[1:], pledges[1:], strict=True)
                ),
            ),
        )


def _first_waiting(
    active: ActiveCell,
    snapshot: Snapshot,
    plan: SchedulingPlan,
    jobs: Mapping[int, _Wanted],
    pending: Sequence[PendingJob],
) -> int:
    """The number of the job whose further tasks the next runs would start first, wherever one of its tasks ends.

    0 if there is none, or if it may change before matches expire: in cells with tickets, deadlines,
    reservations, calendars or anything that suspends jobs.
    """
    cell = active.cell
    reserved = active.reservations or plan.reservations or any(job.not_before > snapshot.now for job in pending)
    if reserved or active.suspends or cell.calendars or len({each.schedd for each in snapshot.demands}) > 1:
        return 0
    started = Counter(dispatch.job for dispatch in plan.dispatches)
    waiting = [job for job in pending if started[job.number] < jobs[job.number].request.count]
    scheduler = cell.scheduler
    has_tickets = scheduler.weight_tickets_share or scheduler.weight_tickets_functional
    if len(waiting) > 1 and (has_tickets or any(job.deadline or job.override for job in waiting)):
        return 0
    first = min(waiting, key=lambda job: turn(job, plan.priorities), default=None)
    if first is None or first.request.interactive or first.reserve or jobs[first.number].demand.arrivals is None:
        return 0
    return first.number


def _taken(
    dispatch: Dispatch, pool: PoolHosts, given: set[str], ad: ClassAd, verdicts: _Verdicts
) -> list[tuple[Seat, list[Grant]]] | None:
    """Seats for all slots of a dispatch, each with its grants, the master's first; None if there are too few."""
    by_host: dict[str, list[Grant]] = {}
    for grant in dispatch.grants:
        by_host.setdefault(host_of(grant.instance), []).append(grant)
    found: list[tuple[Seat, list[Grant]]] = []
    for host, grants in by_host.items():
        seats = (one for one in pool.seats.get(host, ()) if one.slot not in given and verdicts.takes(ad, one))
        while grants:
            seat = next(seats, None)
            if seat is None:
                return None
            here, grants = _split(grants, seat.room)
            found.append((seat, here))
    return found


def _split(grants: list[Grant], slots: int) -> tuple[list[Grant], list[Grant]]:
    """The first slots of some grants, up to a number, and the rest."""
    first: list[Grant] = []
    rest: list[Grant] = []
    for instance, wanted in grants:
        here = min(wanted, slots)
        slots -= here
        if here:
            first.append(Grant(instance, here))
        if wanted > here:
            rest.append(Grant(instance, wanted - here))
    return first, rest


def _plan(
    active: ActiveCell,
    snapshot: Snapshot,
    pool: PoolHosts,
    jobs: Mapping[int, _Wanted],
    apart: dict[tuple[str, int], str],
    clusters: dict[tuple[str, int], int],
    carried_out: _CarriedOut,
) -> Matches:
    plan, starts, orders = carried_out
    matches: list[Match] = []
    for number, match in starts:
        if match is None:
            apart.setdefault(jobs[number].key, NEXT_ON_MACHINE)
        else:
            matches.append(match)
    waiting = {} if plan is None else plan.waiting
    numbers = {each.key: number for number, each in jobs.items() if plan is not None}
    record = CellRecord(
        at=snapshot.now,
        revision=active.revision,
        plan=plan,
        numbers=numbers,
        apart=apart,
        suspensions=orders,
        clusters=clusters,
        zone_offset_s=snapshot.zone_offset_s,
    )
    texts = dict(apart)
    for key, number in numbers.items():
        if plan is not None and number in waiting and key not in texts:
            texts[key] = plan.first_reason(number)
    rejected = {key: Rejection(text=text) for key, text in texts.items()}
    return Matches(
        matches=tuple(matches),
        rejected=rejected,
        record={
            "slots": len(snapshot.slots),
            "available": sum(len(seats) for seats in pool.seats.values()),
            "submitters": len(snapshot.demands),
            "requests": len(jobs),
            "matches": len(matches),
            "rejected": len(rejected),
            "cell_revision": active.revision,
            "queue_instances": len(active.instances),
            "tasks": len(pool.tasks),
        },
        trail=record,
    )


def _job(name: str) -> tuple[int, int]:
    cluster, _, proc = name.partition(".")
    return int(cluster), int(proc)
