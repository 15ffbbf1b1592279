"""The people who use the web server, and their rights: roles, tokens, sessions and one-time logins.

A person is a user of the pool, and the daemons decide what that user may do. The role of a login or a token only takes
away: a token of an administrator with the role ``reader`` changes nothing. Of tokens, sessions and logins only hashes
are kept: the file lets no reader log in.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import secrets
import threading
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

from roost.base.records import dataclass, replace
from roost.runtime.files.whole_files import write_whole

_log = logging.getLogger("roost.web")

#: Most tokens and sessions that are kept at a time.
TOKENS_MAX: Final = 1_000
SESSIONS_MAX: Final = 1_000
#: Most one-time logins that wait, and how long one can be used, s.
LOGINS_MAX: Final = 100
LOGIN_S: Final = 120.0
#: How often it is noted that a token or session is used, s.
_NOTE_S: Final = 60.0
#: What every token begins with, so that scanners of leaked secrets find it.
TOKEN_PREFIX: Final = "roost_"


class WebRole(IntEnum):
    """What a login or token lets its user do at most."""

    #: Look at everything.
    READER = 1
    #: Submit jobs, and act on one's own.
    USER = 2
    #: Act on machines and on all jobs.
    OPERATOR = 3
    #: Change priorities, the cell, and others' tokens.
    ADMINISTRATOR = 4

    @property
    def word(self) -> str:
        """Its name for users."""
        return self.name.lower()


ROLES: Final = {role.word: role for role in WebRole}


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person who has proved who they are."""

    name: str
    role: WebRole
    #: "socket", "token" or "session".
    by: str
    #: What a page's forms carry, of a session; "" otherwise.
    csrf: str = ""
    #: The hash of the session or token.
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A token or a session, without what proves it."""

    digest: str
    name: str
    role: WebRole
    made_at: float
    made_by: str
    #: Epoch s; None for never.
    expires_at: float | None
    used_at: float | None = None
    #: What its user calls it.
    note: str = ""

    @property
    def id(self) -> str:
        """By which people name it."""
        return self.digest[:12]

    def data(self) -> dict[str, Any]:
        """As a reply of the API."""
        return {
            "id": self.id,
            "user": self.name,
            "role": self.role.word,
            "note": self.note,
            "created_at": self.made_at,
            "created_by": self.made_by,
            "expires_at": self.expires_at,
            "used_at": self.used_at,
        }


class TooMany(Exception):
    """No more of them are kept; the text says what to do."""


def digest_of(secret: str) -> str:
    """The hash under which a secret is known. Secrets are long and random: a slow hash would protect nothing more."""
    return hashlib.sha256(secret.encode()).hexdigest()


class People:
    """Tokens, sessions and logins, kept in a file that only the pool's user can read."""

    def __init__(self, path: Path, now: Callable[[], float], session_s: float) -> None:
        self._path = path
        self._now = now
        self.session_s = session_s
        self._lock = threading.Lock()
        self._tokens: dict[str, Kept] = {}
        self._sessions: dict[str, Kept] = {}
        #: Hash of a one-time login to who may use it, and until when.
        self._logins: dict[str, tuple[str, WebRole, float]] = {}
        self._load()

    # -- tokens --------------------------------------------------------------------------------------

    def make_token(self, name: str, role: WebRole, by: str, expires_at: float | None, note: str) -> tuple[str, Kept]:
        """A new token, and what is kept of it. Raises TooMany, OSError."""
        secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
        kept = Kept(
            digest=digest_of(secret),
            name=name,
            role=role,
            made_at=self._now(),
            made_by=by,
            expires_at=expires_at,
            note=note,
        )
        with self._lock:
            self._drop_expired()
            if len(self._tokens) >= TOKENS_MAX:
                raise TooMany(f"there are {TOKENS_MAX} tokens already: revoke some with `roost token revoke`")
            self._tokens[kept.digest] = kept
            self._write()
        return secret, kept

    def tokens(self) -> list[Kept]:
        """All that are valid, the newest first."""
        with self._lock:
            self._drop_expired()
            return sorted(self._tokens.values(), key=lambda each: -each.made_at)

    def revoke(self, token: Kept) -> None:
        """End a token. Raises OSError."""
        with self._lock:
            self._tokens.pop(token.digest, None)
            self._write()

    # -- logins and sessions ------------------------------------------------------------------------

    def make_login(self, name: str, role: WebRole) -> str:
        """A secret that logs a person in once. Raises TooMany."""
        secret = secrets.token_urlsafe(24)
        with self._lock:
            now = self._now()
            self._logins = {digest: each for digest, each in self._logins.items() if each[2] > now}
            if len(self._logins) >= LOGINS_MAX:
                raise TooMany(f"{LOGINS_MAX} logins wait to be used: try again in {LOGIN_S:g} s")
            self._logins[digest_of(secret)] = (name, role, now + LOGIN_S)
        return secret

    def log_in(self, secret: str) -> tuple[str, Person] | None:
        """Use a one-time login: the secret of a session, and who it is; None for one that does not count."""
        with self._lock:
            name, role, until = self._logins.pop(digest_of(secret), ("", WebRole.READER, 0.0))
            if until <= self._now():
                return None
        return self.begin_session(name, role)

    def begin_session(self, name: str, role: WebRole) -> tuple[str, Person]:
        """Log a person in who has proved who they are; the secret of the session. Raises OSError."""
        secret = secrets.token_urlsafe(32)
        now = self._now()
        kept = Kept(
            digest=digest_of(secret), name=name, role=role, made_at=now, made_by=name, expires_at=now + self.session_s
        )
        with self._lock:
            self._drop_expired()
            if len(self._sessions) >= SESSIONS_MAX:
                # The one that was used least lately.
                del self._sessions[min(self._sessions.values(), key=lambda each: each.used_at or each.made_at).digest]
            self._sessions[kept.digest] = kept
            self._write()
        return secret, _person(kept, "session", secret)

    def log_out(self, person: Person) -> None:
        """End a session. Raises OSError."""
        with self._lock:
            self._sessions.pop(person.digest, None)
            self._write()

    # -- who is it -----------------------------------------------------------------------------------

    def of_token(self, secret: str) -> Person | None:
        """Whose token it is; None for one that does not count."""
        return self._of(self._tokens, secret, "token")

    def of_session(self, secret: str) -> Person | None:
        """Whose session it is; None for one that does not count, or does not any more."""
        return self._of(self._sessions, secret, "session")

    def _of(self, among: dict[str, Kept], secret: str, by: str) -> Person | None:
        digest, now = digest_of(secret), self._now()
        with self._lock:
            kept = among.get(digest)
            if kept is None or (kept.expires_at is not None and kept.expires_at <= now):
                return None
            if kept.used_at is None or now - kept.used_at > _NOTE_S:
                lasts = now + self.session_s if by == "session" else kept.expires_at
                among[digest] = kept = replace(kept, used_at=now, expires_at=lasts)
                try:
                    self._write()
                except OSError as error:
                    _log.warning("%s: %s", self._path, error.strerror)
        return _person(kept, by, secret)

    # -- the file ------------------------------------------------------------------------------------

    def _drop_expired(self) -> None:
        now = self._now()
        for among in (self._tokens, self._sessions):
            for digest in [
                each.digest for each in among.values() if each.expires_at is not None and each.expires_at <= now
            ]:
                del among[digest]

    def _load(self) -> None:
        try:
            data = json.loads(self._path.read_text())
            self._tokens = {each["digest"]: _kept(each) for each in data["tokens"]}
            self._sessions = {each["digest"]: _kept(each) for each in data["sessions"]}
        except FileNotFoundError:
            return
        except (ValueError, KeyError, TypeError) as error:
            # A secret whose hash cannot be read lets no one in.
            aside = self._path.with_name(f"{self._path.name}.unreadable")
            self._path.replace(aside)
            _log.error(
                "%s cannot be read (%s): all tokens and logins are void; it was moved to %s", self._path, error, aside
            )

    def _write(self) -> None:
        data = {
            "tokens": [_row(each) for each in self._tokens.values()],
            "sessions": [_row(each) for each in self._sessions.values()],
        }
        write_whole(self._path, json.dumps(data, indent=1), mode=0o600)


def _row(kept: Kept) -> dict[str, Any]:
    return kept.data() | {"digest": kept.digest}


def _kept(row: dict[str, Any]) -> Kept:
    return Kept(
        digest=str(row["digest"]),
        name=str(row["user"]),
        role=ROLES[row["role"]],
        made_at=float(row["created_at"]),
        made_by=str(row["created_by"]),
        expires_at=row["expires_at"],
        used_at=row["used_at"],
        note=str(row["note"]),
    )


def _person(kept: Kept, by: str, secret: str) -> Person:
    csrf = hmac.new(secret.encode(), b"csrf", hashlib.sha256).hexdigest() if by == "session" else ""
    return Person(name=kept.name, role=kept.role, by=by, csrf=csrf, digest=kept.digest)
