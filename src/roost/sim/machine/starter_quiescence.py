"""Until when a starter has nothing to decide or report: which of its polls and reports can be left out.

A poll matters once the expression that counts in the starter's state may have another value; `steadiness` knows when. A
report matters if it gives the slot a new value of an attribute that some expression of the slot or of the job refers
to. An attribute that no expression reads changes no decision.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from roost.classad import ClassAd, Expr
from roost.classad.refs import mentioned_in
from roost.classad.values import fold
from roost.policy.decision import StepWorld
from roost.sim.forecast.steadiness import Scene, read
from roost.starter.policy_inputs import EVICT, KILL, StarterInputs
from roost.starter.starter_ad import MEASURED, SIZES, TIMES, measured
from roost.starter.states import State

if TYPE_CHECKING:
    from roost.sim.machine.run import Run

_IMAGE: Final = frozenset(("imagesize",))
_SIZES: Final = frozenset(map(fold, SIZES))
_TIMES: Final = frozenset(map(fold, TIMES))
_TOLD: Final = frozenset(("jobstate", "jobstartdate", "jobpid"))
_REPORTED: Final = _SIZES | _TIMES | _TOLD
#: Polls are not at whole seconds, but expressions see the time in whole seconds.
_MARGIN_S: Final = 2.0


def poll_matters_at(run: Run, now: float) -> float:
    """Until when polls change nothing; `now` if unknown."""
    state, policy, process = run.starter.state, run.starter.policy, run.process
    if not policy.watched(state):
        return math.inf
    sizes_at = process.sizes_change_at(now)
    if state.usage is None or sizes_at <= now or process.usage(now).image_size_kib > state.usage.image_size_kib:
        return now
    my = StarterInputs(state, policy, now).my
    world = StepWorld(policy, f"starter|{state.launch.slot}", now)
    steps = dict.fromkeys(_SIZES, sizes_at) | dict.fromkeys(_TIMES, now if process.running_since else math.inf)
    scene = Scene(my, state.job_ad, world, now, {"jobduration": 1.0}, steps, {})
    reading = read(policy.expressions[KILL if state.state is State.VACATING else EVICT], scene)
    return now if reading.slope else max(now, reading.until - _MARGIN_S)


def report_matters_at(run: Run, now: float) -> float:
    """Until when reports change nothing; `now` if that is not known."""
    # A report measures the job, and so causes an evaluation of the policy.
    until = poll_matters_at(run, now)
    names = run.asked_for
    if not names or until <= now:
        return until
    process = run.process
    if names & _TOLD or (names & _TIMES and process.running_since is not None):
        return now
    if names == _IMAGE and process.image_kb(now) == run.reported.cell("imagesize"):
        return min(until, process.sizes_change_at(now))
    figures, reported = measured(process.usage(now)), run.reported
    if any(name in figures and figures[name] != reported.cell(fold(name)) for name in MEASURED if fold(name) in names):
        return now
    return min(until, process.sizes_change_at(now)) if names & _SIZES else until


def asked_for(policy: ClassAd, job: ClassAd) -> frozenset[str]:
    """Names of reported attributes that the slot's or the job's expressions refer to."""
    key = id(policy)
    known = _OF_POLICY.get(key)
    if known is None or known[0] is not policy:
        known = _OF_POLICY[key] = (policy, _names(policy))
    return known[1] | _names(job)


_OF_POLICY: Final[dict[int, tuple[ClassAd, frozenset[str]]]] = {}


def _names(ad: ClassAd) -> frozenset[str]:
    found = frozenset[str]()
    for cell in ad.cells.values():
        # Most expressions refer to none of them.
        if cell.__class__ is Expr and (names := reported_in(cell)):
            found |= names
    return found


#: Keyed by identity, which is kept alive.
_OF_EXPRESSION: Final[dict[int, tuple[Expr, frozenset[str]]]] = {}
_EXPRESSIONS_MAX: Final = 10_000


def reported_in(expression: Expr) -> frozenset[str]:
    """Names of reported attributes that an expression refers to."""
    known = _OF_EXPRESSION.get(id(expression))
    if known is None:
        if len(_OF_EXPRESSION) >= _EXPRESSIONS_MAX:
            _OF_EXPRESSION.clear()
        mentioned = mentioned_in(expression.tree)
        names = (mentioned.plain | mentioned.my | mentioned.target) & _REPORTED
        known = _OF_EXPRESSION[id(expression)] = expression, names
    return known[1]
