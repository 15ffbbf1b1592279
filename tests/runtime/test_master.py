"""The master's loop around signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

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
