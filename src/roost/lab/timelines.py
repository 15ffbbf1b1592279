"""Who was in which state when, and how many jobs waited: gathered from records, for pictures.

`Timelines` keeps every stay of a sample of slots, evenly spread over the pool; of up to `ROWS_MAX` slots the state that
each was in longest within each interval; and of the whole pool the time spent in each pair within each interval. Memory
grows with the number of slots only by a byte a slot and interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from roost.lab.palette import COLOURS
from roost.sim.record import Record

#: Where every slot begins.
FIRST: Final = "Owner/Idle"
#: Slots of which intervals are kept, at most.
ROWS_MAX: Final = 1_000
_CODES: Final = {pair: code for code, pair in enumerate(COLOURS)}


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


@dataclass(slots=True)
class _Jobs:
    """How many jobs wait, and the time that they did within each interval, s."""

    count: int = 0
    since: float = 0.0
    waited: list[float] = field(default_factory=list)


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
    #: (number, from, to) to how often.
    transitions: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    jobs: _Jobs = field(default_factory=_Jobs)
    #: Slot to the code of the pair that it was in longest, and how long, in each interval.
    _rows: dict[str, tuple[bytearray, list[float]]] = field(default_factory=dict)
    _now: dict[str, _Now] = field(default_factory=dict)
    #: Time of all slots within each interval, s; empty until it is asked for.
    _wholes: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._now = {slot: _Now(FIRST, 0.0, "", "") for slot in self.slots}
        self.spans = {slot: [] for slot in _spread(self.slots, self.shown)}
        count = self.bin_count
        self._rows = {slot: (bytearray(count), [0.0] * count) for slot in _spread(self.slots, ROWS_MAX)}
        self.jobs.waited = [0.0] * count

    @property
    def bin_count(self) -> int:
        """Intervals in the whole run."""
        return max(1, int(-(-self.end_s // self.bin_s)))

    def _lengths(self) -> list[float]:
        last = self.bin_count - 1
        return [self.bin_s] * last + [max(1.0, self.end_s - last * self.bin_s)]

    def shares(self, pair: str) -> list[float]:
        """The share of all slots' time that is spent in a pair, in each interval."""
        if not self._wholes:
            self._wholes = [max(1e-9, sum(each)) for each in zip(*self.bins.values(), strict=True)]
        return [value / whole for value, whole in zip(self.bins[pair], self._wholes, strict=True)]

    def waiting(self) -> list[float]:
        """How many jobs wait on average, in each interval."""
        return [value / length for value, length in zip(self.jobs.waited, self._lengths(), strict=True)]

    def rows(self) -> list[bytes]:
        """For each of the slots that are kept, the code of its pair in each interval: places in `COLOURS`."""
        return [bytes(codes) for codes, _ in self._rows.values()]

    def take(self, record: Record) -> None:
        """A record more."""
        what = record["what"]
        if what == "transition":
            why = f"{record['number']} {record['reason']}"
            if record["expression"] is not None:
                why += f" ({record['expression']} = {record['value']})"
            self.transitions[record["number"], record["source"], record["target"]] += 1
            self._go(record["slot"], record["t"], record["target"], why, record["job"] or "")
        elif what == "dead":
            prefix = f"@{record['machine']}"
            for slot in [each for each in self._now if each.endswith(prefix)]:
                self._go(slot, record["t"], FIRST, "the daemon died", "")
        elif what in ("submit", "start", "end"):
            self._count(record)

    def _count(self, record: Record) -> None:
        self._add_waiting(record["t"])
        if record["what"] == "submit" or record.get("outcome") in ("evicted", "lost"):
            self.jobs.count += 1
        elif record["what"] == "start":
            self.jobs.count = max(0, self.jobs.count - 1)

    def _add_waiting(self, at: float) -> None:
        jobs = self.jobs
        for index, seconds in self._pieces(jobs.since, at):
            jobs.waited[index] += seconds * jobs.count
        jobs.since = max(jobs.since, at)

    def _pieces(self, begin: float, end: float) -> list[tuple[int, float]]:
        """The intervals that a stretch lies in, and how long."""
        if end <= begin:
            return []
        last = self.bin_count - 1
        first, final = min(int(begin // self.bin_s), last), min(int(end // self.bin_s), last)
        if first == final:
            return [(first, end - begin)]
        inner = [(index, self.bin_s) for index in range(first + 1, final)]
        return [(first, (first + 1) * self.bin_s - begin), *inner, (final, end - final * self.bin_s)]

    def _go(self, slot: str, at: float, pair: str, why: str, job: str) -> None:
        now = self._now.get(slot)
        if now is None:
            now = self._now[slot] = _Now(pair, at, why, job)
            self._show_dynamic(slot)
        self._add(slot, now, at)
        if parent_of(slot) and pair.startswith(("Owner", "Unclaimed")):
            # A dynamic slot that nobody claims is deleted.
            del self._now[slot]
        else:
            self._now[slot] = _Now(pair, at, why, job)

    def _show_dynamic(self, slot: str) -> None:
        """A dynamic slot that was not there before is shown if its parent is, as long as there is room."""
        if parent_of(slot) in self.spans and len(self.spans) < 2 * self.shown:
            self.spans.setdefault(slot, [])

    def _add(self, slot: str, now: _Now, at: float) -> None:
        if at <= now.since:
            return
        if slot in self.spans:
            self.spans[slot].append(Span(now.since, at, now.pair, now.why, now.job))
        row = self.bins.get(now.pair)
        if row is None:
            row = self.bins[now.pair] = [0.0] * self.bin_count
        kept = self._rows.get(slot)
        for index, seconds in self._pieces(now.since, at):
            row[index] += seconds
            if kept is not None and seconds > kept[1][index]:
                kept[0][index], kept[1][index] = _CODES[now.pair], seconds

    def close(self) -> None:
        """The run is over."""
        self._add_waiting(self.end_s)
        for slot, now in self._now.items():
            self._add(slot, now, self.end_s)
            now.since = self.end_s
        place = {slot: index for index, slot in enumerate(self.slots)}
        order = sorted(self.spans, key=lambda slot: (place[parent_of(slot) or slot], len(slot), slot))
        self.spans = {slot: self.spans[slot] for slot in order}


def parent_of(slot: str) -> str:
    """``slot1@m`` of ``slot1_2@m``; "" of a slot that is not dynamic."""
    name, at, machine = slot.partition("@")
    parent, underscore, _ = name.partition("_")
    return f"{parent}{at}{machine}" if underscore else ""


def _spread(slots: Sequence[str], most: int) -> list[str]:
    """So many slots at most, evenly spread."""
    if len(slots) <= most:
        return list(slots)
    return [slots[index * len(slots) // most] for index in range(most)]
