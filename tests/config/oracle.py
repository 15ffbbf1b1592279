"""The reference configuration reader as a callable: one worker process for a whole test session."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

AVAILABLE = importlib.util.find_spec("htcondor2") is not None


class Oracle:
    """Sends requests to `reference_worker` and returns its answers."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("reference_worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, files: dict[str, str], names: Sequence[str], env: dict[str, str] | None = None) -> dict[str, Any]:
        """The reference's values of ``names``; ``files`` must have one called condor_config."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"files": files, "names": list(names), "env": env or {}}) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        """End the worker."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process.wait(timeout=60)
