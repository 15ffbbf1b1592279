"""The settings and errors of the bus, separate from the bus itself because commands need no more."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from ssl import SSLContext


class BusError(Exception):
    """There is no answer, or the bus cannot be reached; the text says what to do."""


class NobodyThere(BusError):
    """There is no listener for the subject of a request."""


class NoAnswer(BusError):
    """There is or was a listener, which has not answered in time."""


class Forgotten(NoAnswer):
    """The daemon that had the request was restarted before it answered."""


#: Random bytes in the subject name of an answer.
INBOX_BYTES: Final = 12
#: Fields of `BusSettings` with credentials and server identity; a file of credentials has them as JSON.
PROOFS: Final = ("user", "password", "token", "seed", "authority")


class BusSettings(NamedTuple):
    """How to reach the bus."""

    urls: tuple[str, ...]
    pool: str
    #: The name of this connection's user; the last token of every subject on which it publishes.
    name: str
    user: str = ""
    password: str = ""
    #: Instead of user and password: the pool's signed token for a key (`nkeys`), and the secret key.
    token: str = ""
    seed: str = ""
    #: The certificate, as PEM, of the only trusted authority of servers. With it, a connection is encrypted before a
    #: byte of NATS's protocol is read.
    authority: str = ""
    #: Instead of an authority: the fingerprint of the only trusted server.
    pinned: str = ""

    def proofs(self) -> dict[str, str]:
        """The credentials, as JSON."""
        return {name: value for name, value in self._asdict().items() if name in PROOFS and value}

    def tls_first(self) -> SSLContext | None:
        """The TLS settings of a connection that is encrypted from its first byte; None if the server is asked whether
        it wants TLS.
        """
        if not self.authority and not self.pinned:
            return None
        import ssl

        if self.authority:
            return ssl.create_default_context(cadata=self.authority)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        # The fingerprint is stricter than an authority; `pin` compares it.
        context.verify_mode = ssl.CERT_NONE
        return context


def proofs_of(data: dict[str, Any]) -> dict[str, str]:
    """Read the output of `BusSettings.proofs`. Raises TypeError, KeyError for invalid data."""
    found: dict[str, str] = {name: str(data[name]) for name in PROOFS if name in data}
    if "token" not in found:
        found |= {"user": str(data["user"]), "password": str(data["password"])}
    return found


def new_request_id() -> str:
    """A new id that identifies a request in the logs."""
    return os.urandom(4).hex()
