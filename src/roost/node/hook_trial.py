"""Trying a hook by hand: sample ads, and what would follow from its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from roost.base.records import replace
from roost.classad import ClassAd, unparse_value
from roost.classad.forms import Form, format_ad
from roost.model.identifiers import ClaimIdSource
from roost.model.slots import SlotKind
from roost.model.starter import Ending, HookPoint, ScriptPoint
from roost.node.hook_table import HookRow
from roost.node.host_plan import SlotPlan
from roost.startd.fetched_job import VANILLA, fetched_job
from roost.startd.policy_inputs import Inputs
from roost.startd.slot_state import new_slot
from roost.startd.states import State
from roost.starter.hooks import not_run, prepared
from roost.starter.scripts import PSEUDO_VARIABLES, breaks_slot, script_cause


def sample_job(owner: str, row: HookRow, word: str) -> ClassAd:
    """A sample job as that hook receives it."""
    ad = ClassAd(
        {
            "Cmd": "/bin/sleep", "Arguments": "60", "Owner": owner, "JobUniverse": 5, "ClusterId": 1, "ProcId": 0,
            "RequestCpus": 1, "RequestMemory": 128, "RequestDisk": 1024,
        }
    )  # fmt: skip
    if row.name in (HookPoint.UPDATE, HookPoint.VACATE, HookPoint.EXIT):
        ad.update(ClassAd({"JobPid": 4711, "NumPids": 1, "JobStartDate": 1_700_000_000, "ImageSize": 2048}))
        ad.update(ClassAd({"ResidentSetSize": 1024, "RemoteUserCpu": 0.5, "RemoteSysCpu": 0.1}))
    if row.name == HookPoint.UPDATE:
        ad["JobState"] = "Running"
    elif row.name == HookPoint.VACATE:
        ad["JobState"], ad["VacateTimeLeft"] = "Vacating", 600
        ad["VacateUntil"] = 1_700_000_600
    elif row.name == HookPoint.EXIT and word == Ending.EXIT:
        ad.update(ClassAd({"ExitReason": "exited with status 0", "JobDuration": 60.0, "ExitBySignal": False}))
        ad["ExitCode"] = 0
    if row.name in (HookPoint.VACATE, HookPoint.EXIT, HookPoint.FAILURE) and word in (Ending.HOLD, Ending.EVICT):
        kind = "Hold" if word == Ending.HOLD else "Vacate"
        ad[f"{kind}Reason"], ad[f"{kind}ReasonCode"], ad[f"{kind}ReasonSubCode"] = "a trial", 1, 0
        ad["ExitReason"] = f"{'put on hold' if word == Ending.HOLD else 'evicted'}: a trial"
    return ad


def sample_slot(slot: SlotPlan, row: HookRow, word: str) -> ClassAd:
    """A sample slot that is unclaimed, or that runs the job."""
    ad = slot.ad.copy()
    free = not row.has_job
    ad["State"], ad["Activity"] = ("Unclaimed", "Idle") if free else ("Claimed", "Busy")
    ad["KeyboardIdle"], ad["LoadAvg"] = 100_000, 0.0
    if row.has_claim and word != "reject":
        ad["ClaimId"] = f"<{slot.name}>#1#1#a-trial-claim"
    return ad


def sample_values(machine: str, slot: SlotPlan, owner: str) -> dict[str, str]:
    """Sample values of a script's pseudo-variables."""
    known = {"host": machine, "queue": slot.name.partition("@")[0], "job_id": "1", "ja_task_id": "undefined"}
    known |= {"job_owner": owner, "job_name": "sleep", "processors": str(slot.cpus), "merge_stderr": "0"}
    return {name: known.get(name, "/dev/null") for name in PSEUDO_VARIABLES}


def what_follows(
    row: HookRow,
    *,
    status: int,
    printed: ClassAd | None,
    keyword: str,
    slot: SlotPlan,
    slot_ad: ClassAd,
    job_problem: Callable[[ClassAd], str],
) -> Iterator[str]:
    """Sentences about what a machine would do with the answer of a hook that has read this slot's ad.

    `job_problem` says why the program of a job could not be started on this machine; "" if it could.
    """
    if row.name == "FETCH_WORK":
        yield from _after_fetch(printed if status >= 0 else None, keyword, slot, slot_ad, job_problem)
    elif row.name in (HookPoint.PREPARE, HookPoint.PREPARE_EARLY):
        yield from _after_prepare(HookPoint(row.name), status, printed)
    else:
        yield "Neither its output nor its exit status has any effect."


def _after_fetch(
    printed: ClassAd | None, keyword: str, slot: SlotPlan, slot_ad: ClassAd, job_problem: Callable[[ClassAd], str]
) -> Iterator[str]:
    if printed is None:
        yield "There is no work. The slot asks again after FetchWorkDelay; a fetched claim without a job would end."
        return
    job, remarks = fetched_job(printed, keyword=keyword, kind=slot.kind)
    yield from (f"{remark[0].upper()}{remark[1:]}." for remark in remarks)
    for name, why in (("Cmd", "nothing could be started"), ("Owner", "a daemon of root would not start it")):
        if not isinstance(job.cell(name.lower()), str):
            yield f"It has no {name}: {why}, and STARTER_FAILURE would run."
    cannot_run = list(_cannot_run(job, job_problem))
    accepted, text = _accepts(job, slot, slot_ad)
    yield f"REPLY_FETCH {'accept' if accepted else 'reject'}: {text}."
    if accepted:
        parts = slot.kind is SlotKind.PARTITIONABLE
        what = "A part of the slot is cut off for it and" if parts else "The slot is"
        if cannot_run:
            yield f"{what} claimed by it, but its starter cannot run this job, and runs STARTER_FAILURE:"
            yield from (f"    {problem}" for problem in cannot_run)
            yield "The job:"
        else:
            yield f"{what} claimed by it, and its starter runs this job:"
        yield "\n".join(f"    {line}" for line in format_ad(job, Form.OLD).splitlines())


def _cannot_run(job: ClassAd, job_problem: Callable[[ClassAd], str]) -> Iterator[str]:
    universe = job.eval("JobUniverse")
    if universe != VANILLA:
        yield f"JobUniverse is {unparse_value(universe)}; fetched jobs are of universe {VANILLA} (vanilla)"
    if problem := job_problem(job):
        yield problem


def _accepts(job: ClassAd, slot: SlotPlan, slot_ad: ClassAd) -> tuple[bool, str]:
    ids = ClaimIdSource(address="<trial>", birth=0, block=1, key=b"a trial")
    state = replace(new_slot(slot.name, kind=slot.kind, ids=ids, now=0.0, ad=slot_ad), state=State.UNCLAIMED)
    accepted, decision = Inputs(state, slot.policy, 0.0).accepts(job)
    return accepted, f"{decision.name} is {unparse_value(decision.value)} for this job on {slot.name} when it is idle"


def _after_prepare(point: HookPoint, status: int, printed: ClassAd | None) -> Iterator[str]:
    result = prepared(point, status, printed)
    if result.cause is not None:
        where = "is put on hold" if result.cause.ending is Ending.HOLD else "goes back to its queue"
        numbers = f"code {int(result.cause.code)}, {result.cause.subcode}"
        yield f"The job does not run and {where}: {result.cause.text} ({numbers})."
        return
    if result.message:
        yield f"The log says: {result.message}"
    if len(result.updates):
        yield "The job runs with these attributes:"
        yield "\n".join(f"    {line}" for line in format_ad(result.updates, Form.OLD).splitlines())
    else:
        yield "The job runs unchanged."


def after_failure(row: HookRow) -> Iterator[str]:
    """Sentences about what a machine would do if the hook did not finish."""
    if row.name == "FETCH_WORK":
        yield "There is no work."
    elif row.name in (HookPoint.PREPARE, HookPoint.PREPARE_EARLY):
        cause = not_run(HookPoint(row.name), "as above")
        yield f"The job does not run and is put on hold (code {int(cause.code)}, {cause.subcode})."
    else:
        yield "Everything continues without it."


def after_script(point: ScriptPoint, status: int | None) -> Iterator[str]:
    """Sentences about what a machine would do after a prolog or epilog; status None for one that was not run."""
    cause = script_cause(point, status)
    if cause is None:
        yield "The job runs." if point is ScriptPoint.PROLOG else "The job stays as it ended."
        return
    yield f"The job {'is put on hold' if cause.ending is Ending.HOLD else 'goes back to its queue'}: {cause.text}."
    if breaks_slot(status):
        yield "Its slot accepts no more jobs until `roost reopen`."
