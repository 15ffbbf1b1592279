"""The Grid Engine cell of a simulated pool: what the queue keeps of it, and what the central manager runs by.

Texts, states of instances and errors are the queue's in a real pool, and the central manager fetches them; here both
are one, so that a change counts from the next run on. Who may change what, what a change makes of the cell, and the
scheduling run are `roost.gridengine`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from roost.base.records import dataclass, field, replace
from roost.classad import ClassAd
from roost.gridengine.cell import Cell
from roost.gridengine.pool.context import context_of
from roost.gridengine.pool.cycle import ActiveCell, cell_cycle
from roost.gridengine.pool.requests import SIGNIFICANT
from roost.gridengine.pool.suspensions import Suspensions
from roost.gridengine.pool.usage import rules_of
from roost.model.cell_requests import TASK
from roost.model.digests import states_digest
from roost.model.queue_context import QueueContext
from roost.negotiator.snapshot import Plan, Snapshot
from roost.negotiator.timing import at_once
from roost.schedd.claim_table import ClaimTable
from roost.schedd.events import UsageRuled


class NoSuchQueue(Exception):
    """The cell no longer has the queue that a job was to run in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPlan:
    """A cell before the run."""

    cell: Cell
    #: User to the groups of the operating system that count in user lists.
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class SimulatedCell:
    """The cell of one pool."""

    #: Attributes that tell the jobs of a cell apart.
    significant: Final = SIGNIFICANT

    def __init__(self, plan: CellPlan, claims: Callable[[], ClaimTable], feed: Callable[[UsageRuled], None]) -> None:
        self._groups = plan.groups
        #: The present table of the queue, which starts with a new one after it died.
        self._claims = claims
        self._feed = feed
        self.cell = plan.cell
        self.suspensions = Suspensions()
        #: Instance to the letters that it was given.
        self.states: dict[str, str] = {}
        self._active = ActiveCell.of(1, plan.cell)
        self.begin()

    def begin(self) -> None:
        """The queue starts, and goes on with what was kept."""
        table = self._claims()
        table.cell = self._active.revision
        table.usage.rules = rules_of(self.cell)
        self.hold_states()

    def hold_states(self) -> None:
        """The queue goes by the states that instances were given."""
        table = self._claims()
        table.cell_states = states_digest(self.states)
        table.closed = frozenset(name for name, letters in self.states.items() if letters)

    @property
    def active(self) -> ActiveCell:
        """What a run goes by now."""
        table = self._claims()
        usage = tuple(table.usage.by_owner.items()) if self._active.needs_usage else ()
        return replace(self._active, states=dict(self.states), errors=dict(table.errors), usage=usage)

    @property
    def revision(self) -> int:
        """The number of changes, the first cell included."""
        return self._active.revision

    def suspends(self) -> bool:
        """Whether jobs may have to be suspended, or to go on, though no job waits."""
        return (
            self.suspensions.any or self._active.suspends_by_itself or any("s" in each for each in self.states.values())
        )

    def groups_of(self, user: str) -> tuple[str, ...]:
        """The groups of a user."""
        return self._groups.get(user, ())

    def cycle(self, snapshot: Snapshot, significant: tuple[str, ...]) -> Plan:
        """A scheduling run."""
        return at_once(cell_cycle(self.active, snapshot, self.groups_of, significant, self.suspensions))

    def context(self, job_ad: ClassAd) -> QueueContext | None:
        """What the queue instance that a job got gives it; None for a job that got none. Raises NoSuchQueue."""
        task = job_ad.get(TASK)
        if not isinstance(task, ClassAd):
            return None
        found = context_of(self.cell, task)
        if found is None:
            raise NoSuchQueue(f"the cell no longer has the queue of {task.get('Instance')}")
        return found

    def change(self, cell: Cell) -> None:
        """Another revision of the cell is there."""
        self.cell = cell
        self._active = replace(ActiveCell.of(self.revision + 1, cell))
        self.suspensions.any = True
        self._claims().cell = self.revision
        self._feed(UsageRuled(rules=rules_of(cell)))
