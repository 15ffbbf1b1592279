"""Fair share: how much of the pool each submitter may have in one round.

A submitter's share is in inverse proportion to its effective priority. What it uses already counts. The functions are
arithmetic on weights of slots, nothing else; who is visited when is the cycle's matter.
"""

from __future__ import annotations

from collections.abc import Mapping

from roost.base.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What one submitter may get in a round, weights of slots."""

    share: float
    #: In all.
    any: float
    #: From slots that are not in use.
    unclaimed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FairShare:
    """What there is to share."""

    #: Weight of all slots, or the quota of the group.
    size: float
    #: What the group has already, beyond its submitters' own: 0 without quotas.
    group_used: float = 0.0
    #: Quota of the group; None for none.
    quota: float | None = None
    preemption: bool = True
    unlimited: bool = False


def shares(priorities: Mapping[str, float]) -> dict[str, float]:
    """Submitter to its fraction of the pool; `priorities` are effective ones."""
    if not priorities:
        return {}
    worst = max(priorities.values())
    slices = {name: worst / value for name, value in priorities.items()}
    total = sum(slices.values())
    return {name: value / total for name, value in slices.items()}


def limits(priorities: Mapping[str, float], used: Mapping[str, float], fair_share: FairShare) -> dict[str, Limit]:
    """Submitter to limit; `used` is what each has at this moment."""
    left = float("inf") if fair_share.quota is None else max(0.0, fair_share.quota - fair_share.group_used)
    found = {}
    for name, share in shares(priorities).items():
        own = float("inf") if fair_share.unlimited else max(0.0, share * fair_share.size - used.get(name, 0.0))
        unclaimed = min(own, left)
        found[name] = Limit(share=share, any=own if fair_share.preemption else unclaimed, unclaimed=unclaimed)
    return found


def permits(used: float, cost: float, limit: float) -> bool:
    """Whether a match of that cost is within a limit; the first of a visit may go beyond what is left."""
    return used + cost <= limit + ROUNDING or (used == 0 and limit > 0)


#: Weights are sums of reals.
ROUNDING = 1e-9
