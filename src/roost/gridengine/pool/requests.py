"""A job's requests to a cell: attributes of its ad, in the form of the options of `qsub`.

=====================  =============  ==========================================================
attribute              option         form
=====================  =============  ==========================================================
``CellResources``      ``-l``         ``name=value`` pairs, separated by commas; a name alone means ``name=TRUE``
``CellSoftResources``  ``-soft -l``   the same
``CellQueues``         ``-q``         queues, instances and queue domains, separated by commas
``CellSoftQueues``     ``-soft -q``   the same
``CellProject``        ``-P``         a project
``CellParallel``       ``-pe``        a parallel environment, with wildcards, and ranges of slots: ``mpi 2-4,8``
``CellMasterQueues``   ``-masterq``   as ``CellQueues``, for the master of a parallel job
``CellCheckpoint``     ``-ckpt``      a checkpointing interface
``CellCheckpointWhen`` ``-c``         n, letters of s, m and x, or a time
``CellImmediate``      ``-now y``     TRUE for a job that starts now or not at all, in an interactive queue
``CellReserve``        ``-R y``       TRUE for a job for which the run reserves resources
``CellShare``          ``-js``        functional share of the job, a number
``CellOverrideTickets``  ``-ot``      override tickets, a number
``CellReservation``    ``-ar``       number of the advance reservation whose resources the job uses
``CellDeadline``       ``-dl``        deadline, epoch s
``CellCleaned``                       host where it was rescheduled, and epoch s until which it does not start there
=====================  =============  ==========================================================

A job without any of them requests one slot.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Final

from roost.classad import ClassAd
from roost.gridengine.cell import Cell
from roost.gridengine.objects.complex import Type, bad_value, by_any_name
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.objects.values import SLOTS_MAX, bad_name, is_none, seconds
from roost.gridengine.scheduling import Range, Request
from roost.gridengine.scheduling.ledger import SLOTS
from roost.gridengine.scheduling.patterns import QueuePatterns, environments
from roost.model.cell_requests import (
    ASKED,
    CHECKPOINT,
    CHECKPOINT_WHEN,
    CLEANED,
    IMMEDIATE,
    MASTER_QUEUES,
    PARALLEL,
    PATHS,
    PROJECT,
    QUEUES,
    RANKED,
    RESERVATION,
    RESOURCES,
    SOFT_QUEUES,
    SOFT_RESOURCES,
)
from roost.model.path_lists import is_host, path_list

#: Attributes that distinguish the jobs of a cell: each cluster is a job of its own, as in Grid Engine.
SIGNIFICANT: Final = ("ClusterId", "JobPrio", IMMEDIATE, RESERVATION, CLEANED, *RANKED, *ASKED)

_RANGE: Final = re.compile(r"(\d+)?(-)?(\d+)?\Z")

#: Returns a user's operating system groups that count in user lists.
Groups = Callable[[str], tuple[str, ...]]


def words(text: str) -> tuple[str, ...]:
    """The parts of a list, which commas separate."""
    return tuple(word for each in text.split(",") if (word := each.strip()))


def pairs(text: str) -> tuple[Pair, ...]:
    """The pairs of a list of resources, names as written; for a repeated name the last one counts."""
    found: dict[str, str] = {}
    for word in words(text):
        name, equals, value = word.partition("=")
        found[name.strip()] = value.strip() if equals else "TRUE"
    return tuple(Pair(name, value) for name, value in found.items())


def text_of(ad: ClassAd, name: str) -> str:
    """A text of a job's ad; empty for anything else."""
    value = ad.get(name)
    return value if isinstance(value, str) else ""


def _cleaned_host(ad: ClassAd, now: float) -> str:
    host, _, until = text_of(ad, CLEANED).partition(" ")
    return host if until and now < float(until) else ""


def slot_ranges(text: str) -> tuple[Range, ...]:
    """The ranges of `qsub -pe`: ``4``, ``2-8``, ``2-`` and ``-8``, separated by commas, in order and without overlaps.

    As in Grid Engine ``8-2`` is ``2-8``. Raises ValueError.
    """
    given: list[Range] = []
    for word in text.split(","):
        match = _RANGE.match(word.strip())
        if match is None or not (match[1] or match[3]) or (match[3] and not match[2]):
            raise ValueError(f'"{word.strip()}" is not a range of slots: write n, n-m, n- or -m')
        first = int(match[1] or 1)
        last = int(match[3] or (SLOTS_MAX if match[2] else first))
        if not first or not last:
            raise ValueError("pe range must be greater than zero")
        if max(first, last) > SLOTS_MAX:
            raise ValueError(f'"{word.strip()}" asks for more than {SLOTS_MAX} slots')
        given.append(Range(min(first, last), max(first, last)))
    found: list[Range] = []
    for low, high in sorted(given):
        if found and low <= found[-1].high + 1:
            found[-1] = Range(found[-1].low, max(high, found[-1].high))
        else:
            found.append(Range(low, high))
    return tuple(found)


def parallel(text: str) -> tuple[str, tuple[Range, ...]]:
    """The requested parallel environment, and the ranges; "" and empty for none. Raises ValueError."""
    name, _, amounts = text.strip().partition(" ")
    if not name:
        return "", ()
    if not amounts.strip():
        raise ValueError(f'parallel environment "{name}" is asked for without a number of slots')
    return name, slot_ranges(amounts)


def when_of(text: str) -> tuple[str, float | None]:
    """The letters of `-c`, and the time in s, None for none. Raises ValueError for anything else."""
    if not text or set(text) <= set("nsmx"):
        return text, None
    found = seconds(text)
    if found is None or not math.isfinite(found):
        raise ValueError("-c specifier invalid")
    if not found:
        raise ValueError("-c argument invalid")
    return "", found


class Reader:
    """Reads requests of jobs to one cell."""

    def __init__(self, cell: Cell, groups: Groups) -> None:
        self._cell, self._groups = cell, groups
        self._complexes = by_any_name(cell.complexes.values())
        self._patterns = QueuePatterns(cell)

    def request(self, ad: ClassAd, refused_hosts: frozenset[str] = frozenset(), now: float = math.inf) -> Request:
        """The requests of a job; `now` decides whether it is still kept from the host from which it was rescheduled."""
        user = text_of(ad, "Owner")
        environment, slots = parallel(text_of(ad, PARALLEL))
        return Request(
            user=user,
            groups=self._groups(user),
            project=text_of(ad, PROJECT) or self._default_project(user),
            hard=self._named(text_of(ad, RESOURCES)),
            soft=self._named(text_of(ad, SOFT_RESOURCES)),
            queues=words(text_of(ad, QUEUES)),
            soft_queues=words(text_of(ad, SOFT_QUEUES)),
            environment=environment,
            slots=slots,
            master_queues=words(text_of(ad, MASTER_QUEUES)) if environment else (),
            refused_hosts=refused_hosts,
            cleaned_host=_cleaned_host(ad, now),
            interactive=ad.get(IMMEDIATE) is True,
            checkpoint=text_of(ad, CHECKPOINT),
        )

    def _named(self, text: str) -> tuple[Pair, ...]:
        """Pairs with the full names of their complexes."""
        return tuple(
            Pair(found.name if (found := self._complexes.get(name)) else name, value) for name, value in pairs(text)
        )

    def _default_project(self, user: str) -> str:
        found = self._cell.user(user)
        project = found.default_project if found else "NONE"
        return "" if project.upper() == "NONE" else project

    def complaints(self, ad: ClassAd) -> Iterator[str]:
        """Problems with the requests of a job, in Grid Engine's words where it has a message."""
        for name in ASKED:
            if name in ad and not isinstance(ad.get(name), str):
                yield f"{name} is not a string"
        if text_of(ad, MASTER_QUEUES) and not text_of(ad, PARALLEL):
            yield "job rejected: specification of master queue is not allowed for non-parallel jobs"
        # Of the following problems, Grid Engine reports the first it finds.
        found: list[str] = []
        for complaints in (
            self._path_complaints, self._resource_complaints, self._queue_complaints, self._parallel_complaints,
            self._checkpoint_complaints, self._project_complaints,
        ):  # fmt: skip
            found = found or list(complaints(ad))
        yield from found

    def _resource_complaints(self, ad: ClassAd) -> Iterator[str]:
        for attribute in (RESOURCES, SOFT_RESOURCES):
            for name, value in pairs(text_of(ad, attribute)):
                if wrong := self._wrong_pair(name, value, is_soft=attribute == SOFT_RESOURCES):
                    yield wrong
                    return

    def _queue_complaints(self, ad: ClassAd) -> Iterator[str]:
        given = (word for name in (QUEUES, SOFT_QUEUES, MASTER_QUEUES) for word in text_of(ad, name).split(","))
        for pattern in (word.strip() or word for word in given if word):
            if not self._patterns.means(pattern):
                yield f'Job was rejected because job requests unknown queue "{"" if is_none(pattern) else pattern}"'

    def _project_complaints(self, ad: ClassAd) -> Iterator[str]:
        project = text_of(ad, PROJECT)
        if project and project not in self._cell.projects:
            yield _named_wrongly(project) or f'job rejected: the requested project "{project}" does not exist'

    def _path_complaints(self, ad: ClassAd) -> Iterator[str]:
        """Paths for hosts that the cell does not have, which would never apply."""
        for attribute in PATHS:
            try:
                entries = path_list(text_of(ad, attribute))
            except ValueError as problem:
                yield str(problem)
                continue
            known = (*self._cell.hosts, *self._cell.submit_hosts, *self._cell.admin_hosts)
            for host in dict.fromkeys(entry.host for entry in entries if entry.host):
                if not any(is_host(host, each) for each in known):
                    yield f'can\'t resolve hostname "{host}"'

    def _wrong_pair(self, name: str, value: str, *, is_soft: bool) -> str | None:
        definition = self._complexes.get(name)
        if definition is None:
            return f'unknown resource "{name}"'
        if definition.requestable == "NO":
            return f'resource "{definition.name}" configured as non requestable'
        if not value:
            return f'denied: missing value for resource "{definition.name}"'
        if definition.name == SLOTS and bad_value(definition, value) is None:
            return '"job" denied: use parallel environments instead of requesting slots explicitly'
        if wrong := bad_value(definition, value):
            return wrong
        if definition.type is Type.HOST and value.startswith("@"):
            return f'can\'t resolve hostname "{value}"'
        if is_soft and definition.is_consumable:
            return f'denied: soft requests on consumables like "{definition.name}" are not supported'
        return None

    def _checkpoint_complaints(self, ad: ClassAd) -> Iterator[str]:
        name, when = text_of(ad, CHECKPOINT), text_of(ad, CHECKPOINT_WHEN)
        try:
            letters, _ = when_of(when)
        except ValueError as problem:
            yield str(problem)
            return
        if name and name not in self._cell.checkpoints:
            yield (
                _named_wrongly(name) or f'job rejected: the requested checkpointing environment "{name}" does not exist'
            )
        elif "n" in letters and (name or set(letters) != {"n"}):
            yield 'job rejected: checkpointing with "-c n" requested'
        elif not name and when and "n" not in letters:
            yield "checkpointing denied"

    def _parallel_complaints(self, ad: ClassAd) -> Iterator[str]:
        try:
            name, _ = parallel(text_of(ad, PARALLEL))
        except ValueError as problem:
            yield f'"job" rejected: {problem}'
            return
        found = environments(name, self._cell) if name else []
        if name and not found:
            yield f'job rejected: the requested parallel environment "{name}" does not exist'


def _named_wrongly(name: str) -> str | None:
    """Why a name is invalid, unless it is a pattern."""
    return bad_name(name.replace("*", "x"))
