"""Answers to requests to the central manager: ads, the last cycle and its result for a job, users' accounts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from roost.classad import ClassAd, Expr
from roost.classad.allowance import Allowance
from roost.collector import advertised
from roost.collector.table import projection_of
from roost.model.cycle_answers import CycleFigures, JobInCell, JobInCycle
from roost.negotiator.accountant import AccountError
from roost.negotiator.timing import Urgency
from roost.runtime.bus.answer_pieces import ROWS_PER_ANSWER
from roost.runtime.bus.budget import STEPS_AT_ONCE, STEPS_EACH, Budget, too_many_steps
from roost.runtime.bus.job_rows import projected
from roost.runtime.bus.permission import DENIED, REMEDY, refusal
from roost.runtime.bus.request_answers import BadRequest, RequestAnswers, expression
from roost.runtime.daemon_orders import DaemonEnding
from roost.wire.ads import ad_data, ad_from
from roost.wire.messages import Answer, Ask
from roost.wire.requests import central
from roost.wire.requests.verb import Daemon, Request, Verb
from roost.wire.structs import AdData
from roost.wire.verbs import ask_of

if TYPE_CHECKING:
    from roost.collector.table import AdTable
    from roost.config.access import Access
    from roost.negotiator.snapshot import Plan
    from roost.runtime.bus.client import Bus
    from roost.runtime.bus.lanes import Lanes
    from roost.runtime.central.audit import CentralAudit
    from roost.runtime.central.cell import PoolCell
    from roost.runtime.central.matchmaker import Matchmaker
    from roost.runtime.clock import Clock
    from roost.runtime.deciding import Deciding

_A = TypeVar("_A")
_R = TypeVar("_R")


def _bounded(function: Callable[[_A], _R], argument: _A) -> _R:
    """The result of a function that evaluates users' expressions. Raises OverBudget."""
    with Allowance(STEPS_AT_ONCE, STEPS_EACH) as allowance:
        found = function(argument)
    if allowance.exceeded:
        raise too_many_steps("what is to be explained")
    return found


def _shown(asked: central.Ads) -> Callable[[ClassAd], AdData]:
    """The displayed form of an ad: some attributes, their values or expressions, or all of it."""
    if not asked.projection:
        return ad_data
    if not asked.values:
        return lambda ad: ad_data(projection_of(ad, asked.projection))
    texts = frozenset(asked.texts)
    return lambda ad: projected(ad, asked.projection, texts=texts)


def _machine_of(ad: ClassAd) -> str:
    found = ad.cell("machine")
    return found if isinstance(found, str) else ""


class CentralAnswersDaemon(Protocol):
    """The interface of the central manager's daemon for answers."""

    administrators: frozenset[str]
    lists: Access
    bus: Bus
    clock: Clock
    lanes: Lanes
    request_time_max_s: float
    table: AdTable
    matchmaker: Matchmaker
    audit: CentralAudit
    cell: PoolCell
    deciding: Deciding
    #: The last cycle, its duration, and the number of cycles.
    last: Plan | None
    last_s: float
    cycles: int

    def ask_for_cycle(self, urgency: Urgency) -> None:
        """Request a cycle."""


class CentralAnswers(RequestAnswers):
    """The requests that a central manager answers."""

    of = Daemon.CENTRAL
    database_remedy = "see log/central.log; decisions wait until the database is back"

    def __init__(self, daemon: CentralAnswersDaemon) -> None:
        super().__init__(daemon.bus)
        self._daemon = daemon
        self._table = daemon.table

    def refusal(self, verb: Verb, sender: str) -> Answer | None:
        """Why a request is not answered; None if it is."""
        return refusal(verb, sender, self._daemon.administrators, self._daemon.lists)

    def denied(self, ask: Ask, sender: str, why: str) -> None:
        """Record that a user was denied a request."""
        self._daemon.audit.command(_words(ask), sender, user=str(ask.args.get("user", "")), refusal=why)

    async def answered(self, request: Request[Any], sender: str, reply: str, request_id: str) -> object:
        """The reply to a request."""
        daemon = self._daemon
        match request:
            case central.Ads():
                return await self._ads(request, reply)
            case central.AuditTrail():
                return await daemon.audit.keeper.query(request)
            case central.ExplainJob():
                return _bounded(self._why, request)
            case central.ExplainSlot():
                trail = None if daemon.last is None else daemon.last.trail
                return None if trail is None else _bounded(trail.about_slot, request.slot)
            case central.QueueInstances(details=details):
                await daemon.deciding.over()
                return await daemon.cell.queue_instances(details=details)
            case central.CellHosts():
                await daemon.deciding.over()
                return await daemon.cell.hosts()
            case central.Reserve():
                return await daemon.cell.reserve(request, sender)
            case central.CellReservations():
                await daemon.deciding.over()
                return await daemon.cell.reservations()
            case central.CellPriorities():
                return daemon.cell.priorities()
            case central.CellScheduling():
                return await self._schedule(request, sender)
            case central.StopCentral():
                if not await daemon.cell.manages(sender):
                    return _not_manager("stop the central manager's daemon", sender)
                daemon.audit.command("stop", sender)
                return await self._stop(reply, DaemonEnding.LEAVE)
            case central.Users():
                if not daemon.deciding.under_way:
                    daemon.matchmaker.charge(self._table, daemon.clock.now(), at_once=True)
                return daemon.matchmaker.users()
            case central.ChangeUser():
                await daemon.deciding.over()
                return self._change_user(request, sender)
            case central.Cycle():
                return self._cycle()
            case central.UnderWay(reply=asked):
                return daemon.lanes.has(asked)
            case central.Advertise():
                await daemon.deciding.over()
                return self._advertised(request, sender)
        raise AssertionError(f"the central manager has no handler for the request {request}")

    async def _ads(self, asked: central.Ads, reply: str) -> Answer:
        """The rows of the requested ads; rows that fill an answer are sent. Raises OverBudget."""
        daemon = self._daemon
        rows: list[AdData] = []
        shown = _shown(asked)

        async def alive() -> None:
            await daemon.bus.answer(reply, Answer(more=True))

        budget, found = Budget("the query", daemon.request_time_max_s, alive), 0
        ads, constraint = self._candidates(asked)
        for ad in ads:
            if budget.due:
                await budget.pause()
            author, name = _machine_of(ad), (ad.cell("name"),)
            if constraint is not None and not budget.fits(ad, constraint, author=author, name=name):
                continue
            rows.append(budget.run(shown, ad, author=author, name=name))
            found += 1
            if found == asked.limit:
                break
            if len(rows) == ROWS_PER_ANSWER:
                await daemon.bus.answer(reply, Answer(data=rows, more=True))
                await daemon.bus.settled()
                rows = []
        return Answer(data=rows, text=budget.warning)

    def _candidates(self, asked: central.Ads) -> tuple[list[ClassAd], Expr | None]:
        """Candidate ads, and the constraint to evaluate for each; None if it is already known to be true for them."""
        kind, constraint = asked.kind, expression(asked.constraint, "the constraint")
        if asked.names:
            named = (self._table.get(kind, name) for name in asked.names)
            return [each.ad for each in named if each is not None], constraint
        if constraint is not None and self._table.has_columns(kind):
            with Allowance(STEPS_AT_ONCE, STEPS_EACH) as allowance:
                found = list(self._table.query(kind, constraint))
            if not allowance.exceeded:
                return found, None
        return list(self._table.query(kind)), constraint

    def _cycle(self) -> central.LastCycle:
        daemon, last = self._daemon, self._daemon.last
        rejected = {} if last is None else last.rejected
        return central.LastCycle(
            cycles=daemon.cycles,
            seconds=daemon.last_s,
            figures=CycleFigures() if last is None else CycleFigures(**last.record),
            rejections={
                f"{schedd} {number}": central.Rejected(text=each.text, causes=dict(each.causes))
                for (schedd, number), each in rejected.items()
            },
        )

    def _why(self, asked: central.ExplainJob) -> JobInCycle | JobInCell | None:
        """The last cycle's result for a request; None if the cycle had no such request."""
        stopped = self._daemon.cell.stopped
        if stopped is not None:
            return stopped
        trail = None if self._daemon.last is None else self._daemon.last.trail
        return None if trail is None else trail.about_request(asked.schedd, asked.submitter, asked.autocluster)

    async def _schedule(self, asked: central.CellScheduling, sender: str) -> central.RunsOfCell | Answer:
        """Stop or resume the scheduling runs of the cell."""
        daemon, cell = self._daemon, self._daemon.cell
        if asked.active is None:
            return central.RunsOfCell(active=cell.schedules)
        words = f"{'resume' if asked.active else 'stop'} the scheduling runs of the cell"
        if not await cell.manages(sender):
            refused = _not_manager(words, sender)
            daemon.audit.command(words, sender, refusal=refused.text)
            return refused
        changed, cell.schedules = asked.active != cell.schedules, asked.active
        if changed:
            daemon.audit.command(words, sender)
            daemon.ask_for_cycle(Urgency.URGENT)
        return central.RunsOfCell(active=asked.active, changed=changed)

    def _change_user(self, asked: central.ChangeUser, sender: str) -> central.UserChanged:
        daemon = self._daemon
        try:
            daemon.matchmaker.change_user(asked)
        except AccountError as error:
            raise BadRequest(str(error)) from None
        daemon.audit.command(_words(ask_of(asked)), sender, user=asked.user)
        # Another user may come first now.
        daemon.ask_for_cycle(Urgency.URGENT)
        return central.UserChanged(user=asked.user, action=asked.action)

    def _advertised(self, asked: central.Advertise, sender: str) -> Answer | central.Advertised:
        """Publish and withdraw ads of users."""
        daemon, gone = self._daemon, asked.gone
        ads = [ad_from(data, f"advertise.ads[{at}]") for at, data in enumerate(asked.ads)]
        names = [*(str(ad.get("Name", "?")) for ad in ads), *gone]
        order = f"publish {len(ads)} ads, withdraw {len(gone)}"
        now, table, administrators = daemon.clock.now(), self._table, daemon.administrators
        try:
            removed = advertised.withdraw(table, gone, kind=asked.kind, user=sender, administrators=administrators)
            advertised.advertise(table, ads, user=sender, administrators=administrators, now=now)
        except advertised.NotYours as error:
            daemon.audit.command(order, sender, names=names, refusal=str(error))
            return Answer(ok=False, code=DENIED, text=str(error), remedy=error.remedy)
        except advertised.Unnamed as error:
            raise BadRequest(str(error)) from None
        if names:
            daemon.audit.command(order, sender, names=names)
        return central.Advertised(taken=len(ads), gone=removed)


def _not_manager(what: str, sender: str) -> Answer:
    return Answer(ok=False, code=DENIED, text=f"{sender} may not {what}", remedy=REMEDY)


def _words(ask: Ask) -> str:
    """A request in the words of the audit record, which are the command's: ``userprio set-factor user=ann@x
    value=5``.
    """
    args = dict(ask.args)
    what = f"userprio {args.pop('action', '?')}" if ask.what == "userprio-set" else ask.what
    return " ".join([what, *(f"{name}={value}" for name, value in sorted(args.items()))])
