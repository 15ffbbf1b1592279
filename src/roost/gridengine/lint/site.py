"""The data for rules: a cell, its queue instances, and the programs that its commands name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from roost.base import records
from roost.gridengine.cell import Cell
from roost.gridengine.instances import QueueInstance, Resolver
from roost.gridengine.objects.complex import Complex, by_any_name
from roost.gridengine.objects.host import GLOBAL
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.objects.queue import ClusterQueue
from roost.gridengine.objects.values import is_none, words


def _no_program(path: str) -> str | None:
    return None


@records.dataclass(frozen=True, slots=False, kw_only=True)
class CheckedCell:
    """A cell that is checked."""

    cell: Cell
    #: the text of a program, None if it is not known here
    program: Callable[[str], str | None] = _no_program

    @cached_property
    def resolver(self) -> Resolver:
        """Resolves instances."""
        return Resolver(self.cell)

    @cached_property
    def instances(self) -> tuple[QueueInstance, ...]:
        """All queue instances."""
        return tuple(one for queue in self.cell.queues.values() for one in self.resolver.instances(queue))

    @cached_property
    def complexes(self) -> dict[str, Complex]:
        """Complexes by name and shortcut."""
        return dict(by_any_name(self.cell.complexes.values()))

    def at(self, queue: str) -> list[QueueInstance]:
        """The instances of a queue."""
        return [one for one in self.instances if one.queue == queue]

    def settings(self, attribute: str) -> Iterator[tuple[ClusterQueue, str, Any]]:
        """Each value of an attribute of queues: the queue, the host or group (empty for the default), the value."""
        for queue in self.cell.queues.values():
            yield queue, "", getattr(queue.defaults, attribute)
            for domain, value in queue.overrides.get(attribute, {}).items():
                yield queue, domain, value

    def attached(self) -> Iterator[tuple[str, str, Pair]]:
        """Each value of a complex: the file, a description of its owner, and the value."""
        for host in self.cell.hosts.values():
            word = "the whole cell" if host.name == GLOBAL else f"host {host.name}"
            for pair in host.complex_values:
                yield f"execution/{host.name}", word, pair
        for queue, domain, pairs in self.settings("complex_values"):
            where = f"queue {queue.name}@{domain}" if domain else f"queue {queue.name}"
            for pair in pairs:
                yield f"cqueues/{queue.name}", where, pair

    def users(self, names: tuple[str, ...]) -> set[str]:
        """The entries of user lists."""
        return {entry for name in names if name in self.cell.user_lists for entry in self.cell.user_lists[name].entries}

    def commands(self, *attributes: str) -> Iterator[tuple[str, str, str]]:
        """File, attribute and text of the commands of queues, and of configurations under the same names."""
        for attribute in attributes:
            for queue, _, text in self.settings(attribute):
                if not is_none(text):
                    yield f"cqueues/{queue.name}", attribute, text
            for configuration in self.cell.configurations.values():
                text = configuration.get(attribute) or "none"
                if not is_none(text):
                    yield f"configurations/{configuration.name}", attribute, text

    def parameter(self, configuration: str, name: str) -> str | None:
        """An attribute of a configuration."""
        found = self.cell.configurations.get(configuration)
        return found.get(name) if found else None


def names_of(text: str | None) -> tuple[str, ...]:
    """The names of a list in a configuration."""
    return words(text or "NONE", r"\s,")
