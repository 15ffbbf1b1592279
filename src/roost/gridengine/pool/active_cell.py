"""The active cell of a pool: its objects, its instances, and the state that runs need."""

from __future__ import annotations

from collections.abc import Mapping

from roost.base.records import dataclass, field, replace
from roost.gridengine.cell import Cell
from roost.gridengine.instances import QueueInstance, resolve
from roost.gridengine.objects.calendar import State
from roost.gridengine.pool.instance_states import has_initial_state
from roost.gridengine.pool.usage import needs_usage
from roost.model.cell_reservations import AdvanceReservation
from roost.model.cell_usage import Owner, Used


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveCell:
    """The active cell of a pool."""

    revision: int
    cell: Cell
    instances: tuple[QueueInstance, ...]
    #: Whether its configuration can suspend jobs.
    suspends_by_itself: bool
    #: State letters set by command; instances without have their `initial_state`.
    states: Mapping[str, str] = field(default_factory=dict)
    #: When they were set, and when the daemons of hosts started, epoch s.
    given_at: Mapping[str, float] = field(default_factory=dict)
    started: Mapping[str, float] = field(default_factory=dict)
    #: Instances that are in the error state, each with the reason.
    errors: Mapping[str, str] = field(default_factory=dict)
    #: Usage of users, as far as a run needs it.
    usage: tuple[tuple[Owner, Used], ...] = ()
    #: Whether a run needs it.
    needs_usage: bool = False
    #: Advance reservations.
    reservations: tuple[AdvanceReservation, ...] = ()

    @classmethod
    def of(cls, revision: int, cell: Cell) -> ActiveCell:
        """A cell with its instances."""
        return cls(
            revision=revision,
            cell=cell,
            instances=resolve(cell),
            suspends_by_itself=_suspends(cell),
            needs_usage=needs_usage(cell),
        )

    @property
    def has_initial_states(self) -> bool:
        """Whether the start times of machines' daemons matter."""
        return any(map(has_initial_state, self.instances))

    @property
    def suspends(self) -> bool:
        """Whether it can suspend jobs."""
        return self.suspends_by_itself or any("s" in letters for letters in self.states.values())

    def reserved_at(self, number: int) -> int:
        """When an advance reservation was made, epoch s; 0 if the number is unknown."""
        return next((int(one.submitted) for one in self.reservations if one.number == number), 0)

    def with_errors(self, errors: Mapping[str, str]) -> ActiveCell:
        """The cell with other instances in the error state."""
        return replace(self, errors=errors)


def _suspends(cell: Cell) -> bool:
    for queue in cell.queues.values():
        subordinations = (queue.defaults.subordinate_list, *queue.overrides.get("subordinate_list", {}).values())
        thresholds = (queue.defaults.suspend_thresholds, *queue.overrides.get("suspend_thresholds", {}).values())
        if any(thresholds) or any(one.queues or one.slotwise for one in subordinations):
            return True
    rules = (rule for calendar in cell.calendars.values() for part in calendar.rules for rule in part)
    return any(rule.state is State.SUSPENDED for rule in rules)
