"""One cycle of the matchmaker: a snapshot in, a plan out.

1. View the slots, discard what the pool's policy excludes, and charge the users (`view`, `pool_policy`, `accounts`).
2. Visit the groups in order, each with its quota (`groups`); without quotas there is one group.
3. In a group, run rounds of fair share ("pie spins" in HTCondor's log): submitters by effective priority, each visited
   with a limit (`fair_share`), until a round makes no match.
4. In a visit, serve the submitter's requests in its own order: the best slots first (`memory`, `ranks`), each given
   once.

A request that was not served has a `Rejection` with counted causes. The cycle reads no clock: it runs in steps, and the
caller passes the elapsed time to each (`timing`).
"""

from __future__ import annotations

from typing import Any, Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd, FixedWorld, evaluate
from roost.model.cycle_answers import Served
from roost.model.pool_policy import is_true
from roost.negotiator.accountant import Accountant, group_of
from roost.negotiator.ceilings import Ceiling, Ceilings
from roost.negotiator.cycle_record import CycleRecord
from roost.negotiator.fair_share import ROUNDING, FairShare, Limit, limits
from roost.negotiator.groups import Group, allocate, assign, tree_of
from roost.negotiator.limits import LimitBook
from roost.negotiator.memory import Key, Memory
from roost.negotiator.pool_policy import SCHEDD_ONLY, Findings, PoolPolicy
from roost.negotiator.preemption import SubmitterUsage
from roost.negotiator.serving import JOB_CONSTRAINT, PendingRequest, QueueSubmitter, SlotAllocator, SubmitterLimit
from roost.negotiator.settings import ROOT, NegotiatorSettings
from roost.negotiator.single_slots import SingleSlots
from roost.negotiator.snapshot import Plan, Rejection, Snapshot, SubmitterDemand
from roost.negotiator.timing import Steps, Stopwatch, bounded, bounded_at_once
from roost.negotiator.verdicts import RequestEvaluator
from roost.negotiator.view import SlotView, persons_of, usage_of, view_of

_DEFAULT: Final = NegotiatorSettings()
#: Most rounds in one group. Each round either serves a request or removes a submitter, so this is never reached.
ROUNDS_MAX: Final = 10_000
_NO_WORTH: Final = 3.4e38


def negotiate(
    snapshot: Snapshot,
    *,
    settings: NegotiatorSettings = _DEFAULT,
    accounts: Accountant | None = None,
    memory: Memory | SingleSlots | None = None,
) -> Plan:
    """Match the pool's idle jobs to slots.

    `accounts` has the users' priorities (equal if omitted); `memory` is what may be kept between cycles.
    """
    return bounded_at_once(_Cycle(snapshot, settings, accounts or Accountant(), memory or Memory()).run())


def negotiation(
    snapshot: Snapshot,
    *,
    settings: NegotiatorSettings = _DEFAULT,
    accounts: Accountant | None = None,
    memory: Memory | SingleSlots | None = None,
) -> Steps[Plan]:
    """`negotiate` in steps of one request each; the caller sends the elapsed time of the cycle, s, to each step."""
    return bounded(_Cycle(snapshot, settings, accounts or Accountant(), memory or Memory()).run())


@dataclass(slots=True)
class _Cycle:
    snapshot: Snapshot
    settings: NegotiatorSettings
    accounts: Accountant
    memory: Memory | SingleSlots
    world: FixedWorld = field(init=False)
    findings: Findings = field(default_factory=Findings)
    policy: PoolPolicy = field(init=False)
    view: SlotView = field(init=False)
    allocator: SlotAllocator = field(init=False)
    #: Weight in use by user, and by group including all of its users; matches of this cycle count.
    used: dict[str, float] = field(default_factory=dict)
    group_used: dict[str, float] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    spins: int = 0
    #: The participating requests, and the ad of each.
    _asked: dict[Key, ClassAd] = field(default_factory=dict)
    _priorities: dict[str, float] = field(default_factory=dict)
    _over: dict[str, list[str]] = field(default_factory=dict)
    ceilings: Ceilings = field(init=False)
    #: For explanations: knobs that kept submitters out, use before the cycle, and shares.
    _kept_out: dict[tuple[str, str], str] = field(default_factory=dict)
    _before: dict[str, float] = field(default_factory=dict)
    _shares: dict[str, float] = field(default_factory=dict)

    def run(self) -> Steps[Plan]:
        snapshot, settings = self.snapshot, self.settings
        self.world = snapshot.world
        self.policy = PoolPolicy(settings.policy, self.findings, self.world)
        self.ceilings = Ceilings(settings, self.accounts)
        slot_source = snapshot.slot_source
        if slot_source is None and not len(snapshot.slots):
            return self._nothing()
        self._charge()
        self.view = view_of(snapshot, settings, self.policy) if slot_source is None else slot_source.view()
        self.groups = tree_of(settings)
        assign(self.groups[ROOT], self.view.size, oversubscription=settings.oversubscription)
        evaluator = RequestEvaluator(snapshot.slots, settings, self.view, self.world)
        self.allocator = SlotAllocator(
            snapshot=snapshot,
            settings=settings,
            view=self.view,
            evaluator=evaluator,
            memory=self.memory,
            policy=self.policy,
            book=self._book(),
            submitter_usage=self._submitter_usage,
            charge=self._spend,
            ceilings=self._ceilings,
            watch=Stopwatch(settings.times),
        )
        queue_submitters = self._queue_submitters()
        self.memory.begin(snapshot, evaluator, self._asked)
        if self._has_quotas():
            yield from self._by_quota(queue_submitters)
        else:
            fair_share = FairShare(size=self.view.size, preemption=self._preempts, unlimited=self._unlimited)
            yield from self._rounds(queue_submitters, fair_share)
        plan = self._plan(queue_submitters)
        # The allocator refers to the cycle; break the circle so that memory is freed now, not by the cyclic garbage
        # collector.
        del self.allocator
        return plan

    # -- before ------------------------------------------------------------------------------------

    def _charge(self) -> None:
        snapshot, slot_source = self.snapshot, self.snapshot.slot_source
        usage = usage_of(snapshot.slots, self.settings, snapshot.now) if slot_source is None else slot_source.usage()
        for name, (weight, _) in usage.items():
            self._spend(name, weight)
        if self.ceilings and slot_source is None:
            self.ceilings.charge(persons_of(snapshot.slots, self.settings, snapshot.now))
        for pledge in self.snapshot.pledges:
            self._spend(pledge.submitter, pledge.weight, pledge.person, pledge.part)
        self._before = dict(self.used)

    def _groups_over(self, user: str) -> list[str]:
        """The group of a user and its ancestors."""
        found = self._over.get(user)
        if found is None:
            found = self._over[user] = self._find_groups_over(user)
        return found

    def _find_groups_over(self, user: str) -> list[str]:
        name = group_of(user, self.settings.groups)
        found = [name]
        known = {each.name.lower(): each.name for each in self.settings.groups}
        while "." in name:
            name = name.rpartition(".")[0]
            if name.lower() in known:
                found.append(known[name.lower()])
        return found if found[-1] == ROOT else [*found, ROOT]

    def _book(self) -> LimitBook:
        book = LimitBook(self.settings.limits)
        if self.snapshot.slot_source is not None:
            book.count(self.snapshot.slot_source.licences())
        slots = self.snapshot.slots
        for name in ("ConcurrencyLimits", "PreemptingConcurrencyLimits") if len(slots) else ():
            if not slots.lacking(name).all():
                codes, texts = slots.attribute(name, None, self.world).texts()
                book.count(texts[code] for code in codes[codes >= 0].tolist())
        for pledge in self.snapshot.pledges:
            book.take(dict(pledge.licences))
        return book

    def _queue_submitters(self) -> list[QueueSubmitter]:
        """The submitters that may take part, with the requests that the policy permits."""
        found = []
        for demand in self.snapshot.demands:
            knob = self._keeps_out(demand)
            if knob:
                self._kept_out[demand.schedd, demand.submitter] = knob
                continue
            pending_requests = []
            # A queue with many kinds of jobs repeats the same kinds in its requests.
            known: dict[int, tuple[ClassAd, Key, str]] = {}
            for request in demand.requests:
                about = known.get(request.autocluster)
                if about is None or about[0] is not request.ad:
                    key = (demand.schedd, demand.submitter, request.autocluster)
                    about = request.ad, key, self.ceilings.person(request.ad, demand.submitter)
                    known[request.autocluster] = about
                    self._asked[key] = request.ad
                pending_requests.append(PendingRequest(about[1], request, about[2]))
            queue_submitter = QueueSubmitter(demand=demand, pending_requests=pending_requests)
            if self.policy.judges_jobs or self.settings.job_constraint is not None:
                for pending in pending_requests:
                    self._filter(queue_submitter, pending)
            found.append(queue_submitter)
        return found

    def _keeps_out(self, demand: SubmitterDemand) -> str:
        """The knob that excludes a submitter; "" if it takes part."""
        if not self._admits(demand.ad):
            return "NEGOTIATOR_SUBMITTER_CONSTRAINT"
        return SCHEDD_ONLY if self.policy.discards_submitter(demand.ad, demand.submitter) else ""

    def _admits(self, ad: ClassAd) -> bool:
        constraint = self.settings.submitter_constraint
        return constraint is None or is_true(evaluate(constraint, ad, None, self.world))

    def _filter(self, queue_submitter: QueueSubmitter, pending: PendingRequest) -> None:
        """Close a request that is excluded."""
        request, constraint = pending.request, self.settings.job_constraint
        knob = self.policy.discards_job(request.ad, request.job, queue_submitter.demand.submitter, request.count)
        if knob is not None:
            pending.close(Rejection(text=f"pool policy: {knob}", causes={"pool-policy-discarded": 1}))
        elif constraint is not None and not is_true(evaluate(constraint, request.ad, None, self.world)):
            pending.close(Rejection(text="no match found", causes={JOB_CONSTRAINT: 1}))

    # -- usage -------------------------------------------------------------------------------------

    @property
    def _preempts(self) -> bool:
        return self.settings.consider_preemption

    @property
    def _unlimited(self) -> bool:
        return self.settings.ignore_priorities

    def _priority(self, user: str) -> float:
        found = self._priorities.get(user)
        if found is None:
            found = self._priorities[user] = self.accounts.effective(user, self.settings)
        return found

    def _submitter_usage(self, user: str) -> SubmitterUsage:
        name = group_of(user, self.settings.groups)
        group = self.groups[name]
        return SubmitterUsage(
            priority=self._priority(user),
            in_use=self.used.get(user, 0.0),
            group=name,
            group_quota=group.quota,
            group_in_use=self.group_used.get(name, 0.0),
            autoregroup=group.autoregroup,
        )

    def _spend(self, user: str, cost: float, person: str = "", part: float | None = None) -> None:
        self.used[user] = self.used.get(user, 0.0) + cost
        if person:
            self.ceilings.spend(person, cost if part is None else part)
        for group in self._groups_over(user):
            self.group_used[group] = self.group_used.get(group, 0.0) + cost

    def _ceilings(self, user: str, person: str) -> list[Ceiling]:
        """The ceilings that apply to a user's jobs under a submitter."""
        return list(self.ceilings.of(person, user, self.used.get(user, 0.0))) if self.ceilings else []

    # -- groups ------------------------------------------------------------------------------------

    def _has_quotas(self) -> bool:
        return any(each.quota is not None or each.fraction is not None for each in self.settings.groups)

    def _by_quota(self, queue_submitters: list[QueueSubmitter]) -> Steps[None]:
        """Each group with its allocation, most starved first; then the submitters of groups with autoregroup, together
        with those of no group."""
        own: dict[str, list[QueueSubmitter]] = {name: [] for name in self.groups}
        for queue_submitter in queue_submitters:
            own[group_of(queue_submitter.demand.submitter, self.settings.groups)].append(queue_submitter)
        unserved: dict[str, float] = {}
        for _ in range(self.settings.allocation_rounds):
            wanted = {name: self._wanted(name, own[name], unserved.get(name)) for name in self.groups}
            allocate(self.groups[ROOT], wanted, everybody=self.groups)
            before = len(self.allocator.matches)
            for name in self._group_order():
                quota = self.groups[name].allocated
                fair_share = FairShare(
                    size=quota,
                    quota=quota,
                    group_used=self._own_use(name),
                    preemption=self._preempts,
                    unlimited=self._unlimited,
                )
                yield from self._rounds(own[name], fair_share, name)
                unserved[name] = (
                    0.0 if not any(queue_submitter.open for queue_submitter in own[name]) else self._idle(own[name])
                )
            if len(self.allocator.matches) == before or not any(
                queue_submitter.open for queue_submitter in queue_submitters
            ):
                break
        again = [
            queue_submitter for name, group in self.groups.items() if group.autoregroup for queue_submitter in own[name]
        ]
        if again:
            whole = [
                queue_submitter
                for queue_submitter in queue_submitters
                if queue_submitter in again or queue_submitter in own[ROOT]
            ]
            used = self.group_used.get(ROOT, 0.0)
            yield from self._rounds(
                whole, FairShare(size=self.view.size, quota=self.view.size, group_used=used, preemption=self._preempts)
            )

    def _own_use(self, name: str) -> float:
        """The use of the users directly in a group."""
        below = sum(self.group_used.get(child.name, 0.0) for child in self.groups[name].children)
        return max(0.0, self.group_used.get(name, 0.0) - below)

    def _wanted(self, name: str, queue_submitters: list[QueueSubmitter], unserved: float | None) -> float:
        """What a group uses plus what it requests; after its visit, at most what was unserved then."""
        idle = self._idle(queue_submitters) if unserved is None else unserved
        return self._own_use(name) + idle

    def _idle(self, queue_submitters: list[QueueSubmitter]) -> float:
        return sum(
            pending.left * pending.weight
            for queue_submitter in queue_submitters
            for pending in queue_submitter.pending_requests
            if not pending.closed
        )

    def _group_order(self) -> list[str]:
        def worth(name: str) -> float:
            group = self.groups[name]
            ad = ClassAd(
                AccountingGroup=name,
                GroupQuota=group.allocated if group.allocated > 0 else group.quota,
                GroupResourcesInUse=self._own_use(name),
                GroupQuotaAllocated=group.allocated,
                GroupResourcesAllocated=group.allocated,
            )
            value: Any = evaluate(self.settings.group_sort, ad, None, self.world)
            return float(value) if value.__class__ in (int, float, bool) else _NO_WORTH

        return sorted(self.groups, key=lambda name: (worth(name), name))

    # -- fair share --------------------------------------------------------------------------------

    def _rounds(
        self, queue_submitters: list[QueueSubmitter], fair_share: FairShare, group: str | None = None
    ) -> Steps[None]:
        yield from self._floors(queue_submitters, fair_share)
        active = [queue_submitter for queue_submitter in queue_submitters if queue_submitter.open]
        for number in range(ROUNDS_MAX):
            if not active or self.allocator.watch.is_over() or not self.allocator.anything_left():
                break
            self.spins += 1
            names = dict.fromkeys(queue_submitter.demand.submitter for queue_submitter in active)
            priorities = {name: self._priority(name) for name in names}
            now = fair_share if group is None else _used(fair_share, self._own_use(group))
            submitter_limits = limits(priorities, self.used, now)
            for name, limit in submitter_limits.items():
                self._shares.setdefault(name, limit.share * now.size)
            left = sum(each.any for each in submitter_limits.values())
            before, count = left, len(active)
            spent = dict.fromkeys(names, 0.0)
            for queue_submitter in sorted(active, key=lambda each: self._place(each, submitter_limits)):
                if self.allocator.watch.is_over():
                    break
                name = queue_submitter.demand.submitter
                submitter_limit = SubmitterLimit(
                    any=max(0.0, min(submitter_limits[name].any - spent[name], left)),
                    unclaimed=max(0.0, min(submitter_limits[name].unclaimed - spent[name], left)),
                    rank_only_beyond=number == 0 and self._preempts,
                )
                cost = yield from self.allocator.visit(queue_submitter, submitter_limit)
                spent[name] += cost
                left -= cost
            active = [queue_submitter for queue_submitter in active if queue_submitter.open]
            if not (before - left > ROUNDING or len(active) < count):
                break

    def _place(
        self, queue_submitter: QueueSubmitter, submitter_limits: dict[str, Limit]
    ) -> tuple[float, float, str, str]:
        name = queue_submitter.demand.submitter
        used, limit = self.used.get(name, 0.0), submitter_limits[name].any
        starved = used / (used + limit) if used + limit > 0 else 0.0
        return (self._priority(name), starved, name, queue_submitter.demand.schedd)

    def _floors(self, queue_submitters: list[QueueSubmitter], fair_share: FairShare) -> Steps[None]:
        """A first round for submitters below their floor."""
        for queue_submitter in sorted(
            queue_submitters, key=lambda each: (self._priority(each.demand.submitter), each.demand.submitter)
        ):
            account = self.accounts.users.get(queue_submitter.demand.submitter)
            if account is None or account.floor is None or not queue_submitter.open:
                continue
            missing = account.floor - self.used.get(queue_submitter.demand.submitter, 0.0)
            if missing > ROUNDING:
                room = (
                    missing
                    if fair_share.quota is None
                    else min(missing, max(0.0, fair_share.quota - fair_share.group_used))
                )
                yield from self.allocator.visit(
                    queue_submitter, SubmitterLimit(any=room, unclaimed=room, rank_only_beyond=False)
                )

    # -- after -------------------------------------------------------------------------------------

    def _plan(self, queue_submitters: list[QueueSubmitter]) -> Plan:
        rejected: dict[tuple[str, int], Rejection] = {}
        for queue_submitter in queue_submitters:
            for pending in queue_submitter.pending_requests:
                rejection = pending.rejection or self.allocator.rejection(queue_submitter, pending)
                if rejection is not None:
                    rejected[queue_submitter.demand.schedd, pending.request.autocluster] = rejection
        for demand in self.snapshot.demands:
            knob = self._kept_out.get((demand.schedd, demand.submitter))
            if knob:
                out = Rejection(text=f"pool policy: {knob}")
                rejected.update(((demand.schedd, each.autocluster), out) for each in demand.requests)
        self.allocator.note_policy(queue_submitters)
        matches = tuple(self.allocator.matches)
        return Plan(
            matches=matches,
            rejected=rejected,
            record=self._record(len(matches), rejected, queue_submitters),
            findings=tuple(self.findings.kept),
            causes=self.findings.causes,
            noted=tuple(self.allocator.noted),
            # Nothing is known about slots that were not tried.
            trail=self._trail(queue_submitters) if self.snapshot.slot_source is None else None,
        )

    def _trail(self, queue_submitters: list[QueueSubmitter]) -> CycleRecord:
        names = dict.fromkeys(queue_submitter.demand.submitter for queue_submitter in queue_submitters)
        jobs: dict[str, tuple[int, int]] = {}
        for queue_submitter in queue_submitters:
            wanted, left = jobs.get(queue_submitter.demand.submitter, (0, 0))
            wanted += sum(pending.request.count for pending in queue_submitter.pending_requests)
            jobs[queue_submitter.demand.submitter] = (
                wanted,
                left + sum(pending.left for pending in queue_submitter.pending_requests),
            )
        return CycleRecord(
            at=self.snapshot.now,
            zone_offset_s=self.snapshot.zone_offset_s,
            settings=self.settings,
            allocator=self.allocator,
            queue_submitters=tuple(queue_submitters),
            served=tuple(
                self._served(name, *jobs[name]) for name in sorted(names, key=lambda each: (self._priority(each), each))
            ),
            groups=self.groups,
            submitter_usage={name: self._submitter_usage(name) for name in names},
            kept_out=self._kept_out,
        )

    def _served(self, name: str, wanted: int, left: int) -> Served:
        used, before = self.used.get(name, 0.0), self._before.get(name, 0.0)
        return Served(
            submitter=name,
            priority=self._priority(name),
            used=before,
            got=used - before,
            share=self._shares.get(name),
            wanted=wanted,
            left=left,
            group=group_of(name, self.settings.groups),
        )

    def _record(
        self, matches: int, rejected: dict[tuple[str, int], Rejection], queue_submitters: list[QueueSubmitter]
    ) -> dict[str, object]:
        causes: dict[str, int] = {}
        for each in rejected.values():
            causes[each.text] = causes.get(each.text, 0) + 1
        return {
            "slots": len(self.view.names),
            "available": int(self.view.available.sum()),
            "unavailable": dict(self.view.unavailable),
            "weight": self.view.size,
            "submitters": len(queue_submitters),
            "requests": sum(len(queue_submitter.pending_requests) for queue_submitter in queue_submitters),
            "matches": matches,
            "preempting": sum(match.preempts != "none" for match in self.allocator.matches),
            "rejected": len(rejected),
            "rejected_by": causes,
            "spins": self.spins,
            "timed_out": self.allocator.watch.timed_out,
            "judged_requests": self.memory.judged_requests,
            "judged_slots": self.memory.judged_slots,
            "findings": self.findings.total,
            "limits_in_use": dict(self.allocator.book.in_use),
        }

    def _nothing(self) -> Plan:
        rejected = {
            (demand.schedd, request.autocluster): Rejection(text="no match found", causes={})
            for demand in self.snapshot.demands
            for request in demand.requests
        }
        return Plan(rejected=rejected, record={"slots": 0, "matches": 0, "rejected": len(rejected)})


def _used(fair_share: FairShare, used: float) -> FairShare:
    return FairShare(
        size=fair_share.size,
        group_used=used,
        quota=fair_share.quota,
        preemption=fair_share.preemption,
        unlimited=fair_share.unlimited,
    )
