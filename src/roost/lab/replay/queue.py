"""The queue of a replay: the real daemon, with a record of what each of its jobs does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from roost.runtime.queue.daemon import ScheddDaemon
from roost.runtime.queue.demands import OFFER_GAP_S, Demands
from roost.runtime.queue.log_files import Appended
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd.changes import AddHistory, PutJob
from roost.schedd.identifiers import JobId
from roost.schedd.status import JobStatus
from roost.schedd.submit import ClusterPlan
from roost.sim.inputs.workload import Job
from roost.sim.queue.clock import BESIDE_POLLS_S
from roost.sim.queue.job_changes import JobChange, job_change
from roost.sim.queue.sources import Source

#: Less than anything else takes, s: time advances only when the queue has all news of an instant.
INSTANT_S: Final = 1e-6


class _ReplayDemands(Demands):
    """Requests to the matchmaker, sent once the queue has all news of an instant.

    The order of several machines' news within an instant depends on the system on which the replay runs.
    """

    def soon(self, gap_s: float = OFFER_GAP_S) -> None:
        """Notify the matchmaker `gap_s` seconds after the last notification."""
        asyncio.get_running_loop().call_later(INSTANT_S, super().soon, gap_s)


class HearsOfLogs(Protocol):
    """What reads event logs."""

    def stir(self) -> None:
        """Look at them again."""


class QueuePool(Protocol):
    """The interface of the pool for its queue."""

    #: Job of the scenario to its id.
    ids: dict[str, JobId]
    changes: list[JobChange]

    @property
    def flows(self) -> Mapping[str, HearsOfLogs]:
        """The DAGs that were started."""
        ...


class ReplaySchedd(ScheddDaemon):
    """The queue, whose jobs are checked after each step."""

    def __init__(self, pool: QueuePool, *args: Any) -> None:
        self._pool = pool
        self._status: dict[JobId, JobStatus] = {}
        #: Why it refused the last request; "" if it did not.
        self.refusal = ""
        super().__init__(*args)
        self.demands = _ReplayDemands(self)
        # Event logs of all owners are written by the user of the replay.
        self.file_workers.are_needed = False

    async def _ticks(self) -> None:
        await asyncio.sleep(BESIDE_POLLS_S)
        await super()._ticks()

    def feed(self, event: ev.Event) -> None:
        """Process an event."""
        before = self._fed
        self.refusal = ""
        super().feed(event)
        for effect in self._steps[-1].effects if self._fed != before else ():
            if isinstance(effect, ef.Reply) and not effect.ok:
                self.refusal = effect.text
        for change in self._steps[-1].changes if self._fed != before else ():
            if isinstance(change, PutJob | AddHistory):
                for job in change.jobs if isinstance(change, AddHistory) else (change.job,):
                    self._see(job, change.status)

    def _heard_of_logs(self, appended: Appended) -> None:
        """Event logs have been written."""
        super()._heard_of_logs(appended)
        for flow in self._pool.flows.values():
            flow.stir()

    def _see(self, job: JobId, status: JobStatus) -> None:
        known, self._status[job] = self._status.get(job, JobStatus.IDLE), status
        name = next((name for name, each in self._pool.ids.items() if each == job), "")
        if known is not status and name:
            cluster = self.queue.book.clusters.get(job.cluster)
            ad = None if cluster is None else cluster.ad_of(job.proc)
            self._pool.changes.append(job_change(name, self.clock.now(), status, ad))


class Together(Source):
    """The jobs of a cluster."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        super().__init__(jobs, logs=True)

    def to_data(self) -> Any:
        """The data in which plans are stored."""
        return ClusterPlan(common=self.common, batches=()).to_data()
