"""The members of a pool, and the purpose of each of their keys: a table without effects.

A member is a machine with duties. Each of its daemons, and each of its users, has a key; the machine generates it and
reveals only the public part. The purpose of a key is a text: the role of a daemon, ``client`` for commands of the user
who runs the daemons, ``member`` for the machine itself, ``user:ann`` for a user of the machine. It determines the name
of the key's owner on the bus. A member never chooses a name, except for users of a machine where users submit: that
machine vouches for them. It cannot vouch for administrators of the pool unless it was invited to do so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Any, Final

from roost.base.records import dataclass, field, replace
from roost.wire.requests.registrar import USER_PATTERN
from roost.wire.subjects import Role

#: Prefix of the purpose of a user's key.
USER: Final = "user:"
#: User names that could be confused with a daemon's.
_RESERVED: Final = frozenset(("central", "web", "registrar", "invited"))


class Duty(StrEnum):
    """A machine's duty in the pool."""

    CENTRAL = "central"
    SUBMIT = "submit"
    EXECUTE = "execute"


#: Duty to the roles of its daemons.
ROLES: Final = {
    Duty.CENTRAL: (Role.CENTRAL, Role.WEB),
    Duty.SUBMIT: (Role.SCHEDD,),
    Duty.EXECUTE: (Role.NODE,),
}
#: Duty to its words in DAEMON_LIST.
DAEMONS: Final = {Duty.CENTRAL: "COLLECTOR NEGOTIATOR", Duty.SUBMIT: "SCHEDD", Duty.EXECUTE: "STARTD"}


class NotAllowed(Exception):
    """A machine may not have what it requests; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """A machine that may join once."""

    machine: str
    duties: tuple[Duty, ...]
    administers: bool
    expires_at: float
    #: The public key of its owner.
    public: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A machine that has joined."""

    duties: tuple[Duty, ...]
    #: Whether it may vouch for administrators of the pool.
    administers: bool
    joined_at: float
    #: When its keys were last made.
    keyed_at: float
    #: Version of Roost when its keys were last made.
    version: str
    #: Purpose to public key; "" for one that the machine may have and has not made yet.
    keys: dict[str, str] = field(default_factory=dict)
    #: Replaced public keys that are valid until the machine has the new ones.
    former: tuple[str, ...] = ()

    def all_keys(self) -> list[str]:
        """Every valid public key."""
        return [key for key in (*self.keys.values(), *self.former) if key]


@dataclass(slots=True)
class Registry:
    """Members of the pool, invitations to it, and revoked keys."""

    members: dict[str, Member] = field(default_factory=dict)
    #: Number to invitation.
    invitations: dict[str, Invitation] = field(default_factory=dict)
    #: Public key to the time up to which its tokens are revoked.
    revoked: dict[str, int] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "members": {name: _data(each) for name, each in self.members.items()},
            "invitations": {number: _data(each) for number, each in self.invitations.items()},
            "revoked": self.revoked,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Registry:
        """The registry from the output of `to_data`."""
        members = {name: Member(**_fields(each)) for name, each in data["members"].items()}
        invitations = {number: Invitation(**_fields(each)) for number, each in data["invitations"].items()}
        return cls(members, invitations, dict(data["revoked"]))

    def drop_expired(self, now: float) -> None:
        """Forget invitations that have expired."""
        self.invitations = {number: each for number, each in self.invitations.items() if each.expires_at > now}

    def admit(self, number: str, version: str, now: float) -> str:
        """Use up an invitation: its machine becomes a member; return the machine's name. Raises NotAllowed."""
        self.drop_expired(now)
        found = self.invitations.pop(number, None)
        if found is None:
            raise NotAllowed("the invitation was used already, was withdrawn or has expired; ask for another one")
        self.remove(found.machine, now)
        self.members[found.machine] = Member(
            duties=found.duties, administers=found.administers, joined_at=now, keyed_at=now, version=version
        )
        return found.machine

    def take_keys(self, machine: str, keys: dict[str, str], gone: Iterable[str], version: str, now: float) -> None:
        """Record the keys of a member; those that they replace are valid until `retire`. Raises NotAllowed."""
        member = self.members.get(machine)
        if member is None:
            raise NotAllowed(f"{machine} is not a member of the pool")
        taken = {key for each in self.members.values() for key in each.all_keys()} | self.revoked.keys()
        for purpose, key in keys.items():
            _check(purpose, member, machine)
            if key in taken:
                # Otherwise its removal would revoke the key of another member.
                raise NotAllowed(f"the key for {purpose} is or was in use; make another one")
            taken.add(key)
        for purpose in gone:
            self._revoke(member.keys.get(purpose), now)
        former = tuple(member.keys[purpose] for purpose in keys if member.keys.get(purpose))
        kept = {purpose: key for purpose, key in member.keys.items() if purpose not in gone}
        keyed_at = now if "member" in keys else member.keyed_at
        self.members[machine] = replace(
            member, keys=kept | keys, former=(*member.former, *former), version=version, keyed_at=keyed_at
        )

    def retire(self, machine: str, now: float) -> None:
        """Revoke the keys of a member that have been replaced. Raises NotAllowed."""
        member = self.members.get(machine)
        if member is None:
            raise NotAllowed(f"{machine} is not a member of the pool")
        for key in member.former:
            self._revoke(key, now)
        self.members[machine] = replace(member, former=())

    def remove(self, machine: str, now: float) -> bool:
        """Revoke the keys of a machine and its invitations; return whether it was a member."""
        self.invitations = {number: each for number, each in self.invitations.items() if each.machine != machine}
        member = self.members.pop(machine, None)
        for key in member.all_keys() if member else ():
            self._revoke(key, now)
        return member is not None

    def _revoke(self, key: str | None, now: float) -> None:
        if key:
            self.revoked[key] = int(now)


def purposes(duties: Iterable[Duty]) -> list[str]:
    """The purposes for which a machine with these duties needs keys, without its users."""
    return [*(role.value for duty in duties for role in ROLES[duty]), Role.CLIENT.value, Role.MEMBER.value]


def role_of(purpose: str) -> Role:
    """The role of the owner of a key."""
    return Role.USER if purpose.startswith(USER) else Role(purpose)


def name_of(purpose: str, member: Member, machine: str, user: str, administrators: Collection[str]) -> str:
    """The name of the key's owner on the bus. Raises NotAllowed."""
    role = role_of(purpose)
    if role in (Role.CENTRAL, Role.WEB, Role.REGISTRAR):
        return f"{role.value}@{machine}"
    if role not in (Role.CLIENT, Role.USER):
        return machine
    name = purpose.removeprefix(USER) if role is Role.USER else user
    if not re.fullmatch(USER_PATTERN, name) or name in _RESERVED:
        raise NotAllowed(f"{name!r} cannot be the name of a user of the pool")
    if name in administrators and not member.administers:
        if role is Role.USER:
            raise NotAllowed(
                f"{machine} may not vouch for {name}, who is an administrator of the pool: "
                "invite it with --administer, or leave that user out of its ROOST_USERS"
            )
        return f"{name}@{machine}"
    # A machine without users has none to vouch for.
    return name if member.administers or Duty.SUBMIT in member.duties else f"{name}@{machine}"


def _check(purpose: str, member: Member, machine: str) -> None:
    if purpose.startswith(USER):
        if Duty.SUBMIT not in member.duties:
            raise NotAllowed(f"{machine} may not vouch for users: it was not invited as a machine where users submit")
    elif purpose not in purposes(member.duties) and (purpose != Role.REGISTRAR or Role.REGISTRAR not in member.keys):
        duties = ", ".join(member.duties)
        raise NotAllowed(f"{machine} may not have a key for {purpose!r}: it was invited for {duties}")


def _data(record: Invitation | Member) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def _fields(data: dict[str, Any]) -> dict[str, Any]:
    lists = {"former": tuple(data["former"])} if "former" in data else {}
    return data | lists | {"duties": tuple(Duty(each) for each in data["duties"])}
