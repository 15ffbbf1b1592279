"""User policy: what a job's own expressions, and the administrator's expressions for all jobs, do with the job.

`decide` evaluates one job on one of two occasions: periodically, or when its program has ended by itself. The first of
these that fires decides:

1. a removed job is left alone;
2. of a job on a machine: AllowedJobDuration reached, AllowedExecuteDuration passed (hold);
3. of a job on a machine, periodically only: PeriodicVacate, SYSTEM_PERIODIC_VACATE;
4. TimerRemove, an instant, has passed (remove);
5. unless it is held or complete: PeriodicHold, SYSTEM_PERIODIC_HOLD and its named companions;
6. of a held job, if its user did not hold it, and it was not held SYSTEM_MAX_RELEASES times: PeriodicRelease,
   SYSTEM_PERIODIC_RELEASE;
7. PeriodicRemove, SYSTEM_PERIODIC_REMOVE;
8. at the end only: OnExitHold;
9. at the end only: OnExitRemove. FALSE reruns the job; any other value, including UNDEFINED and ERROR, lets it leave.

An expression fires when it is TRUE or a number other than 0; UNDEFINED, ERROR and strings never do. Expressions see
only the job's attributes. This module does not act on its decisions or keep any counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from roost.base.records import dataclass
from roost.classad import ClassAd, Expr, Value, World, evaluate, parse_expression
from roost.classad.ad import MISSING, has_any
from roost.classad.allowance import EXPRESSION_STEPS, Allowance
from roost.classad.unparse import unparse, unparse_value
from roost.classad.values import ListValue, fold
from roost.model.codes import RESOURCE_CODES, SUBCODE_DISK, SUBCODE_MEMORY, HoldCode, VacateCode
from roost.schedd.status import ON_MACHINE, JobStatus

#: Folded names of the attributes that are evaluated periodically: for a job without them only the system's policy
#: applies.
PERIODIC_ATTRIBUTES: Final = frozenset(
    (
        "allowedjobduration",
        "allowedexecuteduration",
        "periodichold",
        "periodicrelease",
        "periodicremove",
        "periodicvacate",
        "timerremove",
    )
)


#: Maximum number of steps for all policy expressions of one job at each evaluation.
STEPS_MAX: Final = 2 * EXPRESSION_STEPS
#: Expressions for which a job may be held.
_EXPRESSIONS: Final = (
    "PeriodicHold", "PeriodicRelease", "PeriodicRemove", "PeriodicVacate", "TimerRemove", "AllowedJobDuration",
    "AllowedExecuteDuration", "OnExitHold", "OnExitRemove",
)  # fmt: skip
_ASKED: Final = frozenset(map(fold, _EXPRESSIONS))


class Occasion(StrEnum):
    """When a job's policy is evaluated."""

    PERIODIC = "periodic"
    EXIT = "exit"


class Outcome(StrEnum):
    """What happens to a job."""

    #: Nothing.
    STAY = "stay"
    HOLD = "hold"
    RELEASE = "release"
    REMOVE = "remove"
    VACATE = "vacate"
    #: The program ended and will run again.
    REQUEUE = "requeue"
    #: The program ended and the job is done.
    LEAVE = "leave"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What happens to a job, and which expression decided."""

    outcome: Outcome
    occasion: Occasion
    #: For the user.
    reason: str = ""
    #: HoldReasonCode or VacateReasonCode; 0 for none.
    code: int = 0
    subcode: int = 0
    #: The deciding attribute or knob; "" for none.
    source: str = ""
    #: Its expression; None for none.
    expression: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRule:
    """One expression of the administrator for all jobs."""

    #: The knob.
    knob: str
    condition: Expr
    #: Expressions for the reason text and subcode; None: the defaults.
    reason: Expr | None = None
    subcode: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPolicy:
    """The administrator's policy for all jobs."""

    vacate: tuple[SystemRule, ...] = ()
    hold: tuple[SystemRule, ...] = ()
    release: tuple[SystemRule, ...] = ()
    remove: tuple[SystemRule, ...] = ()
    #: SYSTEM_MAX_RELEASES: how often a job may be released; None for no limit.
    releases_max: int | None = None
    #: GRACEFULLY_REMOVE_JOBS: whether a removed job is asked to end first, unless its ad says otherwise.
    removes_gracefully: bool = True

    @property
    def judges_periodically(self) -> bool:
        """Whether any rule applies to jobs that have no policy of their own."""
        return bool(self.vacate or self.hold or self.release or self.remove)

    def allows_release(self, ad: ClassAd) -> bool:
        """Whether a held job may be released once more: it has been released once less than it was held."""
        holds = ad.eval("NumHolds")
        return self.releases_max is None or not isinstance(holds, int) or holds <= self.releases_max


def decide(ad: ClassAd, system: SystemPolicy, world: World, occasion: Occasion) -> Verdict:
    """Evaluate the policy for the job of an ad at an instant.

    A job whose expressions take more than `STEPS_MAX` steps goes on hold because they would delay other users' jobs.
    """
    if not system.judges_periodically and not has_any(ad, _ASKED):
        # No expression applies to it, as for nearly all jobs.
        ends = occasion is Occasion.EXIT and ad.cell("jobstatus") != JobStatus.REMOVED
        return Verdict(outcome=Outcome.LEAVE if ends else Outcome.STAY, occasion=occasion)
    with Allowance(STEPS_MAX, EXPRESSION_STEPS) as allowance:
        judge = _Judge(ad, system, world, occasion)
        verdict = judge.verdict()
    return judge.too_long() if allowance.exceeded else verdict


#: Holds that no policy ends: the user's own, and that of a job whose files have not arrived yet.
_NOT_BY_POLICY: Final = (HoldCode.USER_REQUEST, HoldCode.SPOOLING_INPUT)


@dataclass(slots=True)
class _Judge:
    ad: ClassAd
    system: SystemPolicy
    world: World
    occasion: Occasion

    def verdict(self) -> Verdict:
        status = self.ad.cell("jobstatus")
        if status == JobStatus.REMOVED:
            return self._made(Outcome.STAY)
        found = self._of_all(status) or self._removal()
        if found is None and self.occasion is Occasion.EXIT:
            return self._own(Outcome.HOLD, "OnExitHold") or self._ending()
        return found or self._made(Outcome.STAY)

    def too_long(self) -> Verdict:
        """The verdict for a job whose expressions take too many steps; a held one stays held."""
        if self.ad.cell("jobstatus") in (JobStatus.HELD, JobStatus.COMPLETED):
            return self._made(Outcome.STAY)
        names = [name for name in _EXPRESSIONS if isinstance(self.ad.cell(fold(name)), Expr)]
        reason = (
            f"The job's policy expressions ({', '.join(names) or 'of the pool'}) take more than {EXPRESSION_STEPS} "
            f"evaluation steps each, or {STEPS_MAX} together; edit the job so that they are simpler, and release it"
        )
        return self._made(Outcome.HOLD, reason=reason, code=HoldCode.JOB_POLICY_UNDEFINED)

    def _of_all(self, status: object) -> Verdict | None:
        found = None
        if status in ON_MACHINE:
            found = self._durations() or self._vacation()
        found = found or self._timer()
        if found is None and status not in (JobStatus.HELD, JobStatus.COMPLETED):
            found = self._own(Outcome.HOLD, "PeriodicHold") or self._systems(Outcome.HOLD, self.system.hold)
        if found is None and status == JobStatus.HELD and self._may_be_released():
            found = self._own(Outcome.RELEASE, "PeriodicRelease") or self._systems(Outcome.RELEASE, self.system.release)
        return found

    def _removal(self) -> Verdict | None:
        return self._own(Outcome.REMOVE, "PeriodicRemove") or self._systems(Outcome.REMOVE, self.system.remove)

    def _vacation(self) -> Verdict | None:
        if self.occasion is not Occasion.PERIODIC:
            return None
        return self._own(Outcome.VACATE, "PeriodicVacate") or self._systems(Outcome.VACATE, self.system.vacate)

    def _may_be_released(self) -> bool:
        if self.ad.cell("holdreasoncode") in _NOT_BY_POLICY:
            return False
        return self.system.allows_release(self.ad)

    # -- durations and instants

    def _durations(self) -> Verdict | None:
        limit, since = self._number("AllowedJobDuration"), self._number("ShadowBday")
        if limit is not None and since is not None and self.world.now() - since >= limit:
            return self._limit("AllowedJobDuration", limit, "job duration", HoldCode.JOB_DURATION_EXCEEDED)
        limit, since = self._number("AllowedExecuteDuration"), self._number("JobCurrentStartExecutingDate")
        if since is not None and "SuccessCheckpointExitCode" in self.ad:
            # A job that writes checkpoints itself has that long for each of them.
            since = max(since, self._number("LastCkptTime") or 0)
        if limit is not None and since is not None and self.world.now() - since > limit:
            return self._limit("AllowedExecuteDuration", limit, "execute duration", HoldCode.JOB_EXECUTE_EXCEEDED)
        return None

    def _limit(self, name: str, limit: float, words: str, code: HoldCode) -> Verdict:
        reason = f"The job exceeded its allowed {words} of {_duration(int(limit))}"
        return self._made(Outcome.HOLD, reason=reason, code=code, source=name, expression=self._expression(name))

    def _timer(self) -> Verdict | None:
        instant = self._number("TimerRemove")
        if instant is None or instant < 0 or instant >= self.world.now():
            return None
        expression = self._expression("TimerRemove")
        return self._made(
            Outcome.REMOVE, reason=_job_words("TimerRemove", expression), source="TimerRemove", expression=expression
        )

    # -- expressions

    def _own(self, outcome: Outcome, name: str) -> Verdict | None:
        """The verdict of the job's own expression with that name."""
        if self.ad.cell(fold(name)) is MISSING or not fires(self._value(name)):
            return None
        expression = self._expression(name)
        reason, subcode = self._value(f"{name}Reason"), self._value(f"{name}SubCode")
        return self._made(
            outcome,
            reason=reason if isinstance(reason, str) and reason else _job_words(name, expression),
            code=_CODES[outcome][0] if outcome in _CODES else 0,
            subcode=_whole(subcode),
            source=name,
            expression=expression,
        )

    def _systems(self, outcome: Outcome, rules: tuple[SystemRule, ...]) -> Verdict | None:
        """The verdict of the first of the administrator's rules that fires."""
        for rule in rules:
            if fires(evaluate(rule.condition, self.ad, None, self.world)):
                reason = None if rule.reason is None else evaluate(rule.reason, self.ad, None, self.world)
                subcode = None if rule.subcode is None else evaluate(rule.subcode, self.ad, None, self.world)
                words = f"The system macro {rule.knob} expression '{_text(rule.condition)}' evaluated to TRUE"
                return self._made(
                    outcome,
                    reason=reason if isinstance(reason, str) and reason else words,
                    code=_CODES[outcome][1] if outcome in _CODES else 0,
                    subcode=_whole(subcode),
                    source=rule.knob,
                    expression=rule.condition,
                )
        return None

    def _ending(self) -> Verdict:
        """The verdict of OnExitRemove at the program's end."""
        if self.ad.cell("onexitremove") is MISSING:
            return self._made(Outcome.LEAVE)
        value, expression = self._value("OnExitRemove"), self._expression("OnExitRemove")
        if value is False or (type(value) in (int, float) and value == 0):
            reason = f"The job attribute OnExitRemove expression '{_text(expression)}' evaluated to FALSE"
            return self._made(Outcome.REQUEUE, reason=reason, code=VacateCode.JOB_SHOULD_REQUEUE,
                              source="OnExitRemove", expression=expression)  # fmt: skip
        words = "TRUE" if fires(value) else unparse_value(value).upper()
        reason = f"The job attribute OnExitRemove expression '{_text(expression)}' evaluated to {words}"
        return self._made(Outcome.LEAVE, reason=reason, source="OnExitRemove", expression=expression)

    # -- pieces

    def _made(
        self,
        outcome: Outcome,
        *,
        reason: str = "",
        code: int = 0,
        subcode: int = 0,
        source: str = "",
        expression: Expr | None = None,
    ) -> Verdict:
        return Verdict(
            outcome=outcome,
            occasion=self.occasion,
            reason=reason,
            code=int(code),
            subcode=subcode,
            source=source,
            expression=expression,
        )

    def _value(self, name: str) -> Value:
        return self.ad.eval(name, None, self.world)

    def _number(self, name: str) -> float | None:
        cell = self.ad.cell(fold(name))
        if cell is MISSING:
            return None
        value = self._value(name)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def _expression(self, name: str) -> Expr:
        cell = self.ad[name]
        return cell if isinstance(cell, Expr) else parse_expression(unparse_value(cell))


def fires(value: Value) -> bool:
    """Whether a policy expression with that value fires."""
    return value is True or (type(value) in (int, float) and value != 0)


def _whole(value: object) -> int:
    return int(value) if isinstance(value, int | float) and abs(value) < 2**31 else 0


def _job_words(name: str, expression: Expr) -> str:
    return f"The job attribute {name} expression '{_text(expression)}' evaluated to TRUE"


def _text(expression: Expr) -> str:
    """An expression as HTCondor's reasons show it: in the style of the long form, with ``=?=`` and ``=!=``."""
    return unparse(expression.tree, old=True)


def _duration(seconds: int) -> str:
    days, rest = divmod(max(0, seconds), 86_400)
    return f"{days}+{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


#: The codes of holds and evictions by the job's own policy, and by the system's.
_CODES: Final[dict[Outcome, tuple[int, int]]] = {
    Outcome.HOLD: (HoldCode.JOB_POLICY, HoldCode.SYSTEM_POLICY),
    Outcome.VACATE: (VacateCode.JOB_POLICY, VacateCode.SYSTEM_POLICY),
}


# -- more memory or disk instead of a hold -----------------------------------------------------------------------------

#: Subcode to the attribute that requests the resource, and its unit.
_RAISED: Final = {SUBCODE_MEMORY: ("RequestMemory", "MB"), SUBCODE_DISK: ("RequestDisk", "KB")}


@dataclass(frozen=True, slots=True)
class RaisedRequest:
    """The new request of a job that is tried again."""

    attribute: str
    amount: int
    unit: str


def raised_request(ad: ClassAd, code: int, subcode: int, world: World) -> RaisedRequest | None:
    """The request with which to retry a job that a machine evicted; None: hold it.

    Only for a job that exceeded its request and says what to request then. RetryRequestMemory is a number, a list of
    numbers to try in order, or an expression; NextRequestMemory computes the next request; MaxRequestMemory limits
    both, and is the only other request of a job that has neither. The same applies to RequestDisk.
    """
    if code not in RESOURCE_CODES or subcode not in _RAISED:
        return None
    attribute, unit = _RAISED[subcode]
    present = ad.eval(attribute, None, world)
    if not isinstance(present, int | float):
        return None
    limit = ad.eval(f"Max{attribute}", None, world)
    for wanted in _attempts(ad, attribute, world):
        if isinstance(limit, int | float):
            wanted = min(wanted, float(limit))
        if present < wanted < 2**62:
            return RaisedRequest(attribute, math.ceil(wanted), unit)
    return None


def _attempts(ad: ClassAd, attribute: str, world: World) -> Iterator[float]:
    names = [name for name in (f"Next{attribute}", f"Retry{attribute}") if ad.cell(fold(name)) is not MISSING]
    for name in names or (f"Max{attribute}",):
        value = ad.eval(name, None, world)
        if isinstance(value, int | float):
            yield float(value)
        elif isinstance(value, ListValue):
            items = (evaluate(each, ad, None, world) if isinstance(each, Expr) else each for each in value.items)
            yield from sorted(float(each) for each in items if isinstance(each, int | float))
        elif isinstance(value, str):
            # The form used by jobs of earlier versions.
            yield from sorted(float(word) for word in value.replace(",", " ").split() if word.isdecimal())
