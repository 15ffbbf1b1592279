"""HTCondor's commands as a user types them: within this process, with what they printed and how they ended."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.integration.kit import Pool

from roost.cli.condor.entry import main
from roost.cli.condor.printing.renderers import date


class Done(NamedTuple):
    """A command that has ended."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What it printed."""
        return self.out.splitlines()


def run(
    name: str,
    *arguments: str,
    text: str = "",
    cwd: Path | None = None,
    command: Callable[[str, Sequence[str]], int] = main,
    **environment: str,
) -> Done:
    """Run a command."""
    out, err, before, kept = io.StringIO(), io.StringIO(), sys.stdin, dict(os.environ)
    sys.stdin = io.StringIO(text)
    os.environ.update(environment)
    _zone(environment)
    try:
        with (
            contextlib.chdir(cwd or Path.cwd()),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            status = command(name, arguments)
    finally:
        sys.stdin = before
        os.environ.clear()
        os.environ.update(kept)
        _zone(environment)
    return Done(int(status), out.getvalue(), err.getvalue())


def _zone(environment: dict[str, str]) -> None:
    """Let the clock be read as the environment says, where it says something."""
    if "TZ" in environment:
        time.tzset()
        date.cache_clear()


class Desk:
    """A pool, and somebody before it who knows HTCondor."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    def __call__(self, name: str, *arguments: str, status: int = 0, text: str = "") -> Done:
        done = run(name, *arguments, text=text, cwd=self.pool.work, ROOST_HOME=str(self.pool.home))
        assert done.status == status, (name, arguments, done, self.pool.logs())
        return done

    def submit(self, more: str = "hold = true", count: int = 1, seconds: int = 60) -> int:
        """Submit jobs that sleep; the cluster."""
        text = f"executable = /bin/sleep\narguments = {seconds}\nlog = events\n{more}\nqueue {count}\n"
        return int(self("condor_submit", "-terse", text=text).out.partition(".")[0])

    def af(self, *arguments: str) -> list[str]:
        """Lines of ``condor_q -af``."""
        return self("condor_q", *arguments).lines
