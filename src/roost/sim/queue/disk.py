"""The stored state of a simulated queue: all that is left of it when it dies."""

from __future__ import annotations

from roost.classad import ClassAd
from roost.model.cell_usage import Owner, Used
from roost.schedd import changes as ch
from roost.schedd.claims.claim_table import QueueSettings
from roost.schedd.identifiers import JobId
from roost.schedd.queue import Queue


class Disk:
    """Changes, as a database keeps them."""

    def __init__(self) -> None:
        self.clusters: dict[int, ch.PutCluster] = {}
        self.gone: dict[int, str] = {}
        self.told: dict[int, str] = {}
        self.factories: dict[int, str] = {}
        self.jobs: dict[JobId, ch.PutJob] = {}
        self.claims: dict[str, ch.PutClaim] = {}
        self.usage: dict[Owner, Used] = {}
        #: Queue instances in the error state, each with the reason.
        self.errors: dict[str, str] = {}

    def keep(self, changes: tuple[ch.Change, ...]) -> None:
        """Store the changes of one step."""
        for change in changes:
            match change:
                case ch.PutCluster():
                    self.clusters[change.cluster] = change
                    if change.factory:
                        self.factories[change.cluster] = change.factory
                case ch.PutFactory():
                    self.factories[change.cluster] = change.factory
                case ch.PutGone():
                    self.gone[change.cluster] = change.gone
                case ch.PutTold():
                    self.told[change.cluster] = change.told
                case ch.DropCluster():
                    del self.clusters[change.cluster]
                    self.gone.pop(change.cluster, None)
                    self.told.pop(change.cluster, None)
                    self.factories.pop(change.cluster, None)
                case ch.PutJob():
                    self.jobs[change.job] = change
                case ch.DropJob():
                    self.jobs.pop(change.job, None)
                case ch.PutClaim():
                    self.claims[change.claim_id] = change
                case ch.DropClaim():
                    self.claims.pop(change.claim_id, None)
                case ch.PutUsage():
                    self.usage.update(change.accounts)
                case ch.ClearUsage():
                    self.usage.clear()
                case ch.PutErrors():
                    self.errors = dict(change.errors)

    def load(self, settings: QueueSettings, now: float, next_cluster: int) -> Queue:
        """A queue that is about to start with the stored state."""
        queue = Queue(settings, now)
        queue.claim_table.usage.by_owner = dict(self.usage)
        queue.claim_table.errors = dict(self.errors)
        for number in sorted(self.clusters):
            each = self.clusters[number]
            # The simulation's jobs are their own data: see `sources`.
            queue.restore_cluster(
                each,
                each.plan,
                gone=self.gone.get(number, ""),
                told=self.told.get(number, ""),
                factory=self.factories.get(number, ""),
            )
        for job in self.jobs.values():
            queue.restore_job(ch.PutJob(job=job.job, status=job.status, attributes=_own(job.attributes)))
        queue.book.next_cluster = max(queue.book.next_cluster, next_cluster)
        return queue

    @property
    def kept_claims(self) -> tuple[ch.PutClaim, ...]:
        """The claims that the queue held, in the order of their ids."""
        return tuple(self.claims[name] for name in sorted(self.claims))


def _own(attributes: ClassAd) -> ClassAd:
    """A copy, since the queue keeps changing the original."""
    return attributes.copy()
