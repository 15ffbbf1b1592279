"""Concurrency limits: how many jobs that need a licence may run in the whole pool.

A job names its limits in ConcurrencyLimits, ``name[.sub][:amount]`` separated by commas. The amount in use is the sum
over the slots' ads plus the matches of this cycle.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from roost.base.records import dataclass, field
from roost.negotiator.settings import LimitSettings

_NAME = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?\Z")


def parse_limits(text: str) -> dict[str, float]:
    """Name to amount of a ConcurrencyLimits value; invalid names are left out, and amounts of 0 or less become 1."""
    found: dict[str, float] = {}
    for item in text.lower().split(","):
        name, colon, amount = (part.strip() for part in item.strip().partition(":"))
        if not _NAME.match(name):
            continue
        found[name] = found.get(name, 0.0) + (_amount(amount) if colon else 1.0)
    return dict(sorted(found.items()))


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 1.0
    return value if value > 0 and math.isfinite(value) else 1.0


def maximum(name: str, settings: LimitSettings) -> float:
    """The maximum amount of a limit."""
    found = settings.named.get(name)
    if found is None and "." in name:
        found = settings.below.get(name.partition(".")[0])
    return settings.default if found is None else found


@dataclass(slots=True)
class LimitBook:
    """The amount of each limit in use during a cycle."""

    settings: LimitSettings
    in_use: dict[str, float] = field(default_factory=dict)

    def count(self, texts: Iterable[str]) -> None:
        """Count the amounts that slots report as in use."""
        for text in texts:
            self.take(parse_limits(text))

    def reached(self, wanted: Mapping[str, float]) -> list[str]:
        """The limits that do not permit one more job."""
        used, settings = self.in_use, self.settings
        return [name for name, amount in wanted.items() if used.get(name, 0.0) + amount > maximum(name, settings)]

    def take(self, wanted: Mapping[str, float]) -> None:
        """Charge the limits for one more job."""
        for name, amount in wanted.items():
            self.in_use[name] = self.in_use.get(name, 0.0) + amount

    def published(self) -> dict[str, float]:
        """The limits in use as attributes of the matchmaker's ad."""
        return {f"ConcurrencyLimit_{name.replace('.', '_')}": used for name, used in sorted(self.in_use.items())}
