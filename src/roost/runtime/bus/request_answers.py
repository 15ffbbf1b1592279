"""Answering requests to a daemon: permission, the request itself, and errors.

A daemon answers the requests in its table in `wire.verbs`. A request that is malformed, or makes no sense, is a
`bad-request`; to distinguish it from a bug in Roost, only errors that name the user's input count as such. `Lanes`
reports any other exception as a bug, and refers to the log.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, ClassVar, Final

from roost.classad import Expr, ParseError, parse_expression
from roost.runtime.bus.budget import OverBudget, check_length
from roost.runtime.bus.client import Carrier
from roost.runtime.bus.permission import DENIED
from roost.runtime.causes import caused_by
from roost.runtime.daemon_orders import DaemonEnding, stop_for_good
from roost.runtime.database_guard import StoreError
from roost.wire.errors import WireError
from roost.wire.messages import Answer, Ask
from roost.wire.requests.machine import OF_STREAMS
from roost.wire.requests.verb import Daemon, Request, Verb
from roost.wire.verbs import VERBS, asked_verb, request_of

_log = logging.getLogger("roost.requests")


class BadRequest(Exception):
    """A request that cannot be answered; the text says why."""


class NotFound(Exception):
    """An object that a request names does not exist; the text says which."""


def expression(text: str | None, what: str) -> Expr | None:
    """The expression in a request; None for none. Raises BadRequest, and OverBudget for one that is too long."""
    try:
        return None if not text else parse_expression(check_length(text, what))
    except ParseError as error:
        raise BadRequest(f"{what}: {error}") from None


class Later(Enum):
    """Says that an answer is sent separately, once its contents are stored."""

    LATER = 0


LATER: Final = Later.LATER


class RequestAnswers(ABC):
    """Answers the requests to one daemon."""

    of: ClassVar[Daemon]
    #: The remedy if a database is unavailable.
    database_remedy: ClassVar[str] = ""

    def __init__(self, bus: Carrier) -> None:
        self._bus = bus

    @abstractmethod
    def refusal(self, verb: Verb, sender: str) -> Answer | None:
        """Why a request is not answered; None if it is."""

    @abstractmethod
    async def answered(self, request: Request[Any], sender: str, reply: str, request_id: str) -> object:
        """The reply to a request, or an `Answer`, or `LATER`. Pieces of it may already have been sent to `reply`.

        `request_id` identifies the request in the logs.
        """

    def denied(self, ask: Ask, sender: str, why: str) -> None:  # noqa: B027  (most daemons do nothing)
        """Record that a user was denied a request."""

    async def _stop(self, reply: str, ending: DaemonEnding) -> Later:
        """Answer a request to stop the daemon for good, and stop it."""
        await self._bus.answer(reply, Answer())
        stop_for_good(ending)
        return LATER

    def _note(self, ask: Ask, sender: str, found: object) -> None:
        """Log a request that changes something, and its result."""
        verb = VERBS[self.of].get(ask.what)
        if verb is not None and not verb.question and verb.name not in OF_STREAMS:
            outcome = "under way" if found is LATER else "done"
            if isinstance(found, Answer) and not found.ok:
                outcome = found.code or "nothing was done"
            _log.info("request %s of %s: %s: %s", ask.id or "without an id", sender, ask.what, outcome)

    async def on_ask(self, ask: Ask, sender: str, reply: str) -> None:
        """Answer a request."""
        with caused_by(ask.id):
            await self._answer(ask, sender, reply)

    async def _answer(self, ask: Ask, sender: str, reply: str) -> None:
        try:
            verb = asked_verb(self.of, ask)
            found: object = self.refusal(verb, sender)
            if isinstance(found, Answer):
                if found.code == DENIED:
                    self.denied(ask, sender, found.text)
            else:
                found = await self.answered(request_of(self.of, ask), sender, reply, ask.id)
        except OverBudget as error:
            found = Answer(ok=False, code="over-budget", text=str(error), remedy=error.remedy)
        except StoreError as error:
            found = Answer(ok=False, code="no-database", text=str(error), remedy=self.database_remedy)
        except NotFound as error:
            found = Answer(ok=False, code="not-found", text=str(error))
        except (BadRequest, WireError) as error:
            found = Answer(ok=False, code="bad-request", text=str(error))
        self._note(ask, sender, found)
        if found is LATER:
            return
        await self._bus.answer(reply, found if isinstance(found, Answer) else Answer(data=found))
