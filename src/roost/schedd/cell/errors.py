"""The error state of queue instances (E): a prolog or epilog of the cell failed there, and they accept no jobs.

The queue stores it in the same step as the end of the failed run, and every demand sent to the central manager names
these instances. `roost cell clear` ends it.
"""

from __future__ import annotations

from typing import Final

from roost.classad import ClassAd
from roost.classad.ad import MISSING
from roost.model.audit import AuditKind, AuditRecord, some
from roost.schedd.changes import PutErrors
from roost.schedd.claims.claim_table import ClaimTable
from roost.schedd.events import ErrorsCleared, RunEnded
from roost.schedd.jobs.book import Job
from roost.schedd.work import Work

#: Failure codes that are charged to the queue instance: before and in prolog, epilog, start and stop of the parallel
#: environment, and before the job.
FAILURES: Final = (7, 8, 9, 10, 11, 12, 13, 14, 15)


def note_error(work: Work, claim_table: ClaimTable, job: Job, event: RunEnded) -> None:
    """Note the end of a run: its queue instance may now be in the error state."""
    if event.attributes.cell("cellerrorreason") is MISSING:
        return
    reason = event.attributes.get("CellErrorReason")
    if not reason or event.attributes.get("CellFailed") not in FAILURES:
        return
    task = job.ad.get("CellTask")
    if not isinstance(task, ClassAd):
        return
    instance = str(task.get("Instance", ""))
    queue, _, host = instance.partition("@")
    words = f"queue {queue} marked QERROR as result of job {job.id.cluster}'s failure at host {host}: {reason}"
    claim_table.errors[instance] = words
    work.changes.append(PutErrors(errors=dict(claim_table.errors)))
    record = AuditRecord(
        id=f"cell-error/{event.run}", kind=AuditKind.COMMAND, at=work.now, until=work.now, machine=event.node,
        job=str(job.id), reason=words, samples=some([instance]),
    )  # fmt: skip
    work.record(record, job.ad)
    work.offer()


def clear_errors(work: Work, claim_table: ClaimTable, event: ErrorsCleared) -> None:
    """Clear the error state of instances, as an administrator orders."""
    cleared = [name for name in event.instances if claim_table.errors.pop(name, None) is not None]
    if not cleared:
        return
    work.changes.append(PutErrors(errors=dict(claim_table.errors)))
    record = AuditRecord(
        id=f"cell-cleared/{event.actor}/{work.now:.6f}", kind=AuditKind.COMMAND, at=work.now, until=work.now,
        actor=event.actor, reason="error state cleared", count=len(cleared), samples=some(cleared),
    )  # fmt: skip
    work.record(record)
    work.offer()
