"""Chance: independent streams of random numbers, each named, all drawn from one seed.

A stream depends on the seed and on its own name alone. So another machine, another owner or one more fault does not
shift the numbers that everything else sees.
"""

from __future__ import annotations

import random


def stream(seed: int | str, *names: object) -> random.Random:
    """The stream of that name. Text seeds a generator by its digest, which no hash seed touches."""
    return random.Random("|".join(map(str, (seed, *names))))
