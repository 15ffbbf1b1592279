"""The users of this machine as whom jobs run, and their capabilities.

This module does not decide as which user a job runs. Only root can run a job as another user.
"""

from __future__ import annotations

import os
import pwd
from functools import lru_cache
from pathlib import Path

from roost.base.records import dataclass


class NoSuchAccount(LookupError):
    """The machine does not know the user."""

    def __init__(self, name: str) -> None:
        super().__init__(f"this machine has no user {name!r}; create the account, or map the user to one that exists")
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user of this machine."""

    name: str
    uid: int
    gid: int
    #: All groups, including the primary one.
    groups: tuple[int, ...]
    home: Path
    shell: str = "/bin/sh"

    @property
    def is_root(self) -> bool:
        """Whether it has all permissions."""
        return self.uid == 0


def account_named(name: str) -> Account:
    """The user with that name. It may query a directory service, so it can block. Raises NoSuchAccount."""
    try:
        found = pwd.getpwnam(name)
    except (KeyError, ValueError):
        raise NoSuchAccount(name) from None
    return _account(found)


def account_numbered(uid: int, gid: int, groups: tuple[int, ...] = ()) -> Account:
    """The user with that id; an unknown one, even if only temporarily unknown, has the group and groups given."""
    try:
        return _account(pwd.getpwuid(uid))
    except KeyError:
        return Account(name=str(uid), uid=uid, gid=gid, groups=groups or (gid,), home=Path("/"))


def own_account() -> Account:
    """The account as which this process runs."""
    return _account_of(os.geteuid(), os.getegid())


# Needed for each job, and otherwise read from files each time; the account of a process does not change while it runs.
@lru_cache(maxsize=4)
def _account_of(uid: int, gid: int) -> Account:
    return account_numbered(uid, gid, tuple(os.getgroups()))


def can_switch_user() -> bool:
    """Whether jobs can run as other users."""
    return os.geteuid() == 0


def _account(entry: pwd.struct_passwd) -> Account:
    return Account(
        name=entry.pw_name,
        uid=entry.pw_uid,
        gid=entry.pw_gid,
        groups=tuple(os.getgrouplist(entry.pw_name, entry.pw_gid)),
        home=Path(entry.pw_dir),
        shell=entry.pw_shell or "/bin/sh",
    )
