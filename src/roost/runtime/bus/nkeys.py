"""Ed25519 keys in the text form of NATS (nkeys), and the tokens that they sign.

A key is identified by its public text, which begins with a letter for its kind (O operator, A account, U user). The
secret is a text that begins with S; its owner is that operator, account or user. A token is a JSON Web Token with the
algorithm that NATS calls ``ed25519-nkey``: a server that trusts an operator trusts the accounts whose tokens the
operator has signed, and the users whose tokens those accounts have signed. Adding a machine or a user therefore needs
no change on a server.

The cryptography comes from the package `cryptography`, which is imported with the first key.
"""

from __future__ import annotations

import base64
import binascii
import json
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class KeyKind(IntEnum):
    """The kind of a key's owner: the first five bits of its text."""

    ACCOUNT = 0
    OPERATOR = 14
    USER = 20


_SEED: Final = 18
_HEADER: Final = {"typ": "JWT", "alg": "ed25519-nkey"}
_VERSION: Final = 2
#: The limits of an account or a user: all unlimited.
_UNLIMITED: Final = -1


class BadKey(ValueError):
    """The text is not a key."""


class Key(NamedTuple):
    """A key pair."""

    kind: KeyKind
    #: The secret, 32 bytes.
    secret: bytes

    @classmethod
    def new(cls, kind: KeyKind) -> Key:
        """Make a key."""
        import secrets

        return cls(kind, secrets.token_bytes(32))

    @classmethod
    def read(cls, seed: str) -> Key:
        """Read a key from its secret text. Raises BadKey."""
        data = _decoded(seed)
        if len(data) != 34 or data[0] >> 3 != _SEED:
            raise BadKey("the text is not a secret key")
        kind = (data[0] & 7) << 2 | data[1] >> 6
        return cls(_kind(kind), data[2:])

    @property
    def seed(self) -> str:
        """The secret as text."""
        return _encoded(bytes((_SEED << 3 | self.kind >> 2, (self.kind & 3) << 6)) + self.secret)

    @property
    def public(self) -> str:
        """The public key as text."""
        raw: bytes = self._private().public_key().public_bytes_raw()
        return _encoded(bytes((self.kind << 3,)) + raw)

    def sign(self, data: bytes) -> bytes:
        """Sign."""
        signature: bytes = self._private().sign(data)
        return signature

    def _private(self) -> Ed25519PrivateKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.secret)


def check_public(text: str, kind: KeyKind) -> None:
    """Raise BadKey unless the text is the public key of that kind."""
    data = _decoded(text)
    if len(data) != 33 or data[0] != kind << 3:
        raise BadKey(f"the text is not the public key of {kind.name.lower()}")


def signature_of(seed: str, nonce: str) -> str:
    """The proof of possession of a key for a server: the signature of its challenge."""
    return _base64(Key.read(seed).sign(nonce.encode()))


# -- tokens ------------------------------------------------------------------------------------------


def operator_token(operator: Key, name: str, system_account: str) -> str:
    """The token of an operator, by which a server identifies it."""
    return _token(operator, operator.public, name, "operator", {"system_account": system_account})


def account_token(operator: Key, account: str, name: str, revoked: dict[str, int], now: float) -> str:
    """The token of an account. `revoked`: users to the time up to which their tokens are revoked."""
    limits = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), _UNLIMITED)
    about = {"limits": limits | {"wildcards": True}, "revocations": revoked}
    return _token(operator, account, name, "account", about, now=now)


def user_token(
    account: Key, user: str, name: str, say: list[str], hear: list[str], now: float, expires_at: float | None = None
) -> str:
    """The token of a user, who may publish and subscribe only to these subjects."""
    about = {"pub": {"allow": say}, "sub": {"allow": hear}} | dict.fromkeys(("subs", "data", "payload"), _UNLIMITED)
    return _token(account, user, name, "user", about, now=now, expires_at=expires_at)


def system_user_token(account: Key, user: str, now: float, expires_at: float) -> str:
    """The token of a user of the system account, who may send account changes to a server."""
    return user_token(account, user, "authority", ["$SYS.REQ.CLAIMS.UPDATE"], ["_INBOX.>"], now, expires_at)


def _token(
    signer: Key,
    subject: str,
    name: str,
    kind: str,
    about: dict[str, Any],
    *,
    now: float = 0.0,
    expires_at: float | None = None,
) -> str:
    import hashlib

    claims: dict[str, Any] = {"iat": int(now), "iss": signer.public, "name": name, "sub": subject}
    if expires_at is not None:
        claims["exp"] = int(expires_at)
    claims["nats"] = about | {"type": kind, "version": _VERSION}
    digest = hashlib.sha256(_json(claims)).digest()
    claims = {"jti": base64.b32encode(digest).decode().rstrip("=")} | claims
    text = f"{_base64(_json(_HEADER))}.{_base64(_json(claims))}"
    return f"{text}.{_base64(signer.sign(text.encode()))}"


def _json(data: object) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode()


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


# -- texts -------------------------------------------------------------------------------------------


def _encoded(data: bytes) -> str:
    checked = data + binascii.crc_hqx(data, 0).to_bytes(2, "little")
    return base64.b32encode(checked).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    try:
        data = base64.b32decode(text + "=" * (-len(text) % 8))
    except (ValueError, TypeError):
        raise BadKey("the text is not a key") from None
    if len(data) < 3 or binascii.crc_hqx(data[:-2], 0).to_bytes(2, "little") != data[-2:]:
        raise BadKey("the text is not a key, or was cut or changed")
    return data[:-2]


def _kind(number: int) -> KeyKind:
    try:
        return KeyKind(number)
    except ValueError:
        raise BadKey("the key is of a kind that Roost does not use") from None
