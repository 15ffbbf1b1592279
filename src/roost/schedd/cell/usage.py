"""Usage of jobs in a cell: which account is charged, with how much, and when.

Machines report a job's usage every `load_report_time` and at its end. The queue charges the account with the increase,
and records in the job (`CellCharged`) what that run was charged with. Account and job are committed together, so
nothing is counted twice or lost, whichever daemon is killed. If the end of a run is never reported, its last report
counts.
"""

from __future__ import annotations

from roost.classad import ClassAd
from roost.model.audit import AuditKind, AuditRecord
from roost.model.cell_requests import TASK
from roost.model.cell_usage import CHARGED, IO, MEMORY, NAMES, Owner
from roost.schedd.changes import ClearUsage, PutUsage
from roost.schedd.claims.claim_table import ClaimTable
from roost.schedd.events import UsageCleared, UsageRuled
from roost.schedd.jobs.book import Job
from roost.schedd.work import Work

_GIB = 2**30


def charge(work: Work, claim_table: ClaimTable, job: Job, run: str, at: float, said: ClassAd) -> None:
    """Charge the account of a job with the usage of its current run until `at`, as reported in `said`."""
    task = job.ad.get(TASK) if claim_table.cell else None
    if task is None or not isinstance(task, ClassAd):
        return
    accounts = claim_table.usage
    used = _reserved(job, task, min(at, work.now)) if accounts.rules.reserved else _measured(said)
    factors = _factors(task)
    used = {name: amount * factors.get(name, 1.0) for name, amount in used.items()}
    note = job.ad.get(CHARGED)
    known = isinstance(note, ClassAd) and note.get("Run") == run
    before = {name: _number(note, name) if known else 0.0 for name in NAMES}
    now_used = {name: max(used.get(name, 0.0), before[name]) for name in NAMES}
    if now_used == before:
        return
    owner = Owner(*(str(task.get(name, "")) for name in ("User", "Project", "Department")))
    more = {name: now_used[name] - before[name] for name in NAMES}
    work.changes.append(PutUsage(accounts={owner: accounts.charge(owner, more, work.now)}))
    work.set(job, **{CHARGED: ClassAd({"Run": run, **now_used})})
    work.offer(later=True)


def forget_run(work: Work, claim_table: ClaimTable, job: Job, run: str) -> None:
    """Note that a charged run is over: with a half-life of -1, only runs in progress count."""
    task = job.ad.get(TASK)
    if task is None or not isinstance(task, ClassAd):
        return
    note = job.ad.get(CHARGED)
    if not isinstance(note, ClassAd) or note.get("Run") != run:
        return
    owner = Owner(*(str(task.get(name, "")) for name in ("User", "Project", "Department")))
    found = claim_table.usage.release(owner, {name: _number(note, name) for name in NAMES})
    if found is not None:
        work.changes.append(PutUsage(accounts={owner: found}))
        work.offer(later=True)


def _factors(task: ClassAd) -> dict[str, float]:
    """The factors by which usage on the host of a task is multiplied."""
    text = task.get("Scaling", "")
    pairs = (word.partition("=") for word in text.split(",") if word) if isinstance(text, str) else ()
    return {name: float(number) for name, _, number in pairs}


def _measured(said: ClassAd) -> dict[str, float]:
    cpu = _number(said, "RemoteUserCpu") + _number(said, "RemoteSysCpu")
    return {"cpu": cpu, "mem": _number(said, MEMORY), "io": _number(said, IO)}


def _reserved(job: Job, task: ClassAd, at: float) -> dict[str, float]:
    """Wall clock time of all slots, and the memory limit that the job requested, over that time."""
    wall_s = max(0.0, at - job.whole("jobcurrentstartdate", int(at))) * max(
        1.0, _number(task, "AllSlots") or _number(task, "Slots")
    )
    return {"cpu": wall_s, "mem": wall_s * _number(task, "Memory") / _GIB}


def _number(ad: object, name: str) -> float:
    value = ad.get(name) if isinstance(ad, ClassAd) else None
    return float(value) if isinstance(value, int | float) else 0.0


def clear_usage(work: Work, claim_table: ClaimTable, event: UsageCleared) -> None:
    """Clear all usage on an administrator's order; running jobs are charged with their usage from now on."""
    count = claim_table.usage.clear()
    work.changes.append(ClearUsage())
    record = AuditRecord(
        id=f"cell-usage/{event.actor}/{work.now:.6f}", kind=AuditKind.COMMAND, at=work.now, until=work.now,
        actor=event.actor, reason="usage cleared", count=max(1, count),
    )  # fmt: skip
    work.record(record)
    work.offer(later=True)


def rule_usage(work: Work, claim_table: ClaimTable, event: UsageRuled) -> None:
    """Set how usage decays, as the cell says."""
    if claim_table.usage.use(event.rules, work.now) and claim_table.usage.by_owner:
        work.changes.append(PutUsage(accounts=dict(claim_table.usage.by_owner)))
    work.offer(later=True)
