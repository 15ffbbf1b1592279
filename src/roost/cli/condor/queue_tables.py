"""The tables of ``condor_q``, as data, and the options that select them."""

from __future__ import annotations

from typing import Final, NamedTuple

from roost.cli.condor.printing.columns import Column, Mask
from roost.cli.condor.printing.renderers import looked_at, rendered
from roost.cli.condor.printing.rows import AdRow
from roost.cli.condor.printing.values import Value
from roost.cli.condor.queue_dags import node_name

_ID: Final = (
    Column("ClusterId", " ID", wide=5, form="%4d.", after=False, auto=True),
    Column("ProcId", " ", wide=3, form="%-3d", before=False, auto=True),
)
_OWNER: Final = Column("Owner", "OWNER", wide=14, left=True, cut=True, render=rendered("OWNER"), otherwise="??")
_SUBMITTED: Final = Column("QDate", "  SUBMITTED", wide=11, render=rendered("QDATE"))
_RUN_TIME: Final = Column("RemoteUserCpu", "    RUN_TIME", wide=12, render=rendered("CPU_TIME"))
_ENDS: Final = (
    Column("JobStatus", "ST", wide=2, left=True, auto=True, render=rendered("JOB_STATUS")),
    Column("JobPrio", "PRI", wide=3, left=True, auto=True),
    Column("ImageSize", "SIZE", wide=4, auto=True, render=rendered("MEMORY_USAGE")),
    Column("Cmd", "CMD", render=rendered("JOB_DESCRIPTION")),
)


def _cluster(row: AdRow, value: Value) -> str | None:
    """A cluster as a job id without a job."""
    return f"{row.whole('ClusterId')}."


class QueueTable(NamedTuple):
    """One of them."""

    mask: Mask
    #: Whether the line of totals follows.
    totals: bool = True
    #: Jobs for which this is true are included; None for all.
    where: str | None = None
    #: Whether lines may be longer than the terminal.
    wide: bool = False

    @property
    def expressions(self) -> list[str]:
        """The expressions that it needs."""
        beside = [name for column in self.mask.columns for name in looked_at(column.render)]
        return [*self.mask.expressions, *beside, "DAGManJobId", "DAGNodeName"]


JOBS: Final = QueueTable(Mask((*_ID, _OWNER, _SUBMITTED, _RUN_TIME, *_ENDS)))
RUNNING: Final = QueueTable(
    Mask((*_ID, _OWNER, _SUBMITTED, _RUN_TIME,
          Column("Owner", "HOST(S)", render=rendered("REMOTE_HOST"), otherwise="??"))),
    totals=False,
    where="JobStatus == 2 || JobStatus == 6 || JobStatus == 7",
)  # fmt: skip
HELD: Final = QueueTable(
    Mask((*_ID, _OWNER,
          Column("EnteredCurrentStatus", "HELD_SINCE", wide=11, render=rendered("QDATE"), otherwise="??"),
          Column("HoldReason", "HOLD_REASON"))),
    where="JobStatus == 5",
    wide=True,
)  # fmt: skip
IDLE: Final = QueueTable(
    Mask((*_ID, _OWNER,
          Column("JobUniverse", "UNIVERSE ", wide=9, left=True, auto=True, render=rendered("JOB_UNIVERSE")),
          Column("RequestCpus", "CPUS", wide=4, left=True, auto=True, form="%4d"),
          Column("RequestMemory", "MEMORY", wide=6, left=True, auto=True, form="%6d"),
          Column("NumShadowStarts", "STARTS", wide=6, left=True, auto=True, form="%6d"),
          Column("LastRemoteHost", "LAST_HOST", render=rendered("OWNER")))),
    totals=False,
    where="JobStatus == 1",
)  # fmt: skip
GOODPUT: Final = QueueTable(
    Mask((*_ID, _OWNER, _SUBMITTED, _RUN_TIME,
          Column("CommittedTime * 100.0 / RemoteWallClockTime", "GOODPUT", wide=8, form="%7.1f%%", otherwise="[???]"),
          Column("RemoteUserCpu * 100.0 / RemoteWallClockTime", "CPU_UTIL", wide=9, form="%8.1f%%",
                 otherwise="[???]"))),
    totals=False,
)  # fmt: skip
TRANSFERS: Final = QueueTable(
    Mask((*_ID, _OWNER,
          Column("NumJobStarts", "RUNS", wide=4, left=True, auto=True, form="%4d", otherwise="?"),
          Column("JobStatus", "ST", wide=2, left=True, auto=True, render=rendered("JOB_STATUS")),
          Column("BytesRecvd", " INPUT", wide=10, render=rendered("READABLE_BYTES"), otherwise="??"),
          Column("BytesSent", " OUTPUT", wide=10, render=rendered("READABLE_BYTES"), otherwise="??"))),
    where="TransferQueued =?= true || TransferringOutput =?= true || TransferringInput =?= true",
)  # fmt: skip
DAG: Final = QueueTable(
    Mask((*_ID, Column("Owner", "OWNER/NODENAME", wide=17, left=True, cut=True, render=node_name),
          _SUBMITTED, _RUN_TIME, *_ENDS))
)  # fmt: skip
#: Clusters whose jobs enter the queue a few at a time; what the ads of these say, not those of jobs.
FACTORY: Final = QueueTable(
    Mask((Column("ClusterId", "ID", wide=6, left=True, render=_cluster),
          Column("Owner", "OWNER", wide=11, left=True, cut=True, render=rendered("OWNER"), otherwise="??"),
          Column("QDate", "   SUBMITTED", wide=12, render=rendered("QDATE")),
          Column("JobMaterializeLimit", " LIMIT", wide=6, form="%6d", otherwise="_"),
          Column("JobsPresent", "PRESNT", wide=6, form="%6d", otherwise="_"),
          Column("JobsRunning", "  RUN ", wide=6, form="%6d", otherwise="_"),
          Column("JobsIdle", "  IDLE", wide=6, form="%6d", otherwise="_"),
          Column("JobsHeld", "  HOLD", wide=6, form="%6d", otherwise="_"),
          Column("JobMaterializeNextProcId", "NEXTID", wide=6, form="%6d", otherwise="_"),
          Column("JobMaterializePaused", "MODE", wide=4, left=True, render=rendered("JOB_FACTORY_MODE")),
          Column("JobMaterializeDigestFile", "DIGEST", render=rendered("OWNER")))),
    totals=False,
    wide=True,
)  # fmt: skip
