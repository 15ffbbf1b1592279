"""The states of slots over time, and how many jobs waited: collected from records, for pictures.

`Timelines` keeps every stay of a sample of slots, evenly spread over the pool; and for up to `ROWS_MAX` slots, and for
the whole pool, the core seconds spent in each pair within each interval. A slot is weighted by its cores, a
partitionable one by its free cores, so that a pool of large machines is shown by actual use. Memory grows with the
number of slots only by a few bytes per slot and interval.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from roost.base.records import dataclass, field
from roost.lab.report.palette import COLOURS
from roost.sim.record import Record

#: The initial pair of every slot.
FIRST: Final = "Owner/Idle"
#: Most slots whose intervals are kept.
ROWS_MAX: Final = 1_000
#: Most rows of a partitionable slot.
PARTS_MAX: Final = 8
#: Approximate number of intervals in a run.
INTERVALS: Final = 336
_CODES: Final = {pair: code for code, pair in enumerate(COLOURS)}


def interval_s(end_s: float) -> float:
    """The length of intervals in a run of `end_s` seconds: whole seconds, or whole minutes in a long run."""
    raw = end_s / INTERVALS
    step = 60.0 if raw > 60 else 1.0
    return max(1.0, -(-raw // step) * step)


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
    cores: float
    #: Until when its core seconds have been added.
    counted: float


@dataclass(slots=True)
class _Jobs:
    """The number of waiting jobs, and their waiting time within each interval, s."""

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
    #: Cores of the slots; 1 if a slot is not listed.
    cores: Mapping[str, float] = field(default_factory=dict)
    #: The partitionable slots.
    partitionable: frozenset[str] = frozenset()
    #: Cores of a dynamic slot that was just created.
    cores_of: Callable[[str], float] = lambda _: 1.0
    spans: dict[str, list[Span]] = field(default_factory=dict)
    #: Pair to core seconds in each interval.
    bins: dict[str, list[float]] = field(default_factory=dict)
    #: (number, from, to) to how often.
    transitions: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    jobs: _Jobs = field(default_factory=_Jobs)
    #: Slot to its core seconds, interval by interval and code by code; those of dynamic slots are their parent's.
    _rows: dict[str, array[float]] = field(default_factory=dict)
    _now: dict[str, _Now] = field(default_factory=dict)
    #: Core seconds of all slots within each interval; empty until needed.
    _wholes: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._now = {slot: _Now(FIRST, 0.0, "", "", self.cores.get(slot, 1.0), 0.0) for slot in self.slots}
        self.spans = {slot: [] for slot in _spread(self.slots, self._sampled())}
        zeros = bytes(4 * self.bin_count * len(COLOURS))
        self._rows = {slot: array("f", zeros) for slot in _spread(self.slots, ROWS_MAX)}
        self.jobs.waited = [0.0] * self.bin_count

    def _sampled(self) -> int:
        """Slots that are shown individually, few enough to leave room for dynamic ones."""
        lines = sum(1 + self.cores.get(slot, 1.0) * (slot in self.partitionable) for slot in self.slots)
        return max(3, int(self.shown * len(self.slots) / max(1.0, lines)))

    @property
    def bin_count(self) -> int:
        """Intervals in the whole run."""
        return max(1, int(-(-self.end_s // self.bin_s)))

    def _lengths(self) -> list[float]:
        last = self.bin_count - 1
        return [self.bin_s] * last + [max(1.0, self.end_s - last * self.bin_s)]

    def shares(self, pair: str) -> list[float]:
        """The share of all slots' core time that is spent in a pair, in each interval."""
        if not self._wholes:
            self._wholes = [max(1e-9, sum(each)) for each in zip(*self.bins.values(), strict=True)]
        return [value / whole for value, whole in zip(self.bins[pair], self._wholes, strict=True)]

    def waiting(self) -> list[float]:
        """How many jobs wait on average, in each interval."""
        return [value / length for value, length in zip(self.jobs.waited, self._lengths(), strict=True)]

    @property
    def sample(self) -> list[str]:
        """The slots that are shown individually, without their dynamic ones."""
        return [slot for slot in self.spans if not parent_of(slot)]

    @property
    def kept(self) -> int:
        """How many slots `rows` is about."""
        return len(self._rows)

    def rows(self) -> list[bytes]:
        """For each kept slot, the code of its pair in each interval: indices into `COLOURS`.

        The rows of a partitionable slot are parts of it, in the order of `COLOURS`.
        """
        width = len(COLOURS)
        found = []
        for slot, row in self._rows.items():
            cells = [row[place : place + width] for place in range(0, len(row), width)]
            if parts := self._parts(slot):
                found += [bytes(_code_at(cell, part) for cell in cells) for part in parts]
            else:
                found.append(bytes(cell.index(max(cell)) for cell in cells))
        return found

    def _parts(self, slot: str) -> list[float]:
        """Where in a slot its rows are, from 0 to 1."""
        if slot not in self.partitionable:
            return []
        most = min(PARTS_MAX, max(1, ROWS_MAX // len(self._rows)))
        count = max(1, min(most, int(self.cores.get(slot, 1.0))))
        return [(part + 0.5) / count for part in range(count)]

    def take(self, record: Record) -> None:
        """Add a record."""
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
                self._go(slot, record["t"], FIRST, "the daemon crashed", "")
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
        """The intervals that a time span overlaps, and for how long."""
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
            cores = self.cores_of(slot)
            now = self._now[slot] = _Now(pair, at, why, job, cores, at)
            self._show_dynamic(slot)
            self._give(parent_of(slot), -cores, at)
        self._add(slot, now, at)
        if (parent := parent_of(slot)) and pair.startswith(("Owner", "Unclaimed")):
            # A dynamic slot that is not claimed is deleted.
            del self._now[slot]
            self._give(parent, now.cores, at)
        else:
            self._now[slot] = _Now(pair, at, why, job, now.cores, at)

    def _give(self, slot: str, cores: float, at: float) -> None:
        """Add cores to a partitionable slot."""
        now = self._now.get(slot)
        if now is not None:
            self._add_cores(slot, now, at)
            now.cores = max(0.0, now.cores + cores)

    def _show_dynamic(self, slot: str) -> None:
        """A new dynamic slot is shown if its parent is, as long as there is room."""
        if parent_of(slot) in self.spans and len(self.spans) < 2 * self.shown:
            self.spans.setdefault(slot, [])

    def _add(self, slot: str, now: _Now, at: float) -> None:
        if at > now.since and slot in self.spans:
            self.spans[slot].append(Span(now.since, at, now.pair, now.why, now.job))
        self._add_cores(slot, now, at)

    def _add_cores(self, slot: str, now: _Now, at: float) -> None:
        if at <= now.counted:
            return
        bins = self.bins.get(now.pair)
        if bins is None:
            bins = self.bins[now.pair] = [0.0] * self.bin_count
        row = self._rows.get(slot)
        if row is None and (parent := parent_of(slot)):
            row = self._rows.get(parent)
        code, width = _CODES[now.pair], len(COLOURS)
        for index, seconds in self._pieces(now.counted, at):
            bins[index] += seconds * now.cores
            if row is not None:
                row[index * width + code] += seconds * now.cores
        now.counted = at

    def close(self) -> None:
        """End the run."""
        self._add_waiting(self.end_s)
        for slot, now in self._now.items():
            self._add(slot, now, self.end_s)
            now.since = self.end_s
        place = {slot: index for index, slot in enumerate(self.slots)}
        order = sorted(self.spans, key=lambda slot: (place[parent_of(slot) or slot], len(slot), slot))
        self.spans = {slot: self.spans[slot] for slot in order}


def _code_at(cell: array[float], part: float) -> int:
    """The code at a place in a stack of all of a cell's codes."""
    place = part * sum(cell)
    for code, seconds in enumerate(cell):
        place -= seconds
        if place < 0:
            return code
    return cell.index(max(cell))


def parent_of(slot: str) -> str:
    """``slot1@m`` of ``slot1_2@m``; "" for a slot that is not dynamic."""
    name, at, machine = slot.partition("@")
    parent, underscore, _ = name.partition("_")
    return f"{parent}{at}{machine}" if underscore else ""


def _spread(slots: Sequence[str], most: int) -> list[str]:
    """At most `most` slots, evenly spread."""
    if len(slots) <= most:
        return list(slots)
    return [slots[index * len(slots) // most] for index in range(most)]
