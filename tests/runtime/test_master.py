"""The master's loop around signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from roost.config import MemoryHost, load_text
from roost.runtime.master_settings import MasterSettings, master_settings

ROOT = Path(__file__).resolve().parents[2]


def test_a_master_that_was_stopped_for_a_while_goes_on() -> None:
    text = """
import signal
from roost.runtime.master import next_signal
signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP, signal.SIGALRM))
print(flush=True)
print(next_signal(0.3), flush=True)
print(next_signal(30), next_signal(0), signal.sigpending())
"""
    waiting = subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert waiting.stdout is not None
    waiting.stdout.readline()
    waiting.send_signal(signal.SIGSTOP)
    time.sleep(0.4)
    waiting.send_signal(signal.SIGCONT)
    assert waiting.stdout.readline() == "None\n"
    waiting.send_signal(signal.SIGHUP)
    out, _ = waiting.communicate(timeout=30)
    assert (out, waiting.returncode) == ("1 None set()\n", 0)


@pytest.mark.parametrize(
    ("text", "pauses"),
    [
        ("", [0.1, 0.2, 0.4, 0.8, 30.0]),
        ("MASTER_BACKOFF_CONSTANT = 9", [10.0, 11.0, 13.0, 17.0, 3600.0]),
        ("MASTER_BACKOFF_FACTOR = 3", [10.0, 12.0, 18.0, 36.0, 3600.0]),
        ("MASTER.MASTER_BACKOFF_CEILING = 12", [10.0, 11.0, 12.0, 12.0, 12.0]),
    ],
)
def test_a_daemon_that_dies_again_and_again_waits_longer_and_longer(text: str, pauses: list[float]) -> None:
    settings = master_settings(load_text(text, MemoryHost(), subsystem="MASTER"))
    assert [settings.pause_s(deaths) for deaths in (0, 1, 2, 3, 5000)] == pauses


def test_the_times_of_a_shutdown_are_those_of_the_configuration() -> None:
    text = "SHUTDOWN_GRACEFUL_TIMEOUT = 2 * 3600\nSHUTDOWN_FAST_TIMEOUT = 20\nMASTER_RECOVER_FACTOR = 5\n"
    found = master_settings(load_text(text, MemoryHost(), subsystem="MASTER"))
    assert found == MasterSettings(graceful_s=7200.0, fast_s=20.0, recovered_s=5.0)
    assert master_settings(load_text("", MemoryHost())) == MasterSettings()
