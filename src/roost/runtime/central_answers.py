"""What commands ask of the central manager: ads, the last cycle and what it made of a job, users' accounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from roost.classad import ParseError, parse_expression
from roost.collector.table import SLOT
from roost.negotiator.timing import Wish
from roost.runtime.queue_rows import projected
from roost.wire.ads import ad_data, ad_from
from roost.wire.messages import Answer, Ask, Message

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
            if message.what == "audit":
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
                return self._userprio(args, sender)
            case "cycle":
                return Answer(data=self._cycle())
            case "advertise":
                return self._advertised(args.get("ads", []), [str(name) for name in args.get("gone", [])], sender)
        return Answer(ok=False, code="bad-request", text=f"the central manager can't answer {ask.what!r}")

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

    def _userprio(self, args: Mapping[str, Any], sender: str) -> Answer:
        daemon, action = self._daemon, args.get("action", "list")
        if action == "list":
            daemon.matchmaker.charge(self._table, daemon.clock.now(), at_once=True)
        words = " ".join(f"{name}={value}" for name, value in sorted(args.items()) if name != "action")
        what = f"userprio {action} {words}".rstrip()
        try:
            found = daemon.matchmaker.userprio(args, sender)
            if action != "list":
                daemon.audit.command(what, sender, user=str(args.get("user", "")))
                # Who comes first may be another one now.
                daemon.want(Wish.URGENT)
            return Answer(data=found)
        except PermissionError as error:
            daemon.audit.command(what, sender, user=str(args.get("user", "")), refusal=str(error))
            remedy = "ask somebody whom QUEUE_SUPER_USERS names, or the user the pool runs as"
            return Answer(ok=False, code="permission-denied", text=str(error), remedy=remedy)

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
