"""The policy of a starter, and how its expressions are evaluated.

MY is the starter's own ad (`starter_ad`), TARGET the job's ad as it was started: a name without either is looked up in
the starter's ad first. A boolean stands for itself, and a number is TRUE unless it is 0. Any other value has no truth
value and takes the expression's default: no eviction, a soft one, no hard kill.

All evaluations of a step see the same instant, and draw the same numbers again (`roost.policy.decision`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Self

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr, ParseError, Value, evaluate, parse_expression
from roost.classad.ad import MISSING
from roost.classad.values import fold
from roost.classad.world import World
from roost.model.starter import HookPoint
from roost.policy.catalogue import KNOB_POLICIES
from roost.policy.decision import Decision, StepWorld
from roost.starter.hooks import HookProgram
from roost.starter.limits import limits_use
from roost.starter.starter_ad import starter_ad
from roost.starter.starter_state import StarterState
from roost.starter.states import State

EVICT: Final = "STARTER_EVICT"
WANT_VACATE: Final = "STARTER_WANT_VACATE"
KILL: Final = "STARTER_KILL"

#: The expressions, and what each means if its value has no truth value.
OTHERWISE: Final[Mapping[str, bool]] = {EVICT: False, WANT_VACATE: True, KILL: False}

#: Universes to which the expressions do not apply: standard and PVM.
EXEMPT_UNIVERSES: Final = frozenset((1, 4))

#: Universe of virtual machines.
_VM: Final = 13

_UNREADABLE: Final = parse_expression("error")


def _defaults() -> dict[str, Expr]:
    rows = {name: KNOB_POLICIES[name].default for name in OTHERWISE}
    return {name: parse_expression(text) for name, text in rows.items() if text is not None}


_NO_HOOKS: Final[Mapping[str, Mapping[HookPoint, HookProgram]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterPolicy:
    """The configuration of a starter."""

    #: The expressions of `OTHERWISE` by name.
    expressions: Mapping[str, Expr] = field(default_factory=_defaults)
    #: STARTER_POLLING_INTERVAL, s.
    polling_interval_s: float = 5.0
    #: STARTER_INITIAL_UPDATE_INTERVAL and STARTER_UPDATE_INTERVAL, s.
    initial_update_s: float = 8.0
    update_interval_s: float = 300.0
    #: KILLING_TIMEOUT and VM_KILLING_TIMEOUT, s: the interval at which a hard kill is repeated.
    killing_timeout_s: float = 30.0
    vm_killing_timeout_s: float = 60.0
    #: STARTER_METHOD_TIMEOUT, s.
    method_timeout_s: float = 300.0
    #: Configured hooks by prefix in capitals.
    hooks: Mapping[str, Mapping[HookPoint, HookProgram]] = field(default_factory=lambda: _NO_HOOKS)
    #: STARTER_JOB_HOOK_KEYWORD and STARTER_DEFAULT_JOB_HOOK_KEYWORD.
    hook_keyword_forced: str = ""
    hook_keyword_default: str = ""
    #: ``[user@]path arguments`` of programs run before and after each job; "" for none.
    prolog: str = ""
    epilog: str = ""
    #: UTC offset of the machine's time zone, seconds east.
    zone_offset_s: int = 0
    #: Seed of random() in expressions, combined with instant and slot.
    chance_seed: str = ""
    #: Home directories and user maps available to expressions; None for neither.
    lookups: World | None = field(default=None, repr=False)

    @classmethod
    def of(cls, expressions: Mapping[str, str | Expr], /, **settings: object) -> Self:
        """Build a policy from knob names, in any case, and texts; a knob that is not named has its default.

        A text that is not an expression becomes one that is always ERROR, and means what ERROR means. Raises KeyError
        for a name that is not one of the starter's expressions.
        """
        made = _defaults()
        for name, given in expressions.items():
            key = name.upper()
            if key not in OTHERWISE:
                raise KeyError(f"{name} is not an expression of the starter: {', '.join(OTHERWISE)}")
            made[key] = _readable(given)
        return cls(expressions=made, **settings)  # type: ignore[arg-type]

    def watched(self, state: StarterState) -> bool:
        """Whether polling can change anything: a limit applies to the job's use, or the expression that counts can
        change.
        """
        if state.process and limits_use(state):
            return True
        match state.state:
            case State.RUNNING | State.SUSPENDED:
                name = EVICT
            case State.VACATING:
                name = KILL
            case _:
                return False
        return not self.expressions[name].is_literal and state.universe not in EXEMPT_UNIVERSES

    def killing_s(self, universe: int) -> float:
        """How long a hard kill may take before it is repeated, s."""
        return max(self.vm_killing_timeout_s, self.killing_timeout_s) if universe == _VM else self.killing_timeout_s


def _readable(given: str | Expr) -> Expr:
    if isinstance(given, Expr):
        return given
    try:
        return parse_expression(given)
    except ParseError:
        return _UNREADABLE


class StarterInputs:
    """Evaluates the expressions of a starter in one state, at one instant."""

    __slots__ = ("_decided", "_my", "_world", "now", "policy", "state")

    def __init__(self, state: StarterState, policy: StarterPolicy, now: float) -> None:
        self.state = state
        self.policy = policy
        self.now = now
        self._my: ClassAd | None = None
        self._world = StepWorld(policy, f"starter|{state.launch.slot}", now)
        self._decided: dict[str, Decision] = {}

    @property
    def my(self) -> ClassAd:
        """The starter's ad. Built on first use, since few jobs have expressions that refer to it."""
        if self._my is None:
            self._my = starter_ad(self.state, self.now)
        return self._my

    def decide(self, name: str) -> Decision:
        """The value of one of the expressions; evaluated at most once."""
        found = self._decided.get(name)
        if found is None:
            expression, job_ad = self.policy.expressions[name], self.state.job_ad
            value = evaluate(expression, self.my, job_ad, self._world.again())
            found = Decision(
                name=name,
                value=value,
                formula=expression,
                otherwise=OTHERWISE[name],
                my=self.my,
                target=job_ad,
                world=self._world,
            )
            self._decided[name] = found
        return found

    def of_job(self, name: str) -> Value | None:
        """The value of an attribute of the job's ad, with the starter's ad as TARGET; None where it has none."""
        job_ad = self.state.job_ad
        cell = job_ad.cell(fold(name))
        if cell.__class__ is not Expr:
            return None if cell is MISSING else cell  # type: ignore[return-value]
        return job_ad.eval(name, self.my, self._world.again())
