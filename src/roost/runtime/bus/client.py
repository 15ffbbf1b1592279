"""The bus: messages over NATS, for every daemon and command.

A `Bus` is one connection. It reconnects by itself after the server was unavailable; messages sent meanwhile may be
lost, as any message may, and a caller that needs an answer must ask again. Messages that cannot be read are counted,
logged and dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, Protocol, Self

import msgspec
import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError

from roost.runtime.bus.answer_pieces import pieces
from roost.runtime.bus.nkeys import signature_of
from roost.runtime.bus_settings import INBOX_BYTES, BusError, BusSettings, new_request_id
from roost.wire.codec import decode, encode, expect
from roost.wire.errors import WireError
from roost.wire.messages import Answer, Ask, Message
from roost.wire.subjects import Subjects, name_of

_log = logging.getLogger("roost.bus")

#: How long a command waits for a piece of an answer, s.
ANSWER_S: Final = 30.0
#: Interval at which a failing connection is logged, s.
TELL_EVERY_S: Final = 60.0

#: Receives the message, the name of its sender, and the subject for an answer ("" for none).
Handler = Callable[[Message, str, str], Awaitable[None] | None]


def internal_error(message: Message, sender: str, error: Exception) -> Answer:
    """Log an internal error that a message exposed, and return the text for its sender."""
    what, named = type(message).__name__, ""
    if isinstance(message, Ask):
        what, named = message.what, f"request {message.id}" if message.id else ""
    _log.error("internal error (a bug in Roost): %s of %s%s", what, sender, named and f", {named}", exc_info=error)
    text = f"{what}: internal error (a bug in Roost): {error!r}"
    remedy = f"the daemon's log says where{named and f', under {named!r}'}; please report it"
    return Answer(ok=False, code="internal", text=text, remedy=remedy)


class Carrier(Protocol):
    """The carrier of a machine's messages: the bus, or a queue that has the machine in its own process."""

    subjects: Subjects
    #: Called after messages may have been lost.
    on_reconnect: Callable[[], None] | None

    async def send(self, subject: str, message: Message) -> None:
        """Send a message; it may be lost."""

    async def listen(self, subject: str, handler: Handler) -> None:
        """Pass every message on a subject to `handler`."""

    async def request(self, subject: str, message: Message, timeout_s: float = ANSWER_S) -> Message:
        """Send a message that is answered by one other message. Raises BusError."""

    async def answer(self, reply: str, answer: Answer) -> None:
        """Answer a request."""


class Bus:
    """A connection to the bus of one pool."""

    #: Interval at which the server is checked, s.
    ping_s = 10

    def __init__(self, settings: BusSettings) -> None:
        self.settings = settings
        self.subjects = Subjects(settings.pool)
        #: Messages that could not be read.
        self.unreadable = 0
        self._nats = Client()
        #: Trouble with the servers is not logged before that time of the loop.
        self._tell_at = 0.0
        #: Called after the connection came back.
        self.on_reconnect: Callable[[], None] | None = None

    @classmethod
    async def connect(cls, settings: BusSettings, *, patient: bool = True) -> Self:
        """Connect; a patient connection waits for a server that is not up yet. Raises BusError."""
        bus = cls(settings)
        try:
            await bus._nats.connect(
                servers=list(settings.urls),
                **_proofs(settings),
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
        """Log now and then why the connection fails: without it nothing works."""
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
        """Send pending messages, and disconnect."""
        with contextlib.suppress(NatsError, OSError, TimeoutError):
            await self._nats.flush(timeout=2)
        with contextlib.suppress(NatsError, OSError, TimeoutError):
            await self._nats.close()

    @property
    def connected(self) -> bool:
        """Whether the server is connected."""
        return self._nats.is_connected

    @property
    def traffic(self) -> tuple[int, int]:
        """Numbers of messages received and sent."""
        return self._nats.stats["in_msgs"], self._nats.stats["out_msgs"]

    async def settled(self) -> None:
        """Wait until the server has received all that was sent, and this process all that the server had for it
        then.
        """
        with contextlib.suppress(NatsError, OSError, TimeoutError):
            await self._nats.flush()

    # -- messages ----------------------------------------------------------------------------------

    async def send(self, subject: str, message: Message) -> None:
        """Send a message; it may be lost."""
        try:
            data = encode(message)
        except WireError as error:
            # The failure is logged, and the sender continues with its next message.
            _log.error("%s was not sent: %s", type(message).__name__, error)
            return
        await self._publish(subject, data, type(message).__name__)

    async def _publish(self, subject: str, data: bytes, what: str) -> None:
        try:
            await self._nats.publish(subject, data)
        except NatsError as error:
            _log.warning("%s was not sent: %s", what, error)

    async def listen(self, subject: str, handler: Handler) -> None:
        """Pass every message on a subject, which may have wildcards, to `handler`, in the order of arrival."""

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
        # A daemon that learns of this one next must not send before the server knows the subscription. The client's
        # PING may overtake pending writes: the answer to a second one comes after them.
        with contextlib.suppress(NatsError, OSError, TimeoutError):
            await self._nats.flush(timeout=5)
            await self._nats.flush(timeout=5)

    async def ask(self, subject: str, ask: Ask, timeout_s: float = ANSWER_S) -> Answer:
        """Make a request, and combine the pieces of the answer: rows of lists are joined. Raises BusError."""
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
        """Make a request, and yield the pieces of the answer as they arrive. Raises BusError."""
        inbox = self._new_inbox()
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

    def _new_inbox(self) -> str:
        """The subject for an answer: only the daemon asked can know its name, because any user may send answers.

        The client's own names are sequential, so a daemon that has been asked once could answer in the name of others.
        """
        return f"{self.subjects.inbox(self.settings.name)}.{secrets.token_hex(INBOX_BYTES)}"

    async def request(self, subject: str, message: Message, timeout_s: float = ANSWER_S) -> Message:
        """Send a message that is answered by one other message. Raises BusError."""
        inbox = self._new_inbox()
        try:
            subscription = await self._nats.subscribe(inbox)
            try:
                await self._nats.publish(subject, encode(message), reply=inbox)
                raw = await subscription.next_msg(timeout=timeout_s)
            finally:
                with contextlib.suppress(NatsError):
                    await subscription.unsubscribe()
            if raw.headers and raw.headers.get("Status") == "503":
                raise NoRespondersError
            return decode(raw.data)
        except NoRespondersError:
            raise BusError("no reply") from None
        except (NatsTimeoutError, TimeoutError):
            raise BusError(f"no answer within {timeout_s:g} s") from None
        except (NatsError, OSError, WireError) as error:
            raise BusError(str(error)) from None

    async def answer(self, reply: str, answer: Answer) -> None:
        """Answer, in pieces if there are many rows."""
        if not reply:
            return
        for piece in pieces(answer):
            await self._publish(reply, piece, "Answer")
            # Let other tasks run, and the socket send what it has.
            await asyncio.sleep(0)


def _proofs(settings: BusSettings) -> dict[str, Any]:
    """The credentials and the encryption of a connection."""
    context = settings.tls_first()
    found: dict[str, Any] = {} if context is None else {"tls": context, "tls_handshake_first": True}
    if not settings.token:
        return found | {"user": settings.user or None, "password": settings.password or None}

    def signed(nonce: str) -> bytes:
        return signature_of(settings.seed, nonce).encode()

    return found | {"user_jwt_cb": settings.token.encode, "signature_cb": signed}


__all__ = ["Bus", "BusError", "BusSettings", "Handler", "nats"]
