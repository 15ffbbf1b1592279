"""What is read from the queue's tables: stored clusters, jobs, claims, and ads of the history."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, select

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.runtime.database import meta_value
from roost.runtime.queue.database.tables import CLAIMS, CLUSTERS, JOBS, META, PAST, STILL
from roost.schedd import changes as ch
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import Cluster
from roost.schedd.submit import ClusterPlan
from roost.wire.ads import ad_from

#: Maximum number of clusters of the history that a reader keeps in memory.
PAST_KEPT_MAX: Final = 8

_DUMPER: Final = msgspec.json.Encoder()
LOADER: Final = msgspec.json.Decoder()


def dumped(value: Any) -> str:
    return _DUMPER.encode(value).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCluster:
    """A stored cluster."""

    cluster: int
    owner: str
    submitted_at: int
    count: int
    ad: ClassAd
    plan: Any
    gone: str
    told: str
    factory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptJob:
    """A stored job."""

    job: JobId
    status: int
    attributes: ClassAd


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPiece:
    """A piece of an event log that may not be in its file yet."""

    id: int
    path: str
    owner: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A record of a decision that the central manager may not have yet, in wire form."""

    id: int
    record: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What has to be done after a commit."""

    #: To be written to users' logs now.
    pieces: tuple[LogPiece, ...]
    #: To be sent now.
    noted: tuple[Noted, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptJobs:
    """The stored jobs."""

    next_cluster: int
    clusters: tuple[KeptCluster, ...]
    jobs: tuple[KeptJob, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptQueue(KeptJobs):
    """The complete stored state."""

    claims: tuple[ch.PutClaim, ...]
    log_pieces: tuple[LogPiece, ...]
    noted: tuple[Noted, ...]


def jobs_of(connection: Connection) -> dict[str, Any]:
    """The fields of `KeptJobs`."""
    return {
        "next_cluster": int(meta_value(connection, META, "next_cluster") or 1),
        "clusters": tuple(_clusters(connection)),
        "jobs": tuple(_jobs(connection)),
    }


def _clusters(connection: Connection) -> Iterator[KeptCluster]:
    for row in connection.execute(select(CLUSTERS).order_by(CLUSTERS.c.cluster)):
        yield KeptCluster(
            cluster=row.cluster,
            owner=row.owner,
            submitted_at=row.submitted_at,
            count=row[3],
            ad=ad_from(LOADER.decode(row.ad)),
            plan=LOADER.decode(row.plan),
            gone=row.gone,
            told=row.told,
            factory=row.factory,
        )


def _jobs(connection: Connection) -> Iterator[KeptJob]:
    for row in connection.execute(select(JOBS).order_by(JOBS.c.cluster, JOBS.c.proc)):
        attributes = ad_from(LOADER.decode(row.attributes))
        yield KeptJob(job=JobId(row.cluster, row.proc), status=row.status, attributes=attributes)


class PastClusters:
    """Clusters whose jobs have left, loaded on demand."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._kept: OrderedDict[int, Cluster] = OrderedDict()

    def of(self, number: int) -> Cluster:
        """A cluster."""
        found = self._kept.get(number)
        if found is None:
            row = self._connection.execute(select(PAST).where(PAST.c.cluster == number)).one()
            plan = LOADER.decode(row.plan)
            found = self._kept[number] = Cluster(
                number,
                ad_from(LOADER.decode(row.ad)),
                None if plan is None else ClusterPlan.from_data(plan),
                count=row[3],
                owner=row.owner,
                submitted_at=row.submitted_at,
            )
            if len(self._kept) > PAST_KEPT_MAX:
                self._kept.popitem(last=False)
        return found


def past_ads(row: Any, past: PastClusters, proc: int | None) -> Iterator[ClassAd]:
    """The ads of a row of the history, the last first; only that of one job with `proc`."""
    ad = ad_from(LOADER.decode(row.ad))
    if row.last is None:
        yield ad
        return
    cluster = past.of(row.cluster)
    for each in reversed(range(row.proc, row.last + 1)) if proc is None else (proc,):
        yield ch.whole_ad(cluster, each, ad)


def claims_of(connection: Connection) -> Iterator[ch.PutClaim]:
    for row in connection.execute(select(CLAIMS).order_by(CLAIMS.c.claim_id)):
        yield ch.PutClaim(
            claim_id=row.claim_id,
            node=row.node,
            slot=row.slot,
            submitter=row.submitter,
            job=JobId.read(row.job) if row.job else None,
            run=row.run,
            still=STILL.get(row.wanted),
        )
