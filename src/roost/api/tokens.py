"""Tokens and one-time logins: creating, listing and revoking them."""

from __future__ import annotations

import logging
import secrets
from typing import Annotated, Any, Final

from roost.api.calls import Call, Row
from roost.api.people import ROLES, TooMany, WebRole
from roost.api.problems import Problem
from roost.wire.structs import Between, Matching, OneOf, Struct

_log = logging.getLogger("roost.web")

Note = Annotated[str, Matching(r"[^\x00-\x1f]{0,200}", "a line of at most 200 characters")]


def _roles() -> tuple[object, ...]:
    return tuple(ROLES)


class NewToken(Struct):
    """The token to create."""

    #: "" for the requester.
    user: str = ""
    role: Annotated[str, OneOf(_roles)] = "user"
    #: Validity, s; None for no expiry.
    lifetime_s: Annotated[float, Between(1, 10 * 366 * 86_400)] | None = 30 * 86_400.0
    note: Note = ""


def make_token(call: Call) -> dict[str, Any]:
    """A new token; its secret is only in this reply."""
    asked: NewToken = call.body
    user, role = asked.user or call.person.name, ROLES[asked.role]
    if user != call.person.name and call.person.role < WebRole.ADMINISTRATOR:
        raise Problem(403, f"{call.person.name} may not create a token for {user}", remedy="ask an administrator")
    most = WebRole.ADMINISTRATOR if user in call.server.administrators else WebRole.USER
    if role > min(most, call.person.role):
        raise Problem(
            403,
            f"{call.person.name} may not create a token with the role {role.word} for {user}",
            remedy=f"the highest allowed role is {min(most, call.person.role).word}; QUEUE_SUPER_USERS lists "
            "the administrators",
        )
    expires_at = None if asked.lifetime_s is None else call.server.now() + asked.lifetime_s
    try:
        secret, kept = call.server.people.make_token(user, role, call.person.name, expires_at, asked.note)
        _log.info("%s created the token %s of %s with the role %s", call.person.name, kept.id, user, role.word)
    except TooMany as error:
        raise Problem(409, str(error)) from None
    return kept.data() | {"token": secret}


def tokens(call: Call) -> list[dict[str, Any]]:
    """The valid tokens: the requester's own, and for administrators all."""
    return [each.data() for each in call.server.people.tokens() if _may_see(call, each.name)]


def revoke_token(call: Call) -> None:
    """Revoke a token at once."""
    for each in call.server.people.tokens():
        if secrets.compare_digest(each.id, call.path["id"]) and _may_see(call, each.name):
            call.server.people.revoke(each)
            _log.info("%s revoked the token %s of %s", call.person.name, each.id, each.name)
            return
    raise Problem(404, f"there is no token {call.path['id']}")


def _may_see(call: Call, name: str) -> bool:
    return name == call.person.name or call.person.role is WebRole.ADMINISTRATOR


def make_login(call: Call) -> dict[str, Any]:
    """An address that logs the requester in once; available only over the Unix socket, or with a token."""
    try:
        secret = call.server.people.make_login(call.person.name, call.person.role)
    except TooMany as error:
        raise Problem(503, str(error)) from None
    return {"url": f"{call.server.url()}/login/{secret}"}


def me(call: Call) -> dict[str, Any]:
    """The person and role of the request."""
    return {"user": call.person.name, "role": call.person.role.word, "by": call.person.by}


ROWS: Final = (
    Row("GET", "/me", WebRole.READER, "the person and role of the request", me),
    Row("GET", "/tokens", WebRole.USER, "tokens", tokens),
    Row("POST", "/tokens", WebRole.USER, "make a token", make_token, body=NewToken, status=201),
    Row("DELETE", "/tokens/{id}", WebRole.USER, "revoke a token", revoke_token, status=204),
    Row("POST", "/logins", WebRole.READER, "an address that logs in once", make_login, status=201),
)  # fmt: skip
