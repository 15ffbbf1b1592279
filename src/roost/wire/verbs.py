"""All requests to daemons, with who may make them and their replies: one table per daemon (`requests`).

A daemon refuses a request that is not in its table, and a field that the request does not have. Orders and reports
between daemons are not requests: the message servers decide which daemons may send those (`subjects`).
"""

from __future__ import annotations

from typing import Any, Final

from roost.wire.errors import WireError
from roost.wire.messages import Ask
from roost.wire.requests.central import CENTRAL
from roost.wire.requests.machine import MACHINE
from roost.wire.requests.queue import QUEUE
from roost.wire.requests.verb import Daemon, Request, Verb, verb_of
from roost.wire.structs import data_of, read

#: All tables: daemon, then verb.
VERBS: Final = {Daemon.QUEUE: QUEUE, Daemon.MACHINE: MACHINE, Daemon.CENTRAL: CENTRAL}
_NAMES: Final = {Daemon.QUEUE: "a queue", Daemon.MACHINE: "a machine", Daemon.CENTRAL: "the central manager"}


def ask_of(request: Request[Any]) -> Ask:
    """The message that makes a request."""
    return Ask(what=verb_of(request).name, args=data_of(request))


def asked_verb(daemon: Daemon, ask: Ask) -> Verb:
    """The verb of a message. Raises WireError if it is not in the table of the daemon."""
    verb = VERBS[daemon].get(ask.what)
    if verb is None:
        raise WireError(f"{_NAMES[daemon]} cannot answer {ask.what!r}, but {', '.join(VERBS[daemon])}")
    return verb


def request_of(daemon: Daemon, ask: Ask) -> Request[Any]:
    """The request that a message makes. Raises WireError, which names the field that is wrong."""
    return read(asked_verb(daemon, ask).request, ask.args, ask.what, strict=True)
