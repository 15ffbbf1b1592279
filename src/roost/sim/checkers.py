"""Invariants that must hold whatever goes wrong: checked after every step of a slot, and over the whole pool every
hour.

1. A slot is in a legal pair (the core also asserts this).
2. A job runs only on a slot whose state has a starter, under the claim that the slot has.
3. A job that was accepted is never lost: it is in the queue, or has left it once, with one end. The queue's counts
   match.
4. A claim has one holder, a job one claim, and a job that runs for the queue runs on the claim that it has.
5. An idle job is in exactly one group, with the jobs that no machine can distinguish from it.
6. Claims are booked in the ledgers of their machine, and never exceed them.
7. In a cell that has not been changed no queue instance has more slots in use than it has, and the cell no more of its
   consumables; a parallel job whose run is ordered has all of its claims, or is being ended.

Problems are sentences with time and slot; they end up in the outcome, and a run with problems has failed.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from roost.classad import ClassAd
from roost.gridengine.objects.host import GLOBAL
from roost.gridengine.pool.tasks import grants_of
from roost.model.cell_requests import TASK
from roost.schedd.claims.held_claims import Stage
from roost.schedd.status import ON_MACHINE, JobStatus
from roost.startd.states import PAIRS, WITH_STARTER, State

if TYPE_CHECKING:
    from roost.sim.cell import SimulatedCell
    from roost.sim.machine.host import SimulatedSlot
    from roost.sim.world import World

#: Maximum number of problems kept.
PROBLEMS_MAX: Final = 20
_LEGAL: Final = frozenset(PAIRS)


class Checker:
    """Looks for violated invariants."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.problems: list[str] = []

    def _report(self, text: str) -> None:
        if len(self.problems) < PROBLEMS_MAX:
            seconds = self.world.engine.now - self.world.plan.start
            self.problems.append(f"at {seconds:.3f} s: {text}")

    def check_slot(self, slot: SimulatedSlot) -> None:
        """Check one slot, after a step."""
        state = slot.state
        pair = state.pair
        if pair not in _LEGAL:
            self._report(f"{state.name} is in {pair}")
        if state.claim.activation is not None:
            if pair not in WITH_STARTER:
                self._report(f"{state.name} has a job in {pair}")
            return
        if slot.process is not None and slot.process.here:
            self._report(f"{state.name} has no job, and {slot.process.job.name} runs")
        if slot.starter is not None and slot.starter.alive:
            self._report(f"{state.name} has forgotten the job {slot.starter.state.job_ad.eval('ClusterId')}")

    def check_all(self) -> None:
        """Check the pool."""
        self._check_accounts()
        if not self.world.queue.running:
            return
        self._check_jobs()
        self._check_claims()
        self._check_waiting()
        if self.world.cell is not None:
            self._check_cell(self.world.cell)
            self._check_gangs()
        for machine in self.world.machines:
            for slot in machine.slots:
                if slot.process is not None and not machine.alive:
                    self._report(f"{slot.plan.name} runs a job on a dead machine")
                if slot.process is not None and slot.process.here and not self.world.bus.faulty:
                    self._check_run(slot, slot.process.job.name)

    def _check_run(self, slot: SimulatedSlot, name: str) -> None:
        """Check a running job if no message is lost: the queue must know it, except for messages in transit."""
        queue = self.world.queue
        status = queue.status.get(name)
        if not queue.alive or status is None or status in ON_MACHINE or status in (JobStatus.HELD, JobStatus.REMOVED):
            return
        self._report(f"job {name} runs on {slot.plan.name} and is {status.name.lower()} in the queue")

    def _check_jobs(self) -> None:
        queue, book = self.world.queue, self.world.queue.core.book
        for name, status in queue.status.items():
            job = queue.ids[name]
            cluster = book.clusters.get(job.cluster)
            present = cluster is not None and cluster.status(job.proc) is not JobStatus.GONE
            if queue.left[name] != (0 if present else 1):
                state = "in the queue" if present else "not in the queue"
                self._report(f"job {name} is {state}, and has left it {queue.left[name]} times")
            elif not present and status not in (JobStatus.COMPLETED, JobStatus.REMOVED):
                self._report(f"job {name} has left the queue {status.name.lower()}")
            elif cluster is not None and present and cluster.status(job.proc) is not status:
                found = cluster.status(job.proc).name.lower()
                self._report(f"job {name} is {found}, and was last known to be {status.name.lower()}")

    def _check_claims(self) -> None:
        core = self.world.queue.core
        for cluster in core.book.clusters.values():
            for job in cluster.jobs.values():
                claim = core.claim_table.claims.get(job.claim_id)
                if job.claim_id and (claim is None or claim.job != job.id or claim.run != job.run):
                    self._report(f"job {job.id} has the claim {job.claim_id} of {None if claim is None else claim.job}")
                if (job.status in ON_MACHINE and not job.run) or (job.run and not job.claim_id):
                    self._report(f"job {job.id} is {job.status.name.lower()} with the run {job.run!r}")
        for claim_id, claim in core.claim_table.claims.items():
            if claim.id != claim_id or (claim.stage is Stage.ASKED and claim.run):
                self._report(f"the claim {claim_id} is {claim.stage} as {claim.id} with the run {claim.run!r}")

    def _check_waiting(self) -> None:
        book = self.world.queue.core.book
        groups = {group.place: group for groups in book.waiting().values() for group in groups}
        for cluster in book.clusters.values():
            idle = sum(cluster.is_idle(proc) for proc in cluster.procs())
            mine = [group for group in cluster.groups.values() if group.count]
            if sum(group.count for group in mine) != idle:
                counted = sum(group.count for group in mine)
                self._report(f"cluster {cluster.number} has {idle} idle jobs, and {counted} are counted")
            for group in mine:
                if not group.local and cluster.room and groups.get(group.place) is not group:
                    self._report(f"{group.count} idle jobs of cluster {cluster.number} are not offered")

    def _check_cell(self, cell: SimulatedCell) -> None:
        if cell.revision > 1:
            # Running tasks keep the resources of an earlier revision.
            return
        used: Counter[str] = Counter()
        taken: Counter[str] = Counter()
        for machine in self.world.machines:
            for slot in machine.slots if machine.alive else ():
                job_ad = slot.state.claim.job_ad
                task = None if job_ad is None or slot.state.state is not State.CLAIMED else job_ad.get(TASK)
                if isinstance(task, ClassAd):
                    for instance, slots in grants_of(task):
                        used[instance] += slots
                        for name, text in (word.split("=") for word in str(task.get("Resources")).split(",") if word):
                            taken[name] += slots * int(text) if text.isdecimal() else 0
        for one in cell.active.instances:
            if used[one.name] > one.settings.slots:
                self._report(f"{one.name} has {used[one.name]} of {one.settings.slots} slots in use")
        for pair in cell.cell.hosts[GLOBAL].complex_values:
            if pair.text.isdecimal() and taken[pair.name] > int(pair.text):
                self._report(f"jobs have {taken[pair.name]} of {pair.text} {pair.name}")

    def _check_gangs(self) -> None:
        core = self.world.queue.core
        for claim in core.claim_table.claims.values():
            gang, job = claim.gang, None if claim.job is None else core.book.find(claim.job)
            task = None if job is None else job.ad.get(TASK)
            if gang is None or gang.master is not claim or not claim.run or not isinstance(task, ClassAd):
                continue
            wanted = task.get("Parts", 1)
            if len(gang.claims) != wanted and not gang.broken:
                self._report(f"job {claim.job} runs with {len(gang.claims)} of {wanted} claims")

    def _check_accounts(self) -> None:
        for machine in self.world.machines:
            accounts = machine.host.dynamic_slots
            if accounts is None or not machine.alive:
                continue
            for problem in (*accounts.slots.problems(), *map(str, accounts.slots.ledgers.overdrawn())):
                self._report(f"{machine.plan.name}: {problem}")
            held = {str(slot.plan.id) for slot in machine.slots if slot.state.claim.granted_at is not None}
            booked = set(accounts.slots.ledgers.bookings)
            if held != booked:
                self._report(f"{machine.plan.name}: {sorted(held)} are claimed and {sorted(booked)} booked")
            there = [slot.plan.id for slot in machine.slots]
            if there != list(accounts.slots.ids):
                self._report(f"{machine.plan.name}: there are {there}, and by the accounts {accounts.slots.ids}")
