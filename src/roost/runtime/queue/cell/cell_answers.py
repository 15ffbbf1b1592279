"""Answers of a queue about the Grid Engine cell of its pool.

A change is checked as a whole in a thread, so that the queue continues meanwhile, and is answered once it is committed.
Only one change is made at a time; a change that was planned on another revision of the cell than the current one is
refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from roost.base.records import replace
from roost.classad import ClassAd
from roost.classad.ad import MISSING
from roost.classad.values import UNDEFINED, fold
from roost.model.cell_requests import (
    ASKED,
    DEADLINE,
    NAME,
    OVERRIDE_TICKETS,
    PATHS,
    RANKED,
    RESERVATION,
    TASK,
    InstanceAction,
)
from roost.model.digests import given_state, states_digest
from roost.runtime.causes import present_request
from roost.runtime.identity import groups_of, host_name, ids_of
from roost.runtime.queue.cell.edits import Rights, edited
from roost.runtime.queue.cell.records import record_of_changes, record_of_denied, record_of_states, told
from roost.runtime.queue.cell.reports import go_by, of_loads, of_states
from roost.runtime.queue.cell.reservations import Reservations
from roost.runtime.queue.cell.timed_reports import TimedReports
from roost.runtime.queue.cell.verifier import Verifier
from roost.runtime.queue.database.cell_store import CellCommit, GivenState, KeptCell, StatesCommit
from roost.schedd.claims.held_claims import Stage
from roost.schedd.events import ErrorsCleared, UsageCleared, UsageRuled
from roost.wire.ads import ad_data
from roost.wire.audit import audit_data
from roost.wire.messages import Answer
from roost.wire.requests.cell import (
    OVER_LIMIT,
    CellChanged,
    CellFile,
    CellLog,
    ChangeCell,
    ChangedInstance,
    ChangeInstances,
    DeleteReservations,
    EditCell,
    EditedCell,
    EditLine,
    HeldTask,
    InstanceState,
    KeepReservation,
    ReportLoads,
    UsageForgotten,
    UsageRow,
)
from roost.wire.structs import data_of

if TYPE_CHECKING:
    from roost.gridengine.cell import Cell
    from roost.gridengine.difference import Change
    from roost.gridengine.jsv.url import Settings
    from roost.gridengine.pool.requests import Reader
    from roost.gridengine.problems import Refused
    from roost.model.cell_usage import UsageRules
    from roost.model.queue_context import QueueContext
    from roost.runtime.clock import Clock
    from roost.runtime.queue.actions import Selection
    from roost.runtime.queue.database.kept import Noted
    from roost.runtime.queue.database.store import Store
    from roost.runtime.queue.database_watch import DatabaseWatch
    from roost.runtime.queue.demands import Demands
    from roost.runtime.queue.exported_files import ExportedFiles
    from roost.runtime.role import RoleContext
    from roost.schedd.claims.claim_table import QueueSettings
    from roost.schedd.events import Event
    from roost.schedd.jobs.book import Cluster
    from roost.schedd.queue import Queue
    from roost.schedd.submit import ClusterPlan

_T = TypeVar("_T")

#: Maximum number of problems of a refused change in an answer.
PROBLEMS_MAX: Final = 50
#: Codes of refusals.
REFUSED: Final = "cell-refused"
CHANGED_SINCE: Final = "cell-changed-since"
#: As for other submissions that are refused.
NOT_ADMITTED: Final = "not-admitted"
NOT_PERMITTED: Final = "not-permitted"
#: Folded names of attributes that request something from a cell.
_ASKED: Final = frozenset(fold(name) for name in (*ASKED, DEADLINE, OVERRIDE_TICKETS, RESERVATION))
_NAME: Final = fold(NAME)
_PRIORITY: Final = fold("JobPrio")
#: Folded names of attributes that not every user may set.
_RESERVATION: Final = fold(RESERVATION)
_RANKED_BY_LAW: Final = frozenset((fold(DEADLINE), fold(OVERRIDE_TICKETS), _RESERVATION))
#: Folded names of those that operators may change for other users' jobs.
_OPERATORS: Final = frozenset(map(fold, (*ASKED, *RANKED, "JobPrio", "JobMaterializeLimit")))
_NOTHING: Final = (MISSING, UNDEFINED, 0, "")


class NoSuchQueue(Exception):
    """The cell no longer has the queue in which a job was to run."""


class CellAnswersDaemon(Protocol):
    """The interface of the queue's daemon for answers about the cell."""

    clock: Clock
    settings: QueueSettings
    store: Store
    queue: Queue
    copies: ExportedFiles
    demands: Demands
    watch: DatabaseWatch
    context: RoleContext
    #: CellUsage as which a verifier of submissions may run.
    jsv_users: tuple[str, ...]

    def feed(self, event: Event) -> None:
        """Pass an event to the core."""

    async def kept(self) -> None:
        """Wait until everything so far is committed."""

    async def on_store(self, work: Callable[..., _T], *arguments: Any) -> _T:
        """Use the database in its thread. Raises StoreError."""

    def tell(self, noted: tuple[Noted, ...]) -> None:
        """Send decisions to the central manager."""


class CellAnswers:
    """Requests about a pool's cell."""

    def __init__(self, daemon: CellAnswersDaemon) -> None:
        self._daemon = daemon
        self._one_at_a_time = asyncio.Lock()
        self.reservations = Reservations(daemon, self._reserved)
        self.timed_reports = TimedReports(daemon, self.read_cell)
        self._kept: KeptCell | None = None
        #: The current cell, parsed; None until a job needs it.
        self._cell: Cell | None = None
        self.verifier = Verifier(daemon.context.home.run)

    def begin(self, kept: KeptCell) -> None:
        """Start with the stored cell."""
        self._kept = kept
        self.reservations.begin(kept)
        self._daemon.queue.claim_table.cell = kept.revision
        self._hold_states(kept)
        if kept.revision:
            go_by(self._daemon, kept.files)
            self.timed_reports.use(kept.files)
            self._daemon.queue.claim_table.usage.rules = _usage_rules(kept.files)

    def _hold_states(self, kept: KeptCell) -> None:
        claim_table = self._daemon.queue.claim_table
        given = {name: given_state(one.letters, one.at) for name, one in kept.states.items()}
        claim_table.cell_states = states_digest({**given, **self.reservations.names})
        claim_table.closed = frozenset(name for name, given in kept.states.items() if given.letters)

    def _reserved(self) -> None:
        """Note that reservations have changed."""
        if self._kept is not None:
            self._hold_states(self._kept)

    async def report_loads(self, asked: ReportLoads) -> Answer:
        """Write the load reports of hosts to the reporting file."""
        if self._daemon.queue.claim_table.reporting is not None:
            reports = of_loads(asked.loads, self._daemon.clock.now())
            await self._daemon.on_store(self._daemon.store.keep_reports, reports)
            self._daemon.copies.took_reports()
        return Answer()

    async def keep_reservation(self, asked: KeepReservation) -> Answer:
        """Store an advance reservation that the central manager grants."""
        async with self._one_at_a_time:
            kept = await self._present()
            if asked.revision != kept.revision:
                return Answer(ok=False, code=CHANGED_SINCE, text="the cell has changed in the meantime; try again")
            from roost.gridengine.objects.configuration import count_of

            most = count_of((await self.read_cell()).parameter("max_advance_reservations"))
            return await self.reservations.keep(asked, most)

    async def delete_reservations(self, asked: DeleteReservations, sender: str) -> Answer:
        """Delete advance reservations with their jobs."""
        user = sender.partition("@")[0]
        return await self.reservations.delete(asked, user, manages=await self.operates(sender))

    async def _reservation_refusal(self, given: ClassAd, sender: str) -> str:
        """Why a user's jobs may not use the advance reservation that they request; "" if they may, or request none."""
        number = given.cell(_RESERVATION)
        if number in _NOTHING:
            return ""
        one = self.reservations.all.get(number) if isinstance(number, int) else None
        if one is None:
            return f"the advance reservation id {number} is invalid"
        now, user = self._daemon.clock.now(), sender.partition("@")[0]
        if one.deleted or one.end <= now:
            return f"the advance reservation {number} is no longer available"
        from roost.gridengine.pool.reservations import duration_of, may_use

        if not may_use(one, await self.read_cell(), user, groups_of(user)) and not await self.operates(sender):
            return (
                f'denied: "{user}" may not use the advance reservation {number}: it is for its owner and its users (-u)'
            )
        duration = duration_of(given)
        if duration > one.duration:
            return f"the job duration is longer than duration of the advance reservation id {number}"
        if max(now, one.start) + duration > one.end:
            return f"the job duration exceeds the end time of the advance reservation id {number}"
        return ""

    async def verified(self, clusters: list[ClusterPlan], sender: str) -> list[ClusterPlan] | Answer:
        """The clusters as changed by the verifier of the cell (`jsv_url`), or why they are refused."""
        settings = await self._verifying()
        if settings is None or settings.url is None:
            await self.verifier.close()
            return clusters
        from roost.runtime.queue.cell.verifying import verified

        return await verified(self.verifier, settings, self._daemon.jsv_users, clusters, sender)

    async def change_refusal(self, given: ClassAd) -> Answer | None:
        """Why jobs that a verifier has checked may not be changed like that; None if they may."""
        settings = await self._verifying()
        if settings is None or settings.url is None:
            return None
        from roost.gridengine.jsv.parameters import not_allowed

        text = not_allowed(given, settings.changeable)
        return Answer(ok=False, code=NOT_PERMITTED, text=text) if text else None

    async def _verifying(self) -> Settings | None:
        """The cell's settings of verifiers; None without a cell."""
        if not (await self._present()).revision:
            return None
        from roost.gridengine.jsv.url import settings_of

        return settings_of(await self.read_cell())

    async def refusal(self, clusters: Sequence[ClusterPlan], sender: str) -> Answer | None:
        """Why jobs that request something from a cell are refused; None if they are accepted, or request nothing."""
        if (
            not any(_asks(one) or _NAME in one.common.cells for one in clusters)
            and not (await self._present()).revision
        ):
            return None
        if any(not _RANKED_BY_LAW.isdisjoint(one.varying) for one in clusters):
            words = ", ".join((DEADLINE, OVERRIDE_TICKETS, RESERVATION))
            return _denied([f"{words} are the same for all tasks of a job"])
        kept = await self._present()
        if not kept.revision:
            return _no_cell(_names(clusters))
        from roost.gridengine.pool.admission import RAISED, Submitter, barred, complaints, is_raised, over_limits

        cell, reader, user = await self.read_cell(), await self._reader(), sender.partition("@")[0]
        found = await asyncio.to_thread(complaints, reader, clusters)
        if not found:
            found = barred(cell, Submitter(user, host_name(), *ids_of(user), groups_of(user)), reader, clusters)
        if not found and (over := over_limits(cell, *self._daemon.queue.book.count_of(user))):
            return Answer(ok=False, code=OVER_LIMIT, text="; ".join(over))
        if not found and any(map(is_raised, clusters)) and not await self.operates(sender):
            found = [RAISED]
        if not found:
            found = [why for one in clusters if (why := await self._ranking_refusal(one.common, sender))][:1]
        if not found:
            found = [why for one in clusters if (why := await self._reservation_refusal(one.common, sender))][:1]
        # Grid Engine reports the first problem to users of `qsub`.
        return _denied(found[:1] if any(_NAME in one.common.cells for one in clusters) else found)

    async def _ranking_refusal(self, given: ClassAd, sender: str) -> str:
        """Why a user may not give jobs a deadline or override tickets; "" if that is allowed, or they have none."""
        from roost.gridengine.pool.admission import deadline_bars, ticket_bars

        user = sender.partition("@")[0]
        return deadline_bars(await self.read_cell(), user, groups_of(user), given) or ticket_bars(
            user, given, operates=await self.operates(sender)
        )

    async def edit_refusal(self, given: ClassAd) -> Answer | None:
        """Why requests of jobs to a cell cannot be changed; None if they can, or none is among the attributes."""
        asked = {name: given.cell(fold(name)) for name in (*ASKED, *PATHS) if name in given}
        wanted = ClassAd({name: cell for name, cell in asked.items() if str(cell).lower() != "undefined"})
        if not len(wanted):
            return None
        if not (await self._present()).revision:
            return _no_cell(list(wanted))
        return _denied(list((await self._reader()).complaints(wanted)))

    async def raise_refusal(self, given: ClassAd, jobs: Selection, sender: str) -> Answer | None:
        """Why a user may not give jobs of `qsub` a higher priority; None if that is allowed, or the priority is not
        raised.
        """
        if not _RANKED_BY_LAW.isdisjoint(given.cells):
            if not (await self._present()).revision:
                return _no_cell([name for name in (DEADLINE, OVERRIDE_TICKETS, RESERVATION) if name in given])
            if _RESERVATION in given.cells and (refused := await self._reservation_refusal(given, sender)):
                return Answer(ok=False, code=NOT_PERMITTED, text=refused)
            if fold(OVERRIDE_TICKETS) in given.cells and not await self.operates(sender):
                text = f'denied: "{sender}" must be operator to change amount of override tickets'
                return Answer(ok=False, code=NOT_PERMITTED, text=text)
            if refused := await self._ranking_refusal(given, sender):
                return Answer(ok=False, code=NOT_PERMITTED, text=refused)
        wanted, book = given.cell(_PRIORITY), self._daemon.queue.book
        if not isinstance(wanted, int | float):
            return None
        own = {number for number in jobs.clusters if _is_own(book.clusters.get(number), sender)}
        if not own or await self.operates(sender):
            return None
        for job in jobs:
            if job.cluster in own and (cluster := book.clusters.get(job.cluster)) is not None:
                present = cluster.ad_of(job.proc).cell(_PRIORITY)
                if wanted > (present if isinstance(present, int | float) else 0):
                    text = f'denied: "{sender}" must be operator to increase job priority'
                    return Answer(ok=False, code=NOT_PERMITTED, text=text)
        return None

    async def may_edit(self, given: ClassAd, user: str) -> bool:
        """Whether a user may set these attributes of other users' jobs: operators may, for those that order jobs."""
        return _OPERATORS.issuperset(given.cells) and await self.operates(user)

    async def operates(self, user: str, *, manages: bool = False) -> bool:
        """Whether a user has the rights of an operator of the cell, or of a manager."""
        if user in self._daemon.settings.superusers:
            return True
        if not (await self._present()).revision:
            return False
        cell = await self.read_cell()
        return user in cell.managers or (not manages and user in cell.operators)

    async def hold_refusal(self, letters: str, user: str, action: str) -> Answer | None:
        """Why a user may not set or remove these holds of jobs, in Grid Engine's words; None if that is allowed."""
        what = "set" if action == "hold" else "remove"
        for letter, called in (("s", "manager"), ("o", "operator")):
            if letter in letters and not await self.operates(user, manages=letter == "s"):
                text = f'denied: "{user}" must be {called} to {what} {called} hold'
                return Answer(ok=False, code=NOT_PERMITTED, text=text)
        return None

    async def context(self, job_ad: ClassAd) -> QueueContext | None:
        """The settings of the queue instance that a job was granted; None for a job without one. Raises NoSuchQueue."""
        task = job_ad.get(TASK)
        if not isinstance(task, ClassAd):
            return None
        from roost.gridengine.pool.context import context_of

        context = context_of(await self.read_cell(), task, job_ad, self._daemon.copies.sge_root)
        if context is None:
            raise NoSuchQueue(f"the cell no longer has the queue of {task.get('Instance')}")
        return context

    async def _reader(self) -> Reader:
        """The parser of requests to the current cell."""
        from roost.gridengine.pool.requests import Reader

        return Reader(await self.read_cell(), lambda user: ())

    async def read_cell(self) -> Cell:
        """The current cell."""
        while self._cell is None:
            from roost.gridengine.cell import read_cell

            kept = await self._present()
            found = await asyncio.to_thread(read_cell, kept.files)
            if self._kept is kept:
                self._cell = found
        return self._cell

    async def read(self) -> Answer:
        """The texts of the cell."""
        kept = await self._present()
        return Answer(
            data=[CellFile(name=name, text=text, revision=kept.revision) for name, text in kept.files.items()]
        )

    def tasks(self) -> list[HeldTask]:
        """What jobs use of the cell."""
        queue, found = self._daemon.queue, []
        for claim in queue.claim_table.claims.values():
            name = claim.job if claim.gang is None else claim.gang.job
            job = None if name is None else queue.book.find(name)
            if job is None and claim.stage is not Stage.ASKED:
                # It was deleted without waiting for its machine.
                continue
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

    def usage(self) -> Answer:
        """The users' usage until now."""
        accounts, now = self._daemon.queue.claim_table.usage, self._daemon.clock.now()
        settled = {owner: used.settled(accounts.rules, now) for owner, used in accounts.by_owner.items()}
        return Answer(
            data=[
                UsageRow(
                    **owner._asdict(),
                    at=used.at,
                    recent=dict(used.recent),
                    total=dict(used.total),
                    usage=accounts.rules.weighted(used.recent),
                )
                for owner, used in sorted(settled.items())
            ]
        )

    async def clear_usage(self, sender: str) -> Answer:
        """Clear the users' usage."""
        if not await self.operates(sender, manages=True):
            text = f'denied: "{sender}" must be manager for this operation'
            return Answer(ok=False, code=NOT_PERMITTED, text=text)
        count = len(self._daemon.queue.claim_table.usage.by_owner)
        self._daemon.feed(UsageCleared(actor=sender, request=present_request()))
        await self._daemon.kept()
        return Answer(data=UsageForgotten(accounts=count))

    async def states(self) -> list[InstanceState]:
        """The states that queue instances were given."""
        kept = await self._present()
        return [InstanceState(name=name, **given._asdict()) for name, given in kept.states.items()]

    async def change_instances(self, asked: ChangeInstances, sender: str) -> Answer:
        """Disable, enable, suspend, resume or clear queue instances."""
        from roost.gridengine.pool.instance_states import changed

        async with self._one_at_a_time:
            kept, cell, now = await self._present(), await self.read_cell(), self._daemon.clock.now()
            action = InstanceAction(asked.action)
            done = changed(
                cell,
                action,
                asked.names,
                given={name: given.letters for name, given in kept.states.items()},
                errors=self._daemon.queue.claim_table.errors,
                user=sender.partition("@")[0],
                free=sender in self._daemon.settings.superusers,
            )
            rows = [ChangedInstance(name=name, outcome=outcome) for name, outcome in done.outcomes]
            states = {name: GivenState(letters, now, sender) for name, letters in done.letters.items()}
            cleared = done.cleared
            if cleared:
                # The event has its own record.
                self._daemon.feed(ErrorsCleared(instances=cleared, actor=sender, request=present_request()))
                await self._daemon.kept()
            record = None if cleared else record_of_states(action, rows, sender, now)
            if record is not None:
                reporting = self._daemon.queue.claim_table.reporting is not None
                reports = of_states(done.letters, now) if reporting else ()
                commit = StatesCommit(states=states, record=audit_data(record), reports=reports)
                noted = await self._daemon.on_store(self._daemon.store.keep_instances, commit)
                self._kept = replace(kept, states=dict(sorted({**kept.states, **states}.items())))
                self._hold_states(self._kept)
                self._daemon.copies.took_reports()
                self._daemon.tell(noted)
                self._daemon.demands.soon(0.0)
            return Answer(data=[data_of(row) for row in rows])

    async def log(self, asked: CellLog) -> Answer:
        """The latest changes."""
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
                remedy = "review the new plan with `roost cell diff`, and apply again"
                return Answer(ok=False, code=CHANGED_SINCE, text=text, remedy=remedy)
            done = await asyncio.to_thread(_changed, kept.files, asked)
            if isinstance(done, Answer):
                return done
            after, found, names = done
            if found and self.reservations.all:
                from roost.gridengine.cell import read_cell

                if why := await self._breaks(await asyncio.to_thread(read_cell, after)):
                    return Answer(ok=False, code=REFUSED, text=f"the cell is unchanged: {why}")
            if not found and kept.revision:
                return Answer(data=CellChanged(revision=kept.revision, changes=()))
            return await self._keep(kept, after, found, names, sender, asked.last_job)

    async def edit(self, asked: EditCell, sender: str) -> Answer:
        """Change the cell as an option of `qconf` does."""
        async with self._one_at_a_time:
            kept, user = await self._present(), sender.partition("@")[0]
            if not kept.revision:
                return _no_cell(())
            rights = Rights(
                user=user,
                manages=sender in self._daemon.settings.superusers or await self.operates(user, manages=True),
                operates=await self.operates(user),
            )
            done = await asyncio.to_thread(edited, await self.read_cell(), asked, rights)
            if isinstance(done, Answer):
                return done
            if done.changes and (why := await self._breaks(done.edited.cell)):
                refused = EditedCell(revision=kept.revision, lines=(EditLine(text=why),), status=1)
                return Answer(data=refused)
            revision = kept.revision
            if done.denied:
                record = record_of_denied(asked, sender, self._daemon.clock.now())
                noted = await self._daemon.on_store(
                    self._daemon.store.keep_instances, StatesCommit(states={}, record=audit_data(record))
                )
                self._daemon.tell(noted)
            if done.changes:
                await self._keep(kept, done.files, done.changes, done.instances, sender)
                self._cell = done.edited.cell
                revision += 1
            return Answer(data=done.reply(revision))

    async def _breaks(self, after: Cell) -> str:
        """Why a change would break an advance reservation; "" if it breaks none."""
        if not self.reservations.all:
            return ""
        from roost.gridengine.pool.reservations import broken

        before = await self.read_cell()
        return await asyncio.to_thread(broken, tuple(self.reservations.all.values()), before, after)

    async def _present(self) -> KeptCell:
        if self._kept is None:
            self._kept = await self._daemon.on_store(self._daemon.store.cell)
        return self._kept

    async def _keep(
        self,
        kept: KeptCell,
        after: dict[str, str],
        found: tuple[Change, ...],
        names: frozenset[str],
        sender: str,
        last_job: int = 0,
    ) -> Answer:
        now, revision = self._daemon.clock.now(), kept.revision + 1
        changes = tuple(told(one) for one in found)
        # An instance with running jobs keeps its state until the last of them has ended.
        names |= {str(each.task.get("Instance")) for each in self.tasks()}
        gone = [name for name in kept.states if name not in names]
        commit = CellCommit(
            revision=revision,
            at=now,
            actor=sender,
            changes=[data_of(one) for one in changes],
            put={name: text for name, text in after.items() if kept.files.get(name) != text},
            drop=[name for name in kept.files if name not in after],
            record=audit_data(record_of_changes(found, revision, sender, now)),
            gone=gone,
            next_cluster=last_job + 1,
        )
        noted = await self._daemon.on_store(self._daemon.store.keep_cell, commit)
        book = self._daemon.queue.book
        book.next_cluster = max(book.next_cluster, last_job + 1)
        states = {name: given for name, given in kept.states.items() if name not in gone}
        self._kept = KeptCell(revision=revision, files=after, states=states)
        self._hold_states(self._kept)
        self._cell = None
        if unknown := tuple(name for name in self._daemon.queue.claim_table.errors if name not in names):
            self._daemon.feed(ErrorsCleared(instances=unknown, actor=sender, request=present_request()))
        self._daemon.queue.claim_table.cell = revision
        go_by(self._daemon, after)
        self.timed_reports.use(after)
        self._daemon.feed(UsageRuled(rules=_usage_rules(after)))
        self._daemon.tell(noted)
        self._daemon.demands.soon()
        return Answer(data=CellChanged(revision=revision, changes=changes))


def _usage_rules(files: Mapping[str, str]) -> UsageRules:
    """How usage decays according to the texts of a cell."""
    from roost.gridengine.pool.usage import rules_of

    return rules_of(_configuration(files))


def _configuration(files: Mapping[str, str]) -> Cell:
    """The configuration of the cell without its objects: that of the scheduler, and the global one."""
    from roost.gridengine.cell import SCHEDULER_FILE, read_cell

    names = (SCHEDULER_FILE, "configurations/global")
    return read_cell({name: files[name] for name in names if name in files})


def _no_cell(asked: Sequence[str]) -> Answer:
    text = "the pool has no Grid Engine cell" + (f", but the job requests {', '.join(asked)}" if asked else "")
    remedy = "omit it, or ask an administrator to import a cell with `roost cell import`"
    return Answer(ok=False, code=NOT_ADMITTED, text=text, remedy=remedy)


def _denied(found: Sequence[str]) -> Answer | None:
    if not found:
        return None
    remedy = "`roost cell export` writes what the cell has"
    return Answer(ok=False, code=NOT_ADMITTED, text="\n".join(found), remedy=remedy)


def _asks(cluster: ClusterPlan) -> bool:
    return not _ASKED.isdisjoint(cluster.common.cells) or not _ASKED.isdisjoint(cluster.varying)


def _is_own(cluster: Cluster | None, sender: str) -> bool:
    """Whether a cluster was submitted by `qsub`, by this user."""
    return cluster is not None and cluster.owner == sender and _NAME in cluster.ad.cells


def _names(clusters: Sequence[ClusterPlan]) -> list[str]:
    """The requesting attributes, as they are spelled."""
    found = {key for one in clusters for key in (*one.common.cells, *one.varying)}
    return [name for name in ASKED if fold(name) in found]


def _changed(files: Any, asked: ChangeCell) -> tuple[dict[str, str], tuple[Change, ...], frozenset[str]] | Answer:
    """The files of the cell after a change, the differences, and its queue instances; or why it is not possible."""
    # A pool without a cell does not need this room, which takes a while to import.
    from roost.gridengine import changes
    from roost.gridengine.cell import Cell, read_cell, write_cell
    from roost.gridengine.instances import resolve
    from roost.gridengine.problems import Refused

    wanted = {name: text for name, text in {**files, **asked.put}.items() if name not in asked.drop}
    try:
        changed = changes.replace(read_cell(files) if files else Cell(), read_cell(wanted))
    except Refused as refused:
        return _refusal(refused)
    names = frozenset(one.name for one in resolve(changed.cell))
    return write_cell(changed.cell), changed.changes, names


def _refusal(refused: Refused) -> Answer:
    lines = [str(problem) for problem in refused.problems[:PROBLEMS_MAX]]
    more = len(refused.problems) - len(lines)
    text = "\n".join(["the cell is unchanged:", *lines, *([f"and {more} more"] if more else [])])
    return Answer(ok=False, code=REFUSED, text=text)
