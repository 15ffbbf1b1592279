"""The queue's daemon: the queue's core, connected to the bus and the database.

All input becomes events of the core. A thread commits the changes of steps in groups while the next steps are taken;
the daemon carries out the effects of steps when their group is committed. A queue therefore tells others only what it
will still know after a crash.

Pieces of users' event logs are part of the commit, and are written to their files after it; pieces that were committed
and not written are written at the next start.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from roost.base.records import replace
from roost.config import Config, ConfigError
from roost.config.access import access
from roost.config.in_force import configuration_record
from roost.model.audit import AuditKind, AuditRecord, Effect
from roost.model.causes import CauseIds, causes_of
from roost.model.queue_context import QueueContext
from roost.runtime import backup_lock
from roost.runtime.audit_sender import AuditSender
from roost.runtime.background import Background
from roost.runtime.bus.budget import time_max_of
from roost.runtime.bus.client import Bus, internal_error
from roost.runtime.bus.lanes import Lanes
from roost.runtime.daemon_ads import place_of
from roost.runtime.daemon_orders import DaemonEnding
from roost.runtime.database_guard import Damaged, StoreError
from roost.runtime.files.file_workers import FileWorkers, with_hands
from roost.runtime.processes.accounts import NoSuchAccount
from roost.runtime.progress import Progress
from roost.runtime.queue.answers import QueueAnswers
from roost.runtime.queue.cell.cell_answers import NoSuchQueue
from roost.runtime.queue.cell.task_places import task_place
from roost.runtime.queue.chirp import chirped
from roost.runtime.queue.cron_jobs import QueueCron, queue_cron_plan
from roost.runtime.queue.database.kept import Committed, LogPiece, Noted
from roost.runtime.queue.database.store import Store
from roost.runtime.queue.database.tables import CELL_ERRORS
from roost.runtime.queue.database_watch import DatabaseWatch
from roost.runtime.queue.dataflow import is_dataflow, wants_skipping
from roost.runtime.queue.demands import OFFER_LATER_S, Demands
from roost.runtime.queue.exported_files import ExportedFiles
from roost.runtime.queue.figures import Figures
from roost.runtime.queue.local_runs import LocalRuns
from roost.runtime.queue.log_files import Appended
from roost.runtime.queue.messages import check_speaker, events_of, given_by, order_to
from roost.runtime.queue.spool import Spool
from roost.runtime.queue.staging import Staging
from roost.runtime.queue.user_logs import UserLogs
from roost.runtime.role import ConfigurationRefused, RoleContext, give_up, must_go_on, superusers
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd.changes import AddAudit, Change, PutClaim, PutCluster, PutJob
from roost.schedd.claims.claim_table import QueueSettings
from roost.schedd.configured import queue_settings
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.local import local_name
from roost.schedd.queue import Queue, Step
from roost.schedd.status import JobStatus
from roost.schedd.submit import ClusterPlan
from roost.wire import messages as m
from roost.wire.audit import audit_data
from roost.wire.errors import WireError
from roost.wire.messages import Message

_log = logging.getLogger("roost.schedd")
_T = TypeVar("_T")

#: After a commit of at least that many steps, the next one follows after this time at the earliest, s: a busy queue
#: gains more from a larger group than it loses by waiting.
BUSY_STEPS: Final = 3
COMMIT_GAP_S: Final = 0.01
#: Delay before a failed commit is retried; it doubles.
FIRST_PAUSE_S: Final = 0.1
#: How long an answer waits for a commit, s.
ANSWER_ANYWAY_S: Final = 2.0
#: How long the daemon waits for commits when it stops, s. Whatever is not committed by then has not been reported to
#: anyone.
SETTLE_S: Final = 20.0
#: How long the daemon waits for users' event logs when it stops, s. The rest is written at the next start.
LOGS_END_S: Final = 2.0


class ScheddDaemon:
    """A running queue."""

    def __init__(self, context: RoleContext, config: Config, bus: Bus) -> None:
        self.context = context
        self.clock = context.clock
        self.started_at = context.clock.now()
        self.bus = bus
        self.subjects = bus.subjects
        self._config = config
        self.file_workers = FileWorkers()
        self.spool = Spool(context.home.spool, self.file_workers, secret=context.home.secret())
        self.settings = self._settings(config)
        self.store = self._open(config)
        self.queue = Queue(self.settings, self.clock.now())
        self.figures = Figures(self.started_at)
        self.staging = Staging(context.home, self)
        self.logs = UserLogs(self.file_workers, self._heard_of_logs)
        self.copies = ExportedFiles(config, context.home, self.store)
        self.queue.records_epochs = self.copies.records_epochs
        self.answers = QueueAnswers(self)
        self.lanes = Lanes(bus, self.answers.on_ask)
        self.request_time_max_s = time_max_of(config)
        self.local = LocalRuns(self, config)
        self.cron = QueueCron(context.home, self.clock, queue_cron_plan(config), self._cron_changed)
        self._steps: list[Step] = []
        self._written: list[int] = []
        #: Decisions on their way to the central manager, and the numbers of confirmed ones.
        self.audit = AuditSender(self._tell_decisions, role=context.role, now=self.clock.now())
        self._noted: deque[tuple[int, int]] = deque()
        self._told_of: list[int] = []
        #: Jobs that have left, and whose files have not been removed yet.
        self._forgotten: deque[ef.ForgetFiles] = deque()
        self._wake = asyncio.Event()
        #: Set while nothing is being written.
        self._idle = True
        #: Numbers of steps taken, and of steps committed.
        self._fed = 0
        self._kept = Progress()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self.watch = DatabaseWatch(self.store.database, self._thread, context.home, context.role)
        self._background = Background(_log)
        self.spawn = self._background.spawn
        self._committing: asyncio.Task[None] | None = None
        #: Whether work for all jobs continues in the background: evaluating their policies, logging their submission.
        self._goes_on = False
        self.demands = Demands(self)
        #: reply_to of the core to the subject of the answer.
        self.replies: dict[str, str] = {}

    def _settings(self, config: Config) -> QueueSettings:
        try:
            name = self.context.name
            place = place_of(self.context.bus.urls)
            found = queue_settings(config, name=name, place=place, local_node=local_name(name), zone=self.clock.zone())
            found = replace(found, superusers=superusers(config))
            self.lists = access(config, "SCHEDD")
            self.unit_suffixes = config.get_bool("QACCT_UNIT_SUFFIXES")
            self.jsv_users = tuple((config.get("SCHEDD_JSV_USERS", subsys="SCHEDD") or "").replace(",", " ").split())
            uploads = config.get_int("MAX_CONCURRENT_UPLOADS", subsys="SCHEDD")
            downloads = config.get_int("MAX_CONCURRENT_DOWNLOADS", subsys="SCHEDD")
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from None
        self.spool.uploads.most, self.spool.downloads.most = uploads, downloads
        for problem in found.problems:
            _log.error("%s", problem)
        return found

    def _open(self, config: Config) -> Store:
        url = config.get("DATABASE_URL") or f"sqlite:///{self.context.home.database}"
        try:
            return Store.open(url, self.context.home.identity("queue"))
        except StoreError as error:
            raise ConfigurationRefused(str(error)) from None

    # -- life ----------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Read the stored state, and start."""
        kept = self._restore()
        if not backup_lock.is_held(self.context.home.path):
            with contextlib.suppress(OSError):
                self.spool.sweep(self.queue)
                self.staging.sweep()
        name = self.context.name
        await self.bus.listen(f"{self.subjects.prefix}.all.*", self._on_central)
        await self.bus.listen(self.subjects.given(name, "*"), self._on_given)
        await self.bus.listen(self.subjects.schedd(name, "*"), self.on_message)
        await self.bus.listen(self.subjects.ask_schedd(name, "*"), self.lanes.take)
        self.bus.on_reconnect = self._came_back
        self._committing = asyncio.create_task(self._commits(), name="commits")
        self._committing.add_done_callback(self._commits_ended)
        must_go_on(self.spawn(self._ticks(), "ticks"))
        must_go_on(self.spawn(self.watch.run(), "watch"))
        must_go_on(self.spawn(self.answers.cell.reservations.run(), "reservations"))
        must_go_on(self.spawn(self.answers.cell.timed_reports.run(), "timed reports"))
        must_go_on(self.spawn(self.audit.send_all(), "audit"))
        self.demands.begin(claims=bool(kept))
        await self.cron.begin()

    def _restore(self) -> tuple[PutClaim, ...]:
        """Read the stored state; return the claims in it."""
        try:
            kept = self.store.load()
            self.answers.cell.begin(self.store.cell())
            self.queue.claim_table.errors = dict(self.store.state(CELL_ERRORS) or {})
            usage = self.queue.claim_table.usage
            # The number continues from any that it had before.
            usage.by_owner, usage.serial = self.store.cell_usage(), int(self.clock.now() * 1000)
            self.copies.begin(kept)
        except StoreError as error:
            raise ConfigurationRefused(str(error)) from None
        queue = self.queue
        for each in kept.clusters:
            plan = None if each.plan is None else ClusterPlan.from_data(each.plan)
            queue.restore_cluster(
                PutCluster(
                    cluster=each.cluster,
                    owner=each.owner,
                    submitted_at=each.submitted_at,
                    count=each.count,
                    ad=each.ad,
                ),
                plan,
                gone=each.gone,
                told=each.told,
                factory=each.factory,
            )
        for job in kept.jobs:
            queue.restore_job(PutJob(job=job.job, status=JobStatus(job.status), attributes=job.attributes))
        queue.book.next_cluster = max(queue.book.next_cluster, kept.next_cluster)
        self.logs.write_again(kept.log_pieces)
        self.tell(kept.noted)
        self._note_configuration(None)
        self.feed(ev.Started(claims=kept.claims))
        _log.info("restored %d clusters and %d claims", len(kept.clusters), len(kept.claims))
        return kept.claims

    async def reconfigure(self, config: Config) -> None:
        """Use another configuration."""
        programs = queue_cron_plan(config)
        self.settings = self._settings(config)
        self.queue.claim_table.settings = self.settings
        self.request_time_max_s = time_max_of(config)
        self._note_configuration(config)
        await self.local.reconfigure(config)
        await self.cron.reconfigure(programs)

    def _cron_changed(self) -> None:
        self.demands.soon(OFFER_LATER_S)

    async def stop(self, ending: DaemonEnding) -> None:
        """Commit what is left, and stop. Jobs continue, or end, with the machines on which they run."""
        self._background.cancel()
        self.lanes.close()
        self.answers.past.close()
        await self.answers.cell.verifier.end()
        await self.local.stop(ending)
        await self.cron.stop()
        await self._settled()
        self._background.cancel()
        if self._committing is not None:
            self._committing.cancel()
        await self.logs.settle(LOGS_END_S)
        self._thread.shutdown(wait=True)
        self.copies.close()
        self.file_workers.close()
        self.store.close()

    async def _settled(self) -> None:
        """Wait until everything so far is committed and carried out; a disk that cannot be written is not waited
        for.
        """
        until = time.monotonic() + SETTLE_S
        while (self._steps or not self._idle) and not self.watch.damage and time.monotonic() < until:
            await asyncio.sleep(0.01)

    def _came_back(self) -> None:
        """Handle a reconnect of the bus: what was lost is unknown."""
        self.demands.came_back()
        self.feed(ev.BusCameBack())

    # -- steps and commits ---------------------------------------------------------------------------

    def feed(self, event: ev.Event) -> None:
        """Handle an event. Events that cannot be stored are ignored: their senders repeat them."""
        if self.watch.damage:
            return
        try:
            step = self.queue.step(event, self.clock.now())
        except Exception:
            # The state in memory may be half changed; that on disk is consistent, and the master restarts this daemon.
            _log.critical("internal error: %s", type(event).__name__, exc_info=True)
            give_up()
        for effect in step.effects:
            if isinstance(effect, ef.OfferJobs):
                # Not guaranteed: a match may arrive while its job is still being written to disk.
                self.demands.idle(effect)
                self.local.look()
        for change in step.changes:
            if isinstance(change, AddAudit) and (change.record.job or change.record.kind in _OF_JOBS):
                _log_decision(change.record)
        if step.changes or step.effects:
            self._steps.append(step)
            self._fed += 1
            self._wake.set()
        if self.queue.goes_on and not self._goes_on and self._committing is not None:
            self._goes_on = True
            must_go_on(self.spawn(self._go_on()))

    async def kept(self) -> None:
        """Wait until everything so far is committed, so that answers do not contain what may be forgotten, and is in
        users' event logs.

        If the disk cannot be written, people still want to see their jobs, so the wait is short.
        """
        if self.watch.damage:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_ANYWAY_S):
                await self._kept.reached(self._fed)

    async def on_store(self, work: Callable[..., _T], *arguments: Any) -> _T:
        """Use the database in its thread. Raises StoreError."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    async def _commits(self) -> None:
        loop = asyncio.get_running_loop()
        gather_s = 0.0
        while True:
            await self._wake.wait()
            if gather_s:
                await asyncio.sleep(gather_s)
            self._wake.clear()
            steps, self._steps = self._steps, []
            gather_s = COMMIT_GAP_S if len(steps) >= BUSY_STEPS else 0.0
            fed = self._fed
            written, self._written = self._written, []
            self._idle = False
            changes: list[tuple[Change, ...]] = [step.changes for step in steps if step.changes]
            pieces: tuple[LogPiece, ...] = ()
            if changes:
                try:
                    done = await self._commit(loop, changes, written)
                except Damaged as damage:
                    await self._confirm_nothing(damage, [*steps, *self._steps])
                    return
                pieces = done.pieces
                await self.copies.took(changes)
                self.tell(done.noted)
            else:
                self._written += written
            if pieces:
                await self.logs.write(pieces)
            # A receiver that learns that a job has ended also finds it in the job's log.
            self._kept.advance(fed)
            for step in steps:
                for effect in step.effects:
                    try:
                        await self._perform(effect, step.request)
                    except (WireError, OSError) as error:
                        _log.error("%s was not carried out: %s", type(effect).__name__, error)
            self._idle = not self._steps

    async def _commit(
        self, loop: asyncio.AbstractEventLoop, changes: list[tuple[Change, ...]], written: list[int]
    ) -> Committed:
        """Commit; wait for a full disk or an unavailable database, because nothing may be reported before."""
        pause_s = FIRST_PAUSE_S
        told_of, self._told_of = self._told_of, []
        number, filed, reported = self.queue.book.next_cluster, self.copies.filed, self.copies.reported
        while True:
            try:
                committed = await loop.run_in_executor(
                    self._thread, self.store.commit, changes, number, written, told_of, filed, reported
                )
                if pause_s > FIRST_PAUSE_S:
                    _log.warning("the database is writable again; the queue resumes")
                    self.watch.back()
                return committed
            except Damaged:
                raise
            except StoreError as error:
                _log.error("%s; trying again in %.1f s; no requests are answered until then", error, pause_s)
                self.watch.away(error)
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, 10.0)

    async def _confirm_nothing(self, damage: Damaged, steps: list[Step]) -> None:
        """Refuse requests whose answers wait for the commit of these steps."""
        self.watch.found(damage)
        self.queue.take_back(change for step in steps for change in step.changes)
        self.demands.soon()
        refusal = self.watch.refusal()
        assert refusal is not None
        for subject in {*self.replies.values()} - {""}:
            await self.bus.answer(subject, refusal)
        self.replies.clear()

    def _heard_of_logs(self, written: Appended) -> None:
        """Note written pieces, which need not be kept; the core handles jobs whose log cannot be written."""
        self._written += written.done
        for each in written.refused:
            self.feed(
                ev.LogRefused(
                    path=each.path, owner=each.owner, code=int(each.code), subcode=each.subcode, text=each.text
                )
            )

    def tell(self, noted: tuple[Noted, ...]) -> None:
        """Send decisions that are committed."""
        for each in noted:
            self._noted.append((self.audit.add([each.record]), each.id))

    def _on_record(self, serial: int) -> None:
        self.audit.kept(serial)
        while self._noted and self._noted[0][0] <= serial:
            self._told_of.append(self._noted.popleft()[1])

    def _note_configuration(self, config: Config | None) -> None:
        after = config if config is not None else self._config
        record = configuration_record(
            None if config is None else self._config, after, self.clock.now(), role=self.context.role
        )
        self._config = after
        self.audit.add([audit_data(record)])

    async def _tell_decisions(self, message: m.Audit) -> None:
        await self.bus.send(self.subjects.audit(self.context.name), message)

    def _commits_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and not self.watch.damage:
            _log.critical("internal error: the queue's state is no longer being saved", exc_info=task.exception())
            give_up()

    async def _go_on(self) -> None:
        """Continue background work for all jobs, while other requests are served."""
        while self.queue.goes_on:
            # Decisions are committed before more are made.
            await self.kept()
            await asyncio.sleep(0)
            self.feed(ev.WentOn())
        self._goes_on = False

    async def _ticks(self) -> None:
        while True:
            await asyncio.sleep(self.settings.tick_s)
            self.feed(ev.Ticked())
            self.local.look()
            self.logs.retry()
            self.copies.retry()
            self.file_workers.tidy()
            self.spool.tidy(self.queue)
            self._forget_files()
            await self.demands.refresh()

    # -- orders of the core --------------------------------------------------------------------------

    async def _perform(self, effect: ef.Effect, request: str) -> None:
        match effect:
            case ef.OfferJobs():
                # It was done when the step was taken.
                pass
            case ef.Decline(claim_id=claim_id):
                self.demands.decline(claim_id)
            case ef.Reply():
                await self._reply(effect)
            case ef.ForgetFiles():
                self._forgotten.append(effect)
                self._forget_files()
            case ef.StartRun():
                if wants_skipping(effect.job_ad) and await self._need_not_run(effect):
                    self.feed(ev.RunSkipped(claim_id=effect.claim_id, run=effect.run))
                    return
                self._log_run(effect.claim_id, f"run {effect.run} begins on {effect.node}")
                try:
                    context = await self.answers.cell.context(effect.job_ad)
                except NoSuchQueue as problem:
                    self.feed(ev.RunRefused(claim_id=effect.claim_id, run=effect.run, refusal=str(problem)))
                else:
                    await self._tell_node(effect, request, context)
            case _:
                await self._tell_node(effect, request)

    def _forget_files(self) -> None:
        """Remove the files of jobs that have left; not while a backup is copying them."""
        while self._forgotten and not backup_lock.is_held(self.context.home.path):
            gone = self._forgotten.popleft()
            for files in (self.spool, self.staging):
                if gone.last is None:
                    files.forget(gone.job)
                else:
                    files.forget_all(gone.job, gone.last)

    async def _need_not_run(self, effect: ef.StartRun) -> bool:
        """Whether a job's output is newer than its input, according to its user's files."""
        job = self.queue.book.find(JobId.read(effect.run.partition("#")[0]))
        if job is None:
            return False
        try:
            hands = await asyncio.to_thread(self.file_workers.hands_of, job.owner)
        except NoSuchAccount:
            return False
        return await with_hands(hands, is_dataflow, effect.job_ad, hands)

    async def _tell_node(self, effect: ef.Effect, request: str, context: QueueContext | None = None) -> None:
        node, message = order_to(effect, self.context.name, self.settings.alive_interval_s, context, request=request)
        if node == self.local.name:
            await self.local.tell(message)
        elif node:
            await self.bus.send(self.subjects.node(node, self.context.name), message)

    def _log_run(self, claim_id: str, what: str, request: str = "") -> None:
        claim = self.queue.claim_table.claims.get(claim_id)
        cluster = None if claim is None or claim.job is None else self.queue.book.clusters.get(claim.job.cluster)
        if claim is not None and cluster is not None:
            _log.info("job %s: %s%s", claim.job, what, causes_of(cluster.ad, request).bracketed())

    async def _reply(self, reply: ef.Reply) -> None:
        answer = m.Answer(ok=reply.ok, code=reply.code, text=reply.text, remedy=reply.remedy, data=reply.data)
        if not self.answers.actions.answered(reply.to, answer):
            await self.bus.answer(self.replies.pop(reply.to, ""), answer)

    # -- messages ------------------------------------------------------------------------------------

    def _on_central(self, message: Message, sender: str, reply: str) -> None:
        match message:
            case m.Hello():
                self.demands.forgotten()
                self.demands.heard = 0
                self.demands.soon()
            case m.AuditKept(kept=kept):
                self._on_record(kept.get(f"{self.context.role} {self.context.name}", 0))
            case m.Significant(attributes=attributes, policy=policy):
                self.feed(ev.SignificantChanged(attributes=tuple(attributes), policy=policy))

    def _on_given(self, message: Message, sender: str, reply: str) -> None:
        if not isinstance(message, m.Matched):
            return
        try:
            found = given_by(message)
        except WireError as error:
            _log.warning("from %s: %s: %s", sender, type(message).__name__, error)
            return
        self.demands.heard = message.serial
        # Matched jobs are no longer idle, and the negotiator waits for the confirmation.
        self.demands.soon()
        for event in found:
            self.feed(event)

    def on_message(self, message: Message, sender: str, reply: str) -> None:
        """Handle a message of a machine."""
        if reply:
            # Files: each run has one request in progress, and disks are slow.
            self.spawn(self._serve(message, sender, reply))
            return
        try:
            check_speaker(self.queue.claim_table.claims, message, sender)
            for event in events_of(message, sender):
                if isinstance(event, ev.RunEnded):
                    self._log_run(event.claim_id, f"run {event.run} ended: {event.ending}", event.request)
                self.figures.take(event, self.queue)
                self.feed(event)
        except WireError as error:
            _log.warning("from %s: %s: %s", sender, type(message).__name__, error)

    async def _serve(self, message: Message, sender: str, reply: str) -> None:
        try:
            if isinstance(message, m.AskTaskPlace):
                answer: Message | None = await task_place(self.queue, self.answers.cell.read_cell, message, sender)
            elif isinstance(message, m.Chirp):
                answer = await chirped(self, message, sender)
            else:
                answer = await self.spool.serve(message, self.queue, sender)
        except Exception as error:
            # Without an answer the machine would ask again forever.
            answer = internal_error(message, sender, error)
        if answer is not None:
            await self.bus.send(reply, answer)


def make(context: RoleContext, config: Config, bus: Bus) -> ScheddDaemon:
    """The daemon of a queue."""
    with contextlib.suppress(OSError):
        context.home.spool.mkdir(exist_ok=True)
    return ScheddDaemon(context, config, bus)


#: Kinds of decisions on jobs.
_OF_JOBS: Final = (AuditKind.HOLD, AuditKind.RELEASE, AuditKind.REMOVAL, AuditKind.EVICTION)


def _log_decision(record: AuditRecord) -> None:
    """Log a decision on jobs; the audit trail has more detail."""
    about = f"job {record.job}" if record.job else f"{record.count} jobs ({', '.join(record.samples)})"
    outcome = "" if record.effect is Effect.DONE else f" {record.effect}"
    by = f" by {record.actor}" if record.actor else ""
    ids = CauseIds(record.submission, record.request).bracketed()
    _log.info("%s: %s%s%s: %s%s", about, record.kind, outcome, by, record.reason, ids)
