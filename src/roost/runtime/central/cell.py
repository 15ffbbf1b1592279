"""The Grid Engine cell in the central manager: fetched from the queue that keeps it, and the cycles that run by it.

Queues say in their demands which revision of a cell they keep. As soon as one has a cell, the pool runs by it: nothing
starts until its text is here, and whenever it changes, nothing starts until the new text is. If several queues keep a
cell, that of the first by name counts.
"""

from __future__ import annotations

import asyncio
import grp
import logging
import pwd
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from roost.classad import ClassAd
from roost.classad.records import replace
from roost.negotiator.snapshot import Plan, Pledge, Snapshot
from roost.negotiator.timing import Steps, Wish
from roost.runtime.bus.client import BusError
from roost.runtime.bus.request_answers import BadRequest
from roost.wire.ads import ad_from
from roost.wire.errors import WireError
from roost.wire.requests.cell import CellFile, CellTasks, HeldTask, ReadCell
from roost.wire.requests.central import QueueInstance
from roost.wire.structs import read
from roost.wire.verbs import ask_of

if TYPE_CHECKING:
    from roost.gridengine.pool.cycle import ActiveCell
    from roost.runtime.central.daemon import CentralDaemon

_log = logging.getLogger("roost.cell")

#: Time until a cell that could not be fetched is asked for again, s.
AGAIN_S: Final = 2.0
#: How long a question waits for a cell that is on its way, s, and how often it looks.
COMES_S: Final = 5.0
_LOOK_S: Final = 0.02
_GROUPS_KEPT: Final = 4096


class CellDesk:
    """The cell of the pool, as far as the central manager has it."""

    def __init__(self, daemon: CentralDaemon) -> None:
        self._daemon = daemon
        #: Queue to the revision of its cell.
        self._kept: dict[str, int] = {}
        self._found: ActiveCell | None = None
        self._from = ""
        self._fetching = False
        #: Queues that have not said yet what their jobs have of the cell.
        self._unasked: set[str] = set()
        #: What they said of machines that have not been heard of: machine, task, and when it was said.
        self._held: list[tuple[str, ClassAd, float]] = []

    @property
    def governs(self) -> bool:
        """Whether the pool runs by a cell, which may not be here yet."""
        return bool(self._kept)

    @property
    def active(self) -> ActiveCell | None:
        """The cell in its present revision; None while it is not here."""
        if not self._kept or self._found is None or self._unasked:
            return None
        return self._found if self._is_current else None

    @property
    def _is_current(self) -> bool:
        if not self._kept or self._found is None:
            return False
        queue = min(self._kept)
        return (queue, self._kept[queue]) == (self._from, self._found.revision)

    @property
    def significant(self) -> tuple[str, ...]:
        """Attributes that queues tell the jobs of a cell apart by."""
        if not self.governs:
            return ()
        from roost.gridengine.pool.requests import SIGNIFICANT

        return SIGNIFICANT

    def heard(self, queue: str, revision: int, *, begins: bool) -> bool:
        """A queue says which revision of a cell it keeps; whether the pool runs by another cell now.

        `begins`: it is the first word of the queue since one of the two daemons has started.
        """
        if begins:
            self._unasked.add(queue)
        before = min(self._kept.items(), default=None)
        if revision:
            self._kept[queue] = revision
        else:
            self._kept.pop(queue, None)
        after = min(self._kept.items(), default=None)
        self._look()
        if after == before:
            return False
        if len(self._kept) > 1:
            _log.error("several queues keep a cell: %s; that of %s counts", ", ".join(sorted(self._kept)), after[0])  # type: ignore[index]
        return True

    def _look(self) -> None:
        """Ask for what is not here."""
        if self.governs and self.active is None and not self._fetching:
            self._fetching = True
            self._daemon.spawn(self._fetch())

    async def _fetch(self) -> None:
        try:
            while self.governs and self.active is None:
                if not self._is_current:
                    queue = min(self._kept)
                    try:
                        await self._fetch_from(queue)
                    except (BusError, WireError, ValueError) as error:
                        _log.warning("the cell of %s cannot be fetched: %s; no job starts until then", queue, error)
                        await asyncio.sleep(AGAIN_S)
                for queue in sorted(self._unasked):
                    await self._ask_tasks(queue)
        finally:
            self._fetching = False
        self._daemon.want(Wish.URGENT)

    async def _ask_tasks(self, queue: str) -> None:
        """Ask a queue what its jobs have: what an earlier central manager gave away must not be given again."""
        bus, now = self._daemon.bus, self._daemon.clock.now()
        try:
            answer = await bus.ask(bus.subjects.ask_schedd(queue, self._daemon.context.name), ask_of(CellTasks()))
            rows = read(list[HeldTask], answer.data, "cell-tasks", strict=False) if answer.ok else []
            found = [(row, ad_from(row.task, "cell-tasks.task")) for row in rows]
        except (BusError, WireError, ValueError) as error:
            _log.warning("%s does not say what its jobs have of the cell: %s; only machines' words count", queue, error)
            found = []
        self._unasked.discard(queue)
        self._daemon.deciding.change(lambda: self._take(queue, found, now))

    def _take(self, queue: str, found: list[tuple[HeldTask, ClassAd]], now: float) -> None:
        for row, task in found:
            if row.asked:
                known = self._daemon.table.claims.get(row.slot)
                if known in (None, row.claim_id):
                    self._daemon.bookings.held(queue, row.slot, row.claim_id, task, now)
            else:
                self._held.append((row.node, task, now))

    async def _fetch_from(self, queue: str) -> None:
        bus = self._daemon.bus
        answer = await bus.ask(bus.subjects.ask_schedd(queue, self._daemon.context.name), ask_of(ReadCell()))
        if not answer.ok:
            raise WireError(answer.text)
        rows = read(list[CellFile], answer.data, "cell", strict=False)
        if not rows:
            raise WireError("it has none")
        found = await asyncio.to_thread(_active, rows)

        def take() -> None:
            self._found, self._from = found, queue
            self._kept[queue] = max(self._kept.get(queue, 0), found.revision)
            _log.info("the pool runs by the cell of %s, revision %d", queue, found.revision)

        self._daemon.deciding.change(take)
        await self._daemon.deciding.over()
        self._daemon.want(Wish.URGENT)

    async def queue_instances(self) -> list[QueueInstance]:
        """The queue instances of the cell; none in a pool without one. Raises BadRequest if it does not come."""
        until = time.monotonic() + COMES_S
        while self.governs and self.active is None and time.monotonic() < until:
            await asyncio.sleep(_LOOK_S)
        active = self.active
        if active is None:
            if self.governs:
                raise BadRequest("the central manager has not got the cell from its queue yet; ask again in a moment")
            return []
        from roost.gridengine.pool.view import instance_rows
        from roost.gridengine.scheduling import NotScheduled

        try:
            rows = instance_rows(active, self._with_held(self._daemon.snapshot()))
        except NotScheduled as refusal:
            raise BadRequest(str(refusal)) from None
        return [
            QueueInstance(
                name=row.name,
                types=row.types,
                used=row.used,
                total=row.total,
                load=row.load,
                architecture=row.architecture,
                states=row.states,
                reasons=row.reasons,
            )
            for row in rows
        ]

    def cycle(self, active: ActiveCell, snapshot: Snapshot, significant: tuple[str, ...]) -> Steps[Plan]:
        """A cycle of the cell, in steps."""
        from roost.gridengine.pool.cycle import cell_cycle

        return cell_cycle(active, self._with_held(snapshot), groups_of, significant)

    def _with_held(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot with what queues said of machines that have not been heard of."""
        if not self._held:
            return snapshot
        machines, oldest = set(snapshot.nodes.values()), snapshot.now - self._daemon.table.lifetime_s
        self._held = [each for each in self._held if each[0] not in machines and each[2] >= oldest]
        pledges = [Pledge(submitter="", weight=0.0, task=task) for _, task, _ in self._held]
        return replace(snapshot, pledges=(*snapshot.pledges, *pledges))


def _active(rows: list[CellFile]) -> ActiveCell:
    from roost.gridengine.cell import read_cell
    from roost.gridengine.pool.cycle import ActiveCell

    return ActiveCell.of(rows[0].revision, read_cell({row.name: row.text for row in rows}))


@lru_cache(maxsize=_GROUPS_KEPT)
def groups_of(user: str) -> tuple[str, ...]:
    """The primary group of a user on this machine, as `qsub` gives it to a job; none for a user that is not known."""
    try:
        return (grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name,)
    except KeyError:
        return ()
