"""Which users may do what: HTCondor's ALLOW_<LEVEL> and DENY_<LEVEL>, for the levels READ, WRITE and ADMINISTRATOR.

A list names users: ``ann@example.org``, ``*@example.org``, ``ann@*``, ``*``. The user of a request is the account that
the message servers vouch for, in the domain UID_DOMAIN. They vouch for nothing else, so an entry that names a host, a
network or a user on a host is refused with the reason: a list that cannot be enforced must not look enforced.

* Users that DENY_<LEVEL> names are denied, whatever ALLOW_<LEVEL> says.
* ALLOW_<LEVEL> admits the users that it names and no others; without it every user is admitted to READ and WRITE.
* A level includes those below it: a user who may WRITE may READ, and administrators may do both. A user who may not
  READ may not WRITE.
* Administrators are those of Roost (the user who runs the pool, root, QUEUE_SUPER_USERS) and those that
  ALLOW_ADMINISTRATOR names, which accepts full names only.

``ALLOW_WRITE_SCHEDD`` takes precedence over ``ALLOW_WRITE`` in that daemon; the daemons are SCHEDD, STARTD and
COLLECTOR.
"""

from __future__ import annotations

import re
from enum import IntEnum
from fnmatch import fnmatchcase
from typing import Final

from roost.base.diagnostics import Diagnostic, Span
from roost.base.records import dataclass, field
from roost.config.diagnostics import Code, diagnostic
from roost.config.lookup import Config


class Level(IntEnum):
    """The level of a request; a higher one includes the lower ones."""

    READ = 0
    WRITE = 1
    ADMINISTRATOR = 2


_SEPARATOR: Final = re.compile(r"[,\s]+")
_WILD: Final = re.compile(r"[*?\[]")
_IS_PATTERN: Final = "is a pattern, but administrators must be listed individually"
_WHOLE_NAMES: Final = (
    "Name each administrator as `user@domain`. "
    "If HTCondor reads the same file, put the line between `if ! defined ROOST` and `endif`."
)


@dataclass(frozen=True, slots=True)
class AccessList:
    """A list that is in force."""

    knob: str
    place: Span
    #: Patterns of user and domain, in lower case for the domain.
    entries: tuple[tuple[str, str], ...]

    def names(self, user: str, domain: str) -> bool:
        """Whether it names a user of a domain."""
        return any(fnmatchcase(user, who) and fnmatchcase(domain.lower(), where) for who, where in self.entries)


@dataclass(frozen=True, slots=True)
class Access:
    """The lists of one daemon."""

    #: UID_DOMAIN.
    domain: str = ""
    allow: dict[Level, AccessList] = field(default_factory=dict)
    deny: dict[Level, AccessList] = field(default_factory=dict)

    def administrators(self) -> frozenset[str]:
        """The users that ALLOW_ADMINISTRATOR makes administrators."""
        listed = self.allow.get(Level.ADMINISTRATOR)
        entries = () if listed is None else listed.entries
        return frozenset(who for who, where in entries if fnmatchcase(self.domain.lower(), where))

    def refusal(self, level: Level, user: str, *, administrator: bool) -> str:
        """Why a user may not make requests of a level; "" if the lists permit it."""
        for each in Level:
            listed = self.deny.get(each)
            if each <= level and listed is not None and listed.names(user, self.domain):
                return f"{listed.knob} denies it to {self._called(user)} ({listed.place})"
        if administrator or level is Level.ADMINISTRATOR:
            return ""
        admitted = [each for each, lists in self.allow.items() if lists.names(user, self.domain)]
        for each in Level:
            listed = self.allow.get(each)
            if each <= level and listed is not None and not any(one >= each for one in admitted):
                return f"{listed.knob} does not list {self._called(user)} ({listed.place})"
        return ""

    def _called(self, user: str) -> str:
        return f"{user}@{self.domain}" if self.domain else user


def access(config: Config, daemon: str) -> Access:
    """The lists of a daemon, without the entries that `problems` reports."""
    found = Access(domain=config.get("UID_DOMAIN", subsys=daemon) or "")
    for level in Level:
        for lists, name in ((found.allow, f"ALLOW_{level.name}"), (found.deny, f"DENY_{level.name}")):
            for knob in (f"{name}_{daemon}", name):
                listed = _list(config, knob, daemon)
                if listed is not None:
                    lists[level] = listed
                    break
    return found


def _list(config: Config, knob: str, daemon: str) -> AccessList | None:
    text, found = config.get(knob, subsys=daemon), config.find(knob, subsys=daemon)
    if text is None or found is None:
        return None
    # A missing list restricts nothing: HTCondor, too, treats an empty list as one that is not set.
    words = [word for word in _SEPARATOR.split(text.strip().strip('"')) if word]
    entries = [_entry(word, whole=_is_of_administrators(knob)) for word in words]
    return AccessList(knob, found.span, tuple(each for each in entries if not isinstance(each, str)))


def problems(knob: str, text: str, place: Span) -> list[Diagnostic]:
    """The entries of a list that cannot be enforced."""
    found = []
    for word in _SEPARATOR.split(text.strip().strip('"')):
        entry = _entry(word, whole=_is_of_administrators(knob)) if word else ("", "")
        if isinstance(entry, str):
            remedy = _WHOLE_NAMES if entry is _IS_PATTERN else None
            found.append(diagnostic(Code.ACCESS_LIST, f"{knob}: {word} {entry}", place, name=knob, remedy=remedy))
    return found


def _is_of_administrators(knob: str) -> bool:
    return knob.upper().rpartition(".")[2].startswith("ALLOW_ADMINISTRATOR")


def _entry(word: str, *, whole: bool) -> tuple[str, str] | str:
    """The patterns of user and domain, or why the entry is refused. `whole`: patterns are not allowed."""
    who, slash, host = word.partition("/")
    user, at, domain = who.partition("@")
    if word == "*":
        user, at, domain = "*", "@", "*"
    elif slash and host != "*":
        return "names a host, but requests carry only the name of a user"
    elif not at and slash and who == "*":
        user, at, domain = "*", "@", "*"
    elif not at:
        return "is a host, a network or a name without @, but requests carry only the name of a user"
    if not user or not domain:
        return "lacks the user or the domain"
    if whole and _WILD.search(user):
        return _IS_PATTERN
    return user, domain.lower()
