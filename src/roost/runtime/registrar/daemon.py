"""The daemon ``registrar``: it runs on the machine with the pool's authority, and signs the keys of members.

Members, and owners of an invitation, request it to sign keys, to revoke former ones, and to return its time. The
requester is the last token of the subject, which the message server restricts to the owner of the key. Requests are
answered one after the other.
"""

from __future__ import annotations

import asyncio
import logging

from roost import __version__
from roost.config import Config
from roost.runtime.bus.client import Bus
from roost.runtime.bus_settings import BusError
from roost.runtime.daemon_orders import DaemonEnding
from roost.runtime.registrar.authority import Authority
from roost.runtime.registrar.registry import NotAllowed
from roost.runtime.role import RoleContext, superusers
from roost.wire.errors import WireError
from roost.wire.messages import Answer, Ask, Message
from roost.wire.requests.registrar import CLOCK, ENROLL, RETIRE, Clock, Enroll
from roost.wire.structs import data_of, read

_log = logging.getLogger("roost.registrar")


class Registrar:
    """See the module."""

    def __init__(self, context: RoleContext, config: Config, bus: Bus) -> None:
        self._bus = bus
        self._now = context.clock.now
        self._authority = Authority(context.home.authority, self._now)
        self._administrators = superusers(config)

    async def start(self) -> None:
        """Start answering."""
        await self._bus.listen(self._bus.subjects.ask_registrar("*"), self._asked)

    async def reconfigure(self, config: Config) -> None:
        """Update the administrators."""
        self._administrators = superusers(config)

    async def stop(self, ending: DaemonEnding) -> None:
        """There is nothing to end."""

    async def _asked(self, message: Message, sender: str, reply: str) -> None:
        if not isinstance(message, Ask):
            return
        try:
            answer = await asyncio.to_thread(self._answer, message, sender)
        except WireError as error:
            answer = Answer(ok=False, code="bad-request", text=str(error))
        except NotAllowed as error:
            answer = Answer(ok=False, code="permission-denied", text=str(error))
        except (BusError, OSError) as error:
            answer = Answer(ok=False, code="no-registry", text=f"the registrar cannot do that now: {error}")
        if not answer.ok:
            _log.warning("%s: %s was refused: %s", sender, message.what, answer.text)
        await self._bus.answer(reply, answer)

    def _answer(self, ask: Ask, sender: str) -> Answer:
        if ask.what == CLOCK:
            return Answer(data=data_of(Clock(now=self._now(), version=__version__)))
        if ask.what == RETIRE:
            self._authority.retire(sender)
            _log.info("%s: its former keys are revoked", sender)
            return Answer()
        if ask.what != ENROLL:
            raise WireError(f"the registrar cannot answer {ask.what!r}, but {ENROLL}, {RETIRE} and {CLOCK}")
        request = read(Enroll, ask.args, ENROLL, strict=True)
        enrolled = self._authority.enroll(sender, request, self._administrators)
        named = ", ".join(f"{purpose} ({one.name})" for purpose, one in enrolled.signed.items())
        _log.info("%s: signed keys of %s: %s", sender, enrolled.machine, named or "none")
        return Answer(data=data_of(enrolled))


def make(context: RoleContext, config: Config, bus: Bus) -> Registrar:
    """The daemon."""
    return Registrar(context, config, bus)
