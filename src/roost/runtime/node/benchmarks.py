"""The speed of this machine's processor: Mips and KFlops, measured in a few tenths of a second.

HTCondor measures Dhrystone and Linpack. Here Mips is based on compressing text, which is integer work with branches and
tables, expressed as the estimated number of zlib's instructions; KFlops on solving systems of linear equations. The
figures order the machines of a pool by their speed. They are not comparable to HTCondor's figures.

The work is done in a separate process, which frees its memory at its end and can be stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import roost

#: How long each of them runs, s.
RUN_S: Final = 0.2
#: How long both may take, s.
LIMIT_S: Final = 60.0
#: Estimated number of instructions per byte of the text.
_INSTRUCTIONS_PER_BYTE: Final = 90
_TEXT_BYTES: Final = 64 * 1024
_ORDER: Final = 300


async def run_benchmarks() -> tuple[int | None, int | None]:
    """Mips and KFlops; None for a value that could not be determined. Cancel it to stop the benchmarks."""
    source = str(Path(roost.__file__).resolve().parents[1])
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "roost.runtime.node.benchmarks",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((source, os.environ.get("PYTHONPATH", "")))},
    )
    try:
        async with asyncio.timeout(LIMIT_S):
            told, _ = await process.communicate()
        mips, kflops = json.loads(told)
    except (TimeoutError, ValueError):
        return None, None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return mips, kflops


def mips() -> int:
    """Millions of instructions per second."""
    chance = random.Random(1)
    words = [bytes(chance.choices(b"etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(400)]
    text = b" ".join(chance.choices(words, k=_TEXT_BYTES // 6))
    rounds_per_s = _rounds_per_s(lambda: zlib.compress(text, 6))
    return round(rounds_per_s * len(text) * _INSTRUCTIONS_PER_BYTE / 1e6)


def kflops() -> int | None:
    """Thousands of floating point operations per second; None without NumPy."""
    try:
        import numpy as np
    except ImportError:
        return None
    chance = np.random.default_rng(1)
    matrix, vector = chance.random((_ORDER, _ORDER)), chance.random(_ORDER)
    work = 2 / 3 * _ORDER**3 + 2 * _ORDER**2
    return round(_rounds_per_s(lambda: np.linalg.solve(matrix, vector)) * work / 1000)


def _rounds_per_s(work: Callable[[], object]) -> float:
    work()
    rounds, begin = 0, time.process_time()
    while (passed := time.process_time() - begin) < RUN_S:
        work()
        rounds += 1
    return rounds / passed


if __name__ == "__main__":
    # A slot's speed is that of one core.
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    print(json.dumps((mips(), kflops())))
