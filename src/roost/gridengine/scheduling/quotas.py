"""Resource quotas: how much the jobs that a rule matches may take.

In each enabled set the first rule applies whose filters all match the job and the instance; all sets must allow the
job. A rule's use is counted together for everything that it matches, but separately by user, project, parallel
environment, queue or host for a filter in braces. Limits of consumables and slots bound bookings, limits of other
resources bound requests. A limit such as ``$num_proc*2`` is computed for each host; if the host has no such value,
there is no limit.

The rules that can apply to a job are determined once per kind of job, from the filters that are not about places. Rules
without filters on places have one counter for the kind; for the others, counters are looked up by instance and shared
by kinds.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from roost.gridengine.instances import Resolver
from roost.gridengine.objects.complex import Complex, value_number
from roost.gridengine.objects.quota import FILTERS, Filter, QuotaRule, dynamic_limit
from roost.gridengine.scheduling.ledger import ALWAYS, BookedObject, Ledger, Need, Window
from roost.gridengine.scheduling.loads import Loads
from roost.gridengine.scheduling.reasons import Reason, ReasonCode
from roost.gridengine.scheduling.relation import related
from roost.gridengine.scheduling.snapshot import CellSnapshot, Grant, Request

_PLACES: Final = ("queues", "hosts")
_EVERYWHERE: Final = (Filter(include=("*",)), Filter(include=("*",), expanded=True))


class _Limit(NamedTuple):
    definition: Complex
    #: terms of a dynamic limit; None for a number
    terms: tuple[tuple[str, float], ...] | None
    number: float | None


class _Rule:
    """A rule, and the results of its filters for the places seen so far."""

    def __init__(self, label: str, rule: QuotaRule, limits: tuple[_Limit, ...]) -> None:
        self.label, self.limits = label, limits
        self.filters: Mapping[str, Filter] = dict(rule.filters())
        self.expanded = tuple(name in self.filters and self.filters[name].expanded for name in FILTERS)
        self.speaks_of_places = any(name in self.filters for name in _PLACES)
        #: filters of places that do not match all places
        self.places = [name for name in _PLACES if name in self.filters and self.filters[name] not in _EVERYWHERE]
        self.matches: dict[tuple[str, str], bool] = {}


class Counter(BookedObject):
    """The use that one rule counts together, and its limits."""

    __slots__ = ("others", "reason")

    def __init__(self, label: str, apart: tuple[str, ...], bounds: list[tuple[Complex, float]], timed: bool) -> None:
        super().__init__({one.name: bound for one, bound in bounds if one.is_consumable}, timed)
        #: the reason if the limit would be exceeded
        self.reason = Reason(ReasonCode.QUOTA, (label, apart))
        #: limits on requests
        self.others = [(one, bound) for one, bound in bounds if not one.is_consumable]

    def allows(self, needs: tuple[Need, ...], asked: Mapping[str, str], window: Window = ALWAYS) -> bool:
        """Whether a slot and its resources are left."""
        capacity = self.capacity
        if capacity:
            for name, wanted, _ in needs:
                if wanted and name in capacity and not self.has(name, wanted, window):
                    return False
        for definition, bound in self.others:
            text = asked.get(definition.name)
            number = None if text is None else value_number(definition.type, text)
            if number is not None and not related(definition, number, bound):
                return False
        return True


class Terms:
    """The quotas that apply to one kind of job."""

    __slots__ = ("anywhere", "names", "places", "sets")

    def __init__(self, names: Mapping[str, str], anywhere: tuple[Counter, ...]) -> None:
        #: user, project and parallel environment, by the name of the filter
        self.names = names
        #: counters of rules without filters on places
        self.anywhere = anywhere
        #: for each other set, the rules that may apply, in order
        self.sets: tuple[tuple[_Rule, ...], ...] = ()
        #: counters by instance, shared with other kinds for which the same rules count in the same way
        self.places: dict[str, tuple[Counter, ...]] = {}


class Quotas:
    """The quotas of a cell and their use."""

    def __init__(self, snapshot: CellSnapshot, loads: Loads, ledger: Ledger, timed: bool = False) -> None:
        self._cell, self._ledger, self._loads, self._timed = snapshot.cell, ledger, loads, timed
        self._complexes = snapshot.cell.complexes
        self._resolver = Resolver(snapshot.cell)
        self._sets: Final = [
            [_Rule(one.label(rule), rule, self._limits(rule)) for rule in one.rules]
            for one in snapshot.cell.quota_sets.values()
            if one.enabled
        ]
        self._counters: dict[tuple[str, tuple[str, ...]], Counter] = {}
        self._terms: dict[tuple[str, tuple[str, ...], str, str], Terms] = {}
        self._places: dict[object, dict[str, tuple[Counter, ...]]] = {}

    def _limits(self, rule: QuotaRule) -> tuple[_Limit, ...]:
        found = []
        for name, text in rule.limits:
            if name in self._complexes:
                dynamic, definition = dynamic_limit(text), self._complexes[name]
                number = None if dynamic else value_number(definition.type, text)
                found.append(_Limit(definition, dynamic and dynamic.terms, number))
        return tuple(found)

    # ---- which rules apply ---------------------------------------------------------------------------------------

    def terms(self, request: Request, environment: str = "") -> Terms:
        """The quotas that apply to a request in a parallel environment."""
        key = (request.user, request.groups, request.project, environment)
        found = self._terms.get(key)
        if found is None:
            found = self._terms[key] = self._new_terms(request, environment)
        return found

    def _new_terms(self, request: Request, environment: str) -> Terms:
        names = {"users": request.user, "projects": request.project, "pes": environment}
        anywhere, sets = [], []
        for rules in self._sets:
            candidates = self._candidates(rules, names, request.groups)
            if not candidates:
                continue
            if candidates[0].speaks_of_places:
                sets.append(candidates)
            else:
                anywhere.append(self._counter(candidates[0], names, "", ""))
        found = Terms(names, tuple(anywhere))
        found.sets = tuple(sets)
        apart = [
            names[name] if any(rule.expanded[place] for rules in sets for rule in rules) else ""
            for place, name in enumerate(FILTERS)
            if name not in _PLACES
        ]
        found.places = self._places.setdefault((found.sets, tuple(apart)), {})
        return found

    def _candidates(
        self, rules: Iterable[_Rule], names: Mapping[str, str], groups: tuple[str, ...]
    ) -> tuple[_Rule, ...]:
        """The rules of a set that can apply to a job, up to the first without filters on places."""
        found: list[_Rule] = []
        for rule in rules:
            if all(
                self._holds(rule.filters[name], value, self._is(name, groups))
                for name, value in names.items()
                if name in rule.filters
            ):
                found.append(rule)
                if not rule.speaks_of_places:
                    break
        return tuple(found)

    @staticmethod
    def _holds(found: Filter, value: str, is_member: Callable[[str, str], bool]) -> bool:
        if any(is_member(member, value) for member in found.exclude):
            return False
        return not found.include or any(is_member(member, value) for member in found.include)

    def _is(self, name: str, groups: tuple[str, ...] = ()) -> Callable[[str, str], bool]:
        """How members of a filter are compared with a value."""
        cell = self._cell

        def is_member(member: str, value: str) -> bool:
            if member == "*":
                return bool(value)
            if member.startswith("@") and name == "users":
                lists = fnmatch.filter(cell.user_lists, member[1:])
                return any(cell.user_lists[one].holds(value, groups) for one in lists)
            if member.startswith("@") and name == "hosts":
                return any(self._resolver.holds(group, value) for group in fnmatch.filter(cell.host_groups, member))
            return bool(value) and fnmatch.fnmatchcase(value, member)

        return is_member

    def _applies(self, rule: _Rule, queue: str, host: str) -> bool:
        return all([self._place_matches(rule, name, queue if name == "queues" else host) for name in rule.places])

    def _place_matches(self, rule: _Rule, name: str, value: str) -> bool:
        found = rule.matches.get((name, value))
        if found is None:
            found = rule.matches[name, value] = self._holds(rule.filters[name], value, self._is(name))
        return found

    # ---- counters ------------------------------------------------------------------------------------------------

    def _counter(self, rule: _Rule, names: Mapping[str, str], queue: str, host: str) -> Counter:
        values = (names["users"], names["projects"], names["pes"], queue, host)
        apart = tuple([value if expanded else "" for value, expanded in zip(values, rule.expanded, strict=True)])
        found = self._counters.get((rule.label, apart))
        if found is None:
            bounds = [(one.definition, bound) for one in rule.limits if (bound := self._bound(one, host)) is not None]
            found = self._counters[rule.label, apart] = Counter(rule.label, apart, bounds, self._timed)
        return found

    def counters(self, label: str) -> list[tuple[tuple[str, ...], Counter]]:
        """The counters of a rule created so far, with their separately counted values, by `FILTERS`."""
        found = [(apart, one) for (of, apart), one in self._counters.items() if of == label]
        return sorted(found, key=lambda each: each[0])

    def holds(self, name: str, found: Filter, value: str, groups: tuple[str, ...] = ()) -> bool:
        """Whether a filter matches a name."""
        return self._holds(found, value, self._is(name, groups))

    def _bound(self, limit: _Limit, host: str) -> float | None:
        if limit.terms is None:
            return limit.number
        total = 0.0
        for name, weight in limit.terms:
            value: float | str | None = 1.0
            if name:
                value = self._ledger.configured.get(host, {}).get(name)
                if value is None:
                    value = self._loads.reported(host, name)
            total += weight * value if isinstance(value, float) else math.inf
        return total

    def at(self, terms: Terms, instance: str) -> tuple[Counter, ...]:
        """The counters that depend on the instance."""
        if not terms.sets:
            return ()
        found = terms.places.get(instance)
        if found is None:
            queue, _, host = instance.rpartition("@")
            applying = [next((one for one in rules if self._applies(one, queue, host)), None) for rules in terms.sets]
            found = tuple(self._counter(one, terms.names, queue, host) for one in applying if one is not None)
            terms.places[instance] = found
        return found

    def book(self, terms: Terms, grants: tuple[Grant, ...], needs: tuple[Need, ...], window: Window = ALWAYS) -> None:
        """Count a task; per-job amounts count where its master is."""
        if not self._sets:
            return
        for number, (instance, slots) in enumerate(grants):
            amounts = {
                name: wanted if once else wanted * slots for name, wanted, once in needs if not once or number == 0
            }
            for counter in (*terms.anywhere, *self.at(terms, instance)):
                counter.book(amounts, window=window)
