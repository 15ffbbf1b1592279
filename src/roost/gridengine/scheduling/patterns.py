"""Names of queues in requests: ``queue``, ``queue@host`` and ``queue@@group``, each part with wildcards."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

from roost.gridengine.cell import Cell
from roost.gridengine.instances import QueueInstance, Resolver
from roost.gridengine.objects.parallel import ParallelEnvironment


def environments(pattern: str, cell: Cell) -> list[ParallelEnvironment]:
    """The parallel environments that a pattern with wildcards names, in the order of their names."""
    found = cell.parallel_environments
    if pattern in found:
        return [found[pattern]]
    return [found[name] for name in fnmatch.filter(sorted(found), pattern)]


class QueuePatterns:
    """Matches patterns against the queues and hosts of one cell."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._groups = tuple(cell.host_groups)
        self._resolver = Resolver(cell)

    def queue(self, pattern: str, queue: str) -> bool:
        """Whether a pattern can match instances of a queue."""
        return fnmatch.fnmatchcase(queue, pattern.partition("@")[0])

    def host(self, pattern: str, host: str) -> bool:
        """Whether a pattern can match instances on a host."""
        _, at, place = pattern.partition("@")
        if not at:
            return True
        if place.startswith("@"):
            return any(self._resolver.holds(group, host) for group in fnmatch.filter(self._groups, place))
        return fnmatch.fnmatchcase(host, place.lower())

    def means(self, pattern: str) -> bool:
        """Whether a pattern matches a queue or, if it names hosts, an instance."""
        queues = (name for name in self._cell.queues if self.queue(pattern, name))
        if "@" not in pattern:
            return next(queues, None) is not None
        hosts = (host for name in queues for host in self._resolver.hosts(self._cell.queues[name]))
        return any(self.host(pattern, host) for host in hosts)

    def any_queue(self, patterns: Iterable[str], queue: str) -> bool:
        """Whether one of several patterns can match instances of a queue."""
        return any(self.queue(pattern, queue) for pattern in patterns)

    def any_host(self, patterns: Iterable[str], host: str) -> bool:
        """Whether one of several patterns can match instances on a host."""
        return any(self.host(pattern, host) for pattern in patterns)

    def any_instance(self, patterns: Iterable[str], instance: QueueInstance) -> bool:
        """Whether one of several patterns matches an instance."""
        return any(self.queue(one, instance.queue) and self.host(one, instance.host) for one in patterns)

    def named(self, patterns: Iterable[str], instance: QueueInstance, with_host: bool) -> bool:
        """Whether a pattern without wildcards matches an instance, and with `with_host` names its host."""
        plain = (one for one in patterns if not set(one) & set("*?[") and (not with_host or "@" in one))
        return self.any_instance(plain, instance)
