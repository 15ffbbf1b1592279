"""Short names for texts, by which two that know them see whether they know the same."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b


def digest(*parts: str) -> str:
    """A short name for texts, the same for the same ones."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()


def given_state(letters: str, at: float) -> str:
    """The letters of an instance with when it was given them, epoch s: the same letters may be given anew."""
    return f"{letters} {at:.3f}"


def states_digest(states: Mapping[str, str]) -> str:
    """What tells the states that queue instances were given from others: name to letters; "" for none."""
    return digest(*(f"{name} {letters}" for name, letters in sorted(states.items()))) if states else ""
