"""Latches: how long an expression has had its value.

CpuBusy is the one that policies use: CpuIsBusy is its truth value at the last evaluation, CpuBusyTime the seconds for
which it has been TRUE, 0 while it is not. For each other name in STARTD_LATCH_EXPRS, ``<name>Time`` is the instant at
which the value last changed, and ``<name>Value`` that value, unless the attribute is a constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr, Value, World
from roost.classad.ad import MISSING
from roost.classad.values import fold


@dataclass(frozen=True, slots=True, kw_only=True)
class Latch:
    """An expression's value and when it last changed."""

    #: None while it is not a number.
    value: bool | int | float | None
    #: When it last changed, epoch s.
    changed_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Latches:
    """All latches of a slot."""

    #: Since when CpuBusy has been TRUE, epoch s; None while it is not.
    busy_since: float | None = None
    #: Folded name to latch.
    others: Mapping[str, Latch] = field(default_factory=dict)

    def advanced(
        self, ad: ClassAd, names: Sequence[str], *, now: float, world: World
    ) -> tuple[Latches, dict[str, Value]]:
        """The latches after another pass, and the attributes that they add.

        `ad` is the slot's complete ad, policy included; `names` are those of STARTD_LATCH_EXPRS.
        """
        found: dict[str, Value] = {}
        busy_since = None
        if ad.cell("cpubusy") is not MISSING:
            busy = is_busy(ad, world)
            busy_since = self._busy_since(busy, now)
            found["CpuIsBusy"] = busy
            found["CpuBusyTime"] = 0 if busy_since is None else max(0, int(now - busy_since))
        others = {}
        for name in names:
            key = fold(name)
            cell = ad.cell(key)
            if cell is MISSING or key == "cpubusy":
                continue
            others[key] = latch = self._latched(key, _number(ad.eval(name, None, world)), now)
            found[f"{name}Time"] = int(latch.changed_at)
            if isinstance(cell, Expr) and latch.value is not None:
                found[f"{name}Value"] = latch.value
        if busy_since == self.busy_since and not others and not self.others:
            return self, found
        return Latches(busy_since=busy_since, others=others), found

    def with_busy(self, busy: bool, now: float) -> Latches:
        """The latches after a pass with that value of CpuBusy, if there are no other latches."""
        busy_since = self._busy_since(busy, now)
        if busy_since == self.busy_since and not self.others:
            return self
        return Latches(busy_since=busy_since)

    def _busy_since(self, busy: bool, now: float) -> float | None:
        if not busy:
            return None
        return now if self.busy_since is None else self.busy_since

    def _latched(self, key: str, value: int | float | None, now: float) -> Latch:
        before = self.others.get(key)
        return before if before is not None and before.value == value else Latch(value=value, changed_at=now)


def is_busy(ad: ClassAd, world: World) -> bool:
    """Whether CpuBusy is TRUE in an ad that has the attribute."""
    return bool(_number(ad.eval("CpuBusy", None, world)))


def _number(value: Value) -> int | float | None:
    kind = value.__class__
    return value if kind is bool or kind is int or isinstance(value, bool | int | float) else None  # type: ignore[return-value]
