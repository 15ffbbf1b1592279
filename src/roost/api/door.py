"""Authentication: every request passes here before any of it is read.

A request without credentials gets an answer that reveals nothing about the pool. Pages and calls are accepted only from
this server's own origin, or from those in WEB_ORIGINS; a page of another site can neither read nor change anything.
"""

from __future__ import annotations

import hmac
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from roost.api.calls import Server
from roost.api.peers import PEER, name_of_peer
from roost.api.people import Person, WebRole
from roost.api.problems import Problem
from roost.runtime.identity import host_name

#: The cookie of a session.
COOKIE: Final = "roost_session"
#: Maximum size of a request body, bytes.
BODY_MAX: Final = 8 * 1024 * 1024
#: Maximum number of people and addresses whose requests are counted at a time.
_COUNTED_MAX: Final = 10_000
_SAFE: Final = frozenset(("GET", "HEAD", "OPTIONS"))

#: Headers of every answer.
HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


async def read_body(request: Request) -> bytes:
    """Read the body of a request. Raises Problem if it is too large."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > BODY_MAX:
            raise Problem(413, f"the body has more than {BODY_MAX} bytes")
        pieces.append(piece)
    return b"".join(pieces)


async def form_of(request: Request) -> dict[str, str]:
    """Read the fields of a form that a page has sent. Raises Problem."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise Problem(415, "the form: it must be application/x-www-form-urlencoded")
    try:
        pairs = parse_qsl((await read_body(request)).decode(), keep_blank_values=True, max_num_fields=100)
    except ValueError as error:
        raise Problem(400, f"the form cannot be parsed: {error}") from None
    return dict(pairs)


class Rates:
    """Rate limits: a bucket per client that fills at the permitted rate."""

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> None:
        """Count a request. Raises Problem if there were too many."""
        now = time.monotonic()
        left, at = self._left.pop(who, (float(self.per_minute), now))
        left = min(self.per_minute, left + (now - at) * self.per_minute / 60)
        if left < 1:
            self._left[who] = (left, now)
            wait_s = (1 - left) * 60 / self.per_minute
            remedy = f"try again in {wait_s:.0f} s; WEB_REQUESTS_PER_MINUTE is {self.per_minute}"
            raise Problem(429, "too many requests in a short time", remedy=remedy, retry_after_s=wait_s)
        self._left[who] = (left - 1, now)
        while len(self._left) > _COUNTED_MAX:
            self._left.popitem(last=False)


def local_person(server: Server, client: str) -> Person:
    """The user at the other end of the Unix socket. Raises Problem."""
    name = name_of_peer(client)
    if not name or name not in server.users:
        who = name or f"user number {client.removeprefix(PEER)}"
        raise Problem(403, f"{who} may not use the pool", remedy="ask the administrator to add them to ROOST_USERS")
    role = WebRole.ADMINISTRATOR if name in server.administrators else WebRole.USER
    return Person(name=name, role=role, by="socket")


def person_of(server: Server, request: Request) -> Person | None:
    """Return the person who makes a request; None if it has no credentials. Raises Problem for invalid ones."""
    client = request.client.host if request.client else ""
    if client.startswith(PEER):
        return local_person(server, client)
    _check_host(server, request)
    given = request.headers.get("authorization")
    if given is not None:
        scheme, _, secret = given.partition(" ")
        person = server.people.of_token(secret.strip()) if scheme.lower() == "bearer" else None
        if person is None:
            raise Problem(401, "the token is unknown, expired or revoked", remedy="make one: `roost token create`")
    else:
        secret = request.cookies.get(COOKIE, "")
        person = server.people.of_session(secret) if secret else None
    return None if person is None else _still(server, person)


def _still(server: Server, person: Person) -> Person | None:
    """The person with a role that is still permitted: an administrator may have lost that right."""
    if person.name not in server.users:
        return None
    if person.role > WebRole.USER and person.name not in server.administrators:
        return Person(name=person.name, role=WebRole.USER, by=person.by, csrf=person.csrf, digest=person.digest)
    return person


def check_origin(server: Server, request: Request, person: Person, form_token: str = "") -> None:
    """Check that a change by a browser comes from one of this server's pages. Raises Problem."""
    if request.method in _SAFE or person.by != "session":
        return
    origin = request.headers.get("origin")
    if origin is not None and origin not in _own_origins(server, request):
        raise Problem(403, f"a page from {origin} may not make changes here", remedy="WEB_ORIGINS does not list it")
    given = request.headers.get("x-csrf-token") or form_token
    if not hmac.compare_digest(given.encode(), person.csrf.encode()):
        raise Problem(403, "the page belongs to another login", remedy="load the page again")


def _own_origins(server: Server, request: Request) -> set[str]:
    return {f"{request.url.scheme}://{request.headers.get('host', '')}", *server.settings.origins}


def _check_host(server: Server, request: Request) -> None:
    """Check the name by which a browser reached this server: a foreign one may be a page that impersonates it."""
    name = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    known = {"127.0.0.1", "::1", "localhost", server.settings.address, host_name()}
    known |= {urlsplit(each).hostname or "" for each in server.settings.origins}
    if name not in known:
        raise Problem(
            403, f"this server does not have the name {name or 'that'}", remedy="WEB_ORIGINS does not list it"
        )
