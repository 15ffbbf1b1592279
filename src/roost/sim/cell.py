"""The Grid Engine cell of a simulated pool: the queue's part of its state, and what the central manager uses.

In a real pool, the queue holds texts, states of instances and errors, and the central manager fetches them. Here both
share one object, so that a change takes effect from the next run on. `roost.gridengine` implements permissions, changes
of the cell, and the scheduling run.
"""

from __future__ import annotations

import datetime
import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from roost.base.records import dataclass, field, replace
from roost.classad import ClassAd, Expr
from roost.classad.values import fold
from roost.gridengine.cell import Cell
from roost.gridengine.edits import Asker, Edited, QconfOption, edit, malformed
from roost.gridengine.pool.active_cell import ActiveCell
from roost.gridengine.pool.admission import (
    NOTHING,
    RAISED,
    Submitter,
    barred,
    complaints,
    deadline_bars,
    is_raised,
    over_limits,
    ticket_bars,
)
from roost.gridengine.pool.context import context_of
from roost.gridengine.pool.cycle import cell_cycle
from roost.gridengine.pool.instance_states import InstanceChanges, changed
from roost.gridengine.pool.requests import SIGNIFICANT, Reader, text_of
from roost.gridengine.pool.suspensions import Suspensions
from roost.gridengine.pool.usage import rules_of
from roost.model.cell_requests import CLEANED, NAME, RESERVATION, TASK, InstanceAction
from roost.model.digests import states_digest
from roost.model.queue_context import QueueContext
from roost.negotiator.reach import is_unsteady
from roost.negotiator.snapshot import Plan, Snapshot
from roost.negotiator.timing import at_once
from roost.schedd.claims.claim_table import ClaimTable
from roost.schedd.events import ErrorsCleared, UsageRuled
from roost.schedd.job_source import JobSource

#: What the queue receives of the cell.
CellEvent: TypeAlias = ErrorsCleared | UsageRuled
#: Users with all permissions, whatever the cell says; the first one gives the orders of a scenario.
OPERATOR: Final = "operator"
SUPERUSERS: Final = frozenset((OPERATOR, "root"))
#: Interval after which a run is repeated even if its input would be the same, s.
STEADY_S: Final = 3600.0
_REQUIREMENTS: Final = fold("Requirements")
EPOCH: Final = datetime.datetime(1970, 1, 1)
#: The host on which commands are given, for messages.
HOST: Final = "lab"
_RESERVATION: Final = fold(RESERVATION)


class NoSuchQueue(Exception):
    """The cell no longer has the queue in which a job was to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPlan:
    """A cell before the run."""

    cell: Cell
    #: User to the operating system groups that count in user lists.
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def edited(cell: Cell, line: str, user: str, *, manages: bool, operates: bool) -> Edited:
    """The cell after `qconf` with these options, which name no file. Raises ValueError for other options."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ValueError(f"qconf {line}: {error}") from None
    order = QconfOption(option=words[0].removeprefix("-") if words else "", words=tuple(words[1:]))
    problem = malformed(order) or ("it takes a file" if order.option[:1] in ("A", "M") else "")
    if problem:
        raise ValueError(f"qconf {line}: {problem}; give an option such as -aattr, -mattr, -rattr, -dattr or -dq")
    return edit(cell, order, Asker(user=user, host=HOST, manages=manages, operates=operates))


class SimulatedCell:
    """The cell of one pool."""

    #: Attributes that distinguish the jobs of a cell.
    significant: Final = SIGNIFICANT

    def __init__(self, plan: CellPlan, claims: Callable[[], ClaimTable], feed: Callable[[CellEvent], None]) -> None:
        self._groups = plan.groups
        #: The current table of the queue, which starts with a new one after it died.
        self._claims = claims
        self._feed = feed
        self.cell = plan.cell
        self.suspensions = Suspensions()
        #: Instance to the letters that it was given.
        self.states: dict[str, str] = {}
        self._active = ActiveCell.of(1, plan.cell)
        #: When time alone may let a job start that the last run did not start, epoch s.
        self._next_instant = math.inf
        self.begin()

    def begin(self) -> None:
        """Start the queue with its stored state."""
        table = self._claims()
        table.cell = self._active.revision
        table.usage.rules = rules_of(self.cell)
        self.hold_states()

    def hold_states(self) -> None:
        """Apply the states that instances were given to the queue."""
        table = self._claims()
        table.cell_states = states_digest(self.states)
        table.closed = frozenset(name for name, letters in self.states.items() if letters)

    @property
    def active(self) -> ActiveCell:
        """The input of a run now."""
        table = self._claims()
        usage = tuple(table.usage.by_owner.items()) if self._active.needs_usage else ()
        return replace(self._active, states=dict(self.states), errors=dict(table.errors), usage=usage)

    @property
    def revision(self) -> int:
        """Number of changes, including the first cell."""
        return self._active.revision

    def suspends(self) -> bool:
        """Whether jobs may have to be suspended or resumed even if no job is waiting."""
        return (
            self.suspensions.any or self._active.suspends_by_itself or any("s" in each for each in self.states.values())
        )

    def seen(self, now: float) -> tuple[object, ...]:
        """The input of a run besides slots and jobs, except what changes with time alone."""
        # The lab is in UTC.
        local = EPOCH + datetime.timedelta(seconds=now)
        calendars = tuple(calendar.state_at(local) for calendar in self.cell.calendars.values())
        return self.revision, *self.states.items(), *self._claims().errors.items(), *calendars

    def is_steady(self, now: float, unchanged_s: float) -> bool:
        """Whether a run whose input has been the same for that long would order as little as the earlier one.

        Load adjustments decay, reservations come closer, jobs may start from some instant on, and suspend thresholds
        act at intervals.
        """
        if now >= self._next_instant:
            return False
        scheduler = self.cell.scheduler
        decays = bool(scheduler.job_load_adjustments)
        if scheduler.max_reservation or self._active.suspends_by_itself or self.suspensions.any:
            return False
        return (not decays or unchanged_s > scheduler.load_adjustment_decay_time.number) and unchanged_s < STEADY_S

    def groups_of(self, user: str) -> tuple[str, ...]:
        """The groups of a user."""
        return self._groups.get(user, ())

    def cycle(self, snapshot: Snapshot, significant: tuple[str, ...]) -> Plan:
        """Make a scheduling run."""
        self._next_instant = min(
            (_next_instant(request.ad, snapshot.now) for demand in snapshot.demands for request in demand.requests),
            default=math.inf,
        )
        return at_once(cell_cycle(self.active, snapshot, self.groups_of, significant, self.suspensions))

    def context(self, job_ad: ClassAd) -> QueueContext | None:
        """The settings of the queue instance that a job was granted; None for a job without one. Raises NoSuchQueue."""
        task = job_ad.get(TASK)
        if not isinstance(task, ClassAd):
            return None
        found = context_of(self.cell, task)
        if found is None:
            raise NoSuchQueue(f"the cell no longer has the queue of {task.get('Instance')}")
        return found

    def refusal(self, clusters: Sequence[JobSource], owner: str, jobs: tuple[int, int]) -> str:
        """Why jobs are refused; "" if they are accepted. `jobs`: the numbers of the owner's, and of all, jobs in the
        queue.
        """
        reader = Reader(self.cell, self.groups_of)
        found = complaints(reader, clusters)
        if not found:
            found = barred(self.cell, Submitter(owner, HOST, groups=self.groups_of(owner)), reader, clusters)
        if not found:
            found = over_limits(self.cell, *jobs)
        if not found and any(map(is_raised, clusters)) and not self.operates(owner):
            found = [RAISED]
        for one in clusters if not found else ():
            groups, operates = self.groups_of(owner), self.operates(owner)
            found += filter(None, (deadline_bars(self.cell, owner, groups, one.common),))
            found += filter(None, (ticket_bars(owner, one.common, operates=operates),))
            if one.common.cell(_RESERVATION) not in NOTHING:
                found.append("the lab has no advance reservations: leave out -ar")
        return "; ".join(found)

    def qconf(self, line: str, user: str) -> Edited:
        """Change the cell as an option of `qconf` does. Raises ValueError for another option."""
        done = edited(self.cell, line, user, manages=self.operates(user, manages=True), operates=self.operates(user))
        if done.cell is not self.cell:
            self.change(done.cell)
        return done

    def change(self, cell: Cell) -> None:
        """Install another revision of the cell."""
        self.cell = cell
        self._active = ActiveCell.of(self.revision + 1, cell)
        self.suspensions.any = True
        table = self._claims()
        table.cell = self.revision
        # An instance with running jobs keeps its state until the last of them has ended.
        names = {one.name for one in self._active.instances} | set(self._occupied())
        self.states = {name: letters for name, letters in self.states.items() if name in names}
        self.hold_states()
        if unknown := tuple(name for name in table.errors if name not in names):
            self._feed(ErrorsCleared(instances=unknown, actor=OPERATOR))
        self._feed(UsageRuled(rules=rules_of(cell)))

    def _occupied(self) -> Iterator[str]:
        for claim in self._claims().claims.values():
            if claim.task is not None:
                yield str(claim.task.get("Instance"))

    def change_instances(
        self, action: InstanceAction, names: Iterable[str], user: str, *, free: bool
    ) -> InstanceChanges:
        """Disable, enable, suspend, resume or clear queue instances."""
        errors = self._claims().errors
        done = changed(self.cell, action, names, given=self.states, errors=errors, user=user, free=free)
        if done.cleared:
            self._feed(ErrorsCleared(instances=done.cleared, actor=user))
        self.states = {**self.states, **done.letters}
        self.hold_states()
        self.suspensions.any = True
        return done

    def operates(self, user: str, *, manages: bool = False) -> bool:
        """Whether a user has the rights of an operator of the cell, or of a manager."""
        return user in SUPERUSERS or user in self.cell.managers or (not manages and user in self.cell.operators)


def _next_instant(ad: ClassAd, now: float) -> float:
    """Epoch s from when a waiting job may start where it may not at `now`, for no other reason than the time.

    `now` if its requirements depend on the time; infinite if nothing does. The lab has no `-a`.
    """
    requirements = ad.cell(_REQUIREMENTS)
    if NAME not in ad and isinstance(requirements, Expr) and is_unsteady(requirements):
        return now
    _, _, until = text_of(ad, CLEANED).partition(" ")
    return float(until) if until and float(until) > now else math.inf
