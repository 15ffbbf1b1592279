"""The advance reservations of a pool's cell in its queue: created, started, ended, deleted.

The central manager finds the resources; the queue assigns the number, and nothing is granted before it is committed.
When a reservation ends, or is deleted, first its jobs are removed and then the reservation: a queue that is killed in
between does both again when it starts. A reservation that is deleted while jobs of it run stays, with the letter d,
until these have left. Each of these steps is stored with the reservation as it was, for reports.

What it does not do
    It does not look at queue instances: which letter an error makes of a reservation the central manager says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from roost.base.records import replace
from roost.base.structs import replaced
from roost.classad import ClassAd
from roost.classad.values import fold
from roost.model.cell_requests import RESERVATION
from roost.model.cell_reservations import ACTOR, NUMBER_MAX, AdvanceReservation, digest_names
from roost.runtime.database_guard import StoreError
from roost.runtime.queue.cell.records import record_of_reservation
from roost.runtime.queue.cell.reports import of_reservation
from roost.runtime.queue.database.cell_store import KeptCell, ReservationCommit
from roost.schedd.events import Acted, Action
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import Cluster
from roost.wire.audit import audit_data
from roost.wire.messages import Answer
from roost.wire.requests.cell import (
    DeletedReservation,
    DeleteReservations,
    KeepReservation,
    KeptReservation,
    ReservationLog,
)
from roost.wire.structs import data_of, read

if TYPE_CHECKING:
    from roost.runtime.clock import Clock
    from roost.runtime.queue.database.kept import Noted
    from roost.runtime.queue.database.store import Store
    from roost.runtime.queue.database_watch import DatabaseWatch
    from roost.runtime.queue.demands import Demands
    from roost.runtime.queue.exported_files import ExportedFiles
    from roost.schedd.events import Event
    from roost.schedd.queue import Queue

_log = logging.getLogger("roost.cell")

_T = TypeVar("_T")
#: Maximum interval of checks, s, and the interval while jobs of reservations have still to leave.
LOOK_S: Final = 10.0
LEAVING_S: Final = 0.2
#: Maximum number of jobs in one step.
_STEP: Final = 200
_KEY: Final = fold(RESERVATION)


class ReservationsDaemon(Protocol):
    """The interface of the queue's daemon for reservations."""

    clock: Clock
    store: Store
    queue: Queue
    copies: ExportedFiles
    demands: Demands
    watch: DatabaseWatch

    def feed(self, event: Event) -> None:
        """Pass an event to the core."""

    async def kept(self) -> None:
        """Wait until everything so far is committed."""

    async def on_store(self, work: Callable[..., _T], *arguments: Any) -> _T:
        """Use the database in its thread. Raises StoreError."""

    def tell(self, noted: tuple[Noted, ...]) -> None:
        """Send decisions to the central manager."""


class Reservations:
    """The reservations of one queue."""

    def __init__(self, daemon: ReservationsDaemon, changed: Callable[[], None]) -> None:
        self._daemon, self._changed = daemon, changed
        #: By number.
        self.all: dict[int, AdvanceReservation] = {}
        self._last = 0
        self._lock = asyncio.Lock()
        self._woken = asyncio.Event()

    def begin(self, kept: KeptCell) -> None:
        """Start with the stored reservations."""
        rows = read(list[AdvanceReservation], list(kept.reservations.values()), "reservations", strict=False)
        self.all = {row.number: row for row in rows}
        self._last = kept.last_reservation

    @property
    def names(self) -> Mapping[str, str]:
        """An identifier of the current set of reservations."""
        return digest_names(self.all.values())

    # -- requests ----------------------------------------------------------------------------------------------------

    def rows(self) -> list[AdvanceReservation]:
        """All of them, by number."""
        return [one for _, one in sorted(self.all.items())]

    async def log(self, asked: ReservationLog) -> Answer:
        """Their events."""
        return Answer(data=await self._daemon.on_store(self._daemon.store.reservation_log, asked.number, asked.limit))

    async def keep(self, asked: KeepReservation, most: int) -> Answer:
        """Assign a number to a reservation and store it; at most `most` at a time, 0 for no limit."""
        async with self._lock:
            if most and len(self.all) >= most:
                text = f"rejected: only {most} advance reservations are allowed per cluster"
                return Answer(ok=False, code="too-many-reservations", text=text)
            number = self._free_number()
            begun = asked.reservation.start <= self._daemon.clock.now()
            one = replaced(asked.reservation, number=number, begun=begun)
            state = "r" if begun else "w"
            await self._keep(one, "created", state, one.owner, f"advance reservation {number} granted")
            self._last = number
            self._woken.set()
            return Answer(data=data_of(KeptReservation(number=number)))

    def _free_number(self) -> int:
        number = self._last
        while True:
            number = number + 1 if number < NUMBER_MAX else 1
            if number not in self.all:
                return number

    async def delete(self, asked: DeleteReservations, user: str, *, manages: bool) -> Answer:
        """Delete some of them."""
        async with self._lock:
            rows = [await self._deleted(number, user, manages=manages, force=asked.force) for number in asked.numbers]
            named = frozenset(asked.users)
            for number, one in sorted(self.all.items()):
                if named and ("*" in named or one.owner in named) and number not in asked.numbers:
                    rows.append(await self._deleted(number, user, manages=manages, force=asked.force))
            self._woken.set()
            return Answer(data=[data_of(row) for row in rows])

    async def _deleted(self, number: int, user: str, *, manages: bool, force: bool) -> DeletedReservation:
        one = self.all.get(number)
        if one is None:
            return DeletedReservation(number=number, outcome="unknown")
        words = f"delete advance reservation {number}"
        if not manages and one.owner != user:
            now = self._daemon.clock.now()
            record = record_of_reservation(f"{words}: requires its owner or a manager", number, user, now, done=False)
            await self._note(record)
            return DeletedReservation(number=number, outcome="denied")
        if force or not any(run for _, run in self._jobs(number)):
            await self._end(one, "deleted", "d", user, words)
            return DeletedReservation(number=number, outcome="deleted")
        gone = replaced(one, deleted=True)
        if not one.deleted:
            await self._keep(gone, "deleted", "d", user, words)
        self._remove_jobs(number)
        return DeletedReservation(number=number, outcome="registered")

    async def _note(self, record: Any) -> None:
        from roost.runtime.queue.database.cell_store import StatesCommit

        commit = StatesCommit(states={}, record=audit_data(record))
        self._daemon.tell(await self._daemon.on_store(self._daemon.store.keep_instances, commit))

    # -- timed events -------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Start and end reservations at their times, forever."""
        while True:
            if not self._daemon.watch.damage:
                try:
                    async with self._lock:
                        await self._look()
                except StoreError as error:
                    _log.warning("advance reservations cannot begin or end: %s; trying again in %g s", error, LOOK_S)
                    await asyncio.sleep(LOOK_S)
            try:
                async with asyncio.timeout(self._pause_s()):
                    await self._woken.wait()
            except TimeoutError:
                pass
            self._woken.clear()

    def _pause_s(self) -> float:
        """Time until the next timed event, s."""
        if any(one.deleted for one in self.all.values()):
            return LEAVING_S
        now = self._daemon.clock.now()
        coming = [one.start for one in self.all.values() if not one.begun]
        coming += [one.end for one in self.all.values()]
        return min(max(min(coming, default=now + LOOK_S) - now, 0.0) + 0.001, LOOK_S)

    async def _look(self) -> None:
        now = self._daemon.clock.now()
        for number, one in sorted(self.all.items()):
            if one.end <= now:
                await self._end(one, "ended", "x", ACTOR, f"advance reservation {number} has ended")
            elif one.deleted and not any(run for _, run in self._jobs(number)):
                await self._end(one, "deleted", "d", ACTOR, f"the jobs of advance reservation {number} have finished")
            elif one.start <= now and not one.begun:
                await self._keep(
                    replaced(one, begun=True), "started", "r", ACTOR, f"advance reservation {number} begins"
                )

    # -- steps --------------------------------------------------------------------------------------------------------

    def _jobs(self, number: int) -> Iterator[tuple[JobId, str]]:
        """The jobs of a reservation, each with its run; "" for an idle one."""
        for cluster in self._daemon.queue.book.clusters.values():
            if _may_use(cluster):
                for proc in cluster.procs():
                    if cluster.ad_of(proc).cell(_KEY) == number:
                        job = cluster.jobs.get(proc)
                        yield JobId(cluster.number, proc), "" if job is None else job.run

    def _remove_jobs(self, number: int) -> None:
        jobs = [job for job, _ in self._jobs(number)]
        for first in range(0, len(jobs), _STEP):
            some = tuple(jobs[first : first + _STEP])
            reason = f"advance reservation {number} has been removed"
            self._daemon.feed(
                Acted(
                    action=Action.REMOVE, jobs=some, user=ACTOR, superuser=True, reply_to="", reason=reason,
                    attributes=ClassAd(), request="",
                )
            )  # fmt: skip

    async def _end(self, one: AdvanceReservation, event: str, state: str, actor: str, words: str) -> None:
        """Remove the jobs of a reservation, and then the reservation."""
        self._remove_jobs(one.number)
        await self._daemon.kept()
        await self._keep(one, event, state, actor, words, gone=True)

    async def _keep(
        self, one: AdvanceReservation, event: str, state: str, actor: str, words: str, *, gone: bool = False
    ) -> None:
        now = self._daemon.clock.now()
        commit = ReservationCommit(
            number=one.number,
            at=now,
            event=event,
            state=state,
            actor=actor,
            data=data_of(one),
            gone=gone,
            record=audit_data(record_of_reservation(words, one.number, actor, now)),
        )
        if self._daemon.queue.claim_table.reporting is not None:
            commit = replace(commit, reports=tuple(of_reservation(one, commit, self.all.get(one.number))))
        noted = await self._daemon.on_store(self._daemon.store.keep_reservation, commit)
        self._daemon.copies.took_reports()
        _log.info("%s", words)
        if gone:
            self.all.pop(one.number, None)
        else:
            self.all[one.number] = one
        self._changed()
        self._daemon.tell(noted)
        self._daemon.demands.soon(0.0)


def _may_use(cluster: Cluster) -> bool:
    """Whether jobs of a cluster may use a reservation."""
    return _KEY in cluster.ad.cells or any(_KEY in job.ad.cells for job in cluster.jobs.values())
