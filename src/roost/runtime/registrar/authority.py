"""The authority of a pool: the keys that constitute it, on the machine on which ``roost pool init`` was run.

They are in ``authority/`` of the state directory, readable only by its owner. The operator signs the account of the
pool, the account signs the keys of members, the certificate authority signs the certificate of the message server. A
change of the registry is stored first and then sent to the running server, which applies it at once: it drops the
connections of those whose keys are revoked. A server that does not run reads it when it starts.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import secrets
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Final, Self

from roost.runtime.bus.certificates import RENEW_DAYS, Certificate, ends_at, made_authority, made_server
from roost.runtime.bus.command_client import Line
from roost.runtime.bus.nkeys import (
    BadKey,
    Key,
    KeyKind,
    account_token,
    check_public,
    operator_token,
    system_user_token,
    user_token,
)
from roost.runtime.bus_settings import BusError, BusSettings
from roost.runtime.files.whole_files import write_whole
from roost.runtime.registrar.invitation import Invited
from roost.runtime.registrar.registry import Duty, Invitation, Member, NotAllowed, Registry, name_of, role_of
from roost.wire.requests.registrar import Enroll, Enrolled, Signed
from roost.wire.subjects import Role, Subjects

#: How long a message server may take to apply a change, s.
TOLD_S: Final = 10.0
#: Validity of the key for sending it a change, s.
_TELLER_S: Final = 300.0


class Authority:
    """See the module. All methods may raise OSError."""

    def __init__(self, directory: Path, now: Callable[[], float] = time.time) -> None:
        self.directory = directory
        self._now = now
        self._settings: dict[str, Any] = json.loads((directory / "pool.json").read_text())
        self.pool: str = self._settings["pool"]
        self.host: str = self._settings["host"]
        self.port: int = self._settings["port"]
        self.listen: str = self._settings["listen"]
        #: The machine of this authority.
        self.machine: str = self._settings["machine"]
        self.subjects = Subjects(self.pool)

    @classmethod
    def make(cls, directory: Path, *, pool: str, machine: str, host: str, port: int, listen: str) -> Self:
        """Create the keys of a new pool. Raises FileExistsError."""
        directory.mkdir(mode=0o700)
        for name, kind in (("operator", KeyKind.OPERATOR), ("account", KeyKind.ACCOUNT), ("system", KeyKind.ACCOUNT)):
            _write(directory / f"{name}.seed", Key.new(kind).seed)
        made = made_authority(pool)
        _write(directory / "authority.pem", made.certificate)
        _write(directory / "authority.key", made.key)
        _write(directory / "registry.json", json.dumps(Registry().to_data()))
        settings = {"pool": pool, "machine": machine, "host": host, "port": port, "listen": listen}
        _write(directory / "pool.json", json.dumps(settings, indent=1))
        authority = cls(directory)
        authority.new_certificate()
        return authority

    # -- what there is -------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The message server's address for members."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"tls://{host}:{self.port}"

    @property
    def certificate(self) -> str:
        """The certificate of the authority, as PEM."""
        return self._read("authority.pem")

    @property
    def server_certificate(self) -> str:
        """The certificate of the message server, as PEM."""
        return self._read("server.pem")

    def registry(self) -> Registry:
        """The current registry."""
        return Registry.from_data(json.loads(self._read("registry.json")))

    def _read(self, name: str) -> str:
        return (self.directory / name).read_text()

    def _key(self, name: str) -> Key:
        return Key.read(self._read(f"{name}.seed"))

    # -- the message server --------------------------------------------------------------------------

    def new_certificate(self) -> None:
        """Make a certificate for the message server; a running one must be ordered to read it."""
        authority = Certificate(self.certificate, self._read("authority.key"))
        names = dict.fromkeys((self.host, self.machine, "localhost", "127.0.0.1", "::1"))
        made = made_server(authority, tuple(names))
        _write(self.directory / "server.key", made.key)
        _write(self.directory / "server.pem", made.certificate)

    def server_text(self) -> str:
        """The authorization and encryption part of the server's configuration."""
        if ends_at(self.server_certificate) < self._now() + RENEW_DAYS * 86_400:
            self.new_certificate()
        operator, system = self._key("operator"), self._key("system")
        accounts = self.directory / "accounts"
        accounts.mkdir(mode=0o700, exist_ok=True)
        with self._locked():
            _write(accounts / f"{self._key('account').public}.jwt", self._account_token(self.registry()))
        preloaded = account_token(operator, system.public, "system", {}, 0)
        tls = {"cert_file": str(self.directory / "server.pem"), "key_file": str(self.directory / "server.key")}
        return "\n".join(
            (
                f"tls: {json.dumps(tls | {'handshake_first': True, 'min_version': '1.3'})}",
                f"operator: {json.dumps(operator_token(operator, self.pool, system.public))}",
                f"system_account: {system.public}",
                f"resolver: {json.dumps({'type': 'full', 'dir': str(accounts), 'allow_delete': False})}",
                f"resolver_preload: {json.dumps({system.public: preloaded})}",
            )
        )

    def _account_token(self, registry: Registry) -> str:
        account = self._key("account")
        return account_token(self._key("operator"), account.public, self.pool, registry.revoked, self._now())

    # -- changes -------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.directory / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def changing(self) -> Iterator[Registry]:
        """The registry, for a change: it is stored, and sent to the message server, when the block ends without an
        exception.

        Raises BusError if it cannot be sent; the server applies the change at its next start.
        """
        with self._locked():
            registry = self.registry()
            revoked = dict(registry.revoked)
            yield registry
            _write(self.directory / "registry.json", json.dumps(registry.to_data(), indent=1))
            if registry.revoked != revoked:
                self._tell(registry)

    def _tell(self, registry: Registry) -> None:
        """Send the message server the revoked keys. Raises BusError."""
        teller, now = Key.new(KeyKind.USER), self._now()
        token = system_user_token(self._key("system"), teller.public, now, now + _TELLER_S)
        settings = BusSettings(
            urls=(self.url,),
            pool=self.pool,
            name="authority",
            token=token,
            seed=teller.seed,
            authority=self.certificate,
        )
        with Line.connect(settings) as line:
            reply = line.tell("$SYS.REQ.CLAIMS.UPDATE", self._account_token(registry).encode(), TOLD_S)
        try:
            done = json.loads(reply)
            problem = "" if done.get("data", {}).get("code") == 200 else str(done.get("error") or done)
        except (ValueError, AttributeError):
            problem = repr(reply)
        if problem:
            raise BusError(f"the message server did not take the change: {problem}")

    def invite(self, machine: str, duties: tuple[Duty, ...], *, administers: bool, lifetime_s: float) -> Invited:
        """Invite a machine."""
        key, number, now = Key.new(KeyKind.USER), secrets.token_hex(8), self._now()
        expires_at = now + lifetime_s
        with self.changing() as registry:
            registry.drop_expired(now)
            registry.invitations[number] = Invitation(
                machine=machine, duties=duties, administers=administers, expires_at=expires_at, public=key.public
            )
        name = f"{Role.INVITED}@{number}"
        say, hear = self.subjects.permissions(Role.INVITED, name)
        token = user_token(self._key("account"), key.public, name, say, hear, now, expires_at)
        return Invited(
            pool=self.pool,
            url=self.url,
            certificate=self.server_certificate,
            machine=machine,
            duties=duties,
            name=name,
            token=token,
            seed=key.seed,
            expires_at=expires_at,
        )

    def found(self, duties: tuple[Duty, ...], request: Enroll) -> Enrolled:
        """Make the machine of this authority the first member of the pool. Raises NotAllowed."""
        now = self._now()
        with self.changing() as registry:
            registry.members[self.machine] = Member(
                duties=duties,
                administers=True,
                joined_at=now,
                keyed_at=now,
                version=request.version,
                keys={Role.REGISTRAR.value: ""},
            )
            return self._enrolled(registry, self.machine, request, ())

    def enroll(self, sender: str, request: Enroll, administrators: Collection[str]) -> Enrolled:
        """Sign the keys of a member, or of a machine that joins. Raises NotAllowed, BusError."""
        kind, _, number = sender.partition("@")
        with self.changing() as registry:
            machine = sender
            if kind == Role.INVITED and number:
                machine = registry.admit(number, request.version, self._now())
            return self._enrolled(registry, machine, request, administrators)

    def _enrolled(self, registry: Registry, machine: str, request: Enroll, administrators: Collection[str]) -> Enrolled:
        now, account = self._now(), self._key("account")
        registry.take_keys(machine, request.keys, request.gone, request.version, now)
        member, signed = registry.members[machine], {}
        for purpose, key in request.keys.items():
            try:
                check_public(key, KeyKind.USER)
            except BadKey as problem:
                raise NotAllowed(f"the key for {purpose}: {problem}") from None
            name = name_of(purpose, member, machine, request.user, administrators)
            say, hear = self.subjects.permissions(role_of(purpose), name)
            signed[purpose] = Signed(name=name, token=user_token(account, key, name, say, hear, now))
        return Enrolled(machine=machine, pool=self.pool, urls=(self.url,), authority=self.certificate, signed=signed)

    def retire(self, machine: str) -> None:
        """Revoke the keys of a member that have been replaced. Raises NotAllowed, BusError."""
        with self.changing() as registry:
            registry.retire(machine, self._now())

    def remove(self, machine: str) -> bool:
        """Revoke the keys of a machine and its invitations; return whether it was a member. Raises BusError."""
        with self.changing() as registry:
            return registry.remove(machine, self._now())


def _write(path: Path, text: str) -> None:
    write_whole(path, text, mode=0o600, sync=True)
