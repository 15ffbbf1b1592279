"""Idle jobs, and the order in which they are offered.

Jobs of a cluster with the same priority and the same autocluster form an `IdleGroup`; most clusters have one. A group
represents untouched jobs only by the range behind `fresh_from`, so 100,000 of them cost as much as one. Jobs that come
back (evicted, released) are stored one by one, and precede the fresh ones by number.

An autocluster is a set of jobs that no machine can distinguish: their significant attributes have the same texts.
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
        #: The name under which they compete.
        self.submitter = submitter
        self.prio = prio
        self.autocluster = autocluster
        #: They run on the queue's machine, and on no machine of the pool.
        self.local = local
        #: The number of them that may have slots does not depend on other jobs, not even in their cluster.
        self.unbounded = unbounded
        #: Its sort key among the groups of its submitter.
        self.place = -prio, submitted_at, cluster, autocluster
        #: It is among the groups that the book offers.
        self.listed = False
        #: Number of idle jobs in it.
        self.count = 0
        #: Whether a job is idle, and in this group and no other.
        self._is_idle = is_idle
        self._fresh_from = 0
        self._fresh_until = 0
        self._back: list[int] = []

    def put_fresh(self, first: int, end: int) -> None:
        """Note that jobs `first` to `end` - 1, never touched, are idle."""
        assert self._fresh_from >= self._fresh_until, "a cluster has one run of fresh jobs"
        self._fresh_from, self._fresh_until = first, end
        self.count += end - first

    def put(self, proc: int) -> None:
        """Note that a job has become idle."""
        heapq.heappush(self._back, proc)
        self.count += 1

    def left(self) -> None:
        """Note that a job of the group that was not taken from it is no longer idle."""
        self.count -= 1

    def first(self) -> int | None:
        """The first idle job; None if there is none."""
        if self.count == 1 and len(self._back) + max(0, self._fresh_until - self._fresh_from) == 1:
            # Idle jobs are in one of these two; queues of single jobs come here for each job in every cycle.
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
        """Take the first idle job out. The caller changes its status."""
        proc = self.first()
        if proc is None:
            return None
        # A job that was taken and put back may be listed several times.
        while self._back and self._back[0] == proc:
            heapq.heappop(self._back)
        if proc == self._fresh_from:
            self._fresh_from += 1
        self.count -= 1
        return proc


#: Attributes that distinguish jobs on any machine, besides those that the pool reports. Attributes that change while a
#: job runs (ImageSize, DiskUsage) count only if an expression of the pool or of the job refers to them; otherwise jobs
#: that have run would differ from new ones.
ALWAYS_SIGNIFICANT = (
    "Requirements", "Rank", "RequestCpus", "RequestMemory", "RequestDisk", "RequestGPUs", "Owner", "User",
    "AccountingGroup", "AcctGroup", "NiceUser", "ConcurrencyLimits", "JobUniverse",
    "MaxJobRetirementTime", "JobMaxVacateTime", "WantIOProxy", "FileSystemDomain",
)  # fmt: skip


#: Maximum number of expressions whose references are cached.
_REACHED_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Reach:
    """The references of an expression in one ad."""

    expression: Expr
    #: Names that the ad has, each with its expression, None for a value; and names that it lacks.
    inside: Mapping[str, Expr | None]
    outside: tuple[str, ...]

    def holds_for(self, cells: Mapping[str, Cell]) -> bool:
        """Whether the references are the same in another ad: every attribute it refers to has the same expression, and
        no new one exists.
        """
        for name, formula in self.inside.items():
            cell = cells.get(name, MISSING)
            if cell is MISSING or (cell is not formula if isinstance(cell, Expr) else formula is not None):
                return False
        return cells.keys().isdisjoint(self.outside)


def _formula(ad: ClassAd, key: str) -> Expr | None:
    cell = ad.cell(key)
    return cell if isinstance(cell, Expr) else None


class Autoclusters:
    """Numbers of sets of jobs that machines cannot distinguish."""

    __slots__ = ("_ids", "_last", "_names", "_reached", "_samples", "significant")

    def __init__(self, significant: Iterable[str] = ()) -> None:
        self._ids: dict[tuple[tuple[str, type, Any], ...], int] = {}
        self._last = 0
        self._samples: dict[int, ClassAd] = {}
        #: By identity of an expression, which is kept alive: its references in the ad examined last.
        self._reached: dict[int, _Reach] = {}
        self.significant: frozenset[str] = frozenset()
        self._names: tuple[str, ...] = ()
        self.use(significant)

    def use(self, significant: Iterable[str]) -> bool:
        """Use other attributes as significant. Return whether anything changes: all autoclusters are new then."""
        names = frozenset(fold(name) for name in (*ALWAYS_SIGNIFICANT, *significant))
        if names == self.significant:
            return False
        self.significant, self._names = names, tuple(sorted(names))
        # Numbers are not reused: an answer about an old autocluster must not be taken for one about a new one.
        self._ids, self._samples = {}, {}
        return True

    def _next(self) -> int:
        self._last += 1
        return self._last

    def cells(self, ad: ClassAd) -> dict[str, Cell | Missing]:
        """The attributes of a job that matching depends on, by folded name; MISSING for those it lacks."""
        flat = flat_cells(ad)
        found = map(flat.get, self._names, repeat(MISSING))
        cells: dict[str, Cell | Missing] = dict(zip(self._names, found, strict=True))
        # The attributes that an expression refers to count as much as the attribute itself.
        for cell in [cell for cell in cells.values() if cell.__class__ is Expr]:
            for key in self._reach(ad, flat, cell):
                if key not in cells:
                    cells[key] = flat.get(key, MISSING)
        return cells

    def _reach(self, ad: ClassAd, flat: Mapping[str, Cell], expression: Expr) -> Iterable[str]:
        """Folded names of a job's attributes that an expression of it needs, directly or indirectly."""
        known = self._reached.get(id(expression))
        if known is not None and known.holds_for(flat):
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
        # References of expressions come after the names, which are sorted.
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
            # A snapshot: the job goes on, and may have left its autocluster when the next job joins it.
            self._samples[found] = ad.unchained()
        return found

    def sample(self, autocluster: int) -> ClassAd:
        """The ad of one of its jobs, as it was when it was the first."""
        return self._samples[autocluster]

    def __contains__(self, autocluster: int) -> bool:
        return autocluster in self._samples


_COMPARED: Final = frozenset((str, int, bool))
_name_of: Final = itemgetter(0)


def _comparable(cell: object) -> str | int:
    """A key that is equal exactly for equal cells of a class; cells of _COMPARED are their own key."""
    return str(cell) if isinstance(cell, Expr) else unparse_value(cell)  # type: ignore[arg-type]
