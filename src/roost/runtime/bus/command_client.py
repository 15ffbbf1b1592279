"""A plain connection to the bus, for commands: make a request, read the answer, disconnect.

It implements only the part of NATS's protocol that this takes: INFO, CONNECT, PING, SUB, PUB, MSG (and HMSG, which
reports that there is no listener). There is no event loop, no reconnecting and no thread, so a command starts as fast
as the interpreter. Daemons use `bus`.

TLS is used if the server asks for it or the URL says ``tls://``, and from the first byte in a pool with an authority of
its own. Of several URLs the first one that answers is used.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from roost.runtime.bus_settings import (
    INBOX_BYTES,
    BusError,
    BusSettings,
    Forgotten,
    NoAnswer,
    NobodyThere,
    new_request_id,
)
from roost.wire.errors import WireError
from roost.wire.plain import PlainAnswer, answer_of, ask_bytes
from roost.wire.subjects import Subjects

if TYPE_CHECKING:
    from types import TracebackType

#: How long a machine may take to accept the connection, s.
CONNECT_S: Final = 2.0
#: How long its server, which may be busy, may then take to respond and authenticate, s.
GREET_S: Final = 15.0
#: How long a command waits for a piece of an answer, s.
ANSWER_S: Final = 30.0
#: After how much silence a command asks whether its request is still in progress, s.
LOOK_S: Final = 1.0
#: Maximum length of a protocol line, bytes.
_LINE_MAX: Final = 1 << 20
_PORT: Final = 4222


def _progress(data: object) -> str:
    """What is added to a message about a missing answer. Raises WireError."""
    from roost.wire.requests.queue import ActionProgress
    from roost.wire.structs import read

    found = read(ActionProgress, data, "the progress of the request", strict=False)
    return f"; {found.done} of {found.of} jobs had been processed by then"


class Line:
    """A connection to the bus of one pool."""

    def __init__(self, settings: BusSettings) -> None:
        self.settings = settings
        self.subjects = Subjects(settings.pool)
        self._socket: socket.socket | None = None
        self._buffer = bytearray()
        #: The subject for the answer to the last request.
        self._inbox = ""
        self._asked = 0

    @classmethod
    def connect(cls, settings: BusSettings) -> Line:
        """Connect. Raises BusError."""
        line = cls(settings)
        problem: Exception | None = None
        for url in settings.urls:
            try:
                line._open(url)
                return line
            except (OSError, ValueError, BusError) as error:
                problem = error
                line.close()
        raise BusError(f"no pool answers at {', '.join(settings.urls)}: {problem}")

    def __enter__(self) -> Line:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Disconnect."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
            self._socket = None

    def is_whole(self) -> bool:
        """Whether a kept connection can be used for another request."""
        if self._socket is None or self._buffer:
            return False
        ready, _, _ = select.select([self._socket], [], [], 0)
        # The server has sent something meanwhile, such as PING, or has closed the connection.
        return not ready or self._has_only_pings()

    def _has_only_pings(self) -> bool:
        try:
            self._fill()
            while self._buffer:
                said = self._line()
                if said != "PING":
                    return False
                self._other(said)
        except (OSError, BusError):
            return False
        return True

    # -- asking --------------------------------------------------------------------------------------

    def ask(
        self,
        subject: str,
        what: str,
        args: dict[str, Any],
        timeout_s: float = ANSWER_S,
        *,
        request_id: str = "",
        who: str = "",
    ) -> PlainAnswer:
        """Make a request, and combine the pieces of the answer: rows of lists are joined. Raises BusError.

        `who` is the daemon's name for messages, "" for no daemon: `Forgotten` is raised if it is restarted before it
        answers.
        """
        rows: list[Any] = []
        texts: list[str] = []
        progress = ""
        try:
            for piece in self._pieces(
                subject, ask_bytes(what, args, request_id or new_request_id()), timeout_s, looks=bool(who)
            ):
                texts += [piece.text] if piece.text else []
                if not piece.more and not rows:
                    return piece._replace(text="; ".join(texts))
                if isinstance(piece.data, list):
                    rows += piece.data
                elif piece.more and piece.data is not None:
                    progress = _progress(piece.data)
                if not piece.more:
                    return piece._replace(text="; ".join(texts), data=rows if piece.ok else piece.data)
        except Forgotten:
            raise Forgotten(f"{who} was restarted before it answered{progress}") from None
        except BusError:
            raise
        except TimeoutError:
            text = f"no answer within {timeout_s:g} s{progress}: `roost status --daemons` shows what runs"
            raise NoAnswer(text) from None
        except (OSError, ValueError, WireError) as error:
            raise BusError(f"the pool cannot be asked: {error}") from None
        raise BusError("the answer ended early")

    def tell(self, subject: str, data: bytes, timeout_s: float) -> bytes:
        """Send bytes that are not a request to a daemon; return the bytes of the one answer. Raises BusError."""
        try:
            number = self._published(subject, data)
            until = time.monotonic() + timeout_s
            while True:
                got, status, payload = self._message(until, None)
                if got == number:
                    if status == "503":
                        raise NobodyThere("no reply")
                    return payload
        except TimeoutError:
            raise NoAnswer(f"no answer within {timeout_s:g} s") from None
        except OSError as error:
            raise BusError(str(error)) from None

    def _pieces(self, subject: str, data: bytes, timeout_s: float, *, looks: bool) -> Iterator[PlainAnswer]:
        number = self._published(subject, data)
        look = ask_bytes("under-way", {"reply": self._inbox})
        until = time.monotonic() + timeout_s
        while True:
            got, status, payload = self._message(until, (lambda: self._published(subject, look)) if looks else None)
            # Without a listener, the daemon is restarting. What it sent before it died has arrived by now.
            if looks and got > number and status != "503" and answer_of(payload).data is False:
                raise Forgotten
            if got != number:
                continue
            if status == "503":
                raise NobodyThere("no reply")
            piece = answer_of(payload)
            yield piece
            if not piece.more:
                self._send(b"UNSUB %d\r\n" % number)
                return
            until = time.monotonic() + timeout_s

    def _published(self, subject: str, data: bytes) -> int:
        """Send a request; return the number of the subscription to its answer."""
        self._asked += 1
        # Only the daemon asked can know the name, because any user may send answers.
        self._inbox = f"{self.subjects.inbox(self.settings.name)}.{os.urandom(INBOX_BYTES).hex()}"
        inbox = self._inbox.encode()
        self._send(b"SUB %s %d\r\nPUB %s %s %d\r\n%s\r\n" % (
            inbox, self._asked, subject.encode(), inbox, len(data), data,
        ))  # fmt: skip
        return self._asked

    def _listen(self, until: float, look: Callable[[], object] | None) -> None:
        """Wait for data from the server; `look` is called after some silence."""
        assert self._socket is not None
        while not self._buffer:
            left_s = max(0.001, until - time.monotonic())
            self._socket.settimeout(left_s if look is None else min(LOOK_S, left_s))
            try:
                self._fill()
            except TimeoutError:
                if look is None or left_s <= LOOK_S:
                    raise
                look()

    # -- the protocol --------------------------------------------------------------------------------

    def _open(self, url: str) -> None:
        parts = urlsplit(url if "://" in url else f"nats://{url}")
        host, port = parts.hostname or "127.0.0.1", parts.port or _PORT
        self._buffer.clear()
        # As bytes, an ASCII name does not need the large tables for international names.
        name: Any = host.encode() if host.isascii() else host
        self._socket = socket.create_connection((name, port), CONNECT_S)
        self._socket.settimeout(GREET_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        context = self.settings.tls_first()
        if context is not None:
            self._socket = context.wrap_socket(self._socket, server_hostname=host)
            self._pin(self._socket.getpeercert(binary_form=True) or b"", f"{host}:{port}")
        verb, _, rest = self._line().partition(" ")
        if verb != "INFO":
            raise BusError(f"{host}:{port} is not a NATS server")
        info = json.loads(rest)
        if context is None and (parts.scheme == "tls" or info.get("tls_required")):
            import ssl

            self._socket = ssl.create_default_context().wrap_socket(self._socket, server_hostname=host)
        options: dict[str, Any] = {
            "verbose": False, "pedantic": False, "lang": "python", "version": "1", "protocol": 1,
            "headers": True, "no_responders": True, "name": self.settings.name,
        }  # fmt: skip
        user = self.settings.user or unquote(parts.username or "")
        if self.settings.token:
            from roost.runtime.bus.nkeys import signature_of

            options |= {"jwt": self.settings.token, "sig": signature_of(self.settings.seed, info.get("nonce", ""))}
        elif user:
            options |= {"user": user, "pass": self.settings.password or unquote(parts.password or "")}
        self._send(b"CONNECT " + json.dumps(options).encode() + b"\r\nPING\r\n")
        while (said := self._line()) != "PONG":
            self._other(said)

    def _pin(self, certificate: bytes, where: str) -> None:
        if not self.settings.pinned:
            return
        import hashlib

        if hashlib.sha256(certificate).hexdigest() != self.settings.pinned:
            raise BusError(f"{where} is not the message server that was expected: it has another certificate")

    def _other(self, said: str) -> None:
        """Handle a line that is neither a message nor the expected one."""
        if said.startswith("-ERR"):
            text = said[4:].strip().strip("'")
            if "Permissions" in text:
                raise BusError(f"this user may not make that request: {text}")
            raise BusError(text)
        if said == "PING":
            self._send(b"PONG\r\n")

    def _message(self, until: float, look: Callable[[], object] | None) -> tuple[int, str, bytes]:
        """The next message: number of its subscription, status and payload."""
        assert self._socket is not None
        while True:
            self._listen(until, look)
            self._socket.settimeout(max(GREET_S, until - time.monotonic()))
            words = (said := self._line()).split(" ")
            match words[0]:
                case "MSG":
                    return int(words[2]), "", self._bytes(int(words[-1]))
                case "HMSG":
                    head, whole = int(words[-2]), int(words[-1])
                    data = self._bytes(whole)
                    status = data[:head].split(b"\r\n", 1)[0].split(b" ")
                    return int(words[2]), status[1].decode() if len(status) > 1 else "", data[head:]
            self._other(said)

    def _send(self, data: bytes) -> None:
        assert self._socket is not None
        self._socket.sendall(data)

    def _fill(self) -> None:
        assert self._socket is not None
        piece = self._socket.recv(1 << 18)
        if not piece:
            raise ConnectionResetError("the server closed the connection")
        self._buffer += piece

    def _line(self) -> str:
        while (end := self._buffer.find(b"\r\n")) < 0:
            if len(self._buffer) > _LINE_MAX:
                raise BusError("a protocol line is not terminated")
            self._fill()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line.decode("utf-8", "replace")

    def _bytes(self, size: int) -> bytes:
        while len(self._buffer) < size + 2:
            self._fill()
        data = bytes(self._buffer[:size])
        del self._buffer[: size + 2]
        return data
