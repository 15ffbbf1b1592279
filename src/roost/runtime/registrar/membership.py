"""A machine's side of its membership in a pool: its keys, which it generates itself, and the pool's signatures.

They are in ``member/`` of the state directory: ``keys.json``, which NATS_CREDENTIALS names, and ``pool.config``, which
the configuration includes. Secret keys never leave the file; the registrar only sees the public ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from roost import __version__
from roost.runtime.bus.command_client import Line
from roost.runtime.bus.nkeys import Key, KeyKind
from roost.runtime.bus_settings import BusError, BusSettings, proofs_of
from roost.runtime.files.whole_files import write_whole
from roost.runtime.home import Home, HomeError
from roost.runtime.identity import account_name
from roost.runtime.registrar.invitation import Invited
from roost.runtime.registrar.registry import DAEMONS, USER, Duty, purposes
from roost.wire.errors import WireError
from roost.wire.requests.registrar import CLOCK, ENROLL, RETIRE, Clock, Enroll, Enrolled
from roost.wire.structs import data_of, read
from roost.wire.subjects import Role

#: How long the registrar may take to sign keys, s.
SIGNED_S: Final = 20.0

#: Signs keys: sends a request and returns the registrar's answer.
Sign = Callable[[Enroll], Enrolled]


class NotSigned(Exception):
    """The registrar did not sign keys; the text says why."""


class Membership:
    """The membership data of a machine. Raises HomeError if it is not a member."""

    def __init__(self, home: Home) -> None:
        self.file = keys_file(home)
        try:
            self.data: dict[str, Any] = json.loads(self.file.read_text())
            self.machine: str = self.data["machine"]
            self.pool: str = self.data["pool"]
            self.urls = tuple(self.data["urls"])
            self.duties = tuple(Duty(each) for each in self.data["duties"])
        except FileNotFoundError:
            raise HomeError(
                f"{home.path} is not a member of a pool: `roost pool init` makes one, `roost join` joins one"
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise HomeError(f"{self.file} cannot be used: {error}; ask for another invitation and join again") from None

    def settings(self, purpose: str) -> BusSettings:
        """The settings with which the owner of a key reaches the pool. Raises KeyError."""
        found = self.data[purpose]
        proofs = proofs_of(found | {"authority": self.data["authority"]})
        return BusSettings(urls=self.urls, pool=self.pool, name=found["name"], **proofs)

    def sign(self, request: Enroll) -> Enrolled:
        """Let the registrar sign keys of this machine. Raises NotSigned."""
        return asked(self.settings(Role.MEMBER), request)

    def clock(self) -> Clock:
        """The time at the registrar. Raises NotSigned."""
        return read(Clock, _asked(self.settings(Role.MEMBER), CLOCK, {}), CLOCK, strict=False)

    def retire(self) -> None:
        """Let the registrar revoke the former keys; the requester has the new ones. Raises NotSigned."""
        _asked(self.settings(Role.MEMBER), RETIRE, {})

    def renew(self, sign: Sign, retire: Callable[[], None]) -> None:
        """Make new keys for everything, and let the former ones be revoked. Raises NotSigned, OSError."""
        keys = _new_keys((*_all(self.duties, self.data), *map(_of, self.data["users"])))
        self._take(sign(_request(keys)), keys)
        retire()

    def have_users(self, names: Iterable[str], sign: Sign) -> None:
        """Make sure that exactly these users of the machine have keys. Raises NotSigned, OSError."""
        wanted, known = set(names), set(self.data["users"])
        if wanted == known:
            return
        keys = _new_keys(map(_of, sorted(wanted - known)))
        enrolled = sign(_request(keys, tuple(map(_of, sorted(known - wanted)))))
        for name in known - wanted:
            del self.data["users"][name]
        self._take(enrolled, keys)

    def _take(self, enrolled: Enrolled, keys: dict[str, Key]) -> None:
        self.data |= {"urls": list(enrolled.urls), "authority": enrolled.authority}
        for purpose, key in keys.items():
            signed = enrolled.signed[purpose]
            entry = {"name": signed.name, "token": signed.token, "seed": key.seed}
            if purpose.startswith(USER):
                self.data["users"][purpose.removeprefix(USER)] = entry
            else:
                self.data[purpose] = entry
        write_whole(self.file, json.dumps(self.data, indent=1), mode=0o600, sync=True)


def keys_file(home: Home) -> Path:
    """The keys of a member."""
    return home.member / "keys.json"


def become_member(home: Home, duties: tuple[Duty, ...], sign: Sign, *, more: Iterable[str] = ()) -> Membership:
    """Make keys, have them signed, and store them. Raises NotSigned, OSError.

    `more`: purposes of keys besides those of the machine's duties.
    """
    keys = _new_keys((*purposes(duties), *more))
    home.member.mkdir(mode=0o700, exist_ok=True)
    # Nothing is requested that could not be stored.
    write_whole(home.member / ".probe", "", mode=0o600, sync=True)
    (home.member / ".probe").unlink()
    enrolled = sign(_request(keys))
    data = {
        "machine": enrolled.machine,
        "pool": enrolled.pool,
        "urls": [],
        "duties": [each.value for each in duties],
        "users": {},
    }
    write_whole(keys_file(home), json.dumps(data), mode=0o600)
    member = Membership(home)
    member._take(enrolled, keys)
    member = Membership(home)
    write_whole(home.member / "pool.config", _configuration(member), mode=0o600, sync=True)
    return member


def join(home: Home, invited: Invited) -> Membership:
    """Use an invitation. Raises NotSigned, OSError."""
    return become_member(home, invited.duties, lambda request: asked(invited.settings(), request))


def asked(settings: BusSettings, request: Enroll) -> Enrolled:
    """Ask the registrar to sign keys. Raises NotSigned."""
    data = data_of(request)
    assert isinstance(data, dict)
    return read(Enrolled, _asked(settings, ENROLL, data), ENROLL, strict=False)


def _asked(settings: BusSettings, what: str, args: dict[str, Any]) -> object:
    try:
        with Line.connect(settings) as line:
            answer = line.ask(line.subjects.ask_registrar(settings.name), what, args, SIGNED_S)
    except (BusError, WireError) as error:
        text = str(error)
        if "uthorization" in text:
            text = f"{text}; the key was revoked, or the invitation has expired or was withdrawn"
        raise NotSigned(text) from None
    if not answer.ok:
        raise NotSigned(answer.text or answer.code)
    return answer.data


def _new_keys(purposes: Iterable[str]) -> dict[str, Key]:
    return {purpose: Key.new(KeyKind.USER) for purpose in purposes}


def _request(keys: dict[str, Key], gone: tuple[str, ...] = ()) -> Enroll:
    public = {purpose: key.public for purpose, key in keys.items()}
    return Enroll(keys=public, user=account_name(), version=__version__, gone=gone)


def _of(user: str) -> str:
    return USER + user


def _all(duties: tuple[Duty, ...], data: dict[str, Any]) -> list[str]:
    return [*purposes(duties), *((Role.REGISTRAR.value,) if Role.REGISTRAR in data else ())]


def _configuration(member: Membership) -> str:
    client = member.data[Role.CLIENT]["name"]
    lines = [
        f"# What makes this machine a member of the pool {member.pool}. Roost has written this file; put what you set",
        "# into the file that includes it.",
        f"COLLECTOR_NAME = {member.pool}",
        "# A user has the same name on all machines of the pool.",
        f"UID_DOMAIN = {member.pool}",
        f"DAEMON_LIST = MASTER {' '.join(DAEMONS[duty] for duty in member.duties)}",
        f"NATS_SERVERS = {' '.join(member.urls)}",
        "NATS_CREDENTIALS = $(ROOST_HOME)/member/keys.json",
    ]
    if "@" in client:
        lines += ["# Who runs the daemons here administers them, though not the pool.", f"QUEUE_SUPER_USERS = {client}"]
    return "\n".join(lines) + "\n"
