"""Plans: what the jobs of a cluster have in common, and how each differs, computed on demand.

A plan needs neither the submit description nor the machine it was read on: it keeps the macros that its jobs still
depend on, the items, and the names of the sections to run again for each job. `to_data` and `from_data` convert it to
JSON and back. Most jobs differ only in a number or a word within a text: for them a template is filled in
(`templates`).

    >>> plan.count
    100000
    >>> plan.differences(41)
    {'Args': '41'}

The queue numbers a cluster with `for_cluster`, which resolves everything that depends on ``$(Cluster)``; `fill` then
completes the ad of one job.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any, Final

from roost.base.records import dataclass, field, replace
from roost.classad import ClassAd, ClassAdError
from roost.classad.ad import Cell
from roost.classad.values import fold
from roost.schedd.submit.batch import Batch, same
from roost.schedd.submit.batch_data import batch_from_data, batch_to_data, cell_from_data, cell_to_data
from roost.schedd.submit.diagnostics import Findings
from roost.schedd.submit.queue_statement import JOBS_MAX
from roost.schedd.submit.sections import section_named

#: Version of the JSON form. A reader refuses later versions.
VERSION: Final = 1


class PlanError(ValueError):
    """Data is not a plan, or of a version that this Roost does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """The jobs of one cluster."""

    #: The attributes that all jobs have in common; ClusterId, ProcId and GlobalJobId are not among them.
    common: ClassAd
    #: One for each queue statement, in the order of their jobs.
    batches: tuple[Batch, ...]
    #: Maximum number of jobs in the queue at a time; None for no limit.
    max_materialize: int | None = None
    #: Maximum number of idle jobs in the queue at a time; None for no limit.
    max_idle: int | None = None
    _ends: tuple[int, ...] = field(default=(), init=False, repr=False, compare=False)
    _varying: list[frozenset[str]] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ends, total = [], 0
        for batch in self.batches:
            total += batch.count
            ends.append(total)
        object.__setattr__(self, "_ends", tuple(ends))

    @property
    def count(self) -> int:
        """Number of jobs in the cluster."""
        return self._ends[-1] if self._ends else 0

    @property
    def varying(self) -> frozenset[str]:
        """Folded names of all attributes in which jobs may differ."""
        if not self._varying:
            self._varying.append(self._find_varying())
        return self._varying[0]

    def _find_varying(self) -> frozenset[str]:
        found: set[str] = set()
        for batch in self.batches:
            found |= {fold(name) for name in (*batch.own, *batch.columns, *batch.steady)}
            for name in batch.sections:
                found |= section_named(name).gives
            if batch.count:
                found |= {fold(name) for name in batch.differences(0)}
        return frozenset(found)

    def differences(self, index: int) -> dict[str, Cell]:
        """Attributes of a job that are not common to all: name to value or expression."""
        batch, index = self._found(index)
        return batch.differences(index)

    def mistake(self, index: int) -> str:
        """Why a job is not what its description says; "" if it is correct.

        A client does not submit a problem that it finds. It does not check every item, and need not check any.
        """
        batch, index = self._found(index)
        findings = Findings()
        batch.differences(index, findings)
        batch.cells(0, tuple(map(section_named, batch.by_cluster)), findings)
        return findings.errors[0].message if findings.failed else ""

    @property
    def longest(self) -> int:
        """The job whose item is the longest, in characters."""
        found = [(*batch.longest, -number) for number, batch in enumerate(self.batches) if batch.count]
        if not found:
            return 0
        _, index, number = max(found, key=lambda each: (each[0], each[2]))
        return index + (self._ends[-number - 1] if number else 0)

    def items(self, jobs: int) -> int:
        """Of how many items the first so many jobs are."""
        total = 0
        for batch in self.batches:
            taken = min(jobs, batch.count)
            total += -(-taken // batch.per_row) if taken else 0
            jobs -= taken
        return total

    def _found(self, index: int) -> tuple[Batch, int]:
        """The batch of a job, and the job's number in it."""
        if not 0 <= index < self.count:
            raise IndexError(f"the cluster has {self.count} jobs, none of them with the number {index}")
        if len(self.batches) == 1:
            return self.batches[0], index
        number = bisect_right(self._ends, index)
        return self.batches[number], index - (self._ends[number - 1] if number else 0)

    def for_cluster(self, number: int) -> ClusterPlan:
        """The plan with the cluster's number filled in."""
        batches = tuple(replace(batch, cluster=number) for batch in self.batches)
        common = self.common
        if len(batches) == 1 and batches[0].by_cluster and batches[0].count:
            common = common.copy()
            for name, cell in _of_cluster(batches[0]).items():
                common.put(name, cell)
        elif any(batch.by_cluster for batch in batches):
            batches = tuple(replace(batch, own={**batch.own, **_of_cluster(batch)}) for batch in batches)
        return replace(self, common=common, batches=batches)

    def ads(self) -> Iterator[ClassAd]:
        """The jobs' ads one after another, each complete except for what `fill` adds."""
        for index in range(self.count):
            ad = self.common.copy()
            for name, cell in self.differences(index).items():
                ad.put(name, cell)
            yield ad

    def to_data(self) -> dict[str, Any]:
        """All data as JSON."""
        return {
            "version": VERSION,
            "common": {name: cell_to_data(self.common.cells[fold(name)]) for name in self.common},
            "batches": [batch_to_data(batch) for batch in self.batches],
            "max_materialize": self.max_materialize,
            "max_idle": self.max_idle,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> ClusterPlan:
        """The plan of such JSON. Raises `PlanError`."""
        version = data.get("version") if isinstance(data, Mapping) else None
        if version != VERSION:
            raise PlanError(f"cannot read a plan of version {version!r}; this is version {VERSION}")
        try:
            common = ClassAd()
            for name, text in data["common"].items():
                common.put(name, cell_from_data(text, common))
            plan = cls(
                common=common,
                batches=tuple(batch_from_data(batch) for batch in data["batches"]),
                max_materialize=_limit(data["max_materialize"]),
                max_idle=_limit(data["max_idle"]),
            )
        except (KeyError, TypeError, AttributeError, ValueError, IndexError, ClassAdError) as problem:
            raise PlanError(f"the plan is damaged: {problem!r}") from problem
        if plan.count > JOBS_MAX:
            raise PlanError(f"{plan.count} jobs exceed JOBS_MAX = {JOBS_MAX}")
        return plan


def _limit(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31):
        return value
    raise ValueError(f"{value!r} is not a valid limit")


def _of_cluster(batch: Batch) -> dict[str, Cell]:
    if not batch.count:
        return {}
    return batch.cells(0, tuple(section_named(name) for name in batch.by_cluster))


def fill(
    ad: ClassAd,
    cluster: int,
    proc: int,
    *,
    schedd: str,
    owner: str | None = None,
    uid_domain: str | None = None,
    now: int | None = None,
) -> None:
    """Add the attributes to a job's ad that only the queue knows.

    ClusterId, ProcId and GlobalJobId always; Owner and User if the queue has authenticated the submitter; QDate and
    EnteredCurrentStatus if it has its own clock.
    """
    ad["ClusterId"] = cluster
    ad["ProcId"] = proc
    if owner is not None:
        ad["Owner"] = owner
        ad["User"] = f"{owner}@{uid_domain}" if uid_domain else owner
    if now is not None:
        ad["QDate"] = ad["EnteredCurrentStatus"] = now
    ad["GlobalJobId"] = f"{schedd}#{cluster}.{proc}#{ad.get('QDate', 0)}"


def merged(batches: list[tuple[Batch, dict[str, Cell]]]) -> tuple[ClassAd, tuple[Batch, ...]]:
    """The common ad of batches that each have constant attributes; those that are not common to all go to the
    batches.
    """
    first = batches[0][1]
    shared = {
        name: cell
        for name, cell in first.items()
        if all([name in constants and same(cell, constants[name]) for _, constants in batches[1:]])
        and all([name not in batch.steady for batch, _ in batches[1:]])
    }
    common = ClassAd()
    for name, cell in shared.items():
        common.put(name, cell.copy() if isinstance(cell, ClassAd) else cell)
    if len(batches) == 1:
        return common, (batches[0][0],)
    made = []
    for batch, constants in batches:
        own = {name: cell for name, cell in constants.items() if name not in shared}
        # An attribute that is constant only within a batch is not in the cluster's ad, so each job has it.
        steady = {name: cell for name, cell in batch.steady.items() if name in shared}
        made.append(replace(batch, own=own, steady=steady, _forms=None))
    return common, tuple(made)
