"""A running pool for programs that make occasional requests: commands and the bindings of other systems.

A request is one message and its answer, over a plain connection made for it. Programs therefore start at once, and need
only the contact file in the state directory. Callers choose the exception classes.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final, Self, TypeVar

from roost.runtime.bus.command_client import ANSWER_S, Line
from roost.runtime.bus_settings import BusError, Forgotten, NoAnswer, NobodyThere, new_request_id
from roost.runtime.home import Home, HomeError
from roost.wire.errors import WireError
from roost.wire.plain import PlainAnswer
from roost.wire.requests.verb import Daemon, Request, Verb, verb_of
from roost.wire.structs import data_of, read

R = TypeVar("R")

#: How long to wait for a daemon that does not listen, s.
_BACK_S: Final = 3.0
#: How long to wait for an answer before the request is repeated, s.
_PATIENT_S: Final = 5.0
_LOCAL: Final = frozenset(("localhost", "127.0.0.1", "::1", "ip6-localhost"))


class PoolError(Exception):
    """The pool cannot be reached; the text says why and what to do."""


class PoolRefused(PoolError):
    """The pool answered with a refusal."""

    def __init__(self, answer: PlainAnswer) -> None:
        super().__init__(refusal_text(answer))
        self.answer = answer


def refusal_text(answer: PlainAnswer) -> str:
    """The message of a refusal; the text is the pool's."""
    text = answer.text or answer.code or "refused"
    return text + (f"\n    hint: {answer.remedy}" if answer.remedy else "")


class PoolClient:
    """A running pool."""

    #: Raised if the pool cannot be reached, constructed from a text.
    error_class: ClassVar[type[Exception]] = PoolError
    #: Raised for a refusal, constructed from the answer.
    refused_class: ClassVar[type[Exception]] = PoolRefused

    def __init__(self, line: Line, home: Home, contact: dict[str, Any]) -> None:
        self.line = line
        self.home = home
        self.contact = contact

    def warn(self, text: str) -> None:
        """Warnings about a reply."""
        warnings.warn(text, RuntimeWarning, stacklevel=5)

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
        """The user in whose name requests are made."""
        return self.line.settings.name

    def ask(self, request: Request[R], *, machine: str = "", within_s: float = ANSWER_S) -> R:
        """Make a request to its daemon, and wait that long for the reply. Raises `refused_class`, `error_class`.

        `machine` names the execute machine; "" is the one of this state directory.
        """
        verb = verb_of(request)
        data = self._asked(verb, data_of(request), machine, within_s)
        try:
            reply: R = read(verb.reply, data, f"the reply to {verb.name!r}", strict=False)
        except WireError as error:
            hint = "does the daemon run another version of Roost than this command?"
            raise self.error_class(f"{error}\n    hint: {hint}") from None
        return reply

    def _asked(self, verb: Verb, args: dict[str, Any], machine: str = "", within_s: float = ANSWER_S) -> Any:
        subjects = self.line.subjects
        if verb.daemon is Daemon.MACHINE:
            name = machine or str(self.contact["node"])
            try:
                return self._answered(subjects.ask_node(name, self.user), f"machine {name!r}", verb, args, within_s)
            except NobodyThere:
                remedy = "`roost status` lists the machines"
                if name == self.contact["node"] and self._stopped(verb.daemon):
                    remedy = "its daemon was ordered to stop, and `roost up` starts it again"
                raise self.error_class(f"no machine named {name!r} answers; {remedy}") from None
        if verb.daemon is Daemon.QUEUE:
            who, subject = "the queue", subjects.ask_schedd(self.contact["schedd"], self.user)
        else:
            who, subject = "the central manager", subjects.ask_central(self.user)
        # A daemon that died is restarted within moments, and a request that no daemon received may be sent again.
        until = time.monotonic() + _BACK_S
        while True:
            try:
                return self._answered(subject, who, verb, args, within_s)
            except NobodyThere:
                if self._stopped(verb.daemon):
                    hint = "it was ordered to stop, and `roost up` starts it again"
                    raise self.error_class(f"{who} does not answer: {hint}") from None
                if time.monotonic() < until:
                    time.sleep(0.1)
                    continue
            hint = (
                f"`roost status --daemons` shows which daemons are running; the logs in {self.home.log} "
                "say why one is not"
            )
            raise self.error_class(f"{who} does not answer: {hint}") from None

    def _stopped(self, daemon: Daemon) -> bool:
        """Whether a daemon of this machine was ordered to stop."""
        return os.path.exists(self.home.stopped(daemon.value))  # noqa: PTH110  (the directory may be another user's)

    def _answered(self, subject: str, who: str, verb: Verb, args: dict[str, Any], within_s: float) -> Any:
        request_id = new_request_id()
        # A request sent at the moment of a daemon's death is lost; a question can be asked again.
        first_s = min(_PATIENT_S, within_s / 2) if verb.question else within_s
        try:
            try:
                answer = self.line.ask(subject, verb.name, args, first_s, request_id=request_id, who=who)
            except NoAnswer:
                if not verb.question:
                    raise
                answer = self.line.ask(subject, verb.name, args, within_s - first_s, request_id=request_id, who=who)
        except NobodyThere:
            raise
        except Forgotten as error:
            return self._known_of(verb, request_id, str(error))
        except BusError as error:
            # A request that was received may still be carried out: a queue without its database does so when that is
            # back.
            unknown = isinstance(error, NoAnswer) and not verb.question
            hint = "\n    hint: the request may still be carried out; check before you repeat it" if unknown else ""
            raise self.error_class(f"{error}{hint}") from None
        # An action that applied to no job is a reply, too.
        if not answer.ok and answer.data is None:
            raise self.refused_class(answer)
        if answer.ok and answer.text:
            self.warn(answer.text)
        return answer.data

    def _known_of(self, verb: Verb, request_id: str, text: str) -> Any:
        """What happened to a request that a daemon received and did not answer: it has been carried out, or never will
        be.
        """
        from roost.wire.requests import queue

        if verb.name != "submit":
            if verb.question:
                hint = "ask again"
            elif verb.daemon is Daemon.QUEUE:
                hint = "jobs that were already processed stay as they are; repeat the command for the rest"
            else:
                hint = "the request may have been carried out; check before you repeat it"
            raise self.error_class(f"{text}\n    hint: {hint}")
        constraint = f'SubmitRequestId == "{request_id}"'
        present = self.ask(queue.Overview(constraint=constraint, rows_max=-1))
        assert isinstance(present, queue.Clusters)
        taken = {row.cluster: row.total for row in present.clusters}
        if not taken:
            for row in self.ask(queue.History(constraint=constraint, projection=("ClusterId",))):
                taken[int(row["ClusterId"])] = taken.get(int(row["ClusterId"]), 0) + 1
        if not taken:
            raise self.error_class(f"{text}, and nothing was submitted\n    hint: submit again")
        return [{"cluster": cluster, "jobs": jobs} for cluster, jobs in sorted(taken.items())]


def is_called(name: str, real: str) -> bool:
    """Whether a name matches a daemon or host: in full, in any case, or without the domain."""
    name, real = name.lower(), real.lower()
    return name == real or real.partition(".")[0] == name or name.partition(".")[0] == real


def is_pool(name: str, contact: dict[str, Any]) -> bool:
    """Whether a name or address, as in ``-pool``, matches the pool of this contact."""
    host = name.strip("<>").partition("?")[0]
    host = host.rpartition(":")[0] if host.count(":") == 1 else host
    return host in _LOCAL or is_called(host, str(contact["pool"])) or is_called(host, str(contact["schedd"]))
