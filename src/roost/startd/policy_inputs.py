"""The policy of a slot, and how its expressions are evaluated.

`SlotPolicy` holds the expressions and the numbers of one slot's configuration. `Inputs` evaluates an expression at one
instant: MY is the slot's ad overlaid with the state machine's attributes (`attributes.overlay`), TARGET is a job's ad
if there is one. Each evaluation is a `Decision`, which keeps what is needed to explain its result later.

The rules are the same for every expression. A boolean stands for itself, a number is TRUE unless it is 0, and any other
value has no truth value and takes the default in the expression's row of the catalogue. For a job of the vanilla
universe ``X_VANILLA`` takes precedence over ``X`` if it has a truth value; for a virtual machine, ``X_VM``. A name that
the slot's ad lacks is looked up in the job's.

All evaluations of a step see the same instant, and draw the same numbers again (`roost.policy.decision`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Self

from roost.base.records import dataclass, field
from roost.classad import UNDEFINED, ClassAd, Expr, ParseError, Value, evaluate, parse_expression
from roost.classad.ad import MISSING, Missing
from roost.classad.partial import flatten
from roost.classad.syntax import Literal
from roost.classad.values import fold
from roost.classad.world import WORLD, World
from roost.policy.catalogue import VARIANTS, policy_named
from roost.policy.catalogue.machine import STARTD
from roost.policy.decision import Decision, StepWorld, truth_of
from roost.startd.attributes import CHECKPOINT_PLATFORM, OWNED, overlay
from roost.startd.slot_state import SlotState

#: JobUniverse to the suffix of the variants that take precedence for its jobs.
_SUFFIXES: Final[Mapping[Value, str]] = {number: suffix for suffix, number in VARIANTS.items()}

#: Few different names are looked up.
_folded: Final = lru_cache(maxsize=1024)(fold)

#: Attributes that the state machine lays over the policy, and the types of cells that only a copied attribute may
#: replace.
_OVERLAID: Final = OWNED | {"start", "cpususage"}
_FIGURES: Final = frozenset((int, float))

_EMPTY: Final = ClassAd()

#: Stands for an expression that cannot be read.
UNREADABLE: Final = parse_expression("error")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotPolicy:
    """The configuration of one slot that its state machine reads."""

    #: Attribute name to expression: the policy, and attributes that the configuration adds to the ad. Never changed.
    expressions: ClassAd
    #: MATCH_TIMEOUT, KILLING_TIMEOUT, VM_KILLING_TIMEOUT, s.
    match_timeout_s: float = 120.0
    killing_timeout_s: float = 30.0
    vm_killing_timeout_s: float = 60.0
    #: MAX_CLAIM_ALIVES_MISSED.
    alives_missed_max: int = 6
    #: MAX_DRAINING_ACTIVATION_DELAY, s: a claim younger than this may still get a job while the machine drains.
    drain_activation_grace_s: float = 20.0
    #: DEFAULT_DRAINING_START_EXPR: START while the machine is drained, for drains that bring no other; None for no job.
    draining_start: Expr | None = None
    #: A backfill system is configured, and ENABLE_BACKFILL is TRUE.
    backfill: bool = False
    #: A hook that fetches work is configured for the slot.
    fetches_work: bool = False
    #: STARTD_JOB_ATTRS.
    job_attributes: tuple[str, ...] = ()
    #: UTC offset of the machine's time zone, seconds east.
    zone_offset_s: int = 0
    #: Seed of random() in expressions, combined with instant and slot.
    chance_seed: str = ""
    #: Home directories and user maps available to expressions; None for neither.
    lookups: World | None = field(default=None, repr=False)
    #: Whether ads are nested in `expressions`.
    holds_ads: bool = field(init=False)

    def __post_init__(self) -> None:
        nested = any(isinstance(cell, ClassAd) for cell in self.expressions.cells.values())
        object.__setattr__(self, "holds_ads", nested)

    @classmethod
    def of(cls, expressions: Mapping[str, str | Expr], /, **settings: object) -> Self:
        """Build a policy from knob names, in any case, and their texts; a knob that is not named has its default.

        A text that is not an expression becomes one that is always ERROR, as it would in the slot's ad.
        """
        ad = ClassAd()
        for row in STARTD:
            if row.default is not None:
                ad[row.attribute or row.name] = parse_expression(row.default)
        for name, given in expressions.items():
            ad[attribute_of(name)] = _readable(given)
        return cls(expressions=ad, **settings)  # type: ignore[arg-type]


def attribute_of(name: str) -> str:
    """The attribute that holds the expression of a knob; variants keep their suffix."""
    row = policy_named(name)
    if row is None or row.attribute is None or row.submit_command is not None:
        return name
    suffix = next((each for each in VARIANTS if name.upper().endswith(each)), "")
    return row.attribute + suffix


def _readable(given: str | Expr) -> Expr:
    if isinstance(given, Expr):
        return given
    try:
        return parse_expression(given)
    except ParseError:
        return UNREADABLE


@lru_cache(maxsize=1024)
def _figure(expression: Expr) -> Value:
    """The number that an expression yields independently of its inputs; UNDEFINED for any other expression."""
    try:
        found = flatten(expression, _EMPTY, WORLD).tree
    except ParseError:
        return UNDEFINED
    return found.value if isinstance(found, Literal) and found.value.__class__ in _FIGURES else UNDEFINED


class Inputs:
    """Evaluates the expressions of a slot in one state, at one instant."""

    __slots__ = ("_my", "_with_job", "_world", "now", "policy", "state")

    def __init__(self, state: SlotState, policy: SlotPolicy, now: float) -> None:
        self.state = state
        self.policy = policy
        self.now = now
        self._my: ClassAd | None = None
        self._world = StepWorld(policy, state.name, now)
        #: Expressions evaluated with the job of the current claim; each is evaluated at most once.
        self._with_job: dict[str, Decision] = {}

    @property
    def my(self) -> ClassAd:
        """The slot's ad. Built on first use: constant numbers in the configuration do not need it."""
        if self._my is None:
            self._my = overlay(self.state, self.policy, self.now)
        return self._my

    def decide(self, name: str, target: ClassAd | None = None) -> Decision:
        """The value of an attribute of the slot, or of the job if only the job has it."""
        key = _folded(name)
        my, other = self.my, target
        found = my.cell(key)
        if found is MISSING and target is not None:
            found, my, other = target.cell(key), target, self.my
        world = self._world
        formula: Expr | None = None
        value: Value = UNDEFINED
        if isinstance(found, Expr):
            formula, value = found, evaluate(found, my, other, world.again())
        elif not isinstance(found, Missing):
            value = found
        return Decision(
            name=name, defined=found is not MISSING, value=value, formula=formula, my=my, target=other, world=world
        )

    def decide_for_job(self, name: str, job: ClassAd | None) -> Decision:
        """`decide` with the variant of the job's universe first."""
        if job is not None:
            suffix = _SUFFIXES.get(self._universe_of(job))
            if suffix is not None and self.my.cell(fold(name + suffix)) is not MISSING:
                variant = self.decide(name + suffix, job)
                if variant.truth is not None:
                    return variant
        return self.decide(name, job)

    def _universe_of(self, job: ClassAd) -> Value:
        cell = job.cell("jobuniverse")
        value = job.eval("JobUniverse") if isinstance(cell, Expr) else cell
        return value if value.__class__ is int or isinstance(value, int | float) else UNDEFINED

    def with_job(self, name: str) -> Decision:
        """`decide_for_job` for the job of the current claim."""
        found = self._with_job.get(name)
        if found is None:
            found = self._with_job[name] = self.decide_for_job(name, self.state.claim.job_ad)
        return found

    def whole(self, name: str, target: ClassAd | None = None, *, otherwise: int = 0) -> int:
        """The value of an attribute as an integer; `otherwise` for what is not a number."""
        return whole(self._value(name, target), otherwise)

    def _value(self, name: str, target: ClassAd | None) -> Value:
        """The value of `decide`; the slot's ad is not built if the value does not depend on it."""
        key = _folded(name)
        if key not in _OVERLAID and not self.policy.job_attributes:
            given = self.policy.expressions.cells.get(key, MISSING)
            if given is MISSING and self.state.ad.cell(key) is MISSING:
                if target is None or target.cell(key) is MISSING:
                    return UNDEFINED
            else:
                figure = _figure(given) if given.__class__ is Expr else given
                if figure.__class__ in _FIGURES:
                    return figure  # type: ignore[return-value]
        return self.decide(name, target).value

    def of_job(self, name: str, job: ClassAd) -> Value:
        """The value of a job's attribute, with the slot as its TARGET."""
        key = fold(name)
        if job.cell(key) is MISSING:
            return UNDEFINED
        return job.eval(name, self.my, self._world.again())

    def rank(self, job: ClassAd) -> float:
        """RANK of a job; 0.0 for what is not a number."""
        value = self._value("Rank", job)
        return float(value) if isinstance(value, int | float) else 0.0

    def accepts(self, job: ClassAd) -> tuple[bool, Decision]:
        """Whether the slot's requirements are TRUE for a job: START, IS_VALID_CHECKPOINT_PLATFORM, and the limits.

        A machine that cannot run anything at present accepts no job.
        """
        if self.my.cell("machineproblem") is not MISSING:
            return False, self.decide("MachineProblem")
        start = self.decide("START", job)
        if start.truth is not True:
            return False, start
        if self.my.cell(fold(CHECKPOINT_PLATFORM)) is not MISSING:
            platform = self.decide(CHECKPOINT_PLATFORM, job)
            if platform.truth is not True:
                return False, platform
        if self.my.cell("withinresourcelimits") is MISSING:
            return True, start
        limits = self.decide("WithinResourceLimits", job)
        return limits.truth is True, limits


def whole(value: Value, otherwise: int = 0) -> int:
    """A value as an integer, truncated; `otherwise` for what is not a finite number."""
    if value.__class__ is int:
        return value
    if isinstance(value, float) and not abs(value) < 2**62:
        return otherwise
    return int(value) if isinstance(value, bool | int | float) else otherwise


__all__ = ["UNREADABLE", "Decision", "Inputs", "SlotPolicy", "StepWorld", "attribute_of", "truth_of", "whole"]
