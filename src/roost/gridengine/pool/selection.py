"""Whether hosts and queue instances meet the `-l` requests of `qhost` and `qselect`, in use or not.

A request is met if the values on the levels of a place meet it: with an ordered relation all of them, else the lowest.
A request for a resource that no level has is not met. For queue instances, the capacity of consumables counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from roost.gridengine.cell import Cell
from roost.gridengine.instances import QueueInstance
from roost.gridengine.objects.complex import Complex, by_any_name, value_number
from roost.gridengine.objects.host import GLOBAL
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.scheduling import CellSnapshot, HostReport
from roost.gridengine.scheduling.ledger import Ledger
from roost.gridengine.scheduling.loads import Loads
from roost.gridengine.scheduling.relation import related


def meets(definition: Complex, text: str, values: Sequence[float | str]) -> bool:
    """Whether values, from the lowest level up, meet a request."""
    number = value_number(definition.type, text)
    wanted = text if number is None else number
    if definition.relation in ("==", "!=", "EXCL"):
        values = values[:1]
    return bool(values) and all(related(definition, wanted, value) for value in values)


class Selection:
    """The queue instances of a cell with what they have."""

    def __init__(self, cell: Cell, snapshot: CellSnapshot) -> None:
        self._complexes = by_any_name(cell.complexes.values())
        self._loads = Loads(snapshot)
        self._ledger = Ledger(snapshot, self._loads)

    def has(self, instance: QueueInstance, wanted: Sequence[Pair]) -> bool:
        """Whether an instance meets all requests."""
        found = [(self._complexes.get(pair.name), pair.text) for pair in wanted]
        return all(one is not None and meets(one, text, list(self._values(instance, one))) for one, text in found)

    def _values(self, instance: QueueInstance, definition: Complex) -> Iterator[float | str]:
        if definition.name in ("hostname", "qname"):
            yield instance.host if definition.name == "hostname" else instance.queue
            return
        for place in (instance.name, instance.host, GLOBAL):
            value = self._ledger.configured.get(place, {}).get(definition.name)
            if value is None:
                value = self._loads.reported(place, definition.name)
            if value is not None:
                yield value


def admits(cell: Cell, instance: QueueInstance, user: str) -> bool:
    """Whether the user lists of an instance admit a user, or a group written as ``@group``."""
    name, groups = ("", (user[1:],)) if user.startswith("@") else (user, ())
    settings, lists = instance.settings, cell.user_lists
    if any(one in lists and lists[one].holds(name, groups) for one in settings.xuser_lists):
        return False
    allowed = settings.user_lists
    return not allowed or any(one in lists and lists[one].holds(name, groups) for one in allowed)


def reports_of(rows: Mapping[str, Mapping[str, str]], now: float) -> dict[str, HostReport]:
    """The load values by host."""
    return {name: HostReport(time=now, values=values) for name, values in rows.items() if values}
