"""The reference library as a service that survives its own crashes.

The library runs in a child process (`reference`). When the child dies in a batch, a new one answers the cases
of that batch one at a time; the case that kills it again is answered `CRASHED`, and the rest go on.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from tests.conformance.cases import Answer, Case

#: The answer to a case that crashes or hangs the reference.
CRASHED: Answer = {"!": "reference crashed"}

_PROGRAM = Path(__file__).with_name("reference.py")


class Oracle:
    """Answers of the reference library. Use as a context manager."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None
        self._asked: Sequence[Case] | None = None
        #: Cases that crashed the child so far.
        self.crashes: list[Case] = []

    def __enter__(self) -> Oracle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(self._child)

    def ask(self, cases: Sequence[Case]) -> None:
        """Start work on `cases`; collect the answers with `answers` before asking again."""
        assert self._asked is None
        self._asked = cases
        if self._child is None:
            self._child = _start()
        try:
            _send(self._child, cases)
        except BrokenPipeError:
            self._end(self._child)
            self._child = None

    def answers(self) -> list[Answer]:
        """The answers to the cases asked last, in order."""
        assert self._asked is not None
        cases, self._asked = self._asked, None
        line = _output(self._child).readline() if self._child else ""
        if line:
            found: list[Answer] = json.loads(line)
            return found
        self._end(self._child)
        self._child = None
        return self._one_by_one(list(cases))

    def answer(self, cases: Sequence[Case]) -> list[Answer]:
        """Ask and collect."""
        self.ask(cases)
        return self.answers()

    def _one_by_one(self, cases: list[Case]) -> list[Answer]:
        answers: list[Answer] = []
        while len(answers) < len(cases):
            child = _start("--each")
            try:
                _send(child, cases[len(answers) :])
                for line in _output(child):
                    answers.append(json.loads(line))
                    if len(answers) == len(cases):
                        break
                else:
                    self.crashes.append(cases[len(answers)])
                    answers.append(CRASHED)
            finally:
                self._end(child)
        return answers

    @staticmethod
    def _end(child: subprocess.Popen[str] | None) -> None:
        if child is not None:
            child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout):
                if stream is not None:
                    try:
                        stream.close()
                    except BrokenPipeError:
                        continue


def available() -> str | None:
    """None if the reference library can be used, else the reason why not."""
    program = "import htcondor2, classad2"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
    return f"the reference library (package htcondor) can't be imported: {last[0]}"


def _start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-B", str(_PROGRAM), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="ascii",
    )


def _send(child: subprocess.Popen[str], cases: Sequence[Case]) -> None:
    assert child.stdin is not None
    child.stdin.write(json.dumps([case.to_wire() for case in cases]) + "\n")
    child.stdin.flush()


def _output(child: subprocess.Popen[str]) -> IO[str]:
    assert child.stdout is not None
    return child.stdout
