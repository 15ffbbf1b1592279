"""Resource quotas: how much the jobs may take that a rule speaks of.

In each enabled set the first rule applies whose filters all match the job and the instance; all sets must allow the
job. A rule's use is counted together for all that it matches, and for a filter in braces by user, project, queue or
host apart. Limits of consumables and slots bound what is booked, limits of other resources what a job asks for. A limit
such as ``$num_proc*2`` is computed for each host; where the host has no such value, it does not bound anything.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping
from typing import Final, NamedTuple

from roost.gridengine.complex import Complex, value_number
from roost.gridengine.instances import QueueInstance, Resolver
from roost.gridengine.quota import FILTERS, Filter, QuotaRule, dynamic_limit
from roost.gridengine.scheduling.ledger import Ledger, Need, needs_of
from roost.gridengine.scheduling.loads import Loads, host_of
from roost.gridengine.scheduling.matching import related
from roost.gridengine.scheduling.snapshot import Grant, Request, Snapshot

#: what a counter belongs to: the rule's label, and what each filter holds apart, empty where it does not
_Counter = tuple[str, tuple[str, ...]]


class _Limit(NamedTuple):
    definition: Complex
    #: terms of a dynamic limit; None for a number
    terms: tuple[tuple[str, float], ...] | None
    number: float | None


class _Rule(NamedTuple):
    label: str
    rule: QuotaRule
    limits: tuple[_Limit, ...]


class _Place(NamedTuple):
    """A job in an instance, as filters see it; the parallel environment is always empty."""

    request: Request
    queue: str
    host: str


class Quotas:
    """The quotas of a cell and what is used of them."""

    def __init__(self, snapshot: Snapshot, loads: Loads, ledger: Ledger) -> None:
        self._cell, self._loads, self._ledger = snapshot.cell, loads, ledger
        self._complexes = snapshot.cell.complexes
        self._resolver = Resolver(snapshot.cell)
        self._sets: Final = [
            [_Rule(one.label(rule), rule, self._limits(rule)) for rule in one.rules]
            for one in snapshot.cell.quota_sets.values()
            if one.enabled
        ]
        self._used: dict[_Counter, dict[str, float]] = {}
        self._found: dict[tuple[str, tuple[str, ...], str, str, str], list[tuple[_Rule, _Counter]]] = {}
        if self._sets:
            for task in snapshot.running:
                self.book(task.request, task.grants, needs_of(task.request, self._complexes))

    def _limits(self, rule: QuotaRule) -> tuple[_Limit, ...]:
        found = []
        for name, text in rule.limits:
            if name in self._complexes:
                dynamic, definition = dynamic_limit(text), self._complexes[name]
                number = None if dynamic else value_number(definition.type, text)
                found.append(_Limit(definition, dynamic and dynamic.terms, number))
        return tuple(found)

    def _rules(self, place: _Place) -> list[tuple[_Rule, _Counter]]:
        """The rule of each set that applies, with its counter."""
        request = place.request
        key = (request.user, request.groups, request.project, place.queue, place.host)
        found = self._found.get(key)
        if found is None:
            applying = [next((one for one in rules if self._applies(one.rule, place)), None) for rules in self._sets]
            found = self._found[key] = [(one, self._counter(one, place)) for one in applying if one is not None]
        return found

    def _applies(self, rule: QuotaRule, place: _Place) -> bool:
        return all(self._matches(name, found, place) for name, found in rule.filters())

    def _matches(self, name: str, found: Filter, place: _Place) -> bool:
        if any(self._is(name, member, place) for member in found.exclude):
            return False
        return not found.include or any(self._is(name, member, place) for member in found.include)

    def _is(self, name: str, member: str, place: _Place) -> bool:
        value = _value(name, place)
        if member.startswith("@") and name == "users":
            lists = fnmatch.filter(self._cell.user_lists, member[1:])
            return any(self._cell.user_lists[one].holds(value, place.request.groups) for one in lists)
        if member.startswith("@") and name == "hosts":
            return any(self._resolver.holds(group, value) for group in fnmatch.filter(self._cell.host_groups, member))
        return bool(value) and fnmatch.fnmatchcase(value, member)

    def _counter(self, one: _Rule, place: _Place) -> _Counter:
        filters: Mapping[str, Filter] = dict(one.rule.filters())
        apart = tuple(_value(name, place) if name in filters and filters[name].expanded else "" for name in FILTERS)
        return one.label, apart

    def refusal(self, request: Request, instance: QueueInstance, needs: tuple[Need, ...]) -> str | None:
        """Why quotas keep a job out of an instance; None if they allow a slot there."""
        if not self._sets:
            return None
        for (label, _, limits), counter in self._rules(_Place(request, instance.queue, instance.host)):
            if any(not self._allows(limit, request, instance.host, counter, needs) for limit in limits):
                return f'cannot run because it exceeds limit "{"/".join(counter[1])}/" in rule "{label}"'
        return None

    def _allows(self, limit: _Limit, request: Request, host: str, counter: _Counter, needs: tuple[Need, ...]) -> bool:
        definition, bound = limit.definition, self._bound(limit, host)
        if bound is None:
            return True
        if definition.is_consumable:
            wanted = next((need.amount for need in needs if need.name == definition.name), 0.0)
            used = self._used.get(counter)
            return not wanted or (used.get(definition.name, 0.0) if used else 0.0) + wanted <= bound
        asked = dict(request.hard).get(definition.name)
        number = None if asked is None else value_number(definition.type, asked)
        return number is None or related(definition, number, bound)

    def _bound(self, limit: _Limit, host: str) -> float | None:
        if limit.terms is None:
            return limit.number
        total = 0.0
        for name, weight in limit.terms:
            value: float | str | None = 1.0
            if name:
                found = self._ledger.fixed(host, name)
                value = found[0] if found else None
            total += weight * value if isinstance(value, float) else math.inf
        return total

    def book(self, request: Request, grants: tuple[Grant, ...], needs: tuple[Need, ...]) -> None:
        """Count a task; what it takes once counts where its master is."""
        for number, (instance, slots) in enumerate(grants):
            queue, host = instance.rpartition("@")[0], host_of(instance)
            for _, counter in self._rules(_Place(request, queue, host)):
                used = self._used.setdefault(counter, {})
                for name, wanted, once in needs:
                    if not once or number == 0:
                        used[name] = used.get(name, 0.0) + (wanted if once else wanted * slots)


def _value(name: str, place: _Place) -> str:
    match name:
        case "users":
            return place.request.user
        case "projects":
            return place.request.project
        case "queues":
            return place.queue
        case "hosts":
            return place.host
        case _:
            return ""
