"""The names of this machine, of the account that this process runs as, and of the user who started it."""

from __future__ import annotations

import os
import socket
from functools import lru_cache
from typing import Final


def host_name() -> str:
    """The name of this machine."""
    return socket.gethostname() or "localhost"


def account_name() -> str:
    """Whose process this is, by the system's word and not by the environment's."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def user_name() -> str:
    """The user who runs this program: as the environment says, else the system."""
    named = next((name for each in ("LOGNAME", "USER", "LNAME", "USERNAME") if (name := os.environ.get(each))), None)
    if named:
        return named
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


#: Users whose groups are remembered.
_GROUPS_KEPT: Final = 4096


def ids_of(user: str) -> tuple[int | None, int | None]:
    """The numbers of a user and of the user's primary group on this machine; None for a user that is not known."""
    import pwd

    try:
        found = pwd.getpwnam(user)
    except KeyError:
        return None, None
    return found.pw_uid, found.pw_gid


@lru_cache(maxsize=_GROUPS_KEPT)
def groups_of(user: str) -> tuple[str, ...]:
    """The primary group of a user on this machine, as `qsub` gives it to a job; none for a user that is not known."""
    import grp
    import pwd

    try:
        return (grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name,)
    except KeyError:
        return ()
