"""Claim ids, and the source that generates them.

A claim id is ``<address>#<start of the daemon>#<sequence>#<secret>``. Knowledge of all of it entitles a party to use
the claim; the part before the secret, followed by ``...``, is public. A source is a value, too: `ClaimIdSource.take`
returns the id and the next source. Secrets are derived from a key argument, so the same key gives the same ids: the
real daemon passes random bytes from the system, a simulation bytes from its seed.

What this module does not do: check who presents an id, or keep ids secret beyond leaving them out of `repr`.
"""

from __future__ import annotations

from hashlib import blake2b
from hmac import compare_digest

from roost.base.fast_records import field, record, replace

#: Bytes in the secret part of a claim id, written as twice as many characters.
SECRET_BYTES = 16


def public_of(text: str) -> str:
    """The part of a claim id that is not secret."""
    return f"{text.rpartition('#')[0]}#..."


@record
class ClaimId:
    """The id of a claim, which is also the capability to use it."""

    #: Address of the daemon that issued it.
    address: str
    #: When that daemon started, epoch s.
    birth: int
    #: Unique among the claims of one daemon.
    sequence: str
    secret: str = field(repr=False)

    @property
    def public(self) -> str:
        """The part of the id that is not secret."""
        return f"{self.address}#{self.birth}#{self.sequence}#..."

    @property
    def text(self) -> str:
        """The full text, including the secret."""
        return f"{self.address}#{self.birth}#{self.sequence}#{self.secret}"

    def matches(self, other: ClaimId) -> bool:
        """Whether both are equal, compared in constant time."""
        return self is other or compare_digest(self.text.encode(), other.text.encode())


@record
class ClaimIdSource:
    """Generates the claim ids of one slot."""

    address: str
    birth: int
    #: Unique among the sources of one daemon; never reused in a daemon's life, not even for dynamic slots.
    block: int
    #: Number of the next id.
    upcoming: int = 1
    #: Key from which secrets are derived.
    key: bytes = field(repr=False)

    def take(self) -> tuple[ClaimId, ClaimIdSource]:
        """A new id, and the next source."""
        sequence = f"{self.block}.{self.upcoming}"
        text = f"{self.address}#{self.birth}#{sequence}"
        secret = blake2b(text.encode(), key=self.key[:64], digest_size=SECRET_BYTES).hexdigest()
        claim_id = ClaimId(address=self.address, birth=self.birth, sequence=sequence, secret=secret)
        return claim_id, replace(self, upcoming=self.upcoming + 1)
