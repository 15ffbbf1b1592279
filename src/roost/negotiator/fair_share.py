"""Fair share: how much of the pool each submitter may have in one round.

A submitter's share is in inverse proportion to its effective priority. Its current use counts. The functions are only
arithmetic on slot weights; the cycle decides the order of visits.
"""

from __future__ import annotations

from collections.abc import Mapping

from roost.base.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What one submitter may get in a round, weights of slots."""

    share: float
    #: In total.
    any: float
    #: From slots that are not in use.
    unclaimed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FairShare:
    """The amounts to share."""

    #: Weight of all slots, or the quota of the group.
    size: float
    #: What the users of the group use already: 0 without quotas.
    group_used: float = 0.0
    #: Quota of the group; None for no quota.
    quota: float | None = None
    preemption: bool = True
    unlimited: bool = False


def shares(priorities: Mapping[str, float]) -> dict[str, float]:
    """Submitter to its fraction of the pool; `priorities` are effective priorities."""
    if not priorities:
        return {}
    worst = max(priorities.values())
    slices = {name: worst / value for name, value in priorities.items()}
    total = sum(slices.values())
    return {name: value / total for name, value in slices.items()}


def limits(priorities: Mapping[str, float], used: Mapping[str, float], fair_share: FairShare) -> dict[str, Limit]:
    """Submitter to limit; `used` is the current use of each."""
    left = float("inf") if fair_share.quota is None else max(0.0, fair_share.quota - fair_share.group_used)
    found = {}
    for name, share in shares(priorities).items():
        own = float("inf") if fair_share.unlimited else max(0.0, share * fair_share.size - used.get(name, 0.0))
        unclaimed = min(own, left)
        found[name] = Limit(share=share, any=own if fair_share.preemption else unclaimed, unclaimed=unclaimed)
    return found


def permits(used: float, cost: float, limit: float) -> bool:
    """Whether a match of this cost is within a limit; the first match of a visit may exceed what is left."""
    return used + cost <= limit + ROUNDING or (used == 0 and limit > 0)


#: Tolerance, since weights are sums of floats.
ROUNDING = 1e-9
