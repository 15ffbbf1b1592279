"""Queue instances, and the value of each attribute of an instance.

A cluster queue has one instance on each host of its host list. For each attribute the instance takes, in this order:
the override for its host; the override for a host group that holds the host, if there is exactly one; the default. Two
or more groups make the attribute ambiguous, even if their values are equal: the instance then has the default and is in
state c, accepts no new jobs, and its jobs continue. An instance whose host has left the list while jobs run there is an
orphan, state o, until the last of them ends. Overrides for hosts that are not in the list are kept but have no effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from roost.base import records
from roost.gridengine.cell import Cell
from roost.gridengine.objects.host import HostGroup
from roost.gridengine.objects.queue import ClusterQueue, QueueSettings


class Ambiguity(NamedTuple):
    """An attribute for which several host groups give an instance a value."""

    attribute: str
    groups: tuple[str, ...]

    def __str__(self) -> str:
        groups = ", ".join(f'"{group}"' for group in self.groups)
        return f'"{self.attribute}" has ambiguous value ({groups})'


@records.dataclass(frozen=True, slots=True, kw_only=True)
class QueueInstance:
    """A queue on a host."""

    queue: str
    host: str
    settings: QueueSettings
    ambiguous: tuple[Ambiguity, ...] = ()
    #: jobs run there, and the host is no longer in the queue's host list
    orphaned: bool = False

    @property
    def name(self) -> str:
        """``queue@host``."""
        return f"{self.queue}@{self.host}"

    @property
    def states(self) -> str:
        """The state letters from the configuration: c and o."""
        return ("c" if self.ambiguous else "") + ("o" if self.orphaned else "")


def hosts_of(members: Iterable[str], groups: Mapping[str, HostGroup]) -> tuple[str, ...]:
    """The hosts of a host list, groups resolved at any depth, each once, in order.

    Unknown groups have no hosts, and a group that contains itself is visited once.
    """
    found: dict[str, None] = {}
    entered: set[str] = set()
    waiting = list(members)[::-1]
    while waiting:
        member = waiting.pop()
        if not member.startswith("@"):
            found[member] = None
        elif member not in entered and member in groups:
            entered.add(member)
            waiting.extend(reversed(groups[member].hostlist))
    return tuple(found)


def circle(group: str, members: Iterable[str], groups: Mapping[str, HostGroup]) -> bool:
    """Whether a group with these members would contain itself, directly or through others."""
    entered: set[str] = set()
    waiting = [member for member in members if member.startswith("@")]
    while waiting:
        member = waiting.pop()
        if member == group:
            return True
        if member not in entered and member in groups:
            entered.add(member)
            waiting.extend(each for each in groups[member].hostlist if each.startswith("@"))
    return False


class Resolver:
    """Resolves instances of one cell; looks each host group up once."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._hosts: dict[str, frozenset[str]] = {}

    def holds(self, group: str, host: str) -> bool:
        """Whether a host group contains a host, directly or through other groups."""
        if group not in self._hosts:
            self._hosts[group] = frozenset(hosts_of((group,), self._cell.host_groups))
        return host in self._hosts[group]

    def hosts(self, queue: ClusterQueue) -> tuple[str, ...]:
        """The hosts of a queue."""
        return hosts_of(queue.hostlist, self._cell.host_groups)

    def instance(self, queue: ClusterQueue, host: str, orphaned: bool = False) -> QueueInstance:
        """The instance of a queue on a host."""
        values: dict[str, Any] = {}
        ambiguous: list[Ambiguity] = []
        for attribute, overrides in queue.overrides.items():
            if host in overrides:
                values[attribute] = overrides[host]
                continue
            groups = tuple(each for each in overrides if each.startswith("@") and self.holds(each, host))
            if len(groups) == 1:
                values[attribute] = overrides[groups[0]]
            elif groups:
                ambiguous.append(Ambiguity(attribute, groups))
        settings = records.replace(queue.defaults, **values) if values else queue.defaults
        return QueueInstance(
            queue=queue.name, host=host, settings=settings, ambiguous=tuple(ambiguous), orphaned=orphaned
        )

    def instances(self, queue: ClusterQueue, occupied: Iterable[str] = ()) -> Iterator[QueueInstance]:
        """The instances of a queue in the order of its host list, then the orphans among the hosts `occupied`."""
        hosts = self.hosts(queue)
        for host in hosts:
            yield self.instance(queue, host)
        for host in sorted(set(occupied) - set(hosts)):
            yield self.instance(queue, host, orphaned=True)

    def detached(self, queue: ClusterQueue) -> list[tuple[str, str]]:
        """Attribute and host or group of each override that no instance can use."""
        hosts = self.hosts(queue)
        return [
            (attribute, domain)
            for attribute, overrides in queue.overrides.items()
            for domain in overrides
            if not (any([self.holds(domain, host) for host in hosts]) if domain.startswith("@") else domain in hosts)
        ]


_NO_JOBS: Final[Mapping[str, Iterable[str]]] = {}


def resolve(cell: Cell, occupied: Mapping[str, Iterable[str]] = _NO_JOBS) -> tuple[QueueInstance, ...]:
    """All queue instances of a cell, queue by queue; `occupied` gives, for each queue, the hosts where its jobs run."""
    resolver = Resolver(cell)
    return tuple(
        instance
        for name, queue in cell.queues.items()
        for instance in resolver.instances(queue, occupied.get(name, ()))
    )
