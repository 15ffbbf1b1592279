"""Every request that a daemon answers, as a call: ``POST /requests/DAEMON/REQUEST`` with the fields as the body.

For requests without a resource; the rows are made from the tables of `roost.wire`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from roost.api.calls import Call, Row
from roost.api.people import WebRole
from roost.wire.requests.machine import OF_STREAMS
from roost.wire.requests.verb import Asker, Daemon, Verb
from roost.wire.verbs import VERBS

#: Requests of administrators about machines, which operators may also make.
_OPERATING: Final = frozenset(("drain", "cancel-drain", "vacate", "reopen", "poll"))
#: Requests that only make sense on a connection to the message servers.
_OF_CONNECTIONS: Final = frozenset(("under-way", *OF_STREAMS))
_NAMES: Final = {Daemon.QUEUE: "queue", Daemon.MACHINE: "machines/{machine}", Daemon.CENTRAL: "central"}


def role_of(verb: Verb) -> WebRole:
    """The minimum role for a request."""
    if verb.question and verb.asker is Asker.USER:
        return WebRole.READER
    if verb.asker in (Asker.USER, Asker.OWNER):
        return WebRole.USER
    return WebRole.OPERATOR if verb.name in _OPERATING else WebRole.ADMINISTRATOR


def rows() -> Iterator[Row]:
    """A row for each request."""
    for daemon, table in VERBS.items():
        for name, verb in sorted(table.items()):
            if name not in _OF_CONNECTIONS:
                path = f"/requests/{_NAMES[daemon]}/{name}"
                yield Row("POST", path, role_of(verb), verb.about, _ask, body=verb.request, reply=verb.reply)


def _ask(call: Call) -> Any:
    return call.pool.ask(call.body, machine=call.path.get("machine", ""))
