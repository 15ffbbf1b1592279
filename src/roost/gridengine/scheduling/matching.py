"""Whether a job fits into an instance: permissions, requests and what is left of consumables.

What a job asks for is looked up on three levels, `global`, the host and the instance. Of a fixed resource with relation
``==`` or ``!=`` the lowest level that has it counts; with an ordered relation every level that has it must allow the
job. A consumable must be left on every level that has a capacity. What no level has is an unknown resource there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from roost.gridengine.complex import Complex, value_number
from roost.gridengine.host import GLOBAL, ExecutionHost
from roost.gridengine.instances import QueueInstance
from roost.gridengine.pairs import Pair
from roost.gridengine.queue import QueueSettings
from roost.gridengine.scheduling import sentences
from roost.gridengine.scheduling.expression import satisfies
from roost.gridengine.scheduling.ledger import SLOTS, Ledger, Need, Value, exclusive_names, is_true, needs_of
from roost.gridengine.scheduling.loads import Loads
from roost.gridengine.scheduling.patterns import QueuePatterns
from roost.gridengine.scheduling.snapshot import Request, Snapshot

_COMPARE: Final[dict[str, Callable[[float, float], bool]]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "EXCL": lambda left, right: left == right,
}
_LOWEST_COUNTS: Final = ("==", "!=")
_LETTERS: Final = "ghq"


def related(definition: Complex, left: Value, right: Value) -> bool:
    """Whether ``left relation right``; for texts, the left one is the expression."""
    if isinstance(left, float) and isinstance(right, float):
        return _COMPARE[definition.relation](left, right)
    return satisfies(definition.type, str(left), str(right)) != (definition.relation == "!=")


class Wish(NamedTuple):
    """A request for a resource that is not booked."""

    definition: Complex
    value: Value


@dataclass(slots=True, eq=False)
class Kind:
    """Jobs with equal requests, and what is known of them in this run."""

    request: Request
    needs: tuple[Need, ...]
    exclusive: frozenset[str]
    hard: tuple[Wish, ...]
    soft: tuple[Wish, ...]
    #: requests as reasons begin with them
    label: str
    #: positions of instances that refused
    refused: set[int] = field(default_factory=set)
    #: where in the order the first instance was that took it
    start: tuple[float, float, int] = (-math.inf, 0.0, 0)
    #: nothing takes it any more
    exhausted: bool = False
    #: the reasons, each once, in order
    reasons: dict[str, None] = field(default_factory=dict)
    #: sets of values of instances that allow it, by identity
    allowed: set[int] = field(default_factory=set)
    #: queues and hosts that refuse it as a whole, or empty text
    queues: dict[str, str] = field(default_factory=dict)
    hosts: dict[str, str] = field(default_factory=dict)


class Matcher:
    """Answers for one run whether kinds of jobs fit."""

    def __init__(self, snapshot: Snapshot, loads: Loads, ledger: Ledger) -> None:
        self._cell, self._loads, self._ledger = snapshot.cell, loads, ledger
        self._complexes = snapshot.cell.complexes
        self._implied = snapshot.forced_implied_by_queue_request
        self._patterns = QueuePatterns(snapshot.cell)
        #: by queue, an instance for each different set of values
        self._samples: dict[str, dict[int, str]] = {}
        for instance in snapshot.instances:
            self._samples.setdefault(instance.queue, {})[id(instance.settings)] = instance.name
        self._forced = {
            place: tuple(name for name in values if self._complexes[name].is_forced)
            for place, values in ledger.configured.items()
        }
        self._exclusive = {
            place: tuple(
                name
                for name, value in values.items()
                if self._complexes[name].is_exclusive and is_true(self._complexes[name], value)
            )
            for place, values in ledger.configured.items()
        }

    def kind(self, request: Request) -> Kind:
        """What a request means in this cell."""
        return Kind(
            request=request,
            needs=needs_of(request, self._complexes),
            exclusive=exclusive_names(request, self._complexes),
            hard=self._wishes(request.hard),
            soft=self._wishes(request.soft),
            label=sentences.wanted(request.hard),
        )

    def _wishes(self, pairs: tuple[Pair, ...]) -> tuple[Wish, ...]:
        found = []
        for name, text in pairs:
            definition = self._complexes.get(name)
            if definition is not None and not definition.is_consumable:
                value = value_number(definition.type, text)
                found.append(Wish(definition, text if value is None else value))
        return tuple(found)

    # ---- the cell ----------------------------------------------------------------------------------------------

    def cell_refusal(self, kind: Kind) -> str | None:
        """Why a kind cannot run anywhere."""
        unknown = next((name for name, _ in kind.request.hard if name not in self._complexes), None)
        if unknown is not None:
            return f"{kind.label} cannot run because job requests unknown resource ({unknown})"
        return (
            self._host_permission(kind, GLOBAL)
            or self._forced_refusal(kind, GLOBAL, f"host {GLOBAL}", None)
            or self._stock_refusal(kind, GLOBAL, 0, "globally")
            or self._exclusive_refusal(kind, GLOBAL, "globally")
        )

    # ---- an instance -------------------------------------------------------------------------------------------

    def refusal(self, kind: Kind, instance: QueueInstance) -> str | None:
        """Why a kind does not fit into an instance now; None if it does, as far as the cell allows it."""
        queue = kind.queues.get(instance.queue)
        if queue is None:
            queue = kind.queues[instance.queue] = self._queue_refusal(kind, instance.queue) or ""
        if queue:
            return queue
        host = kind.hosts.get(instance.host)
        if host is None:
            host = kind.hosts[instance.host] = self._host_refusal(kind, instance.host) or ""
        return host or self._fixed_refusal(kind, instance) or self._room_refusal(kind, instance)

    def _fixed_refusal(self, kind: Kind, instance: QueueInstance) -> str | None:
        """What the values of an instance refuse; without ``-q``, those with the same values do the same."""
        values = id(instance.settings)
        if values in kind.allowed:
            return None
        refusal = self._own_refusal(kind, instance)
        if refusal is None and not kind.request.queues:
            kind.allowed.add(values)
        return refusal

    def _queue_refusal(self, kind: Kind, queue: str) -> str | None:
        request = kind.request
        if request.queues and not self._patterns.any_queue(request.queues, queue):
            return sentences.not_in_queues(queue)
        configured = self._cell.queues.get(queue)
        if configured is None:
            return None
        overrides = configured.overrides
        if not {"user_lists", "xuser_lists"} & set(overrides) and not self._may(kind, configured.defaults):
            return f'has no permission for cluster queue "{queue}"'
        if not {"projects", "xprojects"} & set(overrides):
            project = _project_refusal(request, configured.defaults, f'in cluster queue "{queue}"')
            if project:
                return project
        if any(self._nowhere(wish, queue) for wish in kind.hard):
            return f'{kind.label} cannot run in queue "{queue}" because of cluster queue'
        return None

    def _nowhere(self, wish: Wish, queue: str) -> bool:
        """Whether no instance of a queue has a value that meets a request."""
        offers = [self._ledger.configured[name].get(wish.definition.name) for name in self._samples[queue].values()]
        return all([offer is not None and not related(wish.definition, wish.value, offer) for offer in offers])

    def _host_refusal(self, kind: Kind, host: str) -> str | None:
        if kind.request.queues and not self._patterns.any_host(kind.request.queues, host):
            return sentences.not_in_queues(host)
        return self._host_permission(kind, host)

    def _host_permission(self, kind: Kind, name: str) -> str | None:
        host = self._cell.hosts.get(name)
        if host is None:
            return None
        if not self._may(kind, host):
            return f'has no permission for host "{name}"'
        return _project_refusal(kind.request, host, f'on host "{name}"')

    def _may(self, kind: Kind, place: QueueSettings | ExecutionHost) -> bool:
        if not place.user_lists and not place.xuser_lists:
            return True
        request, lists = kind.request, self._cell.user_lists
        if any(one in lists and lists[one].holds(request.user, request.groups) for one in place.xuser_lists):
            return False
        allowed = place.user_lists
        return not allowed or any(one in lists and lists[one].holds(request.user, request.groups) for one in allowed)

    def _own_refusal(self, kind: Kind, instance: QueueInstance) -> str | None:
        request, settings, name = kind.request, instance.settings, instance.name
        if request.queues and not self._patterns.any_instance(request.queues, instance):
            return sentences.not_in_queues(name)
        if not self._may(kind, settings):
            return f'has no permission for queue "{name}"'
        project = _project_refusal(request, settings, f'in queue "{name}"')
        if project:
            return project
        if request.interactive and not settings.interactive:
            return f'cannot run in queue instance "{name}" because it is not of type interactive'
        if request.checkpoint:
            if request.checkpoint not in settings.ckpt_list:
                return f'queue instance "{name}" does not offer the checkpointing interface "{request.checkpoint}"'
        elif not request.interactive and not settings.batch:
            return f'cannot run in queue instance "{name}" because it is not of type batch'
        return None

    def _room_refusal(self, kind: Kind, instance: QueueInstance) -> str | None:
        host, name = instance.host, instance.name
        at_host, in_queue = f'at host "{host}"', f'in queue "{name}"'
        return (
            self._forced_refusal(kind, host, f"host {host}", instance)
            or self._forced_refusal(kind, name, f"queue instance {name}", instance)
            or self._remembered(kind, host, self._stock_refusal(kind, host, 1, at_host))
            or self._remembered(kind, host, self._exclusive_refusal(kind, host, at_host))
            or self._wish_refusal(kind, instance)
            or self._stock_refusal(kind, name, 2, in_queue)
            or self._exclusive_refusal(kind, name, in_queue)
            or self._unknown_refusal(kind, instance)
        )

    def _remembered(self, kind: Kind, host: str, refusal: str | None) -> str | None:
        if refusal is not None:
            kind.hosts[host] = refusal
        return refusal

    def _forced_refusal(self, kind: Kind, place: str, called: str, instance: QueueInstance | None) -> str | None:
        forced = self._forced[place]
        if not forced:
            return None
        queues, with_host = kind.request.queues, "@" not in place
        if self._implied and queues and instance and self._patterns.named(queues, instance, with_host):
            return None
        asked = {name for name, _ in kind.request.hard}
        missing = next((name for name in forced if name not in asked), None)
        return missing and f"does not request 'forced' resource \"{missing}\" of {called}"

    def _stock_refusal(self, kind: Kind, place: str, level: int, where: str) -> str | None:
        """Whether one slot's worth of each consumable is left in a place."""
        asked = None
        for name, wanted, _ in kind.needs:
            left = self._ledger.available(place, name)
            source = "c"
            if left is None:
                if name not in self._loads.names:
                    continue
                load = self._loads.value(place, name)
                if not isinstance(load, float):
                    continue
                left, source = load, "l"
            if wanted > left:
                asked = asked or {one for one, _ in kind.request.hard}
                default = "" if name in asked or name == SLOTS else "for default request "
                offered = f"{_LETTERS[level]}{source}:{name}={sentences.amount(self._complexes[name], left)}"
                return f"{kind.label} cannot run {where} because {default}it offers only {offered}"
        return None

    def _exclusive_refusal(self, kind: Kind, place: str, where: str) -> str | None:
        for name in self._exclusive[place]:
            if name in kind.exclusive:
                taken, default = self._ledger.tasks.get(place, 0), ""
            else:
                taken, default = self._ledger.exclusive.get(place, {}).get(name, 0), "for default request "
            if taken:
                return f"{kind.label} cannot run {where} because {default}exclusive resource ({name}) is already in use"
        return None

    def _wish_refusal(self, kind: Kind, instance: QueueInstance) -> str | None:
        for wish in kind.hard:
            found = self._wish_failure(wish, instance)
            if found:
                return f"{kind.label} cannot run {found}"
        return None

    def _wish_failure(self, wish: Wish, instance: QueueInstance) -> str | None:
        """Where and why a request for a fixed resource is not met, as the end of a reason."""
        definition, wanted = wish
        known = False
        for level, place, where in self._levels(definition, instance):
            found = self._offer(definition.name, place, level, instance)
            if found is None:
                continue
            known = True
            value, source = found
            if not related(definition, wanted, value):
                offered = f"{_LETTERS[level]}{source}:{definition.name}={sentences.amount(definition, value)}"
                return f"{where} because it offers only {offered}"
            if definition.relation in _LOWEST_COUNTS:
                break
        return (
            None if known else f'in queue "{instance.name}" because job requests unknown resource ({definition.name})'
        )

    def _levels(self, definition: Complex, instance: QueueInstance) -> Iterator[tuple[int, str, str]]:
        levels = (
            (0, GLOBAL, "globally"),
            (1, instance.host, f'at host "{instance.host}"'),
            (2, instance.name, f'in queue "{instance.name}"'),
        )
        return reversed(levels) if definition.relation in _LOWEST_COUNTS else iter(levels)

    def _offer(self, name: str, place: str, level: int, instance: QueueInstance) -> tuple[Value, str] | None:
        if level == 2 and name in ("qname", "hostname"):
            return (instance.queue if name == "qname" else instance.host), "f"
        return self._ledger.fixed(place, name)

    def _unknown_refusal(self, kind: Kind, instance: QueueInstance) -> str | None:
        """A consumable that the job asks for and no level has."""
        for name, _ in kind.request.hard:
            if name in self._complexes and not self._complexes[name].is_consumable:
                continue
            places = (GLOBAL, instance.host, instance.name)
            if all(self._ledger.fixed(place, name) is None for place in places):
                unknown = f"because job requests unknown resource ({name})"
                return f'{kind.label} cannot run in queue "{instance.name}" {unknown}'
        return None

    # ---- soft requests -----------------------------------------------------------------------------------------

    def unmet(self, kind: Kind, instance: QueueInstance) -> int:
        """How many soft requests an instance does not meet."""
        found = sum([self._wish_failure(wish, instance) is not None for wish in kind.soft])
        queues = kind.request.soft_queues
        return found + (bool(queues) and not self._patterns.any_instance(queues, instance))


def _project_refusal(request: Request, place: QueueSettings | ExecutionHost, where: str) -> str | None:
    if request.project in place.xprojects or (place.projects and request.project not in place.projects):
        return f"({request.project or 'no project'}) does not have the correct project to run {where}"
    return None
