"""The names of this machine, of the account that this process runs as, and of the user who started it."""

from __future__ import annotations

import os
import socket


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
