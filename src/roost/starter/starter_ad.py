"""What a starter knows of its job, as attributes.

`starter_ad` is MY in the starter's expressions; TARGET is the job's ad. Attributes that the starter measures are
UNDEFINED until the first sample rather than missing. Otherwise a lookup would find the job ad's own ImageSize from
submission.
"""

from __future__ import annotations

from typing import Final

from roost.classad import UNDEFINED, ClassAd, Expr
from roost.classad.ad import MISSING, ad_of_cells
from roost.classad.values import fold
from roost.model.cell_accounting import RESOURCES_USED
from roost.model.cell_requests import CHECKPOINTED
from roost.model.cell_usage import IO, MEMORY
from roost.model.starter import Doing, Ending, Usage
from roost.starter.failed import error_reason, failed, failed_text
from roost.starter.limits import limit_text
from roost.starter.starter_state import StarterState
from roost.starter.states import JOB_STATES, WITH_PROCESS

_GIB: Final = 2**30

#: Slot attributes that stay constant while a job runs, besides those that MachineResources names.
STATIC: Final = ("Memory", "Cpus", "SlotID", "SlotTypeID", "SlotType", "Name", "Machine", "FileSystemDomain")

#: Resources that the machine shares out but whose amount in the ad changes during the run.
_DYNAMIC: Final = frozenset(("disk", "swap", "virtualmemory"))

#: JobState of a job that waits for its start time.
DEFERRED: Final = "Deferred"

#: Attributes from samples: current values of the job, and its usage since it began.
SIZES: Final = ("ImageSize", "ResidentSetSize", "MemoryUsage", "NumPids", "DiskUsage")
TIMES: Final = ("RemoteUserCpu", "RemoteSysCpu", "CpusUsage")
MEASURED: Final = (*SIZES, *TIMES)


def static_shares(slot_ad: ClassAd) -> ClassAd:
    """The part of a slot's ad that a starter gets when it is spawned."""
    resources = slot_ad.cell("machineresources")
    custom = resources.replace(",", " ").split() if isinstance(resources, str) else []
    shares = ClassAd()
    for name in (*STATIC, *custom):
        key = fold(name)
        cell = slot_ad.cell(key)
        if cell is not MISSING and not isinstance(cell, Expr) and key not in _DYNAMIC:
            shares[slot_ad.spelling(key)] = cell
    return shares


def measured(usage: Usage) -> dict[str, int | float]:
    """A sample, as attributes."""
    found: dict[str, int | float] = {
        "ImageSize": usage.image_size_kib,
        "ResidentSetSize": usage.resident_kib,
        # The same, MiB: what RequestMemory and Memory are compared with.
        "MemoryUsage": (usage.resident_kib + 1023) // 1024,
        "RemoteUserCpu": float(usage.user_cpu_s),
        "RemoteSysCpu": float(usage.system_cpu_s),
        "NumPids": usage.process_count,
    }
    if usage.disk_usage_kib is not None:
        found["DiskUsage"] = usage.disk_usage_kib
    return found


def starter_ad(state: StarterState, now: float) -> ClassAd:
    """The starter's own ad, as its expressions see it."""
    ad = state.launch.shares.copy()
    for name in MEASURED:
        ad.put(name, UNDEFINED)
    for name, value in _known(state, now).items():
        ad.put(name, value)
    ad.put("JobDuration", state.duration_s(now))
    ad.put("EnteredCurrentState", int(state.entered_state_at))
    return ad


def update_attributes(state: StarterState, now: float) -> ClassAd:
    """The attributes of a running job that are sent to startd, queue and hooks."""
    return ad_of_cells({_KEYS[name]: value for name, value in _known(state, now).items()})


def exit_attributes(state: StarterState, now: float) -> ClassAd:
    """The attributes added to those when the run is over."""
    ad = update_attributes(state, now)
    cells = ad.cells
    cells["jobduration"] = state.duration_s(now)
    cells["exitreason"] = exit_text(state)
    if state.launch.context is not None:
        code = cells["cellfailed"] = failed(state)
        cells["cellfailedreason"] = failed_text(state, code)
        cells["cellerrorreason"] = error_reason(state)
    _tell_cause(ad, state)
    end = state.end
    if end is not None and (end.code is not None or end.signal is not None):
        cells["exitbysignal"] = end.signal is not None
        if end.signal is not None:
            cells["exitsignal"] = end.signal
        elif end.code is not None:
            cells["exitcode"] = end.code
        cells["jobcoredumped"] = end.core_dumped
        if state.launch.context is not None and end.resources:
            ad[RESOURCES_USED] = ClassAd(end.resources)
    return ad


def _tell_cause(ad: ClassAd, state: StarterState) -> None:
    """Add why the job did not end by itself, under the queue's attribute names."""
    cause = state.cause
    if cause is not None and cause.ending is not Ending.REMOVE:
        kind = "Hold" if cause.ending is Ending.HOLD else "Vacate"
        ad.put(f"{kind}Reason", cause.text)
        ad.put(f"{kind}ReasonCode", int(cause.code))
        ad.put(f"{kind}ReasonSubCode", cause.subcode)


def vacate_attributes(state: StarterState, now: float) -> ClassAd:
    """The attributes of a notice to a job that has to leave: until when, and why."""
    ad = update_attributes(state, now)
    until = state.deadlines.vacate_until
    ad["ExitReason"] = exit_text(state)
    _tell_cause(ad, state)
    if until is not None:
        ad["VacateUntil"] = int(until)
        ad["VacateTimeLeft"] = int(max(0.0, until - now))
    return ad


def exit_text(state: StarterState) -> str:
    """How the run ended, in words."""
    if state.cause is not None:
        return f"{_WORDS[state.cause.ending]}: {state.cause.text}"
    end = state.end
    if end is None or (end.code is None and end.signal is None):
        return "ended in an unknown way"
    if state.limit:
        return f"killed for exceeding {limit_text(state)}"
    return f"exited with status {end.code}" if end.signal is None else f"died on signal {end.signal}"


#: Keys of the cells of a running job's attributes, by attribute name.
_OF_RUNNING: Final = (*MEASURED, MEMORY, IO, "JobState", "JobStartDate", "JobPid", CHECKPOINTED)
_KEYS: Final = {name: fold(name) for name in _OF_RUNNING}
_WORDS: Final = {"exit": "ended", "evict": "evicted", "hold": "put on hold", "remove": "removed"}


def _known(state: StarterState, now: float) -> dict[str, int | float | str]:
    known: dict[str, int | float | str] = {} if state.usage is None else {**measured(state.usage)}
    run_s = state.run_time_s(now)
    if state.usage is not None and run_s >= 1:
        # The mean of the run so far; the use in a single moment says little about a job.
        known["CpusUsage"] = (state.usage.user_cpu_s + state.usage.system_cpu_s) / run_s
    if state.usage is not None and state.launch.context is not None:
        known[MEMORY] = state.memory_used
        known[IO] = state.usage.io_bytes / _GIB
    if state.state in JOB_STATES:
        known["JobState"] = str(state.state)
    elif state.doing is Doing.DEFERRAL:
        known["JobState"] = DEFERRED
    if state.started_at is not None:
        known["JobStartDate"] = int(state.started_at)
    if state.pid is not None and state.pair in WITH_PROCESS:
        known["JobPid"] = state.pid
    if state.saved_pid is not None:
        known[CHECKPOINTED] = state.saved_pid
    return known


# Ads are filled by folded names here, so the spellings must be registered first.
ClassAd(
    dict.fromkeys(
        (
            *_KEYS,
            "JobDuration",
            "ExitReason",
            "ExitBySignal",
            "ExitSignal",
            "ExitCode",
            "JobCoreDumped",
            "CellFailed",
            "CellFailedReason",
            "CellErrorReason",
        ),
        UNDEFINED,
    )
)
