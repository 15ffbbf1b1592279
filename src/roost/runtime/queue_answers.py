"""Answers of a queue to commands: submit, query, act, history.

Whoever asks is who the bus says: the last token of the subject, which its permissions hold to the asker's own name.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from roost.classad import ClassAd, Expr, ParseError, parse_expression
from roost.runtime.budget import Budget, OverBudget, check_length
from roost.runtime.bus import ROWS_PER_ANSWER
from roost.runtime.database_guard import StoreError
from roost.runtime.past_jobs import PastJobs, shown_as
from roost.runtime.permission import refusal
from roost.runtime.queue_actions import QueueActions, Selection
from roost.runtime.queue_rows import Rows, cluster_row, counts_of, projected
from roost.schedd import events as ev
from roost.schedd.book import Cluster
from roost.schedd.identifiers import JobId
from roost.schedd.local import SCHEDULER, is_local
from roost.schedd.status import JobStatus
from roost.schedd.submit import ClusterPlan
from roost.wire import messages as m
from roost.wire.ads import ad_data, ad_from
from roost.wire.errors import WireError
from roost.wire.messages import Answer, Ask, Message
from roost.wire.requests.verb import Daemon
from roost.wire.verbs import asked_verb

if TYPE_CHECKING:
    from roost.runtime.schedd_daemon import ScheddDaemon

_log = logging.getLogger("roost.schedd")

#: Digits of the number of a cluster.
_DIGITS_MAX: Final = 9
#: Jobs whose rows are made, or which are looked at, between two looks at the clock.
_TURN: Final = 50


class BadAsk(Exception):
    """A request that can't be answered; the text says why."""


class QueueAnswers:
    """The requests that a queue answers."""

    def __init__(self, daemon: ScheddDaemon) -> None:
        self._daemon = daemon
        self._numbers = itertools.count(1)
        self.past = PastJobs()
        self.actions = QueueActions(daemon)
        self._known: dict[str, Callable[[Ask, str, str], Awaitable[None]]] = {
            "submit": self._submit,
            "query": self._query,
            "overview": self._overview,
            "act": self._act,
            "history": self._history,
            "summary": self._summary,
            "autocluster": self._autocluster,
        }

    async def on_ask(self, message: Message, sender: str, reply: str) -> None:
        """Answer a request."""
        if not isinstance(message, Ask):
            return
        try:
            verb = asked_verb(Daemon.QUEUE, message)
        except WireError as error:
            await self._daemon.bus.answer(reply, Answer(ok=False, code="bad-request", text=str(error)))
            return
        refused = refusal(verb, sender, self._daemon.settings.superusers, self._daemon.lists)
        if refused is None and not verb.question:
            refused = self._daemon.watch.refusal()
        if refused is not None:
            await self._daemon.bus.answer(reply, refused)
            return
        try:
            await self._known[message.what](message, sender, reply)
        except OverBudget as error:
            answer = Answer(ok=False, code="over-budget", text=str(error), remedy=error.remedy)
            await self._daemon.bus.answer(reply, answer)
        except StoreError as error:
            await self._daemon.bus.answer(reply, Answer(ok=False, code="no-database", text=str(error)))
        except (BadAsk, WireError, ParseError) as error:
            await self._daemon.bus.answer(reply, Answer(ok=False, code="bad-request", text=str(error)))
        except (KeyError, TypeError, ValueError) as error:
            text = f"{message.what}: {type(error).__name__}: {error}"
            await self._daemon.bus.answer(reply, Answer(ok=False, code="bad-request", text=text))

    def _budget(self, what: str, reply: str) -> Budget:
        """What a request may cost, with signs of life for the one who asks."""

        async def alive() -> None:
            await self._daemon.bus.answer(reply, Answer(more=True))

        return Budget(what, self._daemon.request_time_max_s, alive)

    async def _part(self, reply: str, rows: list[Any]) -> None:
        """Send the rows that there are so far once they fill an answer, so that they need no memory."""
        if len(rows) < ROWS_PER_ANSWER:
            return
        await self._daemon.kept()
        await self._daemon.bus.answer(reply, Answer(data=rows.copy(), more=True))
        # The server has them before more are made.
        await self._daemon.bus.settled()
        rows.clear()

    def _reply_to(self, reply: str) -> str:
        key = str(next(self._numbers))
        self._daemon.replies[key] = reply
        return key

    # -- changes -------------------------------------------------------------------------------------

    async def _submit(self, ask: Ask, sender: str, reply: str) -> None:
        clusters = [ClusterPlan.from_data(data) for data in _list(ask.args, "clusters")]
        if not sum(each.count for each in clusters):
            raise BadAsk("nothing is submitted")
        self._daemon.feed(ev.Submitted(clusters=tuple(clusters), owner=sender, reply_to=self._reply_to(reply)))

    async def _act(self, ask: Ask, sender: str, reply: str) -> None:
        args = ask.args
        try:
            action = ev.Action(args.get("action", ""))
        except ValueError:
            raise BadAsk(f"{args.get('action')!r} is no action: {', '.join(ev.Action)}") from None
        budget = self._budget("choosing the jobs", reply)
        jobs = Selection()
        async for job in self._chosen(args, budget):
            jobs.add(job)
        acted = ev.Acted(
            action=action,
            jobs=(),
            user=sender,
            reply_to="",
            superuser=sender in self._daemon.settings.superusers,
            reason=str(args.get("reason", "")),
            attributes=ad_from(args.get("attributes", {}), "attributes"),
        )
        named = [str(each) for each in args.get("jobs", [])]
        await self._daemon.bus.answer(reply, await self.actions.act(acted, jobs, named, reply))

    # -- choosing jobs -------------------------------------------------------------------------------

    async def _chosen(self, args: dict[str, Any], budget: Budget) -> Any:
        """The jobs that names, owners and a constraint choose; all of them where none is given. Raises OverBudget."""
        book = self._daemon.queue.book
        constraint = _constraint(args)
        names = [str(each) for each in args.get("jobs", [])]
        owners = frozenset(str(each) for each in args.get("owners", []))
        for cluster, procs in list(_named(names, book.clusters)):
            if owners and cluster.owner not in owners:
                continue
            for looked, proc in enumerate(procs):
                if (constraint is not None or looked % _TURN == 0) and budget.due:
                    await budget.pause()
                if cluster.status(proc) is JobStatus.GONE:
                    # A name that is gone is still asked for: the answer says so.
                    if isinstance(procs, list) and constraint is None:
                        yield JobId(cluster.number, proc)
                    continue
                if constraint is None or budget.run(_is_chosen, cluster, proc, constraint):
                    yield JobId(cluster.number, proc)
        if constraint is None:
            for name in names:
                if "." in name and JobId.read(name).cluster not in book.clusters:
                    yield JobId.read(name)

    # -- questions -----------------------------------------------------------------------------------

    async def _query(self, ask: Ask, sender: str, reply: str) -> None:
        args, budget = ask.args, self._budget("the query", reply)
        projection = [str(each) for each in args.get("projection", [])]
        limit, raw, texts = int(args.get("limit", 0)), bool(args.get("raw")), _names(args, "texts")
        if projection and not (limit or raw or texts) and args.get("constraint") is None:
            rows = await self._plain_rows(args, projection, budget, reply)
        else:
            row = self._row_of(projection, raw=raw, texts=texts)
            rows, found = [], 0
            async for job in self._chosen(args, budget):
                cluster = self._daemon.queue.book.clusters.get(job.cluster)
                if cluster is None or cluster.status(job.proc) is JobStatus.GONE:
                    continue
                rows.append(budget.run(row, cluster, job.proc))
                found += 1
                if limit and found >= limit:
                    break
                await self._part(reply, rows)
        await self._daemon.kept()
        await self._daemon.bus.answer(reply, Answer(data=rows))

    def _row_of(self, projection: list[str], *, raw: bool, texts: frozenset[str]) -> Callable[[Cluster, int], Any]:
        """What makes the row of a job."""
        makers: dict[int, Rows] = {}

        def row(cluster: Cluster, proc: int) -> Any:
            maker = makers.get(cluster.number)
            if maker is None:
                maker = makers[cluster.number] = Rows(cluster, projection)
            return maker.row(proc)

        if not projection:
            return lambda cluster, proc: ad_data(cluster.ad_of(proc))
        if raw or texts:
            return lambda cluster, proc: projected(cluster.ad_of(proc), projection, raw=raw, texts=texts)
        return row

    async def _plain_rows(self, args: dict[str, Any], projection: list[str], budget: Budget, reply: str) -> list[Any]:
        """Some attributes of all jobs that are named, without a look at each whole ad."""
        names, owners = [str(each) for each in args.get("jobs", [])], set(args.get("owners", []))
        rows: list[Any] = []
        for cluster, procs in list(_named(names, self._daemon.queue.book.clusters)):
            if owners and cluster.owner not in owners:
                continue
            maker = Rows(cluster, projection)
            turn = _TURN if maker.is_cheap else 1
            for first in range(0, len(procs), turn):
                present = [proc for proc in procs[first : first + turn] if cluster.status(proc) is not JobStatus.GONE]
                rows += [budget.run(maker.row, proc) for proc in present]
                await self._part(reply, rows)
                if budget.due:
                    await budget.pause()
        return rows

    async def _overview(self, ask: Ask, sender: str, reply: str) -> None:
        """The jobs where there are at most `rows_max`, else a row for each of their clusters."""
        args, book = ask.args, self._daemon.queue.book
        found: dict[int, dict[int, int]] = {}
        if args.get("constraint") is None and not any("." in str(name) for name in args.get("jobs", [])):
            names, owners = [str(each) for each in args.get("jobs", [])], set(args.get("owners", []))
            for cluster, _ in _named(names, book.clusters):
                if not owners or cluster.owner in owners:
                    found[cluster.number] = counts_of(cluster)
        else:
            async for job in self._chosen(args, self._budget("the query", reply)):
                of = book.clusters.get(job.cluster)
                status = JobStatus.GONE if of is None else of.status(job.proc)
                if status is not JobStatus.GONE:
                    counts = found.setdefault(job.cluster, {})
                    counts[status] = counts.get(status, 0) + 1
        if sum(sum(counts.values()) for counts in found.values()) <= int(args.get("rows_max", 200)):
            await self._query(ask, sender, reply)
            return
        rows = [cluster_row(book.clusters[number], counts) for number, counts in found.items() if counts]
        await self._daemon.kept()
        await self._daemon.bus.answer(reply, Answer(data={"clusters": rows}))

    async def _summary(self, ask: Ask, sender: str, reply: str) -> None:
        queue = self._daemon.queue
        data = {
            "name": self._daemon.context.name,
            "jobs": queue.counts(),
            "claims": len(queue.holder.claims),
            "rejections": {str(number): text for number, text in queue.rejections.items()},
        }
        await self._daemon.kept()
        await self._daemon.bus.answer(reply, Answer(data=data))

    async def _autocluster(self, ask: Ask, sender: str, reply: str) -> None:
        """The jobs that the matchmaker treats as one with a job."""
        book = self._daemon.queue.book
        job = JobId.read(str(ask.args.get("job", "")))
        cluster = book.clusters.get(job.cluster)
        if cluster is None or cluster.status(job.proc) is JobStatus.GONE:
            raise BadAsk(f"{job} is not in the queue")
        number = book.autoclusters.of(cluster.ad_of(job.proc))
        data: dict[str, Any] = {
            "autocluster": number,
            "rejection": self._daemon.queue.rejections.get(number, ""),
            "schedd": self._daemon.context.name,
            "submitter": cluster.submitter_for(job.proc),
        }
        found = cluster.jobs.get(job.proc)
        claim = None if found is None else self._daemon.queue.holder.claims.get(found.claim_id)
        pause = self._daemon.queue.holder.pauses.of(job.cluster, self._daemon.clock.now())
        if pause is not None:
            data["pause"] = {"until": pause.until, "misses": pause.misses}
        if claim is None and not cluster.room:
            data["at_once"] = cluster.at_once_max
        if claim is None and is_local(cluster.ad):
            policy, text = self._local_policy(cluster.ad)
            data["local"] = {"knob": policy, "text": text}
        if claim is not None:
            data["claim"] = {"slot": claim.slot, "stage": str(claim.stage), "heard_at": claim.heard_at}
        await self._daemon.bus.answer(reply, Answer(data=data))

    def _local_policy(self, ad: ClassAd) -> tuple[str, str]:
        """The expression that says whether one more job may run on the queue's own machine, and its text."""
        policy = self._daemon.settings.local_policy
        if ad.cell("jobuniverse") == SCHEDULER:
            return "START_SCHEDULER_UNIVERSE", str(policy.start_scheduler)
        return "START_LOCAL_UNIVERSE", str(policy.start_local)

    async def _history(self, ask: Ask, sender: str, reply: str) -> None:
        args = ask.args
        names = [str(each) for each in args.get("jobs", [])]
        projection = [str(each) for each in args.get("projection", [])]
        rows: list[Any] = []

        async def found(some: list[Any]) -> None:
            rows.extend(some)
            await self._part(reply, rows)

        constraint = _constraint(args)
        await self._daemon.kept()
        await self.past.search(
            self._daemon.store,
            [_numbers(name) for name in names] or [(None, None)],
            constraint=constraint,
            limit=max(0, int(args.get("limit", 0))),
            shown=shown_as(projection, raw=bool(args.get("raw")), texts=_names(args, "texts")),
            budget=self._budget("the search of the history", reply),
            found=found,
        )
        await self._daemon.bus.answer(reply, Answer(data=rows))


def _is_chosen(cluster: Cluster, proc: int, constraint: Expr) -> bool:
    return cluster.ad_of(proc).eval_expr(constraint) is True


def _named(names: list[str], clusters: dict[int, Cluster]) -> Iterator[tuple[Cluster, list[int] | range]]:
    if not names:
        for cluster in clusters.values():
            yield cluster, range(cluster.count)
        return
    for name in names:
        number, proc = _numbers(name)
        found = clusters.get(number)
        if found is not None:
            yield found, range(found.count) if proc is None else [proc]


def _numbers(name: str) -> tuple[int, int | None]:
    try:
        if "." in name:
            job = JobId.read(name)
            return job.cluster, job.proc
        if len(name) > _DIGITS_MAX:
            raise ValueError(name)
        return int(name), None
    except ValueError:
        raise BadAsk(f"{name!r} is neither a job (12.0) nor a cluster (12)") from None


def _constraint(args: dict[str, Any]) -> Expr | None:
    text = args.get("constraint")
    try:
        return None if not text else parse_expression(check_length(str(text), "the constraint"))
    except ParseError as error:
        raise BadAsk(f"the constraint: {error}") from None


def _names(args: dict[str, Any], name: str) -> frozenset[str]:
    return frozenset(str(each) for each in args.get(name, ()))


def _list(args: dict[str, Any], name: str) -> list[Any]:
    value = args.get(name)
    if not isinstance(value, list):
        raise BadAsk(f"{name!r} has to be a list")
    return value


__all__ = ["BadAsk", "QueueAnswers", "m"]
