"""A running pool as programs see it that ask it something now and then: commands and the bindings of other systems.

A question is one message and its answer; a plain connection is made for it. So programs start at once, and need nothing
but the state directory's contact file. What is raised is the business of those who use it: they name the classes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final, Self

from roost.runtime.bus_settings import BusError, NoAnswer, NobodyThere
from roost.runtime.home import Home, HomeError
from roost.runtime.line import ANSWER_S, Line
from roost.wire.plain import PlainAnswer
from roost.wire.verbs import QUESTIONS

#: How long a daemon that does not listen is waited for, s.
_BACK_S: Final = 3.0
#: How long the answer to a question is waited for before it is asked again, s.
_PATIENT_S: Final = 5.0
_LOCAL: Final = frozenset(("localhost", "127.0.0.1", "::1", "ip6-localhost"))


class PoolError(Exception):
    """The pool can't be asked; the text says why and what to do."""


class PoolRefused(PoolError):
    """The pool answered with a refusal."""

    def __init__(self, answer: PlainAnswer) -> None:
        super().__init__(refusal_text(answer))
        self.answer = answer


def refusal_text(answer: PlainAnswer) -> str:
    """What a refusal says; the text is the pool's."""
    text = answer.text or answer.code or "refused"
    return text + (f"\n    hint: {answer.remedy}" if answer.remedy else "")


class PoolLine:
    """A running pool."""

    #: What is raised where the pool can't be asked, made of a text.
    error_class: ClassVar[type[Exception]] = PoolError
    #: What is raised where it refuses, made of the answer.
    refused_class: ClassVar[type[Exception]] = PoolRefused

    def __init__(self, line: Line, home: Home, contact: dict[str, Any]) -> None:
        self.line = line
        self.home = home
        self.contact = contact

    @classmethod
    @contextmanager
    def connected(cls, home: Home) -> Iterator[Self]:
        """A connection to the pool of a state directory. Raises `error_class`."""
        try:
            contact = home.contact()
            line = Line.connect(home.client())
        except (HomeError, BusError) as error:
            raise cls.error_class(str(error)) from None
        with line:
            yield cls(line, home, contact)

    @property
    def user(self) -> str:
        """In whose name is asked."""
        return self.line.settings.name

    def schedd(self, what: str, **args: Any) -> Any:
        """Ask the queue. Raises `refused_class` and `error_class`."""
        return self._ask_daemon("queue", self.line.subjects.ask_schedd(self.contact["schedd"], self.user), what, args)

    def central(self, what: str, **args: Any) -> Any:
        """Ask the central manager. Raises `refused_class` and `error_class`."""
        return self._ask_daemon("central manager", self.line.subjects.ask_central(self.user), what, args)

    def node(self, node: str, what: str, *, within_s: float = ANSWER_S, **args: Any) -> Any:
        """Ask an execute machine, and wait that long for its answer. Raises `refused_class` and `error_class`."""
        name = node or str(self.contact["node"])
        try:
            return self._ask(self.line.subjects.ask_node(name, self.user), what, args, within_s)
        except NobodyThere:
            raise self.error_class(f"no machine {name!r} answers: `roost status` lists the machines") from None

    def _ask_daemon(self, who: str, subject: str, what: str, args: dict[str, Any]) -> Any:
        # A daemon that died is started again within moments, and what nobody heard may be said again.
        until = time.monotonic() + _BACK_S
        while True:
            try:
                return self._ask(subject, what, args)
            except NobodyThere:
                if time.monotonic() < until:
                    time.sleep(0.1)
                    continue
            hint = f"`roost status --daemons` shows what runs, {self.home.log} says why something does not"
            raise self.error_class(f"the {who} does not answer: {hint}") from None

    def _ask(self, subject: str, what: str, args: dict[str, Any], within_s: float = ANSWER_S) -> Any:
        # What a daemon was told in the instant of its death is lost; a question can be asked again.
        first_s = min(_PATIENT_S, within_s / 2) if what in QUESTIONS else within_s
        try:
            try:
                answer = self.line.ask(subject, what, args, first_s)
            except NoAnswer:
                if what not in QUESTIONS:
                    raise
                answer = self.line.ask(subject, what, args, within_s - first_s)
        except NobodyThere:
            raise
        except BusError as error:
            # What was heard may be done yet: a queue whose database is away does it when that is back.
            unknown = isinstance(error, NoAnswer) and what not in QUESTIONS
            hint = "\n    hint: it may be done nonetheless, later: look before you say it again" if unknown else ""
            raise self.error_class(f"{error}{hint}") from None
        if not answer.ok:
            raise self.refused_class(answer)
        return answer.data


def is_called(name: str, real: str) -> bool:
    """Whether a name means a daemon or host: in full, in any case, or without the domain."""
    name, real = name.lower(), real.lower()
    return name == real or real.partition(".")[0] == name or name.partition(".")[0] == real


def is_pool(name: str, contact: dict[str, Any]) -> bool:
    """Whether a name or address, as ``-pool`` takes it, means the pool of this contact."""
    host = name.strip("<>").partition("?")[0]
    host = host.rpartition(":")[0] if host.count(":") == 1 else host
    return host in _LOCAL or is_called(host, str(contact["pool"])) or is_called(host, str(contact["schedd"]))
