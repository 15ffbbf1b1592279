"""The names of this machine, of the account of this process, and of the user who started it."""

from __future__ import annotations

import os
import socket
from functools import lru_cache
from typing import Final


def host_name() -> str:
    """The name of this machine."""
    return socket.gethostname() or "localhost"


def account_name() -> str:
    """The account of this process, according to the system and not to the environment."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def user_name() -> str:
    """The user who runs this program: according to the environment, otherwise the system."""
    named = next((name for each in ("LOGNAME", "USER", "LNAME", "USERNAME") if (name := os.environ.get(each))), None)
    if named:
        return named
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


#: Maximum number of users whose groups are cached.
_GROUPS_KEPT: Final = 4096


def ids_of(user: str) -> tuple[int | None, int | None]:
    """The ids of a user and of the user's primary group on this machine; None for an unknown user."""
    import pwd

    try:
        found = pwd.getpwnam(user)
    except KeyError:
        return None, None
    return found.pw_uid, found.pw_gid


@lru_cache(maxsize=_GROUPS_KEPT)
def groups_of(user: str) -> tuple[str, ...]:
    """The primary group of a user on this machine, as `qsub` sets it for a job; none for an unknown user."""
    import grp
    import pwd

    try:
        return (grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name,)
    except KeyError:
        return ()
