"""The bus: messages over NATS, for every daemon and command.

A `Bus` is one connection. It comes back by itself when the server was away; what was sent meanwhile may be lost, as any
message may, and a caller that needs an answer asks again. What cannot be read is counted, logged and dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, Protocol, Self

import msgspec
import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError

from roost.runtime.bus.answer_pieces import pieces
from roost.runtime.bus.settings import BusError, BusSettings, new_request_id
from roost.wire.codec import decode, encode, expect
from roost.wire.errors import WireError
from roost.wire.messages import Answer, Ask, Message
from roost.wire.subjects import Subjects, name_of

_log = logging.getLogger("roost.bus")

#: How long a command waits for a piece of an answer, s.
ANSWER_S: Final = 30.0
#: How often a connection that can not be had is told of, s.
TELL_EVERY_S: Final = 60.0

#: Gets the message, the name of its sender, and where an answer goes ("" for nowhere).
Handler = Callable[[Message, str, str], Awaitable[None] | None]


def internal_error(message: Message, sender: str, error: Exception) -> Answer:
    """Put a defect of ours that a message brought to light into the log; what its sender is told."""
    what, named = type(message).__name__, ""
    if isinstance(message, Ask):
        what, named = message.what, f"request {message.id}" if message.id else ""
    _log.error("internal error (a bug in Roost): %s of %s%s", what, sender, named and f", {named}", exc_info=error)
    text = f"{what}: internal error (a bug in Roost): {error!r}"
    remedy = f"the daemon's log says where{named and f', under {named!r}'}; please report it"
    return Answer(ok=False, code="internal", text=text, remedy=remedy)


class Carrier(Protocol):
    """Whatever carries the messages of a machine: the bus, or a queue that has the machine within it."""

    subjects: Subjects
    #: Called after messages may have been lost.
    on_reconnect: Callable[[], None] | None

    async def send(self, subject: str, message: Message) -> None:
        """Send a message; it may be lost."""

    async def listen(self, subject: str, handler: Handler) -> None:
        """Hand every message on a subject to `handler`."""

    async def request(self, subject: str, message: Message, timeout_s: float = ANSWER_S) -> Message:
        """Send a message that is answered by one other. Raises BusError."""

    async def answer(self, reply: str, answer: Answer) -> None:
        """Answer a question."""


class Bus:
    """A connection to the bus of one pool."""

    #: How often the server is asked whether it is there, s.
    ping_s = 10

    def __init__(self, settings: BusSettings) -> None:
        self.settings = settings
        self.subjects = Subjects(settings.pool)
        #: Messages that could not be read.
        self.unreadable = 0
        self._nats = Client()
        #: Trouble with the servers is not told before that time of the loop.
        self._tell_at = 0.0
        #: Called after the connection came back.
        self.on_reconnect: Callable[[], None] | None = None

    @classmethod
    async def connect(cls, settings: BusSettings, *, patient: bool = True) -> Self:
        """Connect; a patient one waits for a server that is not up yet. Raises BusError."""
        bus = cls(settings)
        try:
            await bus._nats.connect(
                servers=list(settings.urls),
                user=settings.user or None,
                password=settings.password or None,
                name=settings.name,
                inbox_prefix=bus.subjects.inbox(settings.name).encode(),
                allow_reconnect=patient,
                max_reconnect_attempts=-1 if patient else 0,
                reconnect_time_wait=0.1,  # type: ignore[arg-type]
                connect_timeout=2,
                ping_interval=cls.ping_s,
                max_outstanding_pings=2,
                pending_size=64 * 1024 * 1024,
                error_cb=bus._on_error,
                reconnected_cb=bus._reconnected,
            )
        except (OSError, NatsError, TimeoutError) as error:
            with contextlib.suppress(NatsError, OSError, TimeoutError):
                await bus._nats.close()
            raise BusError(f"no pool answers at {', '.join(settings.urls)}: {error}") from None
        return bus

    async def _on_error(self, error: Exception) -> None:
        """What keeps the connection from the servers is told now and then: without it nothing goes on."""
        now = asyncio.get_running_loop().time()
        if self.connected or now < self._tell_at:
            _log.debug("bus: %s", error)
            return
        self._tell_at = now + TELL_EVERY_S
        why = str(error) or type(error).__name__
        _log.warning("no connection to %s: %s; trying again", ", ".join(self.settings.urls), why)

    async def _reconnected(self) -> None:
        _log.info("connected again")
        self._tell_at = 0.0
        if self.on_reconnect is not None:
            self.on_reconnect()

    async def close(self) -> None:
        """Send what is left, and leave."""
        with contextlib.suppress(NatsError, OSError, TimeoutError):
            await self._nats.flush(timeout=2)
        with contextlib.suppress(NatsError, OSError, TimeoutError):
            await self._nats.close()

    @property
    def connected(self) -> bool:
        """Whether the server is there."""
        return self._nats.is_connected

    @property
    def traffic(self) -> tuple[int, int]:
        """Messages that have come in, and that have gone out."""
        return self._nats.stats["in_msgs"], self._nats.stats["out_msgs"]

    async def settled(self) -> None:
        """Wait until the server has all that was sent, and we have all that it had for us then."""
        with contextlib.suppress(NatsError, OSError, TimeoutError):
            await self._nats.flush()

    # -- messages ----------------------------------------------------------------------------------

    async def send(self, subject: str, message: Message) -> None:
        """Send a message; it may be lost."""
        try:
            data = encode(message)
        except WireError as error:
            # The log has it, and the sender goes on with its next message.
            _log.error("%s is not sent: %s", type(message).__name__, error)
            return
        await self._publish(subject, data, type(message).__name__)

    async def _publish(self, subject: str, data: bytes, what: str) -> None:
        try:
            await self._nats.publish(subject, data)
        except NatsError as error:
            _log.warning("%s is not sent: %s", what, error)

    async def listen(self, subject: str, handler: Handler) -> None:
        """Hand every message on a subject, which may have wildcards, to `handler`, in the order in which they came."""

        async def received(raw: Msg) -> None:
            try:
                message = decode(raw.data)
            except WireError as error:
                self.unreadable += 1
                _log.warning("from %s: %s", name_of(raw.subject.rpartition(".")[2]), error)
                if raw.reply:
                    await self.send(raw.reply, Answer(ok=False, code="bad-message", text=str(error)))
                return
            try:
                done = handler(message, name_of(raw.subject.rpartition(".")[2]), raw.reply)
                if done is not None:
                    await done
            except Exception as error:
                answer = internal_error(message, name_of(raw.subject.rpartition(".")[2]), error)
                if raw.reply:
                    await self.send(raw.reply, answer)

        await self._nats.subscribe(subject, cb=received, pending_msgs_limit=-1, pending_bytes_limit=-1)
        # A daemon that learns of this one next must not send before the server knows the subscription.
        # The client's PING may overtake what it has still to write: an answer to a second one comes after the first.
        with contextlib.suppress(NatsError, OSError, TimeoutError):
            await self._nats.flush(timeout=5)
            await self._nats.flush(timeout=5)

    async def ask(self, subject: str, ask: Ask, timeout_s: float = ANSWER_S) -> Answer:
        """Ask, and put the pieces of the answer together: rows of lists are joined. Raises BusError."""
        rows: list[object] = []
        texts: list[str] = []
        async for piece in self.ask_pieces(subject, ask, timeout_s):
            texts += [piece.text] if piece.text else []
            if not piece.more and not rows:
                return msgspec.structs.replace(piece, text="; ".join(texts))
            if isinstance(piece.data, list):
                rows += piece.data
            if not piece.more:
                return msgspec.structs.replace(piece, text="; ".join(texts), data=rows)
        raise BusError("the answer ended early")

    async def ask_pieces(self, subject: str, ask: Ask, timeout_s: float = ANSWER_S) -> AsyncIterator[Answer]:
        """Ask, and hand on the pieces of the answer as they come. Raises BusError."""
        inbox = self._nats.new_inbox()
        subscription = await self._nats.subscribe(inbox)
        try:
            await self._nats.publish(subject, encode(msgspec.structs.replace(ask, id=new_request_id())), reply=inbox)
            while True:
                raw = await subscription.next_msg(timeout=timeout_s)
                if raw.headers and raw.headers.get("Status") == "503":
                    raise NoRespondersError
                piece = expect(Answer, raw.data)
                yield piece
                if not piece.more:
                    return
        except NoRespondersError:
            raise BusError("no reply: is the daemon running? `roost status` shows which daemons run") from None
        except (NatsTimeoutError, TimeoutError):
            raise BusError(f"no answer within {timeout_s:g} s: `roost status` shows what runs") from None
        except (NatsError, OSError, WireError) as error:
            raise BusError(f"the pool cannot be asked: {error}") from None
        finally:
            with contextlib.suppress(NatsError):
                await subscription.unsubscribe()

    async def request(self, subject: str, message: Message, timeout_s: float = ANSWER_S) -> Message:
        """Send a message that is answered by one other. Raises BusError."""
        try:
            raw = await self._nats.request(subject, encode(message), timeout=timeout_s)
            return decode(raw.data)
        except NoRespondersError:
            raise BusError("no reply") from None
        except (NatsTimeoutError, TimeoutError):
            raise BusError(f"no answer within {timeout_s:g} s") from None
        except (NatsError, OSError, WireError) as error:
            raise BusError(str(error)) from None

    async def answer(self, reply: str, answer: Answer) -> None:
        """Answer, in pieces where there are many rows."""
        if not reply:
            return
        for piece in pieces(answer):
            await self._publish(reply, piece, "Answer")
            # Let others have their turn, and the socket take what it was given.
            await asyncio.sleep(0)


__all__ = ["Bus", "BusError", "BusSettings", "Handler", "nats"]
