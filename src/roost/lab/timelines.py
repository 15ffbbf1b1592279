"""Who was in which state when: gathered from records, for pictures.

`Timelines` keeps the spans of the first `shown` slots, and for the whole pool how much time was spent in each pair
within each interval of `bin_s`. Memory does not grow with the number of slots.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from roost.sim.record import Record

#: Where every slot begins.
FIRST = "Owner/Idle"


@dataclass(frozen=True, slots=True)
class Span:
    """A stay in a pair, s since the beginning."""

    begin: float
    end: float
    pair: str
    #: Number and reason of the transition that led here; "" for the first.
    why: str
    job: str


@dataclass(slots=True)
class _Now:
    pair: str
    since: float
    why: str
    job: str


@dataclass(slots=True, kw_only=True)
class Timelines:
    """A sink of records."""

    slots: list[str]
    end_s: float
    bin_s: float
    shown: int = 40
    spans: dict[str, list[Span]] = field(default_factory=dict)
    #: Pair to slot seconds in each interval.
    bins: dict[str, list[float]] = field(default_factory=dict)
    _now: dict[str, _Now] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._now = {slot: _Now(FIRST, 0.0, "", "") for slot in self.slots}
        self.spans = {slot: [] for slot in self.slots[: self.shown]}

    @property
    def bin_count(self) -> int:
        """Intervals in the whole run."""
        return max(1, int(-(-self.end_s // self.bin_s)))

    def shares(self, pair: str) -> list[float]:
        """The share of all slots that is in a pair, in each interval."""
        last = self.bin_count - 1
        lengths = [self.bin_s] * last + [max(1.0, self.end_s - last * self.bin_s)]
        return [value / length / len(self.slots) for value, length in zip(self.bins[pair], lengths, strict=True)]

    def take(self, record: Record) -> None:
        """A record more."""
        if record["what"] == "dead":
            prefix = f"@{record['machine']}"
            for slot in self._now:
                if slot.endswith(prefix):
                    self._go(slot, record["t"], FIRST, "the daemon died", "")
        if record["what"] != "transition":
            return
        why = f"{record['number']} {record['reason']}"
        if record["expression"] is not None:
            why += f" ({record['expression']} = {record['value']})"
        self._go(record["slot"], record["t"], record["target"], why, record["job"] or "")

    def _go(self, slot: str, at: float, pair: str, why: str, job: str) -> None:
        now = self._now[slot]
        self._add(slot, now, at)
        self._now[slot] = _Now(pair, at, why, job)

    def _add(self, slot: str, now: _Now, at: float) -> None:
        if at <= now.since:
            return
        if slot in self.spans:
            self.spans[slot].append(Span(now.since, at, now.pair, now.why, now.job))
        row = self.bins.get(now.pair)
        if row is None:
            row = self.bins[now.pair] = [0.0] * self.bin_count
        last = self.bin_count - 1
        for index in range(min(int(now.since // self.bin_s), last), min(int(at // self.bin_s), last) + 1):
            stop = at if index == last else min(at, (index + 1) * self.bin_s)
            row[index] += max(0.0, stop - max(now.since, index * self.bin_s))

    def close(self) -> None:
        """The run is over."""
        for slot, now in self._now.items():
            self._add(slot, now, self.end_s)
            now.since = self.end_s
