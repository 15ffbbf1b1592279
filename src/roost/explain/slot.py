"""Why a slot is in its state, and what would change it.

The machine's record of the last transition says how it got there and which expression decided. The expressions that
apply in its current state are traced on the slot's ad, with their places in the machine's configuration. The
negotiator's record of its last cycle says how the slot fared there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost.base.records import dataclass
from roost.base.structs import data_of, whole_data_of
from roost.classad import ClassAd
from roost.classad.allowance import Allowance
from roost.classad.limits import EVALUATION_FUEL
from roost.explain.happenings import Happening, of_record
from roost.model.cell_requests import SUSPENSION
from roost.model.cycle_answers import SlotInCycle
from roost.model.slot_transition import SlotTransition
from roost.policy.explain import Explanation, Origin, explain
from roost.policy.render import explanation_data
from roost.starter.states import State

#: Expressions that apply in a state and activity, in the order of evaluation.
_COUNT: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("Owner", "Idle"): ("START",),
    ("Unclaimed", "Idle"): ("START",),
    ("Claimed", "Idle"): ("START", "PREEMPT"),
    ("Claimed", "Busy"): ("SUSPEND", "PREEMPT"),
    ("Claimed", "Suspended"): ("CONTINUE", "PREEMPT"),
    ("Claimed", "Retiring"): ("MaxJobRetirementTime",),
    ("Preempting", "Vacating"): ("KILL",),
}
#: Attributes of the slot's own state, which its owner cannot influence directly.
FIXED: Final = ("State", "Activity", "EnteredCurrentState", "EnteredCurrentActivity")
#: States in which the negotiator could give a slot to a job.
_ON_OFFER: Final = frozenset(("Unclaimed", "Owner", "Matched", "Backfill", "Drained"))
#: StarterJobState while a starter evicts its job.
_EVICTING: Final = (State.VACATING, State.KILLING)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotQuestion:
    """All that is known about a slot."""

    ad: ClassAd
    #: Whether the machine itself sent the ad just now.
    fresh: bool
    #: The job with which to evaluate the slot's policy, and its name; None for none.
    job: str | None = None
    target: ClassAd | None = None
    #: Explain as for a job that requests the slot, whatever its state is.
    as_for_job: bool = False
    origins: Mapping[str, Origin]
    #: Its machine's records of its last transitions, the oldest first.
    records: Sequence[SlotTransition] = ()
    #: The outcome in the negotiator's last cycle; None if it did not see the slot.
    seen: SlotInCycle | None = None
    #: Epoch s.
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetching:
    """The state of a slot's FETCH_WORK hook."""

    #: How long it has been running, s; None if it is not running.
    runs_s: int | None
    #: How long ago it ended, s; None if it is running.
    ended_s: int | None
    #: Pause after each run, s; None if unknown.
    pause_s: int | None
    #: Consecutive fetched jobs that could not be started, and for how long fetching pauses because of that, s from now.
    failures: int = 0
    paused_s: int = 0
    #: The problem with the last call, or with the job that it returned; "" for none.
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotAnswer:
    """Why a slot is in its state."""

    name: str
    machine: str
    state: str
    activity: str
    #: How long it has been in this state, s.
    for_s: float
    user: str
    #: The job that it runs, and the one for which its policy was evaluated.
    runs: str
    job: str | None
    fresh: bool
    #: Why it accepts no jobs, a phrase each; "" where it does.
    broken: str
    leaving: str
    problem: str
    drained: str
    #: What suspends its job in a Grid Engine cell, in sentences; "" if nothing does.
    suspension: str
    fetching: Fetching | None
    last: SlotTransition | None
    came: Happening | None
    #: The phase in which the starter evicts the job by its own policy; "" if it does not.
    evicting: str
    expressions: tuple[Explanation, ...]
    seen: SlotInCycle | None

    @property
    def on_offer(self) -> bool:
        """Whether the negotiator could give it to a job in its current state."""
        return self.state in _ON_OFFER

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "slot": self.name, "state": self.state, "activity": self.activity, "job": self.job, "fresh": self.fresh,
            "evicting": self.evicting or None, "suspension": self.suspension or None,
            "last": None if self.last is None else data_of(self.last),
            "expressions": [explanation_data(each) for each in self.expressions],
            "matchmaker": None if self.seen is None else whole_data_of(self.seen),
        }  # fmt: skip


def explain_slot(question: SlotQuestion) -> SlotAnswer:
    """Explain why a slot is in its state."""
    ad = question.ad
    state, activity = _text(ad, "State") or "?", _text(ad, "Activity") or "?"
    names = ("START",) if question.as_for_job else _COUNT.get((state, activity), ())
    last = next((each for each in reversed(question.records) if of_record(each) is not None), None)
    return SlotAnswer(
        name=_text(ad, "Name"),
        machine=_text(ad, "Machine"),
        state=state,
        activity=activity,
        for_s=question.now - float(ad.get("EnteredCurrentActivity", question.now)),
        user=_text(ad, "RemoteOwner"),
        runs=_runs(ad, last),
        job=question.job,
        fresh=question.fresh,
        broken=_text(ad, "SlotBrokenReason"),
        leaving=_text(ad, "SlotLeavingReason"),
        problem=_text(ad, "MachineProblem"),
        drained=_text(ad, "DrainReason"),
        suspension=_text(ad, SUSPENSION),
        fetching=fetching(ad, question.now) if question.fresh else None,
        evicting=_evicting(ad),
        last=last,
        came=None if last is None else of_record(last),
        expressions=_expressions(question, [name for name in names if name in ad]),
        seen=question.seen,
    )


def _runs(ad: ClassAd, last: SlotTransition | None) -> str:
    """The job on a slot, in words; a fetched job is not a job of the queue, even if its source numbered it."""
    if _text(ad, "State") in ("Claimed", "Preempting") and last is not None and last.fetched:
        return f"fetched job {last.fetched}"
    return f"job {_text(ad, 'JobId')}" if _text(ad, "JobId") else ""


def fetching(ad: ClassAd, now: float) -> Fetching | None:
    """The state of a slot's FETCH_WORK hook from its current ad; None if it has no such hook."""
    began, ended = ad.get("LastFetchWorkSpawned"), ad.get("LastFetchWorkCompleted")
    if not isinstance(began, int):
        return None
    pause, failures, until = (
        value if isinstance(value := ad.get(name), int) else None
        for name in ("NextFetchWorkDelay", "FetchWorkFailures", "FetchWorkPausedUntil")
    )
    over = isinstance(ended, int) and ended >= began
    return Fetching(
        runs_s=None if over else int(now - began),
        ended_s=int(now - ended) if isinstance(ended, int) and over else None,
        pause_s=pause,
        failures=failures or 0,
        problem=_text(ad, "FetchWorkProblem"),
        paused_s=max(0, math.ceil((until or 0) - now)),
    )


def _expressions(question: SlotQuestion, names: Sequence[str]) -> tuple[Explanation, ...]:
    # A machine gives each expression the full allowance; the search for relevant changes gets as much again.
    with Allowance(2 * EVALUATION_FUEL):
        return tuple([_explained(question, name) for name in names])


def _explained(question: SlotQuestion, name: str) -> Explanation:
    origins = question.origins
    origin = next((place for key, place in origins.items() if key.lower() == name.lower()), None)
    return explain(
        question.ad.lookup(name), question.ad, question.target, name=name, origins=origins, origin=origin, fixed=FIXED
    )


def _evicting(ad: ClassAd) -> str:
    phase = _text(ad, "StarterJobState")
    return phase if phase in _EVICTING and _text(ad, "State") == "Claimed" else ""


def _text(ad: ClassAd, name: str) -> str:
    value = ad.get(name)
    return value if isinstance(value, str) else ""
