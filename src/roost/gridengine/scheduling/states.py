"""States of instances: which take no jobs, why, and which suspend others."""

from __future__ import annotations

from collections.abc import Iterator

from roost.gridengine.calendar import State
from roost.gridengine.complex import Complex, value_number
from roost.gridengine.host import GLOBAL
from roost.gridengine.instances import QueueInstance
from roost.gridengine.pairs import Pair
from roost.gridengine.scheduling import sentences
from roost.gridengine.scheduling.ledger import SLOTS, Ledger, Value
from roost.gridengine.scheduling.loads import Loads
from roost.gridengine.scheduling.matching import related
from roost.gridengine.scheduling.snapshot import Snapshot

_DISABLED = frozenset("dD")
_NOT_AVAILABLE = frozenset("usSCEco")


class States:
    """The states of all instances during a run."""

    def __init__(self, snapshot: Snapshot, loads: Loads, ledger: Ledger) -> None:
        self._loads, self._ledger = loads, ledger
        self._complexes = snapshot.cell.complexes
        self._instances = {instance.name: instance for instance in snapshot.instances}
        self._letters = {one.name: self._first_letters(snapshot, one) for one in snapshot.instances}
        #: instances that have suspended each instance by subordination
        self._suspended_by: dict[str, set[str]] = {}
        for instance in snapshot.instances:
            for _ in self.subordinate(instance):
                pass

    def _first_letters(self, snapshot: Snapshot, instance: QueueInstance) -> str:
        letters = snapshot.states.get(instance.name, "") + instance.states
        calendar = snapshot.cell.calendars.get(instance.settings.calendar)
        state = calendar.state_at(snapshot.local_time) if calendar else State.ON
        letters += {State.ON: "", State.OFF: "D", State.SUSPENDED: "C"}[state]
        return letters + ("u" if "u" not in letters and self._loads.unknown(instance.host) else "")

    def subordinate(self, instance: QueueInstance) -> Iterator[str]:
        """Suspend what an instance suspends with the slots it has booked now; give what is newly suspended."""
        settings = instance.settings
        used = self._ledger.used(instance.name, SLOTS)
        for queue, threshold in settings.subordinate_list.queues:
            other = f"{queue}@{instance.host}"
            if other in self._instances and used >= (threshold or settings.slots) and used > 0:
                by = self._suspended_by.setdefault(other, set())
                if not by:
                    yield other
                by.add(instance.name)

    def letters(self, instance: QueueInstance) -> str:
        """The letters of an instance as `qstat -f` shows them."""
        found = self._letters[instance.name] + ("S" if self._suspended_by.get(instance.name) else "")
        return "".join(sorted(found + ("a" if self.overload(instance, adjusted=False) else ""), key=_order))

    def why_dropped(self, instance: QueueInstance) -> str | None:
        """Why an instance takes no jobs at all now; None if it may."""
        letters = self._letters[instance.name]
        if _DISABLED & set(letters):
            return sentences.DISABLED
        if _NOT_AVAILABLE & set(letters) or self._suspended_by.get(instance.name):
            return sentences.NOT_AVAILABLE
        left = self._ledger.available(instance.name, SLOTS)
        if left is not None and left < 1:
            return sentences.FULL
        overload = self.overload(instance)
        return f"it is overloaded: {overload}" if overload else None

    def overload(self, instance: QueueInstance, adjusted: bool = True) -> str | None:
        """The first load threshold that an instance exceeds; None if there is none."""
        for threshold in instance.settings.load_thresholds:
            found = self._exceeded(instance, threshold, adjusted)
            if found:
                return found
        return None

    def _exceeded(self, instance: QueueInstance, threshold: Pair, adjusted: bool) -> str | None:
        definition = self._complexes.get(threshold.name)
        limit = value_number(definition.type, threshold.text) if definition else None
        if definition is None or (limit is None and not definition.type.is_text):
            return f'no such complex attribute for threshold "{threshold.name}"'
        found = self._measured(instance, definition, adjusted)
        if found is None:
            return f'no value for complex attribute "{threshold.name}"'
        value, host = found
        wanted: Value = threshold.text if limit is None else limit
        alarm = related(definition, value, wanted) if limit is not None else not related(definition, wanted, value)
        if not alarm:
            return None
        shown = sentences.amount(definition, value)
        derivation = self._loads.derivation(host, threshold.name)
        return f"{threshold.name}={shown} ({derivation}) {definition.relation} {threshold.text}"

    def _measured(self, instance: QueueInstance, definition: Complex, adjusted: bool) -> tuple[Value, str] | None:
        """The value that a threshold is about, and where it was found: the host, the cell, or the instance."""
        places = (instance.host, GLOBAL, instance.name)
        if definition.is_consumable:
            left = [(self._ledger.available(place, definition.name), place) for place in places]
            return next(((value, place) for value, place in left if value is not None), None)
        for place in places[:2]:
            read = self._loads.value if adjusted else self._loads.reported
            load = read(place, definition.name)
            if load is not None:
                return load, place
        configured = next((each for place in places if (each := self._ledger.fixed(place, definition.name))), None)
        return configured and (configured[0], instance.name)


def _order(letter: str) -> int:
    return "uaACsSdDEcoP".index(letter)
