"""SLOT_TYPE_<N> for the rules: counts, and the share of each resource.

Only what can be judged without the machine is kept: fractions and percentages as fractions, plain numbers as amounts;
`auto` and anything else counts as no share at all.
"""

from __future__ import annotations

import re
from typing import Final

from roost.base.records import dataclass
from roost.config import Definition
from roost.policy.lint.pool import Pool

NAMES: Final = ("cpus", "memory", "swap", "disk")
_CLASSES: Final = {"c": "cpus", "r": "memory", "m": "memory", "d": "disk", "s": "swap", "v": "swap"}
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*(%|/\s*(\d+(?:\.\d+)?))?\Z")


@dataclass(frozen=True, slots=True)
class Share:
    """The share of one resource; both None for `auto` and for unknown shares."""

    fraction: float | None = None
    amount: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotType:
    """One slot type."""

    number: int
    #: None if only its count is set.
    definition: Definition | None
    count_definition: Definition | None
    count: int
    partitionable: bool
    #: Folded resource name to its share; the key "" is for resources that are not named.
    shares: dict[str, Share]

    def share(self, name: str) -> Share:
        """The share of a resource."""
        return self.shares.get(name, self.shares.get("", Share()))


def slot_types(pool: Pool) -> list[SlotType]:
    """Every slot type that is defined or counted."""
    numbers = {*pool.config.slot_numbers("SLOT_TYPE_<N>"), *pool.config.slot_numbers("NUM_SLOTS_TYPE_<N>")}
    return [_slot_type(pool, number) for number in sorted(numbers)]


def _slot_type(pool: Pool, number: int) -> SlotType:
    count = pool.number(f"NUM_SLOTS_TYPE_{number}")
    return SlotType(
        number=number,
        definition=pool.last(f"SLOT_TYPE_{number}"),
        count_definition=pool.last(f"NUM_SLOTS_TYPE_{number}"),
        count=int(count) if count is not None and 0 <= count < 100_000 else 0,
        partitionable=pool.condition(f"SLOT_TYPE_{number}_PARTITIONABLE") is True,
        shares=_shares(pool.value(f"SLOT_TYPE_{number}") or ""),
    )


def _shares(text: str) -> dict[str, Share]:
    separator = "\n" if "\n" in text else "," if "," in text else None
    found: dict[str, Share] = {}
    for item in text.split(separator):
        name, equals, value = item.partition("=")
        key = name.strip().lower() if equals else ""
        value = (value if equals else name).partition(":")[0].strip()
        if not value:
            continue
        known = _CLASSES.get(key[:1]) if key and "cpus memory ram disk swap virtualmemory".find(key[:3]) >= 0 else None
        found[known or key] = _share(value)
    return found


def _share(value: str) -> Share:
    match = _NUMBER.match(value)
    if match is None:
        return Share()
    number = float(match.group(1))
    if match.group(2) == "%":
        return Share(fraction=number / 100)
    if match.group(3) is not None:
        return Share(fraction=number / float(match.group(3))) if float(match.group(3)) else Share()
    return Share(amount=number)
