"""A sample of the soak: a few faults of each kind on a pool of three machines, compared by content."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.integration.kit import ROOT
from tests.soak.__main__ import unable


@pytest.mark.slow
def test_nothing_is_lost_crossed_or_doubled_whatever_breaks() -> None:
    why = unable()
    if why:
        pytest.skip(why)
    words = ("--rounds", "8", "--jobs", "80", "--dags", "2", "--seed", "5")
    done = subprocess.run(
        [sys.executable, "-m", "tests.soak", *words], cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
