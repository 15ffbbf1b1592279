"""Tickets that the functional, the override and the share tree policy (`share_tickets`) give to jobs.

Functional tickets, `weight_tickets_functional` in total, are divided by the functional shares of users, projects,
departments and jobs (``-js``), each of which gets a part by its weight. Override tickets are given by an administrator
to a user, a project, a department or a job (``-ot``). Where `share_functional_shares` or `share_override_tickets` is
true, the jobs of an owner divide the owner's amount, else each job counts in full.

Running jobs divide functional tickets over the policies with any shares. Waiting jobs then get theirs one after the
other, as if each ran alongside the preceding ones; the next is always the one that gets the most. So the first of a
user's jobs has all that the user gets, the second half of that. After `max_functional_jobs_to_schedule` jobs the rest
get none. Held jobs have no tickets. The policies work in the order of `policy_hierarchy`: jobs with tickets of an
earlier policy come first in a later one.

The rules were found with Grid Engine 8.1.9, whose figures the tests have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from roost.gridengine.cell import Cell
from roost.gridengine.objects.configuration import count_of
from roost.gridengine.objects.people import User, department_of
from roost.gridengine.objects.scheduler import POLICIES
from roost.gridengine.objects.values import is_none
from roost.gridengine.scheduling.share_tickets import SharedJob, share_tickets
from roost.gridengine.scheduling.snapshot import CellSnapshot, PendingJob, RunningTask, UsageOwner

#: the parts of the functional policy
_PARTS: Final = ("user", "project", "department", "job")


class _Owner(NamedTuple):
    part: str
    name: str | int
    shares: int
    override: int


class _Claim(NamedTuple):
    """A job for the policies."""

    number: int
    account: UsageOwner
    owners: tuple[_Owner, ...]

    @property
    def shared(self) -> SharedJob:
        return SharedJob(self.number, self.account)


class Tickets(NamedTuple):
    """Tickets of a job, as `qstat -ext` shows them."""

    override: float = 0.0
    functional: float = 0.0
    share: float = 0.0

    @property
    def total(self) -> float:
        """The sum of all tickets."""
        return self.override + self.functional + self.share


class _Owners:
    """Looks up who owns jobs."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._users: dict[str, User | None] = {}

    def _user(self, name: str) -> User | None:
        if name not in self._users:
            self._users[name] = self._cell.user(name)
        return self._users[name]

    def claim(self, job: PendingJob | RunningTask, number: int) -> _Claim:
        cell, request = self._cell, job.request
        department = department_of(cell.user_lists, request.user, request.groups)
        user, project = self._user(request.user), cell.projects.get(request.project)
        found = [_Owner("job", number, job.share, job.override)]
        for part, name, one in (
            ("user", request.user, user),
            ("project", request.project, project),
            ("department", department, cell.user_lists.get(department)),
        ):
            if one is not None:
                found.append(_Owner(part, name, one.fshare, one.oticket))
        return _Claim(number, UsageOwner(request.user, request.project), tuple(found))


class _Functional:
    """Functional shares of the jobs that have been counted."""

    def __init__(self, snapshot: CellSnapshot) -> None:
        scheduler = snapshot.cell.scheduler
        self._total = scheduler.weight_tickets_functional
        self._weights = {part: float(getattr(scheduler, f"weight_{part}")) for part in _PARTS}
        self._shared = scheduler.share_functional_shares
        self._sums = dict.fromkeys(_PARTS, 0.0)
        self._jobs: dict[tuple[str, str | int], int] = {}

    def _meet(self, owner: _Owner) -> None:
        """Count the shares of an owner, once if its jobs divide them."""
        key = owner.part, owner.name
        if not self._shared or key not in self._jobs:
            self._sums[owner.part] += owner.shares
            self._jobs.setdefault(key, 0)

    def count(self, claim: _Claim) -> None:
        """Count a job."""
        for owner in claim.owners:
            self._meet(owner)
            self._jobs[owner.part, owner.name] = self._jobs.get((owner.part, owner.name), 0) + 1

    def of_running(self, claim: _Claim) -> float:
        """Tickets of a counted job, divided over the policies with any shares."""
        weights = {part: weight for part, weight in self._weights.items() if self._sums[part]}
        total = sum(weights.values()) or 1.0
        return self._of(claim, {part: weight / total for part, weight in weights.items()}, self._sums, 0)

    def of_waiting(self, claim: _Claim) -> float:
        """Tickets that a job would get next; owners who divide their shares count from their first job on."""
        sums = self._sums
        if self._shared:
            for owner in claim.owners:
                self._meet(owner)
        else:
            sums = dict(sums)
            for owner in claim.owners:
                sums[owner.part] += owner.shares
        return self._of(claim, self._weights, sums, 1)

    def _of(self, claim: _Claim, weights: Mapping[str, float], sums: Mapping[str, float], more: int) -> float:
        found = 0.0
        for part, name, shares, _ in claim.owners:
            if shares and part in weights:
                jobs = self._jobs.get((part, name), 0) + more if self._shared else 1
                found += self._total * weights[part] * shares / sums[part] / jobs
        return found


def _functional(snapshot: CellSnapshot, running: Iterable[_Claim], waiting: Iterable[_Claim]) -> dict[int, float]:
    policy = _Functional(snapshot)
    claims = list(running)
    for claim in claims:
        policy.count(claim)
    found: dict[int, float] = {}
    for claim in claims:
        found[claim.number] = found.get(claim.number, 0.0) + policy.of_running(claim)
    # Among jobs with the same owners the first one is next.
    queues: dict[tuple[tuple[str, str | int], ...], list[_Claim]] = {}
    for claim in waiting:
        key = tuple((one.part, one.name if one.part != "job" else one.shares) for one in claim.owners)
        queues.setdefault(key, []).append(claim)
    for each in queues.values():
        each.reverse()
    for _ in range(snapshot.cell.scheduler.max_functional_jobs_to_schedule):
        offers = [(policy.of_waiting(each[-1]), key) for key, each in queues.items() if each]
        if not offers:
            break
        tickets, key = max(offers, key=lambda offer: offer[0])
        claim = queues[key].pop()
        policy.count(claim)
        found.setdefault(claim.number, tickets)
    return found


def _override(snapshot: CellSnapshot, running: Iterable[_Claim], waiting: Iterable[_Claim]) -> dict[int, float]:
    shared = snapshot.cell.scheduler.share_override_tickets
    jobs: dict[tuple[str, str | int], int] = {}
    claims = list(running)
    for claim in claims:
        for owner in claim.owners:
            jobs[owner.part, owner.name] = jobs.get((owner.part, owner.name), 0) + 1
    found: dict[int, float] = {}
    for claim in claims:
        tickets = sum([one.override / (jobs[one.part, one.name] if shared else 1) for one in claim.owners])
        found[claim.number] = found.get(claim.number, 0.0) + tickets
    for claim in waiting:
        tickets = 0.0
        for one in claim.owners:
            if one.override:
                jobs[one.part, one.name] = count = jobs.get((one.part, one.name), 0) + 1
                tickets += one.override / (count if shared else 1)
        found.setdefault(claim.number, tickets)
    return found


def tickets(snapshot: CellSnapshot) -> dict[int, Tickets]:
    """The tickets of each job that runs, or waits and is not held; empty if no policy gives any."""
    scheduler, cell = snapshot.cell.scheduler, snapshot.cell
    configured = [one.oticket for one in cell.users.values()] + [one.oticket for one in cell.projects.values()]
    configured += [one.oticket for one in cell.user_lists.values()]
    if cell.parameter("enforce_user").lower() == "auto":
        configured.append(count_of(cell.parameter("auto_user_oticket")))
    asked = [one.override for one in snapshot.pending] + [one.override for one in snapshot.running]
    tree = cell.share_tree if scheduler.weight_tickets_share else None
    if tree is None and not scheduler.weight_tickets_functional and not any(configured) and not any(asked):
        return {}
    owners = _Owners(cell)
    running = [owners.claim(task, task.job) for task in snapshot.running]
    eligible = [job for job in snapshot.pending if not (job.held or job.depends or job.error)]
    waiting = [owners.claim(job, job.number) for job in sorted(eligible, key=lambda job: (job.submitted, job.number))]
    found = {policy: dict[int, float]() for policy in POLICIES}
    hierarchy = "" if is_none(scheduler.policy_hierarchy) else scheduler.policy_hierarchy
    for policy in dict.fromkeys(hierarchy + POLICIES):
        if policy == "O":
            found["O"] = _override(snapshot, running, waiting)
        elif policy == "F" and scheduler.weight_tickets_functional:
            found["F"] = _functional(snapshot, running, waiting)
        elif policy == "S" and tree is not None:
            ran, wait = ([claim.shared for claim in claims] for claims in (running, waiting))
            found["S"] = share_tickets(tree, scheduler, snapshot.usage or {}, ran, wait)
        if policy in hierarchy:
            waiting.sort(key=lambda claim, given=found[policy]: -given.get(claim.number, 0.0))  # type: ignore[misc]
    return {
        number: Tickets(*[found[policy].get(number, 0.0) for policy in POLICIES])
        for number in found["O"] | found["F"] | found["S"]
    }
