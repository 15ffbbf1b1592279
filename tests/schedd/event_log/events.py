"""One event of every kind, and generated ones."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from roost.schedd.event_log import log

BILL: Final = log.Bill(
    run=log.Usage(user_s=1, system_s=93_723),
    total=log.Usage(user_s=61, system_s=93_724),
    traffic=log.Traffic(sent=5, received=6),
    total_traffic=log.Traffic(sent=7, received=8),
)
RUN_BILL: Final = log.Bill(run=BILL.run, traffic=BILL.traffic)
TABLE: Final = log.ResourceTable(
    rows=(
        log.Resource(name="Cpus", usage=0.5, request=1, allocated=1),
        log.Resource(name="Disk", usage=40, request=200, allocated=1000),
        log.Resource(name="GPUs", usage=0.25, request=1, allocated=1, assigned="GPU-1"),
        log.Resource(name="Memory", usage=20, request=100, allocated=128),
    )
)
NORMAL: Final = log.ProgramExit(code=3)
SIGNAL: Final = log.ProgramExit(signal=11)
CORE: Final = log.ProgramExit(signal=11, core_file="/home/me/core.17")

#: At least one of every kind, with and without what may be missing.
EVERY: Final[tuple[log.JobEvent, ...]] = (
    log.Submit(host="<127.0.0.1:9618>"),
    log.Submit(host="submit.example.org", log_notes="DAG Node: A", user_notes="first try"),
    log.Execute(host="<127.0.0.1:9618>"),
    log.Execute(host="node1", slot_name="slot1_1@node1", machine=(("Cpus", "1"), ("GLIDEIN", '"x"'))),
    log.ExecutableError(kind=0),
    log.ExecutableError(kind=1),
    log.Checkpointed(run=BILL.run, sent=5),
    log.JobEvicted(bill=RUN_BILL, reason="PREEMPT expression evaluated to True", code=1011, subcode=3),
    log.JobEvicted(bill=RUN_BILL, checkpointed=True, resources=TABLE),
    log.JobEvicted(bill=RUN_BILL, requeued=NORMAL, reason="OnExitRemove is false"),
    log.JobEvicted(bill=RUN_BILL, requeued=CORE),
    log.JobTerminated(exit=NORMAL, bill=BILL, resources=TABLE),
    log.JobTerminated(exit=SIGNAL, bill=BILL),
    log.JobTerminated(exit=CORE),
    log.ImageSize(image_size_kib=100, memory_usage_mb=3, resident_set_kib=4, proportional_set_kib=5),
    log.ImageSize(image_size_kib=100, resident_set_kib=0),
    log.ShadowException(message="the machine is gone", traffic=log.Traffic(sent=1, received=2)),
    log.Generic(text="free text"),
    log.JobAborted(reason="via condor_rm (by user me)"),
    log.JobAborted(),
    log.JobSuspended(processes=3),
    log.JobUnsuspended(),
    log.JobHeld(reason="disk full", code=12, subcode=28),
    log.JobHeld(),
    log.JobReleased(reason="mended"),
    log.JobReleased(),
    log.NodeExecute(node=2, host="node1", slot_name="slot1@node1"),
    log.NodeTerminated(node=2, exit=NORMAL, bill=BILL),
    log.PostScriptTerminated(exit=NORMAL, node_name="A"),
    log.PostScriptTerminated(exit=SIGNAL),
    log.RemoteError(host="node1", message="no such file\nnor directory", code=6, subcode=2),
    log.RemoteError(host="node1", message="by the way", critical=False),
    log.JobDisconnected(reason="silence", machine="slot1@node1", address="<a>"),
    log.JobReconnected(machine="slot1@node1", address="<a>", starter_address="<b>"),
    log.JobReconnectFailed(reason="lease over", machine="slot1@node1"),
    log.GridResourceUp(resource="batch slurm"),
    log.GridResourceDown(resource="batch slurm"),
    log.GridSubmit(resource="batch slurm", job_id="17"),
    log.JobAdInformation(told=(("JobStatus", "2"), ("Owner", '"me"'))),
    log.JobStatusUnknown(),
    log.JobStatusKnown(),
    log.JobStageIn(),
    log.JobStageOut(),
    log.AttributeUpdate(attribute="JobPrio", value="5", old_value="0"),
    log.AttributeUpdate(attribute="JobPrio", value="5"),
    log.PreSkip(notes="DAG Node: A"),
    log.ClusterSubmit(host="<127.0.0.1:9618>"),
    log.ClusterSubmit(host="submit.example.org", log_notes="a", user_notes="b"),
    log.ClusterRemove(jobs=5, items=6, completion=log.Completion.PAUSED, notes="n"),
    log.ClusterRemove(jobs=5, items=6),
    log.ClusterRemove(jobs=5, items=6, completion=log.Completion.ERROR),
    log.FactoryPaused(reason="full", pause_code=1, hold_code=2),
    log.FactoryPaused(),
    log.FactoryResumed(reason="go on"),
    log.FactoryResumed(),
    *(log.FileTransfer(stage=stage) for stage in log.TransferStage),
    log.FileTransfer(stage=log.TransferStage.INPUT_STARTED, queued_s=5, host="<a>"),
    log.ReserveSpace(bytes=1000, expires_at=1_700_000_000, uuid="u", tag="t"),
    log.ReleaseSpace(uuid="u"),
    log.FileComplete(bytes=5, checksum="c", checksum_type="SHA256", uuid="u"),
    log.FileUsed(checksum="c", checksum_type="SHA256", tag="t"),
    log.FileRemoved(bytes=5, checksum="c", checksum_type="SHA256", tag="t"),
    log.DataflowJobSkipped(reason="output is newer"),
    *(log.CommonFiles(stage=stage) for stage in log.CommonStage),
)

#: Texts that users might get into a log.
NASTY: Final = st.text(st.sampled_from("a .\n\r\t:\"'=()é…"), max_size=12)
