"""What commands ask of the central manager: ads, the last cycle and what it made of a job, users' accounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from roost.classad import ParseError, parse_expression
from roost.collector.table import SLOT
from roost.negotiator.timing import Wish
from roost.runtime.permission import DENIED, refusal
from roost.runtime.queue_rows import projected
from roost.wire.ads import ad_data, ad_from
from roost.wire.messages import Answer, Ask, Message
from roost.wire.verbs import Daemon

if TYPE_CHECKING:
    from roost.runtime.central_daemon import CentralDaemon

#: MyType of ads that only daemons tell.
_OF_DAEMONS: Final = frozenset(
    (SLOT, "Submitter", "Accounting", "Scheduler", "DaemonMaster", "Collector", "Negotiator")
)


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
            refused = refusal(Daemon.CENTRAL, message, sender, self._daemon.administrators)
            if refused is not None:
                if refused.code == DENIED:
                    user = str(message.args.get("user", ""))
                    self._daemon.audit.command(_words(message), sender, user=user, refusal=refused.text)
                answer = refused
            elif message.what == "audit":
                answer = await self._daemon.audit.answered(message.args)
            else:
                answer = self._answered(message, sender)
        except ParseError as error:
            answer = Answer(ok=False, code="bad-request", text=f"the constraint: {error}")
        except (KeyError, TypeError, ValueError) as error:
            answer = Answer(ok=False, code="bad-request", text=f"{message.what}: {error}")
        await self._daemon.bus.answer(reply, answer)

    def _answered(self, ask: Ask, sender: str) -> Answer:
        args = ask.args
        match ask.what:
            case "ads":
                return Answer(data=self._ads(args))
            case "explain-job":
                return Answer(data=self._why(args))
            case "explain-slot":
                last = self._daemon.last
                trail = None if last is None else last.trail
                return Answer(data=None if trail is None else trail.about_slot(str(args["slot"])))
            case "userprio":
                daemon = self._daemon
                daemon.matchmaker.charge(self._table, daemon.clock.now(), at_once=True)
                return Answer(data=daemon.matchmaker.users())
            case "userprio-set":
                return self._set_user(ask, sender)
            case "cycle":
                return Answer(data=self._cycle())
            case "advertise":
                return self._advertised(args.get("ads", []), [str(name) for name in args.get("gone", [])], sender)
        raise AssertionError(f"a verb of the table that the central manager does not answer: {ask.what}")

    def _ads(self, args: Mapping[str, Any]) -> list[Any]:
        constraint = args.get("constraint")
        expression = None if not constraint else parse_expression(str(constraint))
        kind, limit = str(args.get("kind", "")), int(args.get("limit", 0))
        wanted = [str(name) for name in args.get("projection", ())]
        if args.get("names"):
            kept = (self._table.get(kind, str(name)) for name in args["names"])
            return [ad_data(each.ad) for each in kept if each is not None]
        if wanted and args.get("values"):
            found = self._table.query(kind, expression, limit=limit)
            texts = frozenset(str(name) for name in args.get("texts", ()))
            return [projected(ad, wanted, texts=texts) for ad in found]
        found = self._table.query(kind, expression, limit=limit, projection=wanted)
        return [ad_data(ad) for ad in found]

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

    def _advertised(self, ads: list[Any], gone: list[str], sender: str) -> Answer:
        """Ads that somebody tells by a command; those of daemons are theirs to tell."""
        found = [ad_from(data, "ad") for data in ads]
        for ad in found:
            if ad.get("MyType") in _OF_DAEMONS:
                text = f"ads of the type {ad.get('MyType')} are told by daemons, and by nobody else"
                return Answer(ok=False, code="permission-denied", text=text, remedy="give it a MyType of your own")
        now = self._daemon.clock.now()
        for ad in found:
            self._table.put(ad, sender=sender, now=now)
        kinds = [kind for kind in self._table.kinds() if kind not in _OF_DAEMONS]
        if found or gone:
            names = [str(ad.get("Name", "?")) for ad in found] + gone
            self._daemon.audit.command(f"advertise {len(found)} ads, take {len(gone)} back", sender, names=names)
        removed = sum(self._table.remove(kind, name) for name in gone for kind in kinds)
        return Answer(data={"taken": len(found), "gone": removed})


def _words(ask: Ask) -> str:
    """A request in the words of the record."""
    return " ".join([ask.what, *(f"{name}={value}" for name, value in sorted(ask.args.items()))])
