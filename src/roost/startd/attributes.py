"""The state machine's data about a slot, as attributes of its ad.

`overlay` is the ad that policy expressions see: these attributes first, then the policy, then the polled ad.
`published` is what goes into the ad that the pool sees. The state machine owns the names in `OWNED`: if it sets no
value for one of them, a value in the polled ad does not show either.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from roost.classad import ClassAd, Expr, Value, parse_expression
from roost.classad.ad import MISSING, ad_of_cells, flat_cells
from roost.classad.values import fold
from roost.model.cell_requests import JOB_SUSPENDERS, SUSPENDERS, SUSPENSION, JobSuspender
from roost.startd.slot_state import SlotState
from roost.startd.states import PAIRS, SUSPENDED, Activity, State

if TYPE_CHECKING:
    from roost.model.claims import Claim
    from roost.startd.policy_inputs import SlotPolicy

#: IS_VALID_CHECKPOINT_PLATFORM, if set.
CHECKPOINT_PLATFORM: Final = "IsValidCheckpointPlatform"
#: Attributes of the job that are always copied into the ad of a claimed slot.
COPIED_ALWAYS: Final = ("JobUniverse", "NiceUser", "ImageSize", "ExecutableSize", "NumPids", "CellTask")

_NAMES: Final = (
    *COPIED_ALWAYS,
    "State",
    "Activity",
    "EnteredCurrentState",
    "EnteredCurrentActivity",
    "RemoteOwner",
    "RemoteUser",
    "RemoteScheddName",
    "ClientMachine",
    "ConcurrencyLimits",
    "AccountingGroup",
    "RemoteGroup",
    "JobId",
    "GlobalJobId",
    "JobStart",
    "CurrentRank",
    "TotalJobRunTime",
    "TotalJobSuspendTime",
    "TotalClaimRunTime",
    "TotalClaimSuspendTime",
    "LastPeriodicCheckpoint",
    "PreemptingOwner",
    "PreemptingUser",
    "PreemptingRank",
    "PreemptingAccountingGroup",
    "PreemptingConcurrencyLimits",
    "Draining",
    "DrainReason",
    "DrainingRequestId",
    "AcceptedWhileDraining",
    "DrainTimeSuffices",
    "LastBenchmark",
    "Mips",
    "KFlops",
    "StarterJobState",
    "LastFetchWorkSpawned",
    "LastFetchWorkCompleted",
    "PublicClaimId",
    "RetirementTimeRemaining",
    SUSPENDERS,
    SUSPENSION,
    JOB_SUSPENDERS,
)

#: Names that only the state machine sets.
OWNED: Final = frozenset(fold(name) for name in _NAMES)

#: Their spellings, for ads whose cells are set without a spelling.
_SPELLED: Final = ClassAd(
    dict.fromkeys(("START", "Requirements", "Name", "SlotBrokenReason", "SlotLeavingReason", *_NAMES), 0)
)
#: Whether the spellings are those already registered by the first ads; then no ad needs to record its own.
_USUAL: Final = _SPELLED.own_spellings is None
_COPIED_KEYS: Final = tuple(fold(name) for name in COPIED_ALWAYS)
_HELD: Final = frozenset((State.CLAIMED, State.PREEMPTING))
#: Texts of states and activities: reading the value of an enumeration member is slow.
_TEXTS: Final = {each: each.value for each in (*State, *Activity)}
_TIMES: Final = tuple(f"TotalTime{pair.state}{pair.activity}" for pair in PAIRS)

_FALSE: Final = parse_expression("false")
#: FALSE for Requirements, with the reason in the expression.
_OUT_OF_ORDER: Final = parse_expression("MachineProblem =?= undefined")


def sensed(ad: ClassAd) -> ClassAd:
    """A polled ad without the attributes that the state machine owns; the ad itself if it has none of them."""
    if OWNED.isdisjoint(ad.cells):
        return ad
    ad = ad.copy()
    for key in OWNED.intersection(ad.cells):
        del ad.cells[key]
    return ad


def overlay(state: SlotState, policy: SlotPolicy, now: float) -> ClassAd:
    """The slot's ad as its expressions see it. It must not be changed, because it shares what is chained to the polled
    ad.

    It is built for every evaluation of a slot, and is flat because lookups in a flat ad are fast.
    """
    polled, expressions = state.ad, policy.expressions
    if polled.own_spellings is None and expressions.own_spellings is None and not policy.holds_ads and _USUAL:
        return _added(ad_of_cells({**polled.cells, **expressions.cells}, polled.chained), state, policy, now)
    ad = _under(policy)
    ad.cells = {**polled.cells, **ad.cells}
    if polled.own_spellings is not None:
        ad.own_spellings = {**polled.own_spellings, **(ad.own_spellings or {})}
    ad.chained = polled.chained
    return _added(ad, state, policy, now)


def _under(policy: SlotPolicy) -> ClassAd:
    """An ad with the expressions of a policy. Attributes may be added to it, but its cells may be replaced only if no
    ad is nested in them.
    """
    # Names in a nested ad are looked up in the enclosing ad, which therefore has to be this one.
    if policy.holds_ads:
        return policy.expressions.copy()
    ad = ad_of_cells(policy.expressions.cells)
    spelled = policy.expressions.own_spellings
    if spelled is not None or _SPELLED.own_spellings is not None:
        ad.own_spellings = {**(_SPELLED.own_spellings or {}), **(spelled or {})}
    return ad


def _added(ad: ClassAd, state: SlotState, policy: SlotPolicy, now: float) -> ClassAd:
    """The ad that is laid over the polled ad, in `ad`. Known names are not folded and spelled each time."""
    cells = ad.cells
    add_known(cells, state, now)
    if state.draining is not None:
        start = None if state.draining.originals_gone else state.draining.start
        cells["start"] = _FALSE if start is None else start
        if start is not None and (until := state.draining.takes_until) < math.inf:
            cells["draintimesuffices"] = _time_suffices(math.floor(until - policy.drain_activation_grace_s))
    if state.broken is not None or state.leaving is not None:
        cells["start"] = _FALSE
    if state.state in _HELD and (job := state.claim.job_ad) is not None:
        cell = job.cell("cpususage")
        if cell is not MISSING and "cpususage" not in cells and state.ad.cell("cpususage") is MISSING:
            # A policy may publish its own value, computed from the load.
            ad.put("CpusUsage", cell)
        for name in policy.job_attributes:
            cell = job.cell(fold(name))
            if cell is not MISSING:
                ad.put(name, cell)
    return ad


@lru_cache(maxsize=1024)
def _time_suffices(until: int) -> Expr:
    """DrainTimeSuffices: the vacate time of a job that begins now ends by `until`, epoch s.

    Keeps away jobs that the slot would refuse. A longer vacate time that a job may get counts when the claim is
    requested (`claiming.drain_refuses`).
    """
    wanted = "TARGET.JobMaxVacateTime ?: (TARGET.KillSigTimeout ?: MY.MachineMaxVacateTime)"
    return parse_expression(f"time() + min({{ MY.MachineMaxVacateTime, {wanted} }}) <= {until}")


def add_known(cells: dict[str, Any], state: SlotState, now: float) -> None:
    """Put the attributes of the slot's state and of its claims into the cells of an ad."""
    cells["state"] = _TEXTS[state.state]
    cells["activity"] = _TEXTS[state.activity]
    cells["enteredcurrentstate"] = int(state.entered_state_at)
    cells["enteredcurrentactivity"] = int(state.entered_activity_at)
    benchmarks = state.benchmarks
    cells["lastbenchmark"] = benchmarks.last_at
    if benchmarks.mips is not None:
        cells["mips"] = benchmarks.mips
    if benchmarks.kflops is not None:
        cells["kflops"] = benchmarks.kflops
    if state.state in _HELD:
        _add_claim(cells, state.claim, now)
        causes = state.suspenders.causes
        if causes and state.state is State.CLAIMED:
            cells["cellsuspenders"] = ",".join(causes)
            cells["cellsuspension"] = "; ".join(causes.values())
        if state.pair == SUSPENDED and (others := _other_suspenders(state)):
            cells["jobsuspenders"] = ",".join(others)
        waiting = state.waiting
        if waiting is not None:
            cells["preemptingrank"] = waiting.rank
            told = {} if waiting.job_ad is None else _job_attributes(waiting.job_ad)
            _copy(told, _PREEMPTING, cells)
            _name_submitter(told, cells, "preemptinguser", "preemptingaccountinggroup")
    if state.draining is not None:
        cells["draining"] = True
        cells["drainreason"] = state.draining.reason
        cells["drainingrequestid"] = state.draining.request_id
    if state.broken is not None:
        cells["slotbrokenreason"] = state.broken
    if state.leaving is not None:
        cells["slotleavingreason"] = state.leaving.value
    fetching = state.fetching
    if fetching.spawned_at is not None:
        cells["lastfetchworkspawned"] = int(fetching.spawned_at)
    if fetching.completed_at is not None:
        cells["lastfetchworkcompleted"] = int(fetching.completed_at)


def _add_claim(cells: dict[str, Any], claim: Claim, now: float) -> None:
    request = claim.request
    if request is None:
        return
    cells["currentrank"] = claim.rank
    cells["publicclaimid"] = claim.id.public
    if request.client_machine:
        cells["clientmachine"] = request.client_machine
    activation = claim.activation
    if activation is None:
        cells.update(_made_of(request.job_ad).of_claimed())
        _add_times(cells, claim.run_s, claim.suspended_s)
        return
    cells.update(_made_of(activation.job_ad).of_running())
    job_run_s, job_suspended_s = activation.run_time_s(now), activation.suspended_time_s(now)
    _add_times(cells, claim.run_s + job_run_s, claim.suspended_s + job_suspended_s)
    if job_run_s >= 1:
        cells["totaljobruntime"] = int(job_run_s)
    if job_suspended_s >= 1:
        cells["totaljobsuspendtime"] = int(job_suspended_s)
    cells["jobstart"] = int(activation.started_at)
    # A job that never saved its state is measured from its start, as a fresh checkpoint would be.
    cells["lastperiodiccheckpoint"] = int(activation.checkpointed_at or activation.started_at)
    if activation.accepted_while_draining:
        cells["acceptedwhiledraining"] = True
    if activation.starter_state:
        cells["starterjobstate"] = activation.starter_state


def _other_suspenders(state: SlotState) -> tuple[JobSuspender, ...]:
    """What suspends the job besides a cell."""
    activation = state.claim.activation
    by_command = activation is not None and activation.held_still
    found = ((JobSuspender.COMMAND, by_command), (JobSuspender.POLICY, not state.suspenders.alone))
    return tuple(cause for cause, suspends in found if suspends)


def _add_times(cells: dict[str, Any], run_s: float, suspended_s: float) -> None:
    if run_s >= 1:
        cells["totalclaimruntime"] = int(run_s)
    if suspended_s >= 1:
        cells["totalclaimsuspendtime"] = int(suspended_s)


class _Made:
    """The cells derived from a job's ad, which never changes; most ads are asked for only one of the two."""

    __slots__ = ("_claimed", "_job_attributes", "_running", "ad")

    def __init__(self, ad: ClassAd) -> None:
        self.ad = ad
        self._job_attributes = _job_attributes(ad)
        self._claimed: dict[str, Any] | None = None
        self._running: dict[str, Any] | None = None

    def of_claimed(self) -> dict[str, Any]:
        """Cells that describe whose job it is and its characteristics."""
        if self._claimed is None:
            self._claimed = {**_remote(self._job_attributes), **self._like()}
        return self._claimed

    def of_running(self) -> dict[str, Any]:
        """Those, plus the job's identity."""
        if self._running is None:
            self._running = {**_remote(self._job_attributes), **_named(self._job_attributes), **self._like()}
        return self._running

    def _like(self) -> dict[str, Any]:
        """Cells with the job's characteristics, copied as they are in the ad."""
        cells = flat_cells(self.ad)
        return {key: cells[key] for key in _COPIED_KEYS if key in cells}

    @property
    def lasts(self) -> bool:
        """Whether the result is the same each time because it contains no expressions."""
        cells = flat_cells(self.ad)
        return not any([cells[key].__class__ is Expr for key in self._job_attributes])


#: Keyed by the identity of the ad.
_MADE: Final[dict[int, _Made]] = {}
#: Maximum number of ads remembered.
_REMEMBERED_MAX: Final = 2_000


def _made_of(job: ClassAd) -> _Made:
    """The cells derived from an ad; cached unless they contain expressions."""
    found = _MADE.get(id(job))
    if found is not None and found.ad is job:
        return found
    made = _Made(job)
    if made.lasts:
        if len(_MADE) >= _REMEMBERED_MAX:
            _MADE.clear()
        _MADE[id(job)] = made
    return made


def _job_attributes(job: ClassAd) -> dict[str, Value]:
    """The values of the attributes that identify a job and its owner, if the ad has them."""
    found: dict[str, Value] = {}
    cells = flat_cells(job)
    for key in _SOURCES:
        if key in cells:
            cell = cells[key]
            found[key] = job.eval(key) if cell.__class__ is Expr else cell  # type: ignore[assignment]
    if cells.get("niceuser") is True:
        found["niceuser"] = True
    return found


def _remote(told: Mapping[str, Value]) -> Mapping[str, Any]:
    """Cells that say whose job it is. There are far fewer users than jobs."""
    return _remote_of(*[value if value.__class__ is str or value is True else None for value in map(told.get, _USERS)])


@lru_cache(maxsize=4096)
def _remote_of(*values: Value) -> Mapping[str, Any]:
    """The same from the values of `_USERS`; None for those that are missing."""
    told, cells = dict(zip(_USERS, values, strict=True)), dict[str, Any]()
    _copy(told, _REMOTE, cells)
    _name_submitter(told, cells, "remoteuser", "accountinggroup")
    return cells


def _named(told: Mapping[str, Value]) -> dict[str, Any]:
    """Cells that identify the job."""
    cells: dict[str, Any] = {}
    cluster, proc = told.get("clusterid"), told.get("procid")
    if isinstance(cluster, int) and isinstance(proc, int):
        cells["jobid"] = f"{cluster}.{proc}"
    _copy(told, _NAMED, cells)
    return cells


#: Attribute of the slot's ad, and the job attributes it comes from: the first one that is a string.
_REMOTE: Final = (
    ("remoteuser", ("user", "owner")),
    ("remoteowner", ("user", "owner")),
    ("remotescheddname", ("scheddname",)),
    ("accountinggroup", ("accountinggroup",)),
    ("concurrencylimits", ("concurrencylimits",)),
)
#: The sources of `_REMOTE`, and whether the user is nice.
_USERS: Final = ("user", "owner", "scheddname", "accountinggroup", "concurrencylimits", "niceuser")
_PREEMPTING: Final = (
    ("preemptinguser", ("user", "owner")),
    ("preemptingowner", ("user", "owner")),
    ("preemptingaccountinggroup", ("accountinggroup",)),
    ("preemptingconcurrencylimits", ("concurrencylimits",)),
)
_NAMED: Final = (("globaljobid", ("globaljobid",)),)
#: The job attributes from which all of these are derived.
_SOURCES: Final = ("user", "owner", "scheddname", "accountinggroup", "concurrencylimits", "globaljobid", "clusterid",
                   "procid")  # fmt: skip


def _copy(told: Mapping[str, Value], keys: Iterable[tuple[str, tuple[str, ...]]], cells: dict[str, Any]) -> None:
    for key, sources in keys:
        for source in sources:
            value = told.get(source)
            if isinstance(value, str):
                cells[key] = value
                break


def _name_submitter(told: Mapping[str, Value], cells: dict[str, Any], user: str, group: str) -> None:
    """Name the submitter that competes for the slot, as the queue does: the accounting group with the user's domain,
    and whether the user is nice.
    """
    known, grouped = cells.get(user), cells.get(group)
    if isinstance(known, str) and isinstance(grouped, str) and "@" in known and "@" not in grouped:
        cells[group] = f"{grouped}@{known.partition('@')[2]}"
    if isinstance(known, str) and told.get("niceuser") is True:
        cells[user] = f"nice-user.{known}"


def spent(state: SlotState, now: float) -> dict[str, int]:
    """TotalTime<State><Activity> for every pair that the slot has been in, s."""
    present, found = state.pair, {}
    for pair, name, seconds in zip(PAIRS, _TIMES, state.spent_s, strict=True):
        if pair is present:
            seconds += max(0.0, now - state.entered_activity_at)
        if seconds >= 1:
            found[name] = int(seconds)
    return found


def is_offered(state: SlotState) -> bool:
    """Whether the slot offers itself to jobs; otherwise its Requirements are FALSE."""
    return not (
        state.state in (State.MATCHED, State.PREEMPTING)
        or (state.preempting is not None and state.preempting.matched)
        or state.shutdown is not None
        or state.broken is not None
        or state.leaving is not None
        or (state.draining is not None and (state.draining.start is None or state.draining.originals_gone))
    )


def requirements(state: SlotState, policy: SlotPolicy) -> Expr:
    """The slot's advertised Requirements: the test of `Inputs.accepts`, and whether a drain leaves enough time."""
    if not is_offered(state):
        return _FALSE
    if state.ad.cell("machineproblem") is not MISSING:
        return _OUT_OF_ORDER
    return _all_of(
        policy.expressions.cell(fold(CHECKPOINT_PLATFORM)) is not MISSING,
        state.ad.cell("withinresourcelimits") is not MISSING,
        state.draining is not None and state.draining.takes_until < math.inf,
    )


@cache
def _all_of(checkpoint: bool, limits: bool, drain: bool) -> Expr:
    clauses = ((CHECKPOINT_PLATFORM, checkpoint), ("WithinResourceLimits", limits), ("DrainTimeSuffices", drain))
    return parse_expression(" && ".join(("START", *(name for name, there in clauses if there))))


def published(state: SlotState, policy: SlotPolicy, now: float) -> ClassAd:
    """The attributes that this machine adds to the slot's ad for the pool: state, claim, policy, Requirements."""
    ad = _under(policy)
    ad.cells = ad.cells.copy()
    ad = _added(ad, state, policy, now)
    for name, seconds in spent(state, now).items():
        ad.put(name, seconds)
    ad.put("Requirements", requirements(state, policy))
    if state.draining is not None and state.draining.start is None:
        del ad.cells["start"]
    return ad
