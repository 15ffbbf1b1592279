"""Requests of machines to the registrar: they are not commands of users, so they are in no table of verbs."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from roost.wire.structs import Matching, Struct

#: Maximum number of keys of one request.
KEYS_MAX: Final = 10_000
#: A name of a machine.
MACHINE_PATTERN: Final = r"[A-Za-z0-9]([A-Za-z0-9.-]{0,126}[A-Za-z0-9])?"
#: A user name of the operating system; it can never be confused with the name of a daemon.
USER_PATTERN: Final = r"[A-Za-z_][A-Za-z0-9_.-]{0,63}\$?"

User: TypeAlias = Annotated[str, Matching(USER_PATTERN, "a user name")]

ENROLL: Final = "enroll"
#: Revoke the keys that a machine's current ones have replaced. It has no fields, like the next one.
RETIRE: Final = "retire"
CLOCK: Final = "clock"


class Enroll(Struct):
    """Sign these keys. The first such request of a machine uses up its invitation."""

    #: The purpose of each public key (`runtime.registrar.registry`). A former key for the same purpose is valid until
    #: `RETIRE`, because the machine may have lost the answer.
    keys: dict[str, str]
    #: The user who runs the daemons there.
    user: User
    #: Version of Roost.
    version: Annotated[str, Matching(r"[A-Za-z0-9.+-]{1,40}", "a version")]
    #: Purposes that had a key and no longer need one: that key is revoked now.
    gone: tuple[str, ...] = ()

    def _problem(self) -> str:
        return f"at most {KEYS_MAX} keys are signed at a time" if len(self.keys) > KEYS_MAX else ""


class Signed(Struct):
    """A token, and the name of its owner in the pool."""

    name: str
    token: str


class Enrolled(Struct):
    """The data that a machine needs to be a member of the pool."""

    machine: str
    pool: str
    urls: tuple[str, ...]
    #: The certificate of the pool's authority, as PEM.
    authority: str
    signed: dict[str, Signed]


class Clock(Struct):
    """The time, and the version of Roost, at the registrar."""

    now: float
    version: str
