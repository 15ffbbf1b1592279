"""Local jobs of a simulated queue, those of the scheduler and local universes.

They run on a separate machine, as in `roost.runtime.queue.local_runs`: a simulated machine like any other, but not part
of the pool. The queue's own core decides which job is next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roost.base.records import replace
from roost.config import Config, MemoryHost
from roost.schedd import events as ev
from roost.schedd.claims.held_claims import Stage
from roost.schedd.jobs.local import MACHINE_CONFIG, is_local, local_name, next_beside
from roost.sim.inputs.owners import NOBODY
from roost.sim.inputs.workload import Job
from roost.sim.machine.host import Machine
from roost.sim.machine.pattern import QUEUE, Hardware, load_config, make_pattern
from roost.sim.machine.plan import MachinePlan
from roost.sim.machine.pool_ads import pool_ad
from roost.starter.configured import hook_settings

if TYPE_CHECKING:
    from roost.sim.queue.queue import Queue

#: As large as needed.
_HARDWARE: Final = Hardware(cpus=100_000, memory_mb=1_000_000_000, disk_kb=1_000_000_000_000)
_FILE: Final = "/on the queue's machine"


def runs_locally(jobs: tuple[Job, ...]) -> bool:
    """Whether some job runs on the queue's machine."""
    return any(is_local(job.ad) for job in jobs)


def local_machine_plan(config: Config, start: float) -> MachinePlan:
    """The machine on the queue's machine of a pool with that configuration."""
    host = MemoryHost(files={_FILE: MACHINE_CONFIG})
    settings = tuple(hook_settings(config).items())
    loaded = load_config(host, (_FILE,), _HARDWARE, local_name(QUEUE), settings=settings)
    return make_pattern(loaded, _HARDWARE).machine(local_name(QUEUE), NOBODY, started_at=start, phase_s=0)


class LocalJobs:
    """The local jobs of a queue."""

    def __init__(self, queue: Queue, machine: Machine) -> None:
        self._queue = queue
        self.machine = machine
        self._looks = False
        #: The claim that was requested last.
        self._asked = ""
        settings = queue.core.claim_table.settings
        queue.core.claim_table.settings = replace(settings, local_node=machine.plan.name)
        queue.machines[machine.plan.name] = machine

    def look(self, now: float) -> None:
        """Give the machine's slot to the next idle job, if idle jobs may have changed; its answer offers the next
        claim.
        """
        queue, slot = self._queue, self.machine.slots[0]
        claim_id = slot.state.claim.id.text
        core = queue.core
        last = core.claim_table.claims.get(self._asked)
        if self._looks or not queue.alive or (last is not None and last.stage is Stage.ASKED):
            return
        found = next_beside(core.offered(now, local=True), core.book, core.claim_table.settings.local_policy)
        if found is None:
            return
        self._looks, self._asked = True, claim_id
        try:
            queue.feed(
                ev.MatchGiven(
                    submitter=found[0],
                    autocluster=found[1],
                    slot=slot.plan.name,
                    node=self.machine.plan.name,
                    claim_id=claim_id,
                    slot_ad=pool_ad(slot, now),
                )
            )
        finally:
            self._looks = False


__all__ = ["LocalJobs", "local_machine_plan", "runs_locally"]
