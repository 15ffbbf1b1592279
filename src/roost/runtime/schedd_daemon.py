"""The queue's daemon: the queue's core between the bus and the database.

Everything that comes in becomes an event of the core. What steps changed is committed in groups, in a thread, while the
next steps are taken; what they ordered is done when their group is on disk. So whoever hears something from a queue
hears what it will still know after a crash.

Pieces of users' event logs are part of the commit, and are written to their files after it; what was committed and not
written is written at the next start.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NoReturn

from roost.config import Config, ConfigError
from roost.config.in_force import configuration_record
from roost.runtime.audit_sender import AuditSender
from roost.runtime.bus import Bus
from roost.runtime.daemon_ads import REFRESH_S, scheduler_ad
from roost.runtime.database import StoreError
from roost.runtime.deputies import Deputies
from roost.runtime.local_runs import LocalRuns, local_name
from roost.runtime.log_files import Appended, LogFiles
from roost.runtime.progress import Progress
from roost.runtime.queue_answers import QueueAnswers
from roost.runtime.role import ConfigurationRefused, Ending, RoleContext
from roost.runtime.spool import Spool
from roost.runtime.store import Committed, LogPiece, Noted, Store
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd.changes import Change, PutJob
from roost.schedd.configured import queue_settings
from roost.schedd.holder import QueueSettings
from roost.schedd.queue import Queue, Step
from roost.schedd.status import JobStatus
from roost.schedd.submit import ClusterPlan
from roost.wire import messages as m
from roost.wire.ads import ad_data, ad_from
from roost.wire.audit import audit_data
from roost.wire.errors import WireError
from roost.wire.messages import Message

_log = logging.getLogger("roost.schedd")

#: Shortest time between two words to the matchmaker about idle jobs, s.
OFFER_GAP_S: Final = 0.02
#: How long it may wait to hear that there are fewer of them, s.
OFFER_LATER_S: Final = 0.5
#: A commit of so many steps or more is followed by another after this time at the earliest, s: what is busy gains more
#: by a larger group than it loses by waiting.
BUSY_STEPS: Final = 3
COMMIT_GAP_S: Final = 0.01
#: How long an answer waits for the disk, s.
ANSWER_ANYWAY_S: Final = 2.0
#: How long an end waits for the disk, s. What is not on it then was told to nobody.
SETTLE_S: Final = 20.0
#: How long orders wait for event logs, s: a log is mostly written before anybody acts on what it tells.
LOGS_S: Final = 2.0
#: How often what is due is looked for, s.
TICK_S: Final = 5.0
#: Shortest time between two counts for the queue's own ad, s.
OWN_AD_GAP_S: Final = 1.0
#: Most requests of one submitter told to the matchmaker at once.
REQUESTS_MAX: Final = 5000


class ScheddDaemon:
    """A queue at work."""

    def __init__(self, context: RoleContext, config: Config, bus: Bus) -> None:
        self.context = context
        self.clock = context.clock
        self.started_at = context.clock.now()
        self.bus = bus
        self.subjects = bus.subjects
        self._config = config
        self.settings = self._settings(config)
        self.store = self._open(config)
        self.queue = Queue(self.settings, self.clock.now())
        self.deputies = Deputies()
        self.files = LogFiles(self.deputies)
        self.spool = Spool(context.home.spool, self.deputies)
        self.answers = QueueAnswers(self)
        self.local = LocalRuns(self, config)
        self._steps: list[Step] = []
        self._written: list[int] = []
        #: Decisions on their way to the central manager, and numbers of those that it has.
        self.audit = AuditSender(self._tell_decisions, role=context.role, now=self.clock.now())
        self._noted: deque[tuple[int, int]] = deque()
        self._told_of: list[int] = []
        self._wake = asyncio.Event()
        #: Steps taken, and those of them that are on disk.
        self._fed = 0
        self._kept = Progress()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._log_thread = ThreadPoolExecutor(1, thread_name_prefix="logs")
        self._tasks: list[asyncio.Task[None]] = []
        self._offer: asyncio.TimerHandle | None = None
        self._offered_at = 0.0
        self._declined: list[str] = []
        #: What the pool was told of submitters.
        self._told_ads: dict[str, dict[str, Any]] = {}
        #: The queue's own ad as it was told last; empty for one that nobody knows. When it was made, and told.
        self._own_ad: dict[str, Any] = {}
        self._own_ad_at = self._own_ad_told_at = 0.0
        #: Number of the last word to the matchmaker, and of the last that was heard from it.
        self._serial = 0
        self._heard = 0
        #: Autoclusters that the matchmaker was told of last, and whose ad it has.
        self._known: set[int] = set()
        #: reply_to of the core to the subject to answer on.
        self.replies: dict[str, str] = {}

    def _settings(self, config: Config) -> QueueSettings:
        try:
            name = self.context.name
            found = queue_settings(config, name=name, local_node=local_name(name))
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from None
        for problem in found.problems:
            _log.error("%s", problem)
        return found

    def _open(self, config: Config) -> Store:
        url = config.get("DATABASE_URL") or f"sqlite:///{self.context.home.database}"
        try:
            return Store.open(url)
        except StoreError as error:
            raise ConfigurationRefused(str(error)) from None

    # -- life ----------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Read what was kept, and begin."""
        self._restore()
        name = self.context.name
        await self.bus.listen(f"{self.subjects.prefix}.all.*", self._on_central)
        await self.bus.listen(self.subjects.given(name, "*"), self._on_given)
        await self.bus.listen(self.subjects.schedd(name, "*"), self.on_message)
        await self.bus.listen(self.subjects.ask_schedd(name, "*"), self.answers.on_ask)
        self.bus.on_reconnect = self._came_back
        self._tasks = [
            asyncio.create_task(self._commits(), name="commits"),
            asyncio.create_task(self._ticks(), name="ticks"),
            asyncio.create_task(self.audit.send_all(), name="audit"),
        ]
        self._tasks[0].add_done_callback(self._commits_ended)
        self._reconnected()

    def _restore(self) -> None:
        kept = self.store.load()
        queue = self.queue
        for each in kept.clusters:
            plan = None if each.plan is None else ClusterPlan.from_data(each.plan)
            queue.restore_cluster(
                each.cluster,
                each.ad,
                plan,
                count=each.count,
                owner=each.owner,
                submitted_at=each.submitted_at,
                gone=each.gone,
            )
        for job in kept.jobs:
            queue.restore_job(PutJob(job=job.job, status=JobStatus(job.status), attributes=job.attributes))
        queue.book.next_cluster = max(queue.book.next_cluster, kept.next_cluster)
        written = self.files.append(kept.log_pieces, again=True)
        self._note(kept.noted)
        self._note_configuration(None)
        self.feed(ev.Started(claims=kept.claims))
        self._heard_of_logs(written)
        _log.info("%d clusters, %d claims were kept", len(kept.clusters), len(kept.claims))

    async def reconfigure(self, config: Config) -> None:
        """Take another configuration."""
        self.settings = self._settings(config)
        self.queue.holder.settings = self.settings
        self._note_configuration(config)

    async def stop(self, ending: Ending) -> None:
        """Commit what is left, and go. Jobs go on, or end, with the machines that they run on."""
        for task in self._tasks[1:]:
            task.cancel()
        await self.local.stop(ending)
        await self._settled()
        for task in self._tasks:
            task.cancel()
        self._thread.shutdown(wait=True)
        self._log_thread.shutdown(wait=True, cancel_futures=True)
        self.deputies.close()
        self.store.close()

    async def _settled(self) -> None:
        """Wait until everything that happened is on disk and done; a disk that takes nothing is not waited for."""
        until = time.monotonic() + SETTLE_S
        while (self._steps or not self._idle) and time.monotonic() < until:
            await asyncio.sleep(0.01)

    def _came_back(self) -> None:
        self._reconnected()
        self.feed(ev.BusCameBack())

    def _reconnected(self) -> None:
        """The bus is there, again: nobody knows what it lost."""
        self._known.clear()
        self._own_ad = {}
        self._offer_soon()

    # -- steps and commits ---------------------------------------------------------------------------

    def feed(self, event: ev.Event) -> None:
        """Something has happened."""
        try:
            step = self.queue.step(event, self.clock.now())
        except Exception:
            # What is in memory may be half changed; what is on disk is whole, and the master starts us again.
            _log.critical("a mistake in Roost: %s", type(event).__name__, exc_info=True)
            self._give_up()
        for effect in step.effects:
            if isinstance(effect, ef.OfferJobs):
                # No promise to anybody: a match may come while its job is still on its way to the disk.
                self._offer_soon(OFFER_LATER_S if effect.later else OFFER_GAP_S)
                self.local.look()
        if step.changes or step.effects:
            self._steps.append(step)
            self._fed += 1
            self._wake.set()

    async def kept(self) -> None:
        """Wait until what has happened so far is on disk, so that answers don't tell what may be forgotten.

        Where the disk takes nothing, people still want to see their jobs: that is not waited for long.
        """
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._kept.reached(self._fed), ANSWER_ANYWAY_S)

    def _give_up(self) -> NoReturn:
        logging.shutdown()
        os._exit(70)

    _idle = True

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
                done = await self._commit(loop, changes, written)
                pieces = done.pieces
                self._note(done.noted)
            else:
                self._written += written
            self._kept.advance(fed)
            if pieces:
                await self._write_logs(pieces)
            for step in steps:
                for effect in step.effects:
                    try:
                        await self._perform(effect)
                    except (WireError, OSError) as error:
                        _log.error("%s is not done: %s", type(effect).__name__, error)
            self._idle = not self._steps

    async def _commit(
        self, loop: asyncio.AbstractEventLoop, changes: list[tuple[Change, ...]], written: list[int]
    ) -> Committed:
        """Commit; a full disk or a database that is away is waited for, for nothing may be told before."""
        pause_s = 0.1
        told_of, self._told_of = self._told_of, []
        while True:
            try:
                return await loop.run_in_executor(
                    self._thread, self.store.commit, changes, self.queue.book.next_cluster, written, told_of
                )
            except StoreError as error:
                _log.error("%s; trying again in %.1f s, and answering nobody until then", error, pause_s)
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, 10.0)

    def _heard_of_logs(self, written: Appended) -> None:
        """Pieces that are written need not be kept; jobs whose log can't be written are the core's business."""
        self._written += written.done
        for each in written.refused:
            self.feed(
                ev.LogRefused(
                    path=each.path, owner=each.owner, code=int(each.code), subcode=each.subcode, text=each.text
                )
            )

    async def _write_logs(self, pieces: tuple[LogPiece, ...]) -> None:
        """Add to logs, in a thread of their own: a file server that hangs holds up the others for `LOGS_S` at most."""
        loop = asyncio.get_running_loop()
        work = asyncio.ensure_future(loop.run_in_executor(self._log_thread, self.files.append, pieces))
        work.add_done_callback(self._logs_written)
        await asyncio.wait([work], timeout=LOGS_S)

    def _logs_written(self, work: asyncio.Future[Appended]) -> None:
        if not work.cancelled():
            self._heard_of_logs(work.result())

    def _note(self, noted: tuple[Noted, ...]) -> None:
        """Tell decisions that are on disk."""
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
        if not task.cancelled():
            _log.critical("a mistake in Roost: nothing is kept any more", exc_info=task.exception())
            self._give_up()

    async def _ticks(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self.feed(ev.Ticked())
            self.local.look()
            if self.files.wait:
                await self._write_logs(())
            self.deputies.tidy()
            # Ends of jobs are no news to the matchmaker, but users look at these figures.
            late = asyncio.get_running_loop().time() - self._offered_at > REFRESH_S
            if late or self.queue.submitter_ads() != self._told_ads:
                self._offer_soon()
            await self._tell_own_ad()

    # -- orders of the core --------------------------------------------------------------------------

    async def _perform(self, effect: ef.Effect) -> None:
        match effect:
            case ef.OfferJobs():
                # It was done when the step was taken.
                pass
            case ef.Decline(claim_id=claim_id):
                self._declined.append(claim_id)
                self._offer_soon()
            case ef.Reply():
                await self._reply(effect)
            case ef.ForgetFiles(job=job):
                self.spool.forget(job)
            case _:
                node, message = self._to_node(effect)
                if node == self.local.name:
                    await self.local.tell(message)
                elif node:
                    await self.bus.send(self.subjects.node(node, self.context.name), message)

    def _to_node(self, effect: ef.Effect) -> tuple[str, Message]:
        match effect:
            case ef.AskForSlot():
                message: Message = m.RequestClaim(
                    slot=effect.slot,
                    claim_id=effect.claim_id,
                    job_ad=ad_data(effect.job_ad),
                    schedd=self.context.name,
                    reply_to=effect.reply_to,
                    client_machine=self.context.name.rpartition("@")[2],
                    alive_interval_s=self.settings.alive_interval_s,
                )
            case ef.GiveBack():
                message = m.ReleaseClaim(claim_id=effect.claim_id)
            case ef.StartRun():
                message = m.ActivateClaim(claim_id=effect.claim_id, job_ad=ad_data(effect.job_ad), run=effect.run)
            case ef.EndRun():
                message = m.EndJob(
                    claim_id=effect.claim_id,
                    run=effect.run,
                    ending=effect.ending,
                    code=effect.code,
                    subcode=effect.subcode,
                    text=effect.text,
                    hard=effect.hard,
                )
            case ef.StandStill(claim_id=claim_id, still=still):
                message = m.SuspendJob(claim_id=claim_id) if still else m.ContinueJob(claim_id=claim_id)
            case ef.Taken():
                message = m.ReportTaken(runs=list(effect.runs))
            case ef.SayAlive():
                message = m.KeepAlive(claim_ids=list(effect.claim_ids), reply_to=str(effect.serial))
            case ef.AskAgain():
                message = m.Reconnect(claims=effect.claims, reply_to=str(effect.serial))
            case _:
                raise AssertionError(f"an order that nobody carries out: {effect}")
        return effect.node, message

    async def _reply(self, reply: ef.Reply) -> None:
        answer = m.Answer(ok=reply.ok, code=reply.code, text=reply.text, remedy=reply.remedy, data=reply.data)
        told = self.answers.tallied(reply.to, answer)
        if told is not None:
            await self.bus.answer(*told)

    # -- words to the matchmaker ---------------------------------------------------------------------

    def _offer_soon(self, gap_s: float = OFFER_GAP_S) -> None:
        """Tell the matchmaker when so much time has passed since it was told last."""
        loop = asyncio.get_running_loop()
        at = max(loop.time(), self._offered_at + gap_s)
        if self._offer is not None:
            if self._offer.when() <= at:
                return
            self._offer.cancel()
        self._offer = loop.call_at(at, lambda: self._tasks.append(loop.create_task(self._offer_jobs())))

    async def _offer_jobs(self) -> None:
        self._offer = None
        self._offered_at = asyncio.get_running_loop().time()
        self._tasks = [task for task in self._tasks if not task.done()]
        told: set[int] = set()
        submitters = {name: self._requests(groups, told) for name, groups in self.queue.book.waiting().items()}
        # The matchmaker forgets the ads of autoclusters that it was not told of last.
        self._known = told
        self._serial += 1
        declined, self._declined = self._declined, []
        self._told_ads = self.queue.submitter_ads()
        await self.bus.send(
            self.subjects.demand(self.context.name),
            m.Demand(
                schedd=self.context.name,
                submitters=submitters,
                ads=self._told_ads,
                serial=self._serial,
                heard=self._heard,
                declined=declined,
            ),
        )
        await self._tell_own_ad()

    async def _tell_own_ad(self) -> None:
        """Tell the pool of the queue itself, if there is news; it is counted anew no more than once in a while."""
        now = asyncio.get_running_loop().time()
        if self._own_ad and now - self._own_ad_at < OWN_AD_GAP_S:
            return
        self._own_ad_at = now
        own = scheduler_ad(self.context.name, self.queue, started_at=self.started_at)
        if own != self._own_ad or now - self._own_ad_told_at > REFRESH_S:
            self._own_ad, self._own_ad_told_at = own, now
            await self.bus.send(self.subjects.ads(self.context.name), m.DaemonAds(ads=[own]))

    def _requests(self, groups: list[Any], told: set[int]) -> list[m.Request]:
        found = []
        for group in groups[:REQUESTS_MAX]:
            first = group.first()
            if first is None:
                continue
            known = group.autocluster in self._known or group.autocluster in told
            ad = {} if known else ad_data(self.queue.book.autoclusters.sample(group.autocluster))
            told.add(group.autocluster)
            found.append(
                m.Request(autocluster=group.autocluster, ad=ad, count=group.count, job=f"{group.cluster}.{first}")
            )
        return found

    # -- what comes in -------------------------------------------------------------------------------

    def _on_central(self, message: Message, sender: str, reply: str) -> None:
        match message:
            case m.Hello():
                self._known.clear()
                self._own_ad = {}
                self._heard = 0
                self._offer_soon()
            case m.AuditKept(kept=kept):
                self._on_record(kept.get(f"{self.context.role} {self.context.name}", 0))
            case m.Significant(attributes=attributes):
                self.feed(ev.SignificantChanged(attributes=tuple(attributes)))

    def _on_given(self, message: Message, sender: str, reply: str) -> None:
        if not isinstance(message, m.Matched):
            return
        try:
            found: list[ev.Event] = [_match(each) for each in message.matches]
        except WireError as error:
            _log.warning("from %s: %s: %s", sender, type(message).__name__, error)
            return
        self._heard = message.serial
        found += [ev.MatchRefused(autocluster=int(number), text=text) for number, text in message.rejected.items()]
        # What was matched is not idle any more, and the matchmaker wants to know that it was heard.
        self._offer_soon()
        for event in found:
            self.feed(event)

    def on_message(self, message: Message, sender: str, reply: str) -> None:
        """A machine says something."""
        if reply:
            # Files: each run has one request under way, and disks take their time.
            self._tasks.append(asyncio.create_task(self._serve(message, sender, reply)))
            return
        try:
            for event in self._events(message, sender):
                self.feed(event)
        except WireError as error:
            _log.warning("from %s: %s: %s", sender, type(message).__name__, error)

    def _check_speaker(self, message: Message, sender: str) -> None:
        """A machine speaks of its own claims only. Raises WireError."""
        claims = self.queue.holder.claims
        match message:
            case m.ClaimsKnown():
                named = [*message.known, *message.unknown]
            case m.ClaimAnswered():
                named = [message.asked_id, message.claim_id]
            case _:
                named = [getattr(message, "claim_id", "")]
        for claim_id in named:
            claim = claims.get(claim_id)
            if claim is not None and claim.node != sender:
                raise WireError(f"a claim of {claim.node} is none of {sender}'s business")

    async def _serve(self, message: Message, sender: str, reply: str) -> None:
        answer = await self.spool.serve(message, self.queue, sender)
        if answer is not None:
            await self.bus.send(reply, answer)

    def _events(self, message: Message, sender: str) -> list[ev.Event]:
        self._check_speaker(message, sender)
        match message:
            case m.ClaimAnswered():
                ad = None if message.slot_ad is None else ad_from(message.slot_ad, "slot_ad")
                return [
                    ev.ClaimAnswered(
                        asked_id=message.asked_id,
                        accepted=message.accepted,
                        refusal=message.refusal,
                        claim_id=message.claim_id,
                        slot=message.slot,
                        slot_ad=ad,
                        node=sender,
                    )
                ]
            case m.ActivationAnswered(accepted=accepted):
                if accepted:
                    return []
                return [ev.RunRefused(claim_id=message.claim_id, run=message.run, refusal=message.refusal)]
            case m.JobBegan():
                return [ev.RunBegan(claim_id=message.claim_id, run=message.run, at=message.at, slot=message.slot)]
            case m.JobSuspended() | m.JobResumed():
                still = isinstance(message, m.JobSuspended)
                return [
                    ev.RunStoodStill(
                        claim_id=message.claim_id,
                        run=message.run,
                        at=message.at,
                        still=still,
                        processes=message.processes if isinstance(message, m.JobSuspended) else 1,
                    )
                ]
            case m.JobMeasured():
                attributes = ad_from(message.attributes, "attributes")
                return [
                    ev.RunMeasured(claim_id=message.claim_id, run=message.run, at=message.at, attributes=attributes)
                ]
            case m.RunEnded():
                return [_ended(message, sender)]
            case m.ClaimGone():
                return [
                    ev.ClaimLost(
                        claim_id=message.claim_id, reason=message.reason, code=message.code, reported=message.run
                    )
                ]
            case m.ClaimsKnown():
                serial = int(message.reply_to) if message.reply_to.isdecimal() else 0
                known, unknown = message.known, tuple(message.unknown)
                return [ev.ClaimsHeard(node=sender, known=known, unknown=unknown, serial=serial)]
        return []


def _match(match: m.Match) -> ev.MatchGiven:
    return ev.MatchGiven(
        submitter=match.submitter,
        autocluster=match.autocluster,
        slot=match.slot,
        node=match.node,
        claim_id=match.claim_id,
        slot_ad=ad_from(match.slot_ad, "slot_ad"),
    )


def _ended(message: m.RunEnded, node: str) -> ev.RunEnded:
    return ev.RunEnded(
        node=node,
        claim_id=message.claim_id,
        run=message.run,
        at=message.at,
        ending=message.ending,
        started=message.started,
        code=message.code,
        subcode=message.subcode,
        text=message.text,
        exit_code=message.exit_code,
        exit_signal=message.exit_signal,
        core_dumped=message.core_dumped,
        output=message.output,
        checkpoints=message.checkpoints,
        attributes=ad_from(message.attributes, "attributes"),
    )


def make(context: RoleContext, config: Config, bus: Bus) -> ScheddDaemon:
    """The daemon of a queue."""
    with contextlib.suppress(OSError):
        context.home.spool.mkdir(exist_ok=True)
    return ScheddDaemon(context, config, bus)
