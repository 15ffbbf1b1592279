"""The child of `libdrmaa.so`: it executes the calls that arrive on standard input, each in its own thread.

A message is a line with its number and the number of its strings, then each string preceded by a line with its length
in bytes. The answer to a call has the same number; its first strings are the error code and the error message.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import IO, Final

from roost.compat.drmaa.core.attributes import VECTORS, Template, scalars
from roost.compat.drmaa.core.codes import Code, DrmaaError
from roost.compat.drmaa.core.session import ActiveSession, Operation

#: Limits of a call: number of strings, and bytes of one.
TEXTS_MAX: Final = 4 << 20
TEXT_BYTES_MAX: Final = 64 << 20
_OPERATIONS: Final[tuple[Operation, ...]] = ("suspend", "resume", "hold", "release", "terminate")


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    output = os.fdopen(os.dup(1), "wb")
    # Output of other code must not get between answers.
    os.dup2(2, 1)
    Server(sys.stdin.buffer, output).run()
    # Threads that are still waiting end with the process.
    os._exit(0)


class Server:
    """Calls and their answers."""

    def __init__(self, calls: IO[bytes], answers: IO[bytes]) -> None:
        self._calls = calls
        self._answers = answers
        self._lock = threading.Lock()
        self._session: ActiveSession | None = None

    def run(self) -> None:
        """Serve until the input ends."""
        while (call := self._next()) is not None:
            number, texts = call
            threading.Thread(target=self._serve, args=(number, texts), daemon=True).start()

    def _next(self) -> tuple[int, list[str]] | None:
        head = self._calls.readline()
        if not head:
            return None
        number, count = map(int, head.split())
        if count > TEXTS_MAX:
            raise ValueError(f"a call has at most {TEXTS_MAX} texts, not {count}")
        texts = []
        for _ in range(count):
            length = int(self._calls.readline())
            if length > TEXT_BYTES_MAX:
                raise ValueError(f"a text has at most {TEXT_BYTES_MAX} bytes, not {length}")
            texts.append(self._calls.read(length).decode("utf-8", "surrogateescape"))
        return number, texts

    def _serve(self, number: int, texts: list[str]) -> None:
        try:
            answer = ["0", "", *self._done(texts[0], texts[1:])]
        except DrmaaError as error:
            answer = [str(int(error.code)), error.text]
        except Exception as error:
            answer = [str(int(Code.INTERNAL_ERROR)), f"internal error: {type(error).__name__}: {error}"]
        parts = [b"%d %d\n" % (number, len(answer))]
        for text in answer:
            data = text.encode("utf-8", "surrogateescape")
            parts += [b"%d\n" % len(data), data]
        with self._lock, contextlib.suppress(OSError):
            self._answers.write(b"".join(parts))
            self._answers.flush()

    def _done(self, call: str, words: list[str]) -> Sequence[str]:
        if call == "init":
            return self._begin(words[0])
        session = self._session
        if session is None:
            raise DrmaaError(Code.NO_ACTIVE_SESSION)
        calls: dict[str, Callable[[ActiveSession, list[str]], Sequence[str]]] = {
            "exit": self._end,
            "check": _check,
            "names": _names,
            "run": _run,
            "bulk": _bulk,
            "control": _control,
            "ps": _state,
            "synchronize": _synchronize,
            "wait": _wait,
        }
        return calls[call](session, words)

    def _begin(self, contact: str) -> Sequence[str]:
        self._session = session = ActiveSession(contact or None, _warn)
        from roost.compat.drmaa.session import CELL_SYSTEM, SYSTEM

        return session.contact, CELL_SYSTEM if session.has_cell else SYSTEM

    def _end(self, session: ActiveSession, words: list[str]) -> Sequence[str]:
        session.close()
        return ()


def _warn(text: str) -> None:
    sys.stderr.write(f"drmaa: warning: {text}\n")
    sys.stderr.flush()


def _check(session: ActiveSession, words: list[str]) -> Sequence[str]:
    name, kind, *values = words
    session.check(name, values if kind == "list" else values[0])
    return ()


def _names(session: ActiveSession, words: list[str]) -> Sequence[str]:
    return VECTORS if words[0] == "list" else scalars(has_cell=session.has_cell)


def _template(words: list[str]) -> Template:
    found: dict[str, str | list[str]] = {}
    at = 0
    while at < len(words):
        name, kind, count = words[at], words[at + 1], int(words[at + 2])
        values = words[at + 3 : at + 3 + count]
        found[name] = values if kind == "list" else values[0]
        at += 3 + count
    return found


def _run(session: ActiveSession, words: list[str]) -> Sequence[str]:
    return [session.run_job(_template(words[1:]), directory=words[0])]


def _bulk(session: ActiveSession, words: list[str]) -> Sequence[str]:
    begin, end, step = map(int, words[:3])
    return session.run_bulk(_template(words[4:]), begin, end, step, directory=words[3])


def _control(session: ActiveSession, words: list[str]) -> Sequence[str]:
    number = int(words[1])
    if not 0 <= number < len(_OPERATIONS):
        raise DrmaaError(Code.INVALID_ARGUMENT, f"{number} is not an action")
    session.control(words[0], _OPERATIONS[number])
    return ()


def _state(session: ActiveSession, words: list[str]) -> Sequence[str]:
    return [str(int(session.state(words[0])))]


def _synchronize(session: ActiveSession, words: list[str]) -> Sequence[str]:
    session.synchronize(words[2:], int(words[0]), dispose=words[1] != "0")
    return ()


def _wait(session: ActiveSession, words: list[str]) -> Sequence[str]:
    found = session.wait(words[0], int(words[1]), wants_usage=words[2] != "0")
    usage = (f"{name}={value}" for name, value in found.ending.usage.items())
    return [found.id, str(found.ending.number), *usage]
