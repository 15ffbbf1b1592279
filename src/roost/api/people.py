"""The people who use the web server, and their rights: roles, tokens, sessions and one-time logins.

A person is a user of the pool, and the daemons decide what that user may do. The role of a login or a token can only
restrict this: a token of an administrator with the role ``reader`` changes nothing. Only hashes of tokens, sessions and
logins are stored, so reading the file does not allow a login.
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

#: Maximum number of tokens and sessions that are kept at a time.
TOKENS_MAX: Final = 1_000
SESSIONS_MAX: Final = 1_000
#: Maximum number of pending one-time logins, and their validity, s.
LOGINS_MAX: Final = 100
LOGIN_S: Final = 120.0
#: Interval at which the use of a token or session is recorded, s.
_NOTE_S: Final = 60.0
#: Prefix of every token, so that scanners for leaked secrets find it.
TOKEN_PREFIX: Final = "roost_"


class WebRole(IntEnum):
    """The maximum rights of a login or token."""

    #: View everything.
    READER = 1
    #: Submit jobs, and act on one's own jobs.
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
    """An authenticated person."""

    name: str
    role: WebRole
    #: "socket", "token" or "session".
    by: str
    #: The token that a session's forms carry; "" otherwise.
    csrf: str = ""
    #: The hash of the session or token.
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A token or a session, without its secret."""

    digest: str
    name: str
    role: WebRole
    made_at: float
    made_by: str
    #: Epoch s; None for never.
    expires_at: float | None
    used_at: float | None = None
    #: The name that its user gave it.
    note: str = ""

    @property
    def id(self) -> str:
        """The identifier shown to people."""
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
    """No more of them can be kept; the text says what to do."""


def digest_of(secret: str) -> str:
    """The hash that identifies a secret. Secrets are long and random, so a slow hash would add no protection."""
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
        #: Hash of a one-time login to its user, and its expiry.
        self._logins: dict[str, tuple[str, WebRole, float]] = {}
        self._load()

    # -- tokens --------------------------------------------------------------------------------------

    def make_token(self, name: str, role: WebRole, by: str, expires_at: float | None, note: str) -> tuple[str, Kept]:
        """Make a token; return its secret, and its stored form. Raises TooMany, OSError."""
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
                raise TooMany(f"there are already {TOKENS_MAX} tokens; revoke some with `roost token revoke`")
            self._tokens[kept.digest] = kept
            self._write()
        return secret, kept

    def tokens(self) -> list[Kept]:
        """All valid tokens, newest first."""
        with self._lock:
            self._drop_expired()
            return sorted(self._tokens.values(), key=lambda each: -each.made_at)

    def revoke(self, token: Kept) -> None:
        """Revoke a token. Raises OSError."""
        with self._lock:
            self._tokens.pop(token.digest, None)
            self._write()

    # -- logins and sessions ------------------------------------------------------------------------

    def make_login(self, name: str, role: WebRole) -> str:
        """Make a secret that logs a person in once. Raises TooMany."""
        secret = secrets.token_urlsafe(24)
        with self._lock:
            now = self._now()
            self._logins = {digest: each for digest, each in self._logins.items() if each[2] > now}
            if len(self._logins) >= LOGINS_MAX:
                raise TooMany(f"{LOGINS_MAX} logins are pending; try again in {LOGIN_S:g} s")
            self._logins[digest_of(secret)] = (name, role, now + LOGIN_S)
        return secret

    def log_in(self, secret: str) -> tuple[str, Person] | None:
        """Use a one-time login: return the secret of a session, and the person; None if it is invalid."""
        with self._lock:
            name, role, until = self._logins.pop(digest_of(secret), ("", WebRole.READER, 0.0))
            if until <= self._now():
                return None
        return self.begin_session(name, role)

    def begin_session(self, name: str, role: WebRole) -> tuple[str, Person]:
        """Log an authenticated person in; return the secret of the session. Raises OSError."""
        secret = secrets.token_urlsafe(32)
        now = self._now()
        kept = Kept(
            digest=digest_of(secret), name=name, role=role, made_at=now, made_by=name, expires_at=now + self.session_s
        )
        with self._lock:
            self._drop_expired()
            if len(self._sessions) >= SESSIONS_MAX:
                # The least recently used one.
                del self._sessions[min(self._sessions.values(), key=lambda each: each.used_at or each.made_at).digest]
            self._sessions[kept.digest] = kept
            self._write()
        return secret, _person(kept, "session", secret)

    def log_out(self, person: Person) -> None:
        """End a session. Raises OSError."""
        with self._lock:
            self._sessions.pop(person.digest, None)
            self._write()

    # -- identification ------------------------------------------------------------------------------

    def of_token(self, secret: str) -> Person | None:
        """The owner of a token; None if it is invalid."""
        return self._of(self._tokens, secret, "token")

    def of_session(self, secret: str) -> Person | None:
        """The owner of a session; None if it is invalid or expired."""
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
            # A secret whose hash cannot be read gives no access.
            aside = self._path.with_name(f"{self._path.name}.unreadable")
            self._path.replace(aside)
            _log.error(
                "cannot read %s (%s): all tokens and logins are void; the file was moved to %s",
                self._path,
                error,
                aside,
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
