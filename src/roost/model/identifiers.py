"""Identifiers: of claims, and the source that makes them.

A claim id is ``<address>#<start of the daemon>#<sequence>#<secret>``. Knowing all of it is the right to use the claim;
the part before the secret, with ``...`` after it, is public. A source is a value too: `ClaimIdSource.take` returns
the id and the source to go on with. Secrets are derived from a key that is handed in, so the same key gives the same
ids: the real daemon hands in bytes from the system, a simulation bytes from its seed.

What this module does not do: check who presents an id, or keep ids secret beyond leaving them out of `repr`.
"""

from __future__ import annotations

from hashlib import blake2b
from hmac import compare_digest
from typing import Final

from roost.base.changed import changed, maker
from roost.base.records import dataclass, field

#: Bytes of the secret part of a claim id; twice as many characters.
SECRET_BYTES = 16


def public_of(text: str) -> str:
    """The part of a claim id that is not secret."""
    return f"{text.rpartition('#')[0]}#..."


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimId:
    """The name of a claim, which is also the right to use it."""

    #: Where the daemon that gave it out is reached.
    address: str
    #: When that daemon started, epoch s.
    birth: int
    #: Tells the claims of one daemon apart.
    sequence: str
    secret: str = field(repr=False)

    @property
    def public(self) -> str:
        """The part of the id that is not secret."""
        return f"{self.address}#{self.birth}#{self.sequence}#..."

    @property
    def text(self) -> str:
        """All of it, secret included."""
        return f"{self.address}#{self.birth}#{self.sequence}#{self.secret}"

    def matches(self, other: ClaimId) -> bool:
        """Whether both are the same, compared in a time that does not depend on where they differ."""
        return self is other or compare_digest(self.text.encode(), other.text.encode())


_claim_id: Final = maker(ClaimId)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimIdSource:
    """Makes the claim ids of one slot."""

    address: str
    birth: int
    #: Tells the sources of one daemon apart; never used twice in a daemon's life, not even for dynamic slots.
    block: int
    #: Number of the next id.
    upcoming: int = 1
    #: What secrets are derived from.
    key: bytes = field(repr=False)

    def take(self) -> tuple[ClaimId, ClaimIdSource]:
        """A fresh id, and the source without it."""
        sequence = f"{self.block}.{self.upcoming}"
        text = f"{self.address}#{self.birth}#{sequence}"
        secret = blake2b(text.encode(), key=self.key[:64], digest_size=SECRET_BYTES).hexdigest()
        claim_id = _claim_id(address=self.address, birth=self.birth, sequence=sequence, secret=secret)
        return claim_id, changed(self, {"upcoming": self.upcoming + 1})
