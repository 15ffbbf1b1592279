"""Idle jobs, and the order in which they are offered.

Jobs of a cluster with the same priority and the same autocluster form a `IdleGroup`; most clusters have one. A group
keeps a job that was never touched as nothing but its place behind `fresh_from`, so that 100,000 of them cost what one
does. Jobs that come back (evicted, released) are kept one by one, and go before the fresh ones by number.

An autocluster is a set of jobs that no machine can tell apart: their significant attributes have the same texts.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from operator import itemgetter
from typing import Any, Final

from roost.base.records import dataclass
from roost.classad import ClassAd, Expr, unparse_value
from roost.classad.ad import MISSING, Cell, Missing, flat_cells
from roost.classad.refs import references_in
from roost.classad.values import fold


class IdleGroup:
    """Idle jobs of one cluster, one priority, one autocluster."""

    __slots__ = ("_back", "_fresh_from", "_fresh_until", "_is_idle", "autocluster", "cluster", "count", "listed",
                 "local", "place", "prio", "submitter", "unbounded")  # fmt: skip

    def __init__(
        self,
        cluster: int,
        prio: int,
        autocluster: int,
        is_idle: Callable[[int, IdleGroup], bool],
        *,
        submitter: str = "",
        local: bool = False,
        submitted_at: int = 0,
        unbounded: bool = True,
    ) -> None:
        self.cluster = cluster
        #: In whose name they compete.
        self.submitter = submitter
        self.prio = prio
        self.autocluster = autocluster
        #: They run beside the queue, and on no machine of the pool.
        self.local = local
        #: How many of them may have slots depends on no other jobs, those of their cluster included.
        self.unbounded = unbounded
        #: Where it stands among the groups of its submitter.
        self.place = -prio, submitted_at, cluster, autocluster
        #: It is among the groups that the book offers.
        self.listed = False
        #: Idle jobs in it.
        self.count = 0
        #: Whether a job is idle, and in this group and no other.
        self._is_idle = is_idle
        self._fresh_from = 0
        self._fresh_until = 0
        self._back: list[int] = []

    def put_fresh(self, first: int, end: int) -> None:
        """Jobs `first` to `end` - 1, never touched, are idle."""
        assert self._fresh_from >= self._fresh_until, "a cluster has one run of fresh jobs"
        self._fresh_from, self._fresh_until = first, end
        self.count += end - first

    def put(self, proc: int) -> None:
        """A job has become idle."""
        heapq.heappush(self._back, proc)
        self.count += 1

    def left(self) -> None:
        """A job of the group that was not taken from it is no longer idle."""
        self.count -= 1

    def first(self) -> int | None:
        """The first idle job; None if there is none."""
        if self.count == 1 and len(self._back) + max(0, self._fresh_until - self._fresh_from) == 1:
            # Idle jobs are among these, and there is one: queues of single jobs are asked for each in every cycle.
            return self._back[0] if self._back else self._fresh_from
        if not self._back and self._fresh_from < self._fresh_until and self._is_idle(self._fresh_from, self):
            return self._fresh_from
        while self._back and not self._is_idle(self._back[0], self):
            heapq.heappop(self._back)
        while self._fresh_from < self._fresh_until and not self._is_idle(self._fresh_from, self):
            self._fresh_from += 1
        fresh = self._fresh_from if self._fresh_from < self._fresh_until else None
        if self._back and (fresh is None or self._back[0] < fresh):
            return self._back[0]
        return fresh

    def take(self) -> int | None:
        """Take the first idle job out. The caller makes it something else than idle."""
        proc = self.first()
        if proc is None:
            return None
        # A job that was taken back and forth may be here several times.
        while self._back and self._back[0] == proc:
            heapq.heappop(self._back)
        if proc == self._fresh_from:
            self._fresh_from += 1
        self.count -= 1
        return proc


#: What tells jobs apart on any machine, beside what the pool says. What running changes (ImageSize, DiskUsage) counts
#: only where an expression of the pool or of the job asks for it: else jobs that have run would be others than before.
ALWAYS_SIGNIFICANT = (
    "Requirements", "Rank", "RequestCpus", "RequestMemory", "RequestDisk", "RequestGPUs", "Owner", "User",
    "AccountingGroup", "AcctGroup", "NiceUser", "ConcurrencyLimits", "JobUniverse",
    "MaxJobRetirementTime", "JobMaxVacateTime", "WantIOProxy", "FileSystemDomain",
)  # fmt: skip


#: Expressions whose reach is remembered.
_REACHED_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Reach:
    """What an expression reached in one ad."""

    expression: Expr
    #: Names that the ad has, each with its expression, None for a value; and names that it lacks.
    inside: Mapping[str, Expr | None]
    outside: tuple[str, ...]

    def holds_for(self, ad: ClassAd) -> bool:
        """Whether it reaches the same in another ad: nothing that it asks for is another expression, or newly there."""
        for name, formula in self.inside.items():
            cell = ad.cell(name)
            if cell is MISSING or (cell is not formula if isinstance(cell, Expr) else formula is not None):
                return False
        return all(ad.cell(name) is MISSING for name in self.outside)


def _formula(ad: ClassAd, key: str) -> Expr | None:
    cell = ad.cell(key)
    return cell if isinstance(cell, Expr) else None


class Autoclusters:
    """Numbers for sets of jobs that machines cannot tell apart."""

    __slots__ = ("_ids", "_last", "_names", "_reached", "_samples", "significant")

    def __init__(self, significant: Iterable[str] = ()) -> None:
        self._ids: dict[tuple[tuple[str, type, Any], ...], int] = {}
        self._last = 0
        self._samples: dict[int, ClassAd] = {}
        #: By identity, which is kept: an expression to what it reached in the ad that was looked at last.
        self._reached: dict[int, _Reach] = {}
        self.significant: frozenset[str] = frozenset()
        self._names: tuple[str, ...] = ()
        self.use(significant)

    def use(self, significant: Iterable[str]) -> bool:
        """Take other attributes as significant. Whether that changes anything: all autoclusters are new then."""
        names = frozenset(fold(name) for name in (*ALWAYS_SIGNIFICANT, *significant))
        if names == self.significant:
            return False
        self.significant, self._names = names, tuple(sorted(names))
        # Numbers go on: an answer about an old one must not be taken for one about a new one.
        self._ids, self._samples = {}, {}
        return True

    def _next(self) -> int:
        self._last += 1
        return self._last

    def cells(self, ad: ClassAd) -> dict[str, Cell | Missing]:
        """The attributes of a job that matching depends on, by their folded names; MISSING for those it lacks."""
        flat = flat_cells(ad)
        found = map(flat.get, self._names, repeat(MISSING))
        cells: dict[str, Cell | Missing] = dict(zip(self._names, found, strict=True))
        # What an attribute that is an expression reaches counts as much as the attribute.
        for cell in [cell for cell in cells.values() if cell.__class__ is Expr]:
            for key in self._reach(ad, cell):
                if key not in cells:
                    cells[key] = flat.get(key, MISSING)
        return cells

    def _reach(self, ad: ClassAd, expression: Expr) -> Iterable[str]:
        """Folded names of a job's attributes that an expression of it needs, through every attribute it reaches."""
        known = self._reached.get(id(expression))
        if known is not None and known.holds_for(ad):
            return known.inside
        if len(self._reached) >= _REACHED_MAX:
            self._reached.clear()
        found = references_in(expression, ad)
        inside = {fold(name): _formula(ad, fold(name)) for name in found.internal}
        outside = tuple(fold(name) for name in found.external)
        self._reached[id(expression)] = _Reach(expression, inside, outside)
        return inside

    def of(self, ad: ClassAd) -> int:
        """The autocluster of a job."""
        cells = self.cells(ad)
        # What expressions reach stands behind the names, which are sorted.
        in_order = len(cells) == len(self._names)
        key = tuple(
            [
                (name, cell.__class__, cell if cell.__class__ in _COMPARED else _comparable(cell))
                for name, cell in (cells.items() if in_order else sorted(cells.items(), key=_name_of))
                if cell is not MISSING
            ]
        )
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = self._next()
            # As it is now: the job goes on, and may have left its autocluster when the next one comes to it.
            self._samples[found] = ad.unchained()
        return found

    def sample(self, autocluster: int) -> ClassAd:
        """The ad of one job of it, as it was when it was the first."""
        return self._samples[autocluster]

    def __contains__(self, autocluster: int) -> bool:
        return autocluster in self._samples


_COMPARED: Final = frozenset((str, int, bool))
_name_of: Final = itemgetter(0)


def _comparable(cell: object) -> str | int:
    """What is the same for the same cells of a class, and only for these; those of _COMPARED are that themselves."""
    return str(cell) if isinstance(cell, Expr) else unparse_value(cell)  # type: ignore[arg-type]
