"""What a job of a pool asks a cell for: attributes of its ad, in the form of the options of `qsub`.

=====================  =============  ==========================================================
attribute              option         form
=====================  =============  ==========================================================
``CellResources``      ``-l``         ``name=value`` pairs, separated by commas; a name alone means ``name=TRUE``
``CellSoftResources``  ``-soft -l``   the same
``CellQueues``         ``-q``         queues, instances and queue domains, separated by commas
``CellSoftQueues``     ``-soft -q``   the same
``CellProject``        ``-P``         a project
=====================  =============  ==========================================================

A job without any of them is a job that asks for a slot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from roost.classad import ClassAd
from roost.gridengine.cell import Cell
from roost.gridengine.complex import bad_value, by_any_name
from roost.gridengine.pairs import Pair
from roost.gridengine.scheduling import Request
from roost.gridengine.scheduling.ledger import SLOTS
from roost.model.cell_requests import ASKED, PROJECT, QUEUES, RESOURCES, SOFT_QUEUES, SOFT_RESOURCES

#: Attributes that tell the jobs of a cell apart: each cluster is a job of its own, as in Grid Engine.
SIGNIFICANT: Final = ("ClusterId", "JobPrio", *ASKED)

#: A user to the groups of the operating system that count in user lists.
Groups = Callable[[str], tuple[str, ...]]


def words(text: str) -> tuple[str, ...]:
    """The parts of a list, which commas separate."""
    return tuple(word for each in text.split(",") if (word := each.strip()))


def pairs(text: str) -> tuple[Pair, ...]:
    """The pairs of a list of resources, names as written; of a name that comes again the last counts."""
    found: dict[str, str] = {}
    for word in words(text):
        name, equals, value = word.partition("=")
        found[name.strip()] = value.strip() if equals else "TRUE"
    return tuple(Pair(name, value) for name, value in found.items())


def text_of(ad: ClassAd, name: str) -> str:
    """A text of a job's ad; empty for anything else."""
    value = ad.get(name)
    return value if isinstance(value, str) else ""


class Reader:
    """Reads requests of jobs to one cell."""

    def __init__(self, cell: Cell, groups: Groups) -> None:
        self._cell, self._groups = cell, groups
        self._complexes = by_any_name(cell.complexes.values())

    def request(self, ad: ClassAd, refused_hosts: frozenset[str] = frozenset()) -> Request:
        """What a job asks for."""
        user = text_of(ad, "Owner")
        return Request(
            user=user,
            groups=self._groups(user),
            project=text_of(ad, PROJECT) or self._default_project(user),
            hard=self._named(text_of(ad, RESOURCES)),
            soft=self._named(text_of(ad, SOFT_RESOURCES)),
            queues=words(text_of(ad, QUEUES)),
            soft_queues=words(text_of(ad, SOFT_QUEUES)),
            refused_hosts=refused_hosts,
        )

    def _named(self, text: str) -> tuple[Pair, ...]:
        """Pairs with the full names of their complexes."""
        return tuple(
            Pair(found.name if (found := self._complexes.get(name)) else name, value) for name, value in pairs(text)
        )

    def _default_project(self, user: str) -> str:
        found = self._cell.users.get(user)
        project = found.default_project if found else "NONE"
        return "" if project.upper() == "NONE" else project

    def complaints(self, ad: ClassAd) -> Iterator[str]:
        """What is wrong with the requests of a job, in Grid Engine's words where it has some."""
        for name in ASKED:
            if name in ad and not isinstance(ad.get(name), str):
                yield f"{name} is not a string"
        for name, value in (*pairs(text_of(ad, RESOURCES)), *pairs(text_of(ad, SOFT_RESOURCES))):
            definition = self._complexes.get(name)
            if definition is None:
                yield f'unknown resource "{name}"'
            elif definition.requestable == "NO":
                yield f'resource "{definition.name}" configured as non requestable'
            elif definition.name == SLOTS:
                yield '"job" denied: use parallel environments instead of requesting slots explicitly'
            elif wrong := bad_value(definition, value):
                yield wrong
        for pattern in (*words(text_of(ad, QUEUES)), *words(text_of(ad, SOFT_QUEUES))):
            queue = pattern.partition("@")[0]
            if not set(queue) & set("*?[") and queue not in self._cell.queues:
                yield f'Job was rejected because job requests unknown queue "{queue}"'
        project = text_of(ad, PROJECT)
        if project and project not in self._cell.projects:
            yield f'job rejected: the requested project "{project}" does not exist'
