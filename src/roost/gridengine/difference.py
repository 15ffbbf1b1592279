"""The differences between two cells by object and attribute: the plan of an import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from roost.base import records
from roost.gridengine.cell import LISTS, Cell, show_scheduler
from roost.gridengine.objects import kinds, quota
from roost.gridengine.objects.complex import show_complexes
from roost.gridengine.objects.configuration import Configuration
from roost.gridengine.objects.queue import SETTINGS, ClusterQueue, attribute_text
from roost.gridengine.objects.rows import rows_of
from roost.gridengine.objects.share_tree import show_share_tree
from roost.gridengine.objects.values import QUEUE_HOSTS


class Verb(StrEnum):
    """What a change does."""

    ADD = "add"
    MODIFY = "modify"
    DELETE = "delete"


@records.dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of one object."""

    verb: Verb
    #: the kind's word; for single objects such as the scheduler configuration, their name
    kind: str
    #: empty for single objects
    name: str
    #: attribute, text before and text after; empty for an attribute that does not exist
    details: tuple[tuple[str, str, str], ...] = ()

    @property
    def what(self) -> str:
        """The object."""
        return f"{self.kind} {self.name}".rstrip()


#: singular words for the lists of names
LIST_WORDS: Final = {
    "managers": "manager",
    "operators": "operator",
    "admin_hosts": "administrative host",
    "submit_hosts": "submit host",
}


def _texts(one: Any) -> dict[str, str]:
    """The attributes of an object and their texts; reports of the running system are left out."""
    match one:
        case ClusterQueue():
            rows = {row.name: attribute_text(one, row) for row in SETTINGS}
            return {"hostlist": QUEUE_HOSTS.show(one.hostlist), **rows}
        case quota.QuotaSet():
            limits = {f"limit {number}": str(rule) for number, rule in enumerate(one.rules, 1)}
            return {"description": one.description, "enabled": str(one.enabled).upper(), **limits}
        case Configuration():
            return dict(one.values)
    cls: Any = type(one)
    return {row.name: row.type.show(getattr(one, row.name)) for row in rows_of(cls) if not row.reported}


def _details(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[tuple[str, str, str], ...]:
    names = dict.fromkeys((*before, *after))
    return tuple(
        (name, before.get(name, ""), after.get(name, "")) for name in names if before.get(name) != after.get(name)
    )


def _named(kind: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for name in sorted({*before, *after}):
        if name not in after:
            yield Change(verb=Verb.DELETE, kind=kind, name=name)
        elif name not in before:
            yield Change(verb=Verb.ADD, kind=kind, name=name)
        else:
            details = _details(_texts(before[name]), _texts(after[name]))
            if details:
                yield Change(verb=Verb.MODIFY, kind=kind, name=name, details=details)


def _complex_texts(cell: Cell) -> dict[str, str]:
    return {name: " ".join(show_complexes([one]).splitlines()[2].split()) for name, one in cell.complexes.items()}


def _single(kind: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    details = _details(before, after)
    if details:
        yield Change(verb=Verb.MODIFY, kind=kind, name="", details=details)


def difference(before: Cell, after: Cell) -> tuple[Change, ...]:
    """What must change for one cell to become the other, kind by kind."""
    found: list[Change] = []
    for kind in kinds.KINDS:
        found.extend(_named(kind.list_word, before.objects(kind), after.objects(kind)))
    definitions = (_complex_texts(cell) for cell in (before, after))
    for name, old, new in _details(*definitions):
        verb = Verb.DELETE if not new else Verb.ADD if not old else Verb.MODIFY
        details = (("definition", old, new),) if verb is Verb.MODIFY else ()
        found.append(Change(verb=verb, kind="complex", name=name, details=details))
    schedulers = (
        dict(line.split(None, 1) for line in _lines(show_scheduler(cell.scheduler))) for cell in (before, after)
    )
    found.extend(_single("scheduler configuration", *schedulers))
    trees = (show_share_tree(cell.share_tree) for cell in (before, after))
    found.extend(_single("share tree", *({"nodes": " ".join(tree.split())} if tree else {} for tree in trees)))
    for field in LISTS.values():
        old_names, new_names = getattr(before, field), getattr(after, field)
        for name in sorted({*old_names} ^ {*new_names}):
            verb = Verb.DELETE if name in old_names else Verb.ADD
            found.append(Change(verb=verb, kind=LIST_WORDS[field], name=name))
    return tuple(found)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]
