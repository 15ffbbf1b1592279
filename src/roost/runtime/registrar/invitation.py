"""An invitation as one word that a person can copy: the pool's address, its fingerprint, and a key for one request.

The key may only request the registrar to admit one machine, until the invitation is used or expires. It contains the
fingerprint of the message server's certificate, so that the machine cannot join another pool by mistake.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Final, NamedTuple

from roost.runtime.bus.certificates import fingerprint
from roost.runtime.bus_settings import BusSettings
from roost.runtime.registrar.registry import Duty

#: Prefix of an invitation: its format.
_MARK: Final = "roost1."
#: Maximum length of an invitation, characters, and maximum size after unpacking, bytes.
_WORD_MAX: Final = 8_192
_BYTES_MAX: Final = 65_536


class BadInvitation(ValueError):
    """The text is not an invitation; it says why."""


class Invited(NamedTuple):
    """An invitation."""

    pool: str
    url: str
    #: The message server's certificate, as PEM; only its fingerprint is part of the invitation.
    certificate: str
    machine: str
    duties: tuple[Duty, ...]
    #: The name of the key's owner on the bus.
    name: str
    token: str
    seed: str
    expires_at: float
    pinned: str = ""

    def word(self) -> str:
        """The invitation as text."""
        data = self._asdict() | {"pinned": fingerprint(self.certificate)}
        del data["certificate"]
        packed = zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 9)
        return _MARK + base64.urlsafe_b64encode(packed).decode().rstrip("=")

    def settings(self) -> BusSettings:
        """The settings with which it reaches the registrar."""
        return BusSettings(
            urls=(self.url,), pool=self.pool, name=self.name, token=self.token, seed=self.seed, pinned=self.pinned
        )


def read_invitation(word: str) -> Invited:
    """Read the text of an invitation. Raises BadInvitation."""
    if not word.startswith(_MARK) or len(word) > _WORD_MAX:
        raise BadInvitation(f"this is not an invitation: `roost pool invite` prints one, which begins with {_MARK}")
    part = word.removeprefix(_MARK)
    try:
        packed = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
        data = json.loads(zlib.decompressobj().decompress(packed, _BYTES_MAX))
        duties = tuple(Duty(each) for each in data.pop("duties"))
        return Invited(certificate="", duties=duties, **data)
    except (ValueError, TypeError, KeyError, AttributeError, zlib.error):
        raise BadInvitation("the invitation was cut or changed; copy it as a whole") from None
