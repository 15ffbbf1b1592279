"""Digests, by which two parties detect whether they have the same data."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b


def digest(*parts: str) -> str:
    """A digest of texts."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()


def given_state(letters: str, at: float) -> str:
    """The state letters of an instance with the time they were set, epoch s, since the same letters may be set
    again."""
    return f"{letters} {at:.3f}"


def states_digest(states: Mapping[str, str]) -> str:
    """A digest of the states of queue instances, by name; "" for none."""
    return digest(*(f"{name} {letters}" for name, letters in sorted(states.items()))) if states else ""
