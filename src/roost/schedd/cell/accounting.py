"""Accounting of a cell: the record of each finished run, written in the same step as the job's next state.

A run has one record, however it ends: its machine reports the end, the machine is lost, or the job is deleted at once.
Slave tasks of a parallel job have their own records, before that of the job, or are summed into it if the parallel
environment has `accounting_summary`. A report about a run other than the job's current one is too late, and yields no
record.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from roost.base.records import replace
from roost.classad import ClassAd
from roost.classad.ad import MISSING
from roost.classad.reading import amount_in
from roost.classad.values import fold
from roost.model import cell_requests as cell
from roost.model.cell_accounting import (
    ACCOUNT,
    DEPARTMENT,
    MIDNIGHT,
    NONE,
    RESCHEDULED,
    RESOURCES_USED,
    SIGNALLED,
    UNOBSERVED,
    AccountingRecord,
    TaskUse,
)
from roost.model.cell_usage import IO, MEMORY
from roost.model.codes import VacateCode
from roost.schedd.changes import AddAccounting
from roost.schedd.events import RunEnded
from roost.schedd.jobs.book import Cluster, Job
from roost.schedd.work import Work

_SIGKILL = 9
_GIB = 2**30
_KIB = 1024
#: Of getrusage(2), the sizes of a process.
_LARGEST = "ru_maxrss"
_TASK = fold(cell.TASK)


def account_end(work: Work, job: Job, event: RunEnded, *, over: bool = False, reserved: bool = False) -> None:
    """Account for the current run, whose end the machine has reported; the job has already taken over the report.

    `over`: the job was evicted, and is not run again. `reserved`: the reservation is charged instead of the usage
    (ACCT_RESERVED_USAGE).
    """
    record = _begun(job)
    if record is None:
        return
    said = event.attributes
    status = event.exit_code or 0
    if event.exit_signal is not None and event.ending != "evict":
        status = 128 + event.exit_signal
    failed = _failed(event)
    if failed == RESCHEDULED and event.code == VacateCode.STARTER_ERROR:
        failed = UNOBSERVED
    elif over:
        failed, status = SIGNALLED, 128 + _SIGKILL
    record = replace(record, failed=failed, exit_status=status)
    if event.started:
        record = _used(record, job, said, int(event.at))
    task = job.ad.get(cell.TASK)
    if isinstance(task, ClassAd) and task.get("Summary") is True:
        record = _summed(record, event.tasks)
    else:
        work.changes += [AddAccounting(record=_of_task(record, use)) for use in event.tasks]
    if reserved and isinstance(task, ClassAd):
        record = _of_reserved(record, amount_in(task, "Memory"))
    _add(work, job, record)


def _add(work: Work, job: Job, record: AccountingRecord) -> None:
    rest = _since_midnight(job, record)
    work.changes.append(AddAccounting(record=record, rest=None if rest is record else rest))


def _since_midnight(job: Job, record: AccountingRecord) -> AccountingRecord:
    """The part of a run that the reporting file has not reported yet: since the last midnight, as in Grid Engine."""
    told = job.ad.get(MIDNIGHT)
    if not isinstance(told, ClassAd) or told.get("Run") != job.run:
        return record
    return replace(
        record,
        started=int(amount_in(told, "At")),
        cpu_s=max(0.0, record.cpu_s - amount_in(told, "cpu")),
        mem=max(0.0, record.mem - amount_in(told, "mem")),
        io=max(0.0, record.io - amount_in(told, "io")),
    )


def account_day(work: Work, job: Job) -> AccountingRecord | None:
    """The midnight record of a run that continues, for the reporting file; None if its program has not begun."""
    record = _begun(job)
    if record is None or job.ad.get("JobCurrentStartExecutingDate") is None:
        return None
    record = replace(_used(record, job, job.ad, int(work.now)), exit_status=-1, wallclock_s=0, resources={})
    rest = _since_midnight(job, record)
    told = {"Run": job.run, "At": record.ended, "cpu": record.cpu_s, "mem": record.mem, "io": record.io}
    work.set(job, **{MIDNIGHT: ClassAd(told)})
    return rest


def _of_reserved(record: AccountingRecord, memory: float) -> AccountingRecord:
    """Wall clock time of all slots, and the memory limit of each slot, bytes, over that time."""
    slots_s = float(record.wallclock_s * record.slots)
    return replace(record, cpu_s=slots_s, mem=slots_s * memory / _GIB, maxvmem=memory * record.slots)


def with_tasks(event: RunEnded) -> RunEnded:
    """The attributes of the end of a run, including the usage of its slave tasks."""
    if not event.tasks:
        return event
    said = event.attributes.copy()
    for name, more in (
        ("RemoteUserCpu", sum(use.user_cpu_s for use in event.tasks)),
        ("RemoteSysCpu", sum(use.system_cpu_s for use in event.tasks)),
        (MEMORY, sum(use.mem for use in event.tasks)),
        (IO, sum(use.io for use in event.tasks)),
    ):
        said[name] = amount_in(said, name) + more
    return replace(event, attributes=said)


def _of_task(record: AccountingRecord, use: TaskUse) -> AccountingRecord:
    """The record of a slave task; `record` is that of its job."""
    began, ended = int(use.began), int(use.ended)
    return replace(
        record,
        queue=use.queue,
        host=use.host,
        part=use.name,
        submitted=began,
        started=began,
        ended=ended,
        wallclock_s=ended - began,
        failed=SIGNALLED if use.exit_code is None else 0,
        exit_status=(use.exit_code or 0) if use.signal is None else 128 + use.signal,
        resources=use.resources,
        cpu_s=_cpu_s(use),
        mem=use.mem,
        io=use.io,
        maxvmem=use.maxvmem,
    )


def _summed(record: AccountingRecord, uses: Sequence[TaskUse]) -> AccountingRecord:
    """One record for a job and its slave tasks: usage is summed, sizes are maxima."""
    resources = dict(record.resources)
    for use in uses:
        for name, amount in use.resources.items():
            known = resources.get(name, 0.0)
            resources[name] = max(known, amount) if name == _LARGEST else known + amount
    return replace(
        record,
        resources=resources,
        cpu_s=record.cpu_s + sum(map(_cpu_s, uses)),
        mem=record.mem + sum(use.mem for use in uses),
        io=record.io + sum(use.io for use in uses),
        maxvmem=max((record.maxvmem, *(use.maxvmem for use in uses))),
    )


def _cpu_s(use: TaskUse) -> float:
    own_s = use.resources.get("ru_utime", 0.0) + use.resources.get("ru_stime", 0.0)
    return max(use.user_cpu_s + use.system_cpu_s, own_s)


def _failed(event: RunEnded) -> int:
    """The starter's failure code; a machine that lost track of the run reports only how it ended.

    Only a run that ended by itself may count as successful: after any other end the job may run again.
    """
    code = event.attributes.get("CellFailed")
    if isinstance(code, int) and (code or event.ending == "exit"):
        return code
    if event.ending == "evict":
        return RESCHEDULED
    return 0 if event.exit_signal is None and event.ending == "exit" else SIGNALLED


def account_lost(work: Work, job: Job, failed: int = RESCHEDULED) -> None:
    """Account for a run that is over although its machine cannot report the end; `failed` is why."""
    record = _begun(job)
    if record is not None:
        work.changes.append(AddAccounting(record=replace(record, submitted=0, failed=failed)))


def account_deleted(work: Work, job: Job, *, reserved: bool = False) -> None:
    """Account for a job that is deleted at once; its usage is that of the last report."""
    record = _begun(job)
    if record is not None:
        record = replace(record, failed=SIGNALLED, exit_status=128 + _SIGKILL)
        record = _used(record, job, job.ad, int(work.now))
        task = job.ad.get(cell.TASK)
        if reserved and isinstance(task, ClassAd):
            record = _of_reserved(record, amount_in(task, "Memory"))
        _add(work, job, record)


def _begun(job: Job) -> AccountingRecord | None:
    """The known data of the current run at its start; None if the job has no run in a queue instance."""
    ad = job.ad
    # Most jobs have none, and finding out that a value is not an ad takes long.
    task = None if ad.cell(_TASK) is MISSING else ad.get(cell.TASK)
    if task is None or not job.run or not isinstance(task, ClassAd):
        return None
    queue, _, host = str(task.get("Instance", "")).partition("@")
    return AccountingRecord(
        queue=queue,
        host=host,
        group=str(task.get("Groups", "")).partition(",")[0] or job.owner.partition("@")[0],
        owner=str(task.get("User", "")) or job.owner.partition("@")[0],
        job_name=job_name(job.ad),
        job=job.id.cluster,
        account=job.text("cellaccount") or ACCOUNT,
        priority=int(amount_in(task, "Nice")),
        submitted=max(job.whole("qdate"), job.whole("lastvacatetime")),
        project=str(task.get("Project", "")) or NONE,
        department=str(task.get("Department", "")) or DEPARTMENT,
        environment=str(task.get("Environment", "")) or NONE,
        slots=int(amount_in(task, "AllSlots") or amount_in(task, "Slots") or 1),
        task=task_number(job.ad, job.cluster, job.id.proc),
        category=str(task.get("Category", "")) or NONE,
        reservation=int(amount_in(task, "Reservation")),
        reserved_at=int(amount_in(task, "ReservedAt")),
    )


def _used(record: AccountingRecord, job: Job, said: ClassAd, ended: int) -> AccountingRecord:
    """The record of a run whose program was started, with times and usage."""
    started = job.whole("jobcurrentstartexecutingdate", ended)
    user_s, system_s = amount_in(said, "RemoteUserCpu"), amount_in(said, "RemoteSysCpu")
    resources = said.get(RESOURCES_USED)
    if isinstance(resources, ClassAd):
        used = {name: amount_in(resources, name) for name in resources}
    else:
        used = {"ru_utime": user_s, "ru_stime": system_s}
    own_s = used.get("ru_utime", 0.0) + used.get("ru_stime", 0.0)
    return replace(
        record,
        started=started,
        ended=max(started, ended),
        wallclock_s=max(0, ended - started),
        resources=used,
        cpu_s=max(user_s + system_s, own_s),
        mem=amount_in(said, MEMORY),
        io=amount_in(said, IO),
        maxvmem=amount_in(said, "ImageSize") * _KIB,
    )


def job_name(ad: ClassAd) -> str:
    """The name of a job as shown by `qstat`."""
    return _text(ad, "celljobname") or _text(ad, "jobbatchname") or posixpath.basename(_text(ad, "cmd"))


def task_number(ad: ClassAd, cluster: Cluster, proc: int) -> int:
    """The task number of a job; 0 for a job without tasks."""
    if _text(ad, "celltasks"):
        number = ad.eval(cell.TASK_NUMBER)
        return number if isinstance(number, int) else 0
    # Processes of a cluster that was not submitted by `qsub` are tasks from 1 on.
    return proc + 1 if cluster.count > 1 and not _text(ad, "celljobname") else 0


def _text(ad: ClassAd, folded: str) -> str:
    value = ad.cell(folded)
    return value if isinstance(value, str) else ""
