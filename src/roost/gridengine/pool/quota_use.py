"""The use of a cell's resource quotas, as `qquota` lists it: one row per limit and counter.

A limit of a consumable has a row if some of it is used. Any other limit bounds requests; it has one row, without a use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from roost.gridengine.instances import Resolver
from roost.gridengine.objects.complex import Complex, Type
from roost.gridengine.objects.quota import FILTERS, Filter, QuotaRule
from roost.gridengine.scheduling import CellSnapshot
from roost.gridengine.scheduling.ledger import Ledger, needs_of
from roost.gridengine.scheduling.loads import Loads, host_of
from roost.gridengine.scheduling.quotas import Quotas
from roost.gridengine.scheduling.reasons import amount

_WILD = frozenset("*?[")


class Use(NamedTuple):
    """One limit."""

    #: ``set/rule``
    label: str
    #: by name, in the order of Grid Engine; a separately counted value is the only member of its filter
    filters: Mapping[str, Filter]
    resource: str
    #: as Grid Engine prints it; "" for a limit on requests
    used: str
    limit: str


class QuotaUse:
    """The quotas of a cell with the running tasks."""

    def __init__(self, snapshot: CellSnapshot) -> None:
        loads = Loads(snapshot)
        self._snapshot = snapshot
        self._resolver = Resolver(snapshot.cell)
        self._quotas = Quotas(snapshot, loads, Ledger(snapshot, loads))
        self._groups: dict[str, tuple[str, ...]] = {}
        complexes = snapshot.cell.complexes
        for task in snapshot.running:
            self._groups[task.request.user] = task.request.groups
            terms = self._quotas.terms(task.request, task.environment)
            self._quotas.book(terms, task.grants, needs_of(task.request, complexes))
        self._known = self._values()

    def _values(self) -> dict[str, set[str]]:
        running, instances = self._snapshot.running, self._snapshot.instances
        return {
            "users": {task.request.user for task in running},
            "projects": {task.request.project for task in running} | set(self._snapshot.cell.projects),
            "pes": set(self._snapshot.cell.parallel_environments),
            "queues": {one.queue for one in instances},
            "hosts": {host_of(one.name) for one in instances},
        }

    def rows(self, wanted: Mapping[str, Sequence[str]], resources: frozenset[str]) -> Iterator[Use]:
        """The limits for which each of these filters holds one of these names; `resources` empty for all."""
        for found in self._snapshot.cell.quota_sets.values():
            if not found.enabled:
                continue
            for rule in found.rules:
                label = found.label(rule)
                for name, text in rule.limits:
                    if not resources or name in resources:
                        yield from self._of_limit(label, rule, name, text, wanted)

    def _of_limit(
        self, label: str, rule: QuotaRule, name: str, text: str, wanted: Mapping[str, Sequence[str]]
    ) -> Iterator[Use]:
        definition = self._snapshot.cell.complexes.get(name)
        filters = dict(rule.filters())
        if definition is None:
            return
        if not definition.is_consumable:
            if all(self._names(kind, filters.get(kind), patterns) for kind, patterns in wanted.items()):
                yield Use(label, filters, name, "", text)
            return
        for apart, counter in self._quotas.counters(label):
            values = dict(zip(FILTERS, apart, strict=True))
            used = counter.capacity.get(name, 0.0) - counter.left.get(name, 0.0)
            if not used or not all(
                self._counts(kind, filters.get(kind), values[kind], patterns) for kind, patterns in wanted.items()
            ):
                continue
            shown = {
                kind: Filter(include=(values[kind],)) if found.expanded else found for kind, found in filters.items()
            }
            limit = counter.capacity[name]
            yield Use(label, shown, name, _shown_value(definition, used), _shown_value(definition, limit))

    def _counts(self, kind: str, found: Filter | None, value: str, patterns: Sequence[str]) -> bool:
        """Whether a counter is about one of the names."""
        if found is not None and found.expanded:
            return any(self._is(value, pattern) for pattern in patterns)
        return self._names(kind, found, patterns)

    def _is(self, value: str, pattern: str) -> bool:
        """Whether a name matches a pattern, or is that of a host in a group."""
        return self._resolver.holds(pattern, value) if pattern.startswith("@") else fnmatchcase(value, pattern)

    def _names(self, kind: str, found: Filter | None, patterns: Sequence[str]) -> bool:
        """Whether a filter holds one of the names."""
        if found is None or not patterns:
            return True
        for pattern in patterns:
            values = {pattern}
            if pattern.startswith("@") or not _WILD.isdisjoint(pattern):
                values = {one for one in self._known[kind] if self._is(one, pattern)}
            if any(self._quotas.holds(kind, found, one, self._groups.get(one, ())) for one in values):
                return True
        return False


def _shown_value(definition: Complex, value: float) -> str:
    if definition.type in (Type.MEMORY, Type.TIME) or value == float("inf"):
        return amount(definition, value)
    return f"{value:.6f}".rstrip("0").rstrip(".")
