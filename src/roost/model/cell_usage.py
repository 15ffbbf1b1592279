"""What users of a Grid Engine cell have used: sums that halve with time, and the rules by which they do.

An account is kept as it was when it last changed: sums of a later time follow from that. What is used is ``cpu`` (s),
``mem`` (GiB of virtual memory times s of CPU, as Grid Engine counts) and ``io`` (GiB that were read and written through
system calls).

Source: sched_conf(5), `halftime`, `halflife_decay_list` and `usage_weight_list`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from roost.base.records import dataclass, field

#: What is counted.
NAMES: Final = ("cpu", "mem", "io")
#: Attributes of a job's ad: what its run has used, GiB s and GiB, and what of all its account was charged with.
MEMORY: Final = "CellMemoryUsed"
IO: Final = "CellIoUsed"
CHARGED: Final = "CellCharged"

Amounts = Mapping[str, float]


class Owner(NamedTuple):
    """Whose account it is; project and department are empty for none."""

    user: str
    project: str = ""
    department: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRules:
    """What the scheduler configuration says of usage."""

    #: Time in which a sum halves, s, by name; infinite for never, 0 for as soon as a run is over.
    halflives: Mapping[str, float] = field(default_factory=dict)
    #: By name; they count in proportion.
    weights: Mapping[str, float] = field(default_factory=dict)
    #: What was reserved counts in place of what was measured (SHARETREE_RESERVED_USAGE).
    reserved: bool = False
    #: So it does in accounting (ACCT_RESERVED_USAGE).
    accounts_reserved: bool = False

    def kept(self, name: str, elapsed_s: float) -> float:
        """What is left of 1 after so long."""
        halflife = self.halflives.get(name, math.inf)
        if elapsed_s <= 0 or math.isinf(halflife):
            return 1.0
        # With a half-life of 0 only what jobs use that run counts: the end of a run takes its use away (`released`).
        return 0.5 ** min(elapsed_s / halflife, 2000.0) if halflife else 1.0

    def weighted(self, amounts: Amounts) -> float:
        """One figure for all that was used."""
        total = sum(self.weights.values())
        return sum([self.weights.get(name, 0.0) * amount for name, amount in amounts.items()]) / total if total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """An account."""

    #: When the recent sums were these, epoch s.
    at: float
    recent: Amounts
    #: Sums that do not decay: Grid Engine's long-term usage.
    total: Amounts

    def settled(self, rules: UsageRules, now: float) -> Used:
        """The account at a later time."""
        if now <= self.at:
            return self
        recent = {name: amount * rules.kept(name, now - self.at) for name, amount in self.recent.items()}
        return Used(at=now, recent=recent, total=self.total)

    def charged(self, amounts: Amounts, rules: UsageRules, now: float) -> Used:
        """The account with what was used up to now."""
        before = self.settled(rules, now)
        return Used(at=before.at, recent=added(before.recent, amounts), total=added(before.total, amounts))

    def released(self, amounts: Amounts, rules: UsageRules) -> Used:
        """The account without what a run has used that is over, as far as that is to be forgotten then."""
        gone = {name: amounts.get(name, 0.0) for name in NAMES if rules.halflives.get(name) == 0}
        recent = {name: max(0.0, amount - gone.get(name, 0.0)) for name, amount in self.recent.items()}
        return Used(at=self.at, recent=recent, total=self.total)


def added(first: Amounts, second: Amounts) -> dict[str, float]:
    """The sums of two."""
    return {name: first.get(name, 0.0) + second.get(name, 0.0) for name in NAMES}


@dataclass(slots=True)
class Accounts:
    """All accounts of a cell."""

    rules: UsageRules = field(default_factory=UsageRules)
    by_owner: dict[Owner, Used] = field(default_factory=dict)
    #: Grows with each change, over restarts, too; it tells others that there is something new.
    serial: int = 0

    def charge(self, owner: Owner, amounts: Amounts, now: float) -> Used:
        """Charge an account, which is made when it is first charged."""
        before = self.by_owner.get(owner) or Used(at=now, recent={}, total={})
        found = self.by_owner[owner] = before.charged(amounts, self.rules, now)
        self.serial += 1
        return found

    def release(self, owner: Owner, amounts: Amounts) -> Used | None:
        """A run is over that its account was charged with; None if that changes nothing."""
        before = self.by_owner.get(owner)
        found = None if before is None else before.released(amounts, self.rules)
        if found is None or found == before:
            return None
        self.by_owner[owner] = found
        self.serial += 1
        return found

    def use(self, rules: UsageRules, now: float) -> bool:
        """Go by other rules from now on; whether accounts have changed by that."""
        if rules == self.rules:
            return False
        changed = rules.halflives != self.rules.halflives
        if changed:
            # What has decayed so far has done so by the rules of then.
            settled = {owner: used.settled(self.rules, now) for owner, used in self.by_owner.items()}
            # What runs have used that are over is forgotten where only those count that run.
            self.by_owner = {owner: used.released(used.recent, rules) for owner, used in settled.items()}
        self.rules = rules
        self.serial += 1
        return changed

    def clear(self) -> int:
        """Forget all; how many there were."""
        found = len(self.by_owner)
        self.by_owner.clear()
        self.serial += 1
        return found


def by_share(
    accounts: Iterable[tuple[Owner, Used]], rules: UsageRules, now: float
) -> dict[tuple[str, str], dict[str, float]]:
    """User and project to what was used, decayed until now: departments do not matter to the share tree."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for owner, used in accounts:
        key = owner.user, owner.project
        found[key] = added(found.get(key, {}), used.settled(rules, now).recent)
    return found
