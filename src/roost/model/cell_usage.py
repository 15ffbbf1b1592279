"""Usage of a Grid Engine cell's users: sums that decay with a half-life, and the rules of the decay.

An account is stored as of its last change; sums at a later time follow from that. Usage consists of ``cpu`` (s),
``mem`` (GiB of virtual memory times s of CPU, as Grid Engine counts) and ``io`` (GiB read and written through system
calls).

Source: sched_conf(5), `halftime`, `halflife_decay_list` and `usage_weight_list`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from roost.base.records import dataclass, field

#: The kinds of usage.
NAMES: Final = ("cpu", "mem", "io")
#: Attributes of a job's ad: the usage of its run, GiB s and GiB, and how much of it was charged to its account.
MEMORY: Final = "CellMemoryUsed"
IO: Final = "CellIoUsed"
CHARGED: Final = "CellCharged"

Amounts = Mapping[str, float]


class Owner(NamedTuple):
    """The owner of an account; project and department are empty for none."""

    user: str
    project: str = ""
    department: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRules:
    """The usage parameters of the scheduler configuration."""

    #: Half-life of each sum, s, by name; infinite for no decay, 0 to forget usage when the run ends.
    halflives: Mapping[str, float] = field(default_factory=dict)
    #: Relative weights by name.
    weights: Mapping[str, float] = field(default_factory=dict)
    #: Whether reserved instead of measured usage counts (SHARETREE_RESERVED_USAGE).
    reserved: bool = False
    #: The same for accounting (ACCT_RESERVED_USAGE).
    accounts_reserved: bool = False

    def kept(self, name: str, elapsed_s: float) -> float:
        """The fraction left after a time."""
        halflife = self.halflives.get(name, math.inf)
        if elapsed_s <= 0 or math.isinf(halflife):
            return 1.0
        # With a half-life of 0, only the usage of running jobs counts: the end of a run removes its usage (`released`).
        return 0.5 ** min(elapsed_s / halflife, 2000.0) if halflife else 1.0

    def weighted(self, amounts: Amounts) -> float:
        """The weighted sum of all usage."""
        total = sum(self.weights.values())
        return sum([self.weights.get(name, 0.0) * amount for name, amount in amounts.items()]) / total if total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """An account."""

    #: Time of the decayed sums, epoch s.
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
        """The account after charging usage up to now."""
        before = self.settled(rules, now)
        return Used(at=before.at, recent=added(before.recent, amounts), total=added(before.total, amounts))

    def released(self, amounts: Amounts, rules: UsageRules) -> Used:
        """The account after a run has ended, without the part of its usage that is forgotten then."""
        gone = {name: amounts.get(name, 0.0) for name in NAMES if rules.halflives.get(name) == 0}
        recent = {name: max(0.0, amount - gone.get(name, 0.0)) for name, amount in self.recent.items()}
        return Used(at=self.at, recent=recent, total=self.total)


def added(first: Amounts, second: Amounts) -> dict[str, float]:
    """The sums of two sets of amounts."""
    return {name: first.get(name, 0.0) + second.get(name, 0.0) for name in NAMES}


@dataclass(slots=True)
class CellUsage:
    """All accounts of a cell."""

    rules: UsageRules = field(default_factory=UsageRules)
    by_owner: dict[Owner, Used] = field(default_factory=dict)
    #: Increases with each change, also across restarts, to signal changes to others.
    serial: int = 0

    def charge(self, owner: Owner, amounts: Amounts, now: float) -> Used:
        """Charge an account, creating it if needed."""
        before = self.by_owner.get(owner) or Used(at=now, recent={}, total={})
        found = self.by_owner[owner] = before.charged(amounts, self.rules, now)
        self.serial += 1
        return found

    def release(self, owner: Owner, amounts: Amounts) -> Used | None:
        """Release a charged run that has ended; None if that changes nothing."""
        before = self.by_owner.get(owner)
        found = None if before is None else before.released(amounts, self.rules)
        if found is None or found == before:
            return None
        self.by_owner[owner] = found
        self.serial += 1
        return found

    def use(self, rules: UsageRules, now: float) -> bool:
        """Adopt new rules; returns whether accounts have changed."""
        if rules == self.rules:
            return False
        changed = rules.halflives != self.rules.halflives
        if changed:
            # Decay up to now follows the old rules.
            settled = {owner: used.settled(self.rules, now) for owner, used in self.by_owner.items()}
            # Usage of ended runs is forgotten where only running jobs count.
            self.by_owner = {owner: used.released(used.recent, rules) for owner, used in settled.items()}
        self.rules = rules
        self.serial += 1
        return changed

    def clear(self) -> int:
        """Delete all accounts, and return their number."""
        found = len(self.by_owner)
        self.by_owner.clear()
        self.serial += 1
        return found


def by_share(
    accounts: Iterable[tuple[Owner, Used]], rules: UsageRules, now: float
) -> dict[tuple[str, str], dict[str, float]]:
    """User and project to usage, decayed until now: the share tree ignores departments."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for owner, used in accounts:
        key = owner.user, owner.project
        found[key] = added(found.get(key, {}), used.settled(rules, now).recent)
    return found
