"""What a queue answers about the Grid Engine cell of its pool.

A change is checked as a whole in a thread, so that the queue goes on meanwhile, and is answered once it is on disk. One
change is made at a time; a change that was planned on another revision of the cell than the present one is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.model.audit import AuditKind, AuditRecord, clipped, some
from roost.model.cell_requests import ASKED, TASK
from roost.runtime.queue.cell_store import CellCommit, KeptCell
from roost.schedd.claims import Stage
from roost.wire.ads import ad_data
from roost.wire.audit import audit_data
from roost.wire.messages import Answer
from roost.wire.requests.cell import (
    CellChange,
    CellChanged,
    CellFile,
    CellLog,
    ChangeCell,
    ChangedAttribute,
    HeldTask,
)
from roost.wire.structs import data_of

if TYPE_CHECKING:
    from roost.gridengine.difference import Change
    from roost.gridengine.pool.requests import Reader
    from roost.gridengine.problems import Refused
    from roost.runtime.queue.daemon import ScheddDaemon
    from roost.schedd.submit import ClusterPlan

#: Problems of a refused change that an answer names.
PROBLEMS_MAX: Final = 50
#: Codes of refusals.
REFUSED: Final = "cell-refused"
CHANGED_SINCE: Final = "cell-changed-since"
#: As of other submissions that are refused.
NOT_ADMITTED: Final = "not-admitted"
#: Folded names of attributes that ask a cell for something.
_ASKED: Final = frozenset(fold(name) for name in ASKED)
#: What is wrong with a submission, told at once.
_COMPLAINTS_MAX: Final = 5


class CellAnswers:
    """The requests about a pool's cell."""

    def __init__(self, daemon: ScheddDaemon) -> None:
        self._daemon = daemon
        self._one_at_a_time = asyncio.Lock()
        self._kept: KeptCell | None = None
        #: Reads requests to the present cell; None until a job makes one.
        self._reader: Reader | None = None

    def begin(self, kept: KeptCell) -> None:
        """Go on with the cell that was kept."""
        self._kept = kept
        self._daemon.queue.holder.cell = kept.revision

    async def refusal(self, clusters: Sequence[ClusterPlan]) -> Answer | None:
        """Why jobs are not taken that ask a cell for something; None if they are, or ask for nothing."""
        if not any(_asks(one) for one in clusters):
            return None
        kept = await self._present()
        if not kept.revision:
            text = f"the pool has no Grid Engine cell, and the job asks for {', '.join(_names(clusters))}"
            remedy = "leave it out, or have an administrator give the pool a cell with `roost cell import`"
            return Answer(ok=False, code=NOT_ADMITTED, text=text, remedy=remedy)
        self._reader, found = await asyncio.to_thread(_complaints, self._reader, kept.files, clusters)
        if not found:
            return None
        remedy = "`roost cell export` writes what the cell has"
        return Answer(ok=False, code=NOT_ADMITTED, text="; ".join(found), remedy=remedy)

    async def read(self) -> Answer:
        """The texts of the cell."""
        kept = await self._present()
        return Answer(
            data=[CellFile(name=name, text=text, revision=kept.revision) for name, text in kept.files.items()]
        )

    def tasks(self) -> list[HeldTask]:
        """What jobs have of the cell."""
        queue, found = self._daemon.queue, []
        for claim in queue.holder.claims.values():
            job = None if claim.job is None else queue.book.find(claim.job)
            task = claim.task
            if task is None and job is not None and claim.run:
                kept = job.ad.get(TASK)
                task = kept if isinstance(kept, ClassAd) else None
            if task is not None:
                asked = claim.stage is Stage.ASKED
                found.append(
                    HeldTask(slot=claim.slot, node=claim.node, claim_id=claim.id, asked=asked, task=ad_data(task))
                )
        return found

    async def log(self, asked: CellLog) -> Answer:
        """The last changes."""
        rows = await self._daemon.on_store(self._daemon.store.cell_changes, asked.limit)
        entries = [
            {"revision": revision, "at": at, "actor": actor, "changes": found} for revision, at, actor, found in rows
        ]
        return Answer(data=entries)

    async def change(self, asked: ChangeCell, sender: str) -> Answer:
        """Change the cell."""
        async with self._one_at_a_time:
            kept = await self._present()
            if asked.revision != kept.revision:
                text = f"the cell has changed since: its revision is {kept.revision}, not {asked.revision}"
                remedy = "look at the new plan with `roost cell diff`, and apply again"
                return Answer(ok=False, code=CHANGED_SINCE, text=text, remedy=remedy)
            done = await asyncio.to_thread(_changed, kept.files, asked)
            if isinstance(done, Answer):
                return done
            after, found = done
            if not found and kept.revision:
                return Answer(data=CellChanged(revision=kept.revision, changes=()))
            return await self._keep(kept, after, found, sender)

    async def _present(self) -> KeptCell:
        if self._kept is None:
            self._kept = await self._daemon.on_store(self._daemon.store.cell)
        return self._kept

    async def _keep(self, kept: KeptCell, after: dict[str, str], found: tuple[Change, ...], sender: str) -> Answer:
        now, revision = self._daemon.clock.now(), kept.revision + 1
        told = tuple(_told(one) for one in found)
        commit = CellCommit(
            revision=revision,
            at=now,
            actor=sender,
            changes=[data_of(one) for one in told],
            put={name: text for name, text in after.items() if kept.files.get(name) != text},
            drop=[name for name in kept.files if name not in after],
            record=audit_data(_record(found, revision, sender, now)),
        )
        noted = await self._daemon.on_store(self._daemon.store.keep_cell, commit)
        self._kept = KeptCell(revision=revision, files=after)
        self._reader = None
        self._daemon.queue.holder.cell = revision
        self._daemon.tell(noted)
        self._daemon.demands.soon()
        return Answer(data=CellChanged(revision=revision, changes=told))


def _asks(cluster: ClusterPlan) -> bool:
    return not _ASKED.isdisjoint(cluster.common.cells) or not _ASKED.isdisjoint(cluster.varying)


def _names(clusters: Sequence[ClusterPlan]) -> list[str]:
    """The attributes that ask for something, as they are spelled."""
    found = {key for one in clusters for key in (*one.common.cells, *one.varying)}
    return [name for name in ASKED if fold(name) in found]


def _complaints(
    reader: Reader | None, files: Mapping[str, str], clusters: Sequence[ClusterPlan]
) -> tuple[Reader, list[str]]:
    """What reads requests to a cell, and what is wrong with those of the jobs of clusters."""
    from roost.gridengine.cell import read_cell
    from roost.gridengine.pool.requests import Reader

    reader = reader or Reader(read_cell(files), lambda user: ())
    found: dict[str, None] = {}
    for cluster in clusters:
        apart = not _ASKED.isdisjoint(cluster.varying)
        seen: set[tuple[str, ...]] = set()
        for index in range(cluster.count if apart else 1):
            ad = cluster.common.copy()
            for name, cell in cluster.differences(index).items() if apart else ():
                ad.put(name, cell)
            asked = tuple(str(ad.get(name, "")) for name in ASKED)
            if asked not in seen:
                seen.add(asked)
                found.update(dict.fromkeys(reader.complaints(ad)))
            if len(found) >= _COMPLAINTS_MAX:
                return reader, list(found)
    return reader, list(found)


def _changed(files: Any, asked: ChangeCell) -> tuple[dict[str, str], tuple[Change, ...]] | Answer:
    """The files of the cell after a change, and what changed; the refusal if the change is not possible."""
    # A pool without a cell does not need the room, which takes a while to import.
    from roost.gridengine import changes
    from roost.gridengine.cell import Cell, read_cell, write_cell
    from roost.gridengine.problems import Refused

    wanted = {name: text for name, text in {**files, **asked.put}.items() if name not in asked.drop}
    try:
        changed = changes.replace(read_cell(files) if files else Cell(), read_cell(wanted))
    except Refused as refused:
        return _refusal(refused)
    return write_cell(changed.cell), changed.changes


def _refusal(refused: Refused) -> Answer:
    lines = [str(problem) for problem in refused.problems[:PROBLEMS_MAX]]
    more = len(refused.problems) - len(lines)
    text = "\n".join(["the cell stays as it was:", *lines, *([f"and {more} more"] if more else [])])
    return Answer(ok=False, code=REFUSED, text=text)


def _told(change: Change) -> CellChange:
    attributes = tuple(ChangedAttribute(name=name, before=old, after=new) for name, old, new in change.details)
    return CellChange(verb=str(change.verb), kind=change.kind, name=change.name, attributes=attributes)


def _record(found: tuple[Change, ...], revision: int, sender: str, now: float) -> AuditRecord:
    words = [f"{one.verb} {one.what}" for one in found]
    return AuditRecord(
        id=f"cell/{revision}",
        kind=AuditKind.COMMAND,
        at=now,
        until=now,
        actor=sender,
        reason=clipped(f"cell changed to revision {revision}: {', '.join(words)}"),
        count=max(1, len(found)),
        samples=some(words),
    )
