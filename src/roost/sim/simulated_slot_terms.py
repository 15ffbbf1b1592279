"""Whether the slots of simulated machines may be examined one by one (`simulated_slots`), and what may then be cached.

Their ranks must stay constant since their last transition, independent of sensors, the clock and random numbers. No
policy may discard slots, which would require examining all of them, and no slot may shrink with each match.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from roost.base.records import dataclass
from roost.classad import ClassAd, Expr, parse_expression
from roost.classad.ad import MISSING
from roost.classad.syntax import strip
from roost.negotiator.reach import calls, reach
from roost.negotiator.settings import NegotiatorSettings
from roost.negotiator.verdicts import SCOPES
from roost.negotiator.view import WEIGHT
from roost.sim.machine.host import Machine, SimulatedSlot
from roost.sim.machine.pool_ads import pool_ad
from roost.startd.attributes import OWNED

#: Attributes of a free slot that change without a change of its plan, state or benchmarks.
_PASSING: Final = OWNED - {"state", "mips", "kflops", "remoteowner", "remoteuser"} | {"start"}
_CHANCE: Final = frozenset(("random",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The inputs of ranks and weights of slots."""

    #: Names that a job must not have for the ranks to be the same with and without it.
    say: frozenset[str] = frozenset()
    #: Weight and ranks of a free slot depend only on its plan, state and benchmarks.
    worth_lasts: bool = False
    #: Its weight depends only on its plan.
    weight_lasts: bool = False


def terms_of(settings: NegotiatorSettings, machines: Iterable[Machine]) -> Terms | None:
    """The terms of a pool; None if all its slots have to be examined together.

    Must be computed again when the machines' configuration changes.
    """
    policy = settings.policy
    if any((policy.startd_only, policy.audit, settings.slot_constraint, settings.pool_size_constraint)):
        return None
    if settings.ceilings:
        # They count users; the slot source knows submitters.
        return None
    own = [each for each in (settings.pre_job_rank, settings.post_job_rank) if each is not None]
    kinds = {
        (id(slot.plan.policy), id(slot.plan.ad)): (slot.plan.policy.expressions, slot.plan.ad, slot.state.ad)
        for machine in machines
        for slot in machine.slots
    }
    polled = frozenset(name for *_, ad in kinds.values() for name in ad.cells)
    say, worth_lasts, weight_lasts = frozenset[str](), True, True
    for ads in kinds.values():
        if any(ad.cell("consumptionpolicy") is not MISSING or _draws(ad) for ad in ads):
            return None
        if policy.any and any(ad.cell(name) is not MISSING for ad in ads for name in SCOPES):
            return None
        found = reach(own, partial(expressions_in, ads))
        if not found.keeps or found.names & SCOPES or found.names & polled:
            return None
        weighed = reach([WEIGHT], partial(expressions_in, ads))
        worth_lasts = worth_lasts and (found.names | weighed.names).isdisjoint(_PASSING | polled)
        weight_lasts = weight_lasts and weighed.keeps and weighed.names.isdisjoint(OWNED | polled | {"start"})
        say |= found.names
    return Terms(say=say, worth_lasts=worth_lasts and weight_lasts, weight_lasts=weight_lasts)


def _draws(ad: ClassAd) -> bool:
    """Whether an ad uses random numbers, which are drawn in the order in which slots are examined."""
    return any(isinstance(cell, Expr) and calls(cell, _CHANCE) for cell in ad.cells.values())


def expressions_in(ads: tuple[ClassAd, ...], name: str) -> list[Expr]:
    """The expressions under a folded name in the ads of a slot."""
    return [cell for ad in ads if isinstance(cell := ad.cell(name), Expr)]


#: By identity, which is kept alive: expressions of a policy to whether a slot in Owner accepts no jobs.
_REFUSES: Final[dict[int, tuple[ClassAd, bool]]] = {}
_MAX: Final = 10_000
_CLOSED: Final = parse_expression("START =?= False").tree


def refuses_with_owner(slot: SimulatedSlot) -> bool:
    """Whether a slot in the state Owner accepts no jobs as long as it stays there: its IS_OWNER is START =?= FALSE, and
    START does not refer to jobs. Changes with the clock are found by the slot's next poll.
    """
    policy = slot.plan.policy.expressions
    known = _REFUSES.get(id(policy))
    if known is None:
        if len(_REFUSES) >= _MAX:
            _REFUSES.clear()
        known = _REFUSES[id(policy)] = policy, _refuses_with_owner(slot, policy)
    return known[1]


def _refuses_with_owner(slot: SimulatedSlot, policy: ClassAd) -> bool:
    owner, start = policy.cell("isowner"), policy.cell("start")
    if not isinstance(owner, Expr) or not isinstance(start, Expr) or strip(owner.tree) != _CLOSED:
        return False
    return not pool_ad(slot, slot.state.entered_state_at).external_refs(start)
