"""Answers of a queue to requests: submit, query, act, history.

The bus identifies the user: by the last token of the subject, which its permissions restrict to the user's own name.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from roost.classad import ClassAd
from roost.model.cell_requests import HELD
from roost.model.job_standing import ClaimStanding, Full, JobStanding, LocalPolicy, Pause
from roost.runtime.bus.answer_pieces import ROWS_PER_ANSWER
from roost.runtime.bus.budget import Budget
from roost.runtime.bus.job_rows import Rows, cluster_row, counts_of, factory_ad, projected
from roost.runtime.bus.permission import DENIED, REMEDY, refusal
from roost.runtime.bus.request_answers import LATER, BadRequest, Later, NotFound, RequestAnswers, expression
from roost.runtime.daemon_orders import DaemonEnding
from roost.runtime.files.file_pieces import read_piece
from roost.runtime.files.file_workers import with_hands
from roost.runtime.files.output_files import output_path
from roost.runtime.processes.accounts import NoSuchAccount
from roost.runtime.queue.actions import ActionsDaemon, QueueActions, Selection
from roost.runtime.queue.cell.accounting_answers import search as search_accounting
from roost.runtime.queue.cell.cell_answers import CellAnswers, CellAnswersDaemon
from roost.runtime.queue.past_jobs import PastJobs, shown_as
from roost.schedd import events as ev
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import Cluster
from roost.schedd.jobs.factories import FactoryPause
from roost.schedd.jobs.local import SCHEDULER, is_local
from roost.schedd.status import JobStatus
from roost.schedd.submit import ClusterPlan
from roost.schedd.submit.plan import PlanError
from roost.wire.ads import ad_data, ad_from
from roost.wire.messages import Answer
from roost.wire.requests import cell, queue
from roost.wire.requests.verb import Daemon, FilePiece, Request, Verb
from roost.wire.structs import AdData

if TYPE_CHECKING:
    from roost.config.access import Access
    from roost.runtime.bus.lanes import Lanes
    from roost.runtime.files.file_workers import FileWorkers
    from roost.runtime.queue.database_watch import DatabaseWatch
    from roost.runtime.queue.figures import Figures
    from roost.runtime.queue.staging import Staging
    from roost.runtime.role import RoleContext

#: Number of jobs that are examined, or whose rows are made, between two checks of the clock.
_TURN: Final = 50


class QueueAnswersDaemon(ActionsDaemon, CellAnswersDaemon, Protocol):
    """The interface of the queue's daemon for answers, besides those of actions and of answers about the cell."""

    context: RoleContext
    lists: Access
    lanes: Lanes
    watch: DatabaseWatch
    staging: Staging
    figures: Figures
    file_workers: FileWorkers
    request_time_max_s: float
    unit_suffixes: bool
    #: Key of a request in the core to the subject of the answer.
    replies: dict[str, str]


class QueueAnswers(RequestAnswers):
    """The requests that a queue answers."""

    of = Daemon.QUEUE

    def __init__(self, daemon: QueueAnswersDaemon) -> None:
        super().__init__(daemon.bus)
        self._daemon = daemon
        self._numbers = itertools.count(1)
        self.past = PastJobs()
        self.actions = QueueActions(daemon)
        self.cell = CellAnswers(daemon)

    def refusal(self, verb: Verb, sender: str) -> Answer | None:
        """Why a request is not answered; None if it is."""
        refused = refusal(verb, sender, self._daemon.settings.superusers, self._daemon.lists)
        if refused is None and not verb.question:
            # A request that is refused before it is carried out does not need to be undone.
            self._daemon.watch.look()
            return self._daemon.watch.refusal()
        return refused

    async def answered(self, request: Request[Any], sender: str, reply: str, request_id: str) -> object:
        """The reply to a request."""
        match request:
            case queue.Submit():
                return await self._submit(request, sender, reply, request_id)
            case queue.SpoolFile():
                return await self._daemon.staging.take(request, sender)
            case queue.EndSpooling(job=job):
                return await self._all_came(job, sender, reply, request_id)
            case queue.SpooledFiles():
                return await self._daemon.staging.files(request, sender)
            case queue.ReadSpooled():
                return await self._daemon.staging.read(request, sender)
            case queue.Query():
                return await self._query(request, reply, self._budget("the query", reply))
            case queue.Overview():
                return await self._overview(request, reply)
            case queue.Act():
                return await self._act(request, sender, reply, request_id)
            case queue.History():
                return await self._history(request, reply)
            case queue.ReadOutput():
                return await self._output(request, sender)
            case queue.StopQueue():
                return await self._stop_queue(sender, reply)
            case queue.Summary():
                return await self._summary()
            case queue.UnderWay(reply=asked):
                # The answer to a submission waits for the commit.
                return self._daemon.lanes.has(asked) or asked in self._daemon.replies.values()
            case queue.Autocluster():
                return self._autocluster(request)
            case cell.ReadCell():
                return await self.cell.read()
            case cell.CellTasks():
                return self.cell.tasks()
            case cell.AccountingSums() | cell.AccountingLines():
                return await self._accounting(request, reply)
            case cell.AskAccountingForm():
                return cell.AccountingForm(suffixes=self._daemon.unit_suffixes)
            case cell.CellLog():
                return await self.cell.log(request)
            case cell.Reservations():
                return self.cell.reservations.rows()
            case cell.ReservationLog():
                return await self.cell.reservations.log(request)
            case cell.ReportLoads():
                return await self.cell.report_loads(request)
            case cell.KeepReservation():
                return await self.cell.keep_reservation(request)
            case cell.DeleteReservations():
                return await self.cell.delete_reservations(request, sender)
            case cell.Usage():
                return self.cell.usage()
            case cell.ClearUsage():
                return await self.cell.clear_usage(sender)
            case cell.InstanceStates():
                return await self.cell.states()
            case cell.ChangeInstances():
                return await self.cell.change_instances(request, sender)
            case cell.EditCell():
                return await self.cell.edit(request, sender)
            case cell.ChangeCell():
                return await self.cell.change(request, sender)
        raise AssertionError(f"the queue has no handler for the request {request}")

    def _budget(self, what: str, reply: str) -> Budget:
        """The budget of a request, with heartbeats for the requester."""

        async def alive() -> None:
            await self._daemon.bus.answer(reply, Answer(more=True))

        return Budget(what, self._daemon.request_time_max_s, alive)

    async def _part(self, reply: str, rows: list[Any]) -> None:
        """Send the rows so far once they fill an answer, so that they use no memory."""
        if len(rows) < ROWS_PER_ANSWER:
            return
        await self._daemon.kept()
        await self._daemon.bus.answer(reply, Answer(data=rows.copy(), more=True))
        # The server has them before more are made.
        await self._daemon.bus.settled()
        rows.clear()

    async def _stop_queue(self, sender: str, reply: str) -> Later | Answer:
        if not await self.cell.operates(sender, manages=True):
            text = f"{sender} may not stop the queue's daemon"
            return Answer(ok=False, code=DENIED, text=text, remedy=REMEDY)
        return await self._stop(reply, DaemonEnding.LEAVE)

    def _reply_to(self, reply: str) -> str:
        key = str(next(self._numbers))
        self._daemon.replies[key] = reply
        return key

    # -- changes -------------------------------------------------------------------------------------

    async def _submit(self, asked: queue.Submit, sender: str, reply: str, request_id: str) -> Later | Answer:
        try:
            clusters = [ClusterPlan.from_data(data) for data in asked.clusters]
        except PlanError as error:
            raise BadRequest(f"submit.clusters: {error}") from None
        if not sum(each.count for each in clusters):
            raise BadRequest("nothing was submitted")
        verified = await self.cell.verified(clusters, sender)
        if isinstance(verified, Answer):
            return verified
        clusters = verified
        refused = await self.cell.refusal(clusters, sender)
        if refused is not None:
            return refused
        self._daemon.feed(
            ev.Submitted(clusters=tuple(clusters), owner=sender, reply_to=self._reply_to(reply), request=request_id)
        )
        return LATER

    async def _all_came(self, name: str, sender: str, reply: str, request_id: str) -> Later | Answer:
        found = await self._daemon.staging.all_came(name, sender)
        if isinstance(found, Answer):
            return found
        job, names, begun = found
        self._daemon.feed(
            ev.InputSpooled(
                job=job.id,
                user=sender,
                reply_to=self._reply_to(reply),
                directory=str(self._daemon.staging.place(job.id)),
                names=names,
                begun=begun,
                request=request_id,
            )
        )
        return LATER

    async def _act(self, asked: queue.Act, sender: str, reply: str, request_id: str) -> Answer:
        letters = str((asked.attributes or {}).get(HELD, "")) if asked.action in ("hold", "release") else ""
        if refused := await self.cell.hold_refusal(letters, sender, asked.action):
            return refused
        attributes = ad_from(asked.attributes or {}, "act.attributes")
        if asked.action in ("edit", "hold", "release") and (refused := await self.cell.change_refusal(attributes)):
            return refused
        if asked.action == "edit" and (refused := await self.cell.edit_refusal(attributes)):
            return refused
        budget = self._budget("choosing the jobs", reply)
        jobs = Selection()
        async for job in self._chosen(asked, budget):
            jobs.add(job)
        if asked.action == "edit" and (refused := await self.cell.raise_refusal(attributes, jobs, sender)):
            return refused
        acted = ev.Acted(
            action=ev.Action(asked.action),
            jobs=(),
            user=sender,
            reply_to="",
            superuser=sender in self._daemon.settings.superusers
            or (asked.action not in ("edit", "note") and await self.cell.operates(sender))
            or (asked.action == "edit" and await self.cell.may_edit(attributes, sender)),
            reason=asked.reason,
            attributes=attributes,
            request=request_id,
            factories=tuple([cluster.number async for cluster in self._factories(asked, budget) if cluster.left]),
        )
        answer = await self.actions.act(acted, jobs, asked.jobs, reply)
        return msgspec.structs.replace(answer, text=budget.warning)

    # -- choosing jobs -------------------------------------------------------------------------------

    async def _chosen(self, asked: queue.Act | queue.Query | queue.Overview, budget: Budget) -> AsyncIterator[JobId]:
        """The jobs selected by names, owners and a constraint; all jobs if none is given. Raises OverBudget."""
        book = self._daemon.queue.book
        constraint, owners = expression(asked.constraint, "the constraint"), frozenset(asked.owners)
        for cluster, procs in list(_named(asked.jobs, book.clusters)):
            if owners and cluster.owner not in owners:
                continue
            for looked, proc in enumerate(procs):
                if (constraint is not None or looked % _TURN == 0) and budget.due:
                    await budget.pause()
                if cluster.status(proc) is JobStatus.GONE:
                    # A name that is gone is still looked up: the answer says so.
                    if isinstance(procs, list) and constraint is None:
                        yield JobId(cluster.number, proc)
                    continue
                if constraint is None or budget.fits(
                    cluster.ad_of(proc), constraint, author=cluster.owner, name=(cluster.number, proc)
                ):
                    yield JobId(cluster.number, proc)
        if constraint is None:
            for name in asked.jobs:
                if "." in name and JobId.read(name).cluster not in book.clusters:
                    yield JobId.read(name)

    async def _factories(self, asked: queue.Act | queue.Query, budget: Budget) -> AsyncIterator[Cluster]:
        """Clusters whose jobs enter the queue a few at a time that are chosen as a whole. Raises OverBudget.

        A constraint is about their own ad, which says nothing that differs from job to job.
        """
        constraint, owners = expression(asked.constraint, "the constraint"), frozenset(asked.owners)
        for cluster, procs in list(_named(asked.jobs, self._daemon.queue.book.clusters)):
            if cluster.factory is None or isinstance(procs, list) or (owners and cluster.owner not in owners):
                continue
            if budget.due:
                await budget.pause()
            if constraint is None or budget.fits(
                factory_ad(cluster), constraint, author=cluster.owner, name=(cluster.number, -1)
            ):
                yield cluster

    # -- questions -----------------------------------------------------------------------------------

    async def _factory_rows(self, asked: queue.Query, budget: Budget) -> list[AdData]:
        """The ads of these clusters."""
        rows: list[AdData] = []
        async for cluster in self._factories(asked, budget):
            ad = factory_ad(cluster)
            names, texts = list(asked.projection), frozenset(asked.texts)
            rows.append(projected(ad, names, raw=asked.raw, texts=texts) if names else ad_data(ad))
        return rows[: asked.limit or None]

    async def _query(self, asked: queue.Query, reply: str, budget: Budget) -> Answer:
        if asked.factories:
            rows = await self._factory_rows(asked, budget)
        elif asked.projection and not (asked.limit or asked.raw or asked.texts) and asked.constraint is None:
            rows = await self._plain_rows(asked, budget, reply)
        else:
            row, rows, found = self._row_of(asked), [], 0
            async for job in self._chosen(asked, budget):
                cluster = self._daemon.queue.book.clusters.get(job.cluster)
                if cluster is None or cluster.status(job.proc) is JobStatus.GONE:
                    continue
                name = (job.cluster, job.proc)
                rows.append(budget.run(row, cluster, job.proc, author=cluster.owner, name=name))
                found += 1
                if asked.limit and found >= asked.limit:
                    break
                await self._part(reply, rows)
        await self._daemon.kept()
        return Answer(data=rows, text=budget.warning)

    def _row_of(self, asked: queue.Query) -> Callable[[Cluster, int], AdData]:
        """The function that makes the row of a job."""
        makers: dict[int, Rows] = {}
        projection, texts = list(asked.projection), frozenset(asked.texts)

        def row(cluster: Cluster, proc: int) -> Any:
            maker = makers.get(cluster.number)
            if maker is None:
                maker = makers[cluster.number] = Rows(cluster, projection)
            return maker.row(proc)

        if not projection:
            return lambda cluster, proc: ad_data(cluster.ad_of(proc))
        if asked.raw or texts:
            return lambda cluster, proc: projected(cluster.ad_of(proc), projection, raw=asked.raw, texts=texts)
        return row

    async def _plain_rows(self, asked: queue.Query, budget: Budget, reply: str) -> list[AdData]:
        """Some attributes of all named jobs, without reading each whole ad."""
        rows: list[AdData] = []
        for cluster, procs in list(_named(asked.jobs, self._daemon.queue.book.clusters)):
            if asked.owners and cluster.owner not in asked.owners:
                continue
            maker = Rows(cluster, list(asked.projection))
            turn = _TURN if maker.is_cheap else 1
            for first in range(0, len(procs), turn):
                present = [proc for proc in procs[first : first + turn] if cluster.status(proc) is not JobStatus.GONE]
                rows += [
                    budget.run(maker.row, proc, author=cluster.owner, name=(cluster.number, proc)) for proc in present
                ]
                await self._part(reply, rows)
                if budget.due:
                    await budget.pause()
        return rows

    async def _overview(self, asked: queue.Overview, reply: str) -> Answer:
        """The jobs if there are at most `rows_max`, otherwise a row for each of their clusters."""
        book, budget = self._daemon.queue.book, self._budget("the query", reply)
        found: dict[int, dict[int, int]] = {}
        if asked.constraint is None and not any("." in name for name in asked.jobs):
            for cluster, _ in _named(asked.jobs, book.clusters):
                if not asked.owners or cluster.owner in asked.owners:
                    found[cluster.number] = counts_of(cluster)
        else:
            async for job in self._chosen(asked, budget):
                of = book.clusters.get(job.cluster)
                status = JobStatus.GONE if of is None else of.status(job.proc)
                if status is not JobStatus.GONE:
                    counts = found.setdefault(job.cluster, {})
                    counts[status] = counts.get(status, 0) + 1
        if sum(sum(counts.values()) for counts in found.values()) <= asked.rows_max:
            chosen: queue.ChosenFields = {"jobs": asked.jobs, "owners": asked.owners, "constraint": asked.constraint}
            return await self._query(queue.Query(projection=asked.projection, **chosen), reply, budget)
        rows = [cluster_row(book.clusters[number], counts) for number, counts in found.items() if counts]
        await self._daemon.kept()
        return Answer(data=queue.Clusters(clusters=rows), text=budget.warning)

    async def _summary(self) -> queue.Totals:
        of = self._daemon.queue
        totals = queue.Totals(
            name=self._daemon.context.name,
            jobs=of.counts(),
            claims=len(of.claim_table.claims),
            rejections={str(number): text for number, text in of.rejections.items()},
            figures=self._daemon.figures.data(),
        )
        await self._daemon.kept()
        return totals

    def _autocluster(self, asked: queue.Autocluster) -> JobStanding:
        """The jobs that the negotiator treats as equal to a job."""
        of, job = self._daemon.queue, JobId.read(asked.job)
        cluster = of.book.clusters.get(job.cluster)
        if cluster is None or cluster.status(job.proc) is JobStatus.GONE:
            raise BadRequest(f"{job} is not in the queue")
        number = of.book.autoclusters.of(cluster.ad_of(job.proc))
        found = cluster.jobs.get(job.proc)
        claim = None if found is None else of.claim_table.claims.get(found.claim_id)
        now = self._daemon.clock.now()
        pause = of.claim_table.pauses.of(job.cluster, now)
        full = of.claim_table.full_by(now) if claim is None and not is_local(cluster.ad) else None
        return JobStanding(
            autocluster=number,
            rejection=of.rejections.get(number, ""),
            schedd=self._daemon.context.name,
            submitter=cluster.submitter_for(job.proc),
            pause=None if pause is None else Pause(until=pause.until, misses=pause.misses),
            at_once=cluster.at_once_max if claim is None and not cluster.room else None,
            waits_for=cluster.waits_for(of.book.clusters),
            local=self._local_policy(cluster.ad) if claim is None and is_local(cluster.ad) else None,
            full=None if full is None else Full(knob=full[0], most=full[1]),
            claim=None
            if claim is None
            else ClaimStanding(slot=claim.slot, stage=str(claim.stage), heard_at=claim.heard_at),
        )

    def _local_policy(self, ad: ClassAd) -> LocalPolicy:
        policy = self._daemon.settings.local_policy
        if ad.cell("jobuniverse") == SCHEDULER:
            return LocalPolicy(knob="START_SCHEDULER_UNIVERSE", text=str(policy.start_scheduler))
        return LocalPolicy(knob="START_LOCAL_UNIVERSE", text=str(policy.start_local))

    async def _accounting(self, asked: cell.AccountingSums | cell.AccountingLines, reply: str) -> Answer:
        rows: list[Any] = []
        budget = self._budget("the search of the accounting", reply)

        async def found(some: list[Any]) -> None:
            rows.extend(some)
            await self._part(reply, rows)

        await self._daemon.kept()
        await search_accounting(self.past, self._daemon.store, asked, budget=budget, found=found)
        return Answer(data=rows, text=budget.warning)

    async def _history(self, asked: queue.History, reply: str) -> Answer:
        rows: list[AdData] = []
        budget = self._budget("the search of the history", reply)

        async def found(some: list[Any]) -> None:
            rows.extend(some)
            await self._part(reply, rows)

        constraint = expression(asked.constraint, "the constraint")
        await self._daemon.kept()
        await self.past.search(
            self._daemon.store,
            [_numbers(name) for name in asked.jobs] or [(None, None)],
            constraint=constraint,
            limit=asked.limit,
            shown=shown_as(list(asked.projection), raw=asked.raw, texts=frozenset(asked.texts)),
            budget=budget,
            found=found,
        )
        return Answer(data=rows, text=budget.warning)

    async def _output(self, asked: queue.ReadOutput, sender: str) -> FilePiece | Answer:
        """A piece of a job's output in its last run."""
        ad = await self._ad_of(JobId.read(asked.job))
        owner = str(ad.cell("owner"))
        if sender != owner and sender not in self._daemon.settings.superusers:
            text = f"{sender or 'this user'} does not own job {asked.job}"
            return Answer(ok=False, code="permission-denied", text=text)
        try:
            hands = self._daemon.file_workers.hands_of(owner)
            path = str(output_path(ad, asked.stream))
            return await with_hands(hands, read_piece, hands, path, asked.offset, asked.limit)
        except (NoSuchAccount, ValueError) as error:
            raise NotFound(str(error)) from None
        except OSError as problem:
            raise NotFound(f"{problem.filename}: {problem.strerror}") from None

    async def _ad_of(self, job: JobId) -> ClassAd:
        """The ad of a job that is or was in the queue. Raises NotFound."""
        cluster, store = self._daemon.queue.book.clusters.get(job.cluster), self._daemon.store
        if cluster is not None and cluster.status(job.proc) is not JobStatus.GONE:
            return cluster.ad_of(job.proc)
        past = await self.past.beside(lambda: next(store.history(limit=1, cluster=job.cluster, proc=job.proc), None))
        if past is None and cluster is not None and cluster.made <= job.proc < cluster.count:
            raise NotFound(f"job {job} has not entered the queue yet: {_factory_limits(cluster)}")
        if past is None:
            raise NotFound(f"there is no job {job} in the queue or in the history")
        return past


def _named(names: Sequence[str], clusters: dict[int, Cluster]) -> Iterator[tuple[Cluster, list[int] | range]]:
    if not names:
        for cluster in clusters.values():
            yield cluster, range(cluster.count)
        return
    for name in names:
        number, proc = _numbers(name)
        found = clusters.get(number)
        if found is not None:
            yield found, range(found.count) if proc is None else [proc]


def _factory_limits(cluster: Cluster) -> str:
    """What keeps further jobs of a cluster out of the queue, in words."""
    factory = cluster.factory
    if factory is None or factory.pause is not FactoryPause.NONE:
        return f"cluster {cluster.number} is on hold or removed"
    limits = {"max_materialize": factory.present_max, "max_idle": factory.idle_max}
    said = ", ".join(f"{name} = {limit}" for name, limit in limits.items() if limit is not None)
    return f"{cluster.made} of the {cluster.count} jobs of cluster {cluster.number} have ({said})"


def _numbers(name: str) -> tuple[int, int | None]:
    """Numbers of cluster and job in ``12.0``, or ``12``."""
    cluster, dot, proc = name.partition(".")
    return int(cluster), int(proc) if dot else None
