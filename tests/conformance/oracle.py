"""The reference library as a service that survives its own crashes.

The library runs in a child process (`reference`), which writes each answer as soon as it has it. When it dies, the
case that it owes an answer to has the one observation `CRASHED`, and a new child goes on with the next.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

from tests.conformance import ours
from tests.conformance.cases import CRASHED, Answer, Case

#: Size of the pipes to the child.
_PIPE_BYTES: Final = 1024 * 1024

_PROGRAM = Path(__file__).with_name("reference.py")


class Oracle:
    """Answers of the reference library. Use as a context manager."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None
        self._asked: list[Case] | None = None
        #: Cases that crashed the child so far.
        self.crashes: list[Case] = []

    def __enter__(self) -> Oracle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def ask(self, cases: Sequence[Case]) -> None:
        """Start work on `cases`; collect the answers with `answers` before asking again."""
        assert self._asked is None
        self._asked = list(cases)
        self._send(self._asked)

    def answers(self) -> list[Answer]:
        """The answers to the cases asked last, in order."""
        assert self._asked is not None
        cases, self._asked = self._asked, None
        answers: list[Answer] = []
        while len(answers) < len(cases):
            assert self._child is not None and self._child.stdout is not None
            line = self._child.stdout.readline()
            if line.endswith("\n"):
                answers.append(json.loads(line))
                continue
            self._end()
            self.crashes.append(cases[len(answers)])
            answers.append({CRASHED: CRASHED})
            if len(answers) < len(cases):
                self._send(cases[len(answers) :])
        return answers

    def answer(self, cases: Sequence[Case]) -> list[Answer]:
        """Ask and collect."""
        self.ask(cases)
        return self.answers()

    def _send(self, cases: list[Case]) -> None:
        if self._child is None:
            self._child = _start()
        stream = self._child.stdin
        assert stream is not None
        try:
            stream.write(json.dumps([case.to_wire() for case in cases]) + "\n")
            stream.flush()
        except BrokenPipeError:
            # It ended while idle; `answers` finds out and starts another.
            return

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()


def available() -> str | None:
    """None if the reference library can be used, else the reason why not."""
    program = "import htcondor2, classad2"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
    return f"the reference library (package htcondor) cannot be imported: {last[0]}"


def _start() -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-B", str(_PROGRAM), ours.zone],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="ascii",
    )
    # Room for the answers of a batch, so that the child need not wait for us.
    for stream in (child.stdin, child.stdout):
        with contextlib.suppress(OSError, AttributeError):
            fcntl.fcntl(stream, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)  # type: ignore[arg-type]
    return child
