"""Named independent streams of random numbers, all derived from one seed.

A stream depends only on the seed and its own name. Adding a machine, an owner or a fault therefore does not change the
numbers that everything else draws.
"""

from __future__ import annotations

import random
from hashlib import blake2b

_BYTES = 7


def stream(seed: int | str, *names: object) -> random.Random:
    """The stream with that name. Text seeds a generator by its digest, which does not depend on the hash seed."""
    return random.Random("|".join(map(str, (seed, *names))))


def drawn(seed: int | str, *names: object) -> float:
    """One number with that name, from 0 to below 1: creating a stream would take ten times as long."""
    digest = blake2b("|".join(map(str, (seed, *names))).encode(), digest_size=_BYTES).digest()
    return int.from_bytes(digest) / (1 << 8 * _BYTES)
