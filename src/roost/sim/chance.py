"""Chance: independent streams of random numbers, each named, all drawn from one seed.

A stream depends on the seed and on its own name alone. So another machine, another owner or one more fault does not
shift the numbers that everything else sees.
"""

from __future__ import annotations

import random
from hashlib import blake2b

_BYTES = 7


def stream(seed: int | str, *names: object) -> random.Random:
    """The stream of that name. Text seeds a generator by its digest, which no hash seed touches."""
    return random.Random("|".join(map(str, (seed, *names))))


def drawn(seed: int | str, *names: object) -> float:
    """One number of that name, from 0 to below 1: a stream would take ten times as long to begin."""
    digest = blake2b("|".join(map(str, (seed, *names))).encode(), digest_size=_BYTES).digest()
    return int.from_bytes(digest) / (1 << 8 * _BYTES)
