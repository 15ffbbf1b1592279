"""What commands ask of the central manager: ads, the last cycle and what it made of a job, users' accounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from roost.classad import ClassAd, Expr, ParseError, parse_expression
from roost.classad.allowance import Allowance
from roost.collector import advertised
from roost.collector.table import projection_of
from roost.negotiator.timing import Wish
from roost.runtime.budget import STEPS_AT_ONCE, STEPS_EACH, Budget, OverBudget, check_length, too_many_steps
from roost.runtime.bus import ROWS_PER_ANSWER
from roost.runtime.permission import DENIED, refusal
from roost.runtime.queue_rows import projected
from roost.wire.ads import ad_data, ad_from
from roost.wire.messages import Answer, Ask, Message
from roost.wire.verbs import Daemon

if TYPE_CHECKING:
    from roost.runtime.central_daemon import CentralDaemon

_A = TypeVar("_A")
_R = TypeVar("_R")


def _bounded(function: Callable[[_A], _R], argument: _A) -> _R:
    """What a function finds that evaluates expressions of users. Raises OverBudget."""
    with Allowance(STEPS_AT_ONCE, STEPS_EACH) as allowance:
        found = function(argument)
    if allowance.exceeded:
        raise too_many_steps("what is to be explained")
    return found


def _shown(args: Mapping[str, Any]) -> Callable[[ClassAd], Any]:
    """How an ad is shown: some attributes, their values or expressions, or all of it."""
    wanted = tuple(str(name) for name in args.get("projection", ()))
    if not wanted:
        return ad_data
    if not args.get("values"):
        return lambda ad: ad_data(projection_of(ad, wanted))
    texts = frozenset(str(name) for name in args.get("texts", ()))
    return lambda ad: projected(ad, wanted, texts=texts)


class CentralAnswers:
    """The requests that a central manager answers."""

    def __init__(self, daemon: CentralDaemon) -> None:
        self._daemon = daemon
        self._table = daemon.table

    async def on_ask(self, message: Message, sender: str, reply: str) -> None:
        """Somebody asks something."""
        if not isinstance(message, Ask):
            return
        try:
            refused = refusal(Daemon.CENTRAL, message, sender, self._daemon.administrators, self._daemon.lists)
            if refused is not None:
                if refused.code == DENIED:
                    user = str(message.args.get("user", ""))
                    self._daemon.audit.command(_words(message), sender, user=user, refusal=refused.text)
                answer = refused
            elif message.what == "audit":
                answer = await self._daemon.audit.answered(message.args)
            elif message.what == "ads":
                answer = Answer(data=await self._ads(message.args, reply))
            else:
                answer = self._answered(message, sender)
        except OverBudget as error:
            answer = Answer(ok=False, code="over-budget", text=str(error), remedy=error.remedy)
        except ParseError as error:
            answer = Answer(ok=False, code="bad-request", text=f"the constraint: {error}")
        except (KeyError, TypeError, ValueError) as error:
            answer = Answer(ok=False, code="bad-request", text=f"{message.what}: {error}")
        await self._daemon.bus.answer(reply, answer)

    def _answered(self, ask: Ask, sender: str) -> Answer:
        args = ask.args
        match ask.what:
            case "explain-job":
                return Answer(data=_bounded(self._why, args))
            case "explain-slot":
                last = self._daemon.last
                trail = None if last is None else last.trail
                return Answer(data=None if trail is None else _bounded(trail.about_slot, str(args["slot"])))
            case "userprio":
                daemon = self._daemon
                daemon.matchmaker.charge(self._table, daemon.clock.now(), at_once=True)
                return Answer(data=daemon.matchmaker.users())
            case "userprio-set":
                return self._set_user(ask, sender)
            case "cycle":
                return Answer(data=self._cycle())
            case "advertise":
                return self._advertised(ask, sender)
        raise AssertionError(f"a verb of the table that the central manager does not answer: {ask.what}")

    async def _ads(self, args: Mapping[str, Any], reply: str) -> list[Any]:
        """The rows of the ads that are asked for; those that fill an answer are sent. Raises OverBudget."""
        daemon = self._daemon
        rows: list[Any] = []
        text, kind = str(args.get("constraint") or ""), str(args.get("kind", ""))
        constraint = None if not text else parse_expression(check_length(text, "the constraint"))
        limit, shown = max(0, int(args.get("limit", 0))), _shown(args)
        if args.get("names"):
            named = (self._table.get(kind, str(name)) for name in args["names"])
            return [ad_data(each.ad) for each in named if each is not None]

        async def alive() -> None:
            await daemon.bus.answer(reply, Answer(more=True))

        budget, found = Budget("the query", daemon.request_time_max_s, alive), 0
        ads, constraint = self._candidates(kind, constraint)
        for ad in ads:
            if budget.due:
                await budget.pause()
            if constraint is not None and not budget.run(self._table.fits, ad, constraint):
                continue
            rows.append(budget.run(shown, ad))
            found += 1
            if found == limit:
                break
            if len(rows) == ROWS_PER_ANSWER:
                await daemon.bus.answer(reply, Answer(data=rows, more=True))
                await daemon.bus.settled()
                rows = []
        return rows

    def _candidates(self, kind: str, constraint: Expr | None) -> tuple[list[ClassAd], Expr | None]:
        """Ads, and the constraint that is still to be asked of each; None where they are those for which it is true."""
        if constraint is not None and self._table.has_columns(kind):
            with Allowance(STEPS_AT_ONCE, STEPS_EACH) as allowance:
                found = list(self._table.query(kind, constraint))
            if not allowance.exceeded:
                return found, None
        return list(self._table.query(kind)), constraint

    def _cycle(self) -> dict[str, Any]:
        """The record of the last cycle."""
        daemon, last = self._daemon, self._daemon.last
        about: dict[str, Any] = {"cycles": daemon.cycles, "seconds": daemon.last_s}
        if last is None:
            return {**about, "rejections": {}}
        rejections = {
            f"{schedd} {number}": {"text": each.text, "causes": dict(each.causes)}
            for (schedd, number), each in last.rejected.items()
        }
        return {**about, **last.record, "rejections": rejections}

    def _why(self, args: Mapping[str, Any]) -> dict[str, Any] | None:
        """What the last cycle made of a request; None if it was not asked for it."""
        last = self._daemon.last
        trail = None if last is None else last.trail
        if trail is None:
            return None
        return trail.about_request(str(args["schedd"]), str(args["submitter"]), int(args["autocluster"]))

    def _set_user(self, ask: Ask, sender: str) -> Answer:
        daemon = self._daemon
        found = daemon.matchmaker.change_user(ask.args)
        daemon.audit.command(_words(ask), sender, user=str(ask.args.get("user", "")))
        # Another user may come first now.
        daemon.want(Wish.URGENT)
        return Answer(data=found)

    def _advertised(self, ask: Ask, sender: str) -> Answer:
        """Publish and withdraw ads of users."""
        daemon, kind = self._daemon, str(ask.args.get("kind") or "")
        ads = [ad_from(data, "ad") for data in ask.args.get("ads", [])]
        gone = [str(name) for name in ask.args.get("gone", [])]
        names = [str(ad.get("Name", "?")) for ad in ads] + gone
        order = f"advertise {len(ads)} ads, take {len(gone)} back"
        now, table, administrators = daemon.clock.now(), self._table, daemon.administrators
        try:
            removed = advertised.withdraw(table, gone, kind=kind, user=sender, administrators=administrators)
            advertised.advertise(table, ads, user=sender, administrators=administrators, now=now)
        except advertised.NotYours as error:
            daemon.audit.command(order, sender, names=names, refusal=str(error))
            return Answer(ok=False, code=DENIED, text=str(error), remedy=error.remedy)
        if names:
            daemon.audit.command(order, sender, names=names)
        return Answer(data={"taken": len(ads), "gone": removed})


def _words(ask: Ask) -> str:
    """A request in the words of the record, which are the command's: ``userprio set-factor user=ann@x value=5``."""
    args = dict(ask.args)
    what = f"userprio {args.pop('action', '?')}" if ask.what == "userprio-set" else ask.what
    return " ".join([what, *(f"{name}={value}" for name, value in sorted(args.items()))])
