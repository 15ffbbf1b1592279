"""Conditions under which a machine can run no job: a scratch directory that cannot be made, a record that cannot be
written.

A machine that continued to accept jobs would fail one after another, faster than working machines finish theirs. It
therefore advertises the problem as `MachineProblem`, and accepts no jobs until it can write again where it could not.
That is tried every `AGAIN_S`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

_log = logging.getLogger("roost.node")

#: Minimum time without jobs, and the interval of checks whether jobs can be accepted, s.
AGAIN_S: Final = 2.0
#: Space that must be available in a directory before jobs are accepted again, bytes.
PROBE_BYTES: Final = 64 * 1024


class Impediments:
    """The impediments of one machine."""

    def __init__(self, directories: Iterable[Path], note: Callable[[str], None] = lambda text: None) -> None:
        """`note` is called with the reason why no job is accepted, and with "" when jobs are accepted again."""
        self._directories = tuple(directories)
        self._note = note
        #: Why no job is accepted; "" if jobs are.
        self.text = ""
        self._not_before = 0.0

    async def begin(self) -> None:
        """Check before the first job arrives."""
        self.found(await asyncio.to_thread(self._probed))

    def found(self, text: str) -> None:
        """Note that a job could not be run, for a reason that applies to any job."""
        if text and not self.text:
            _log.error("this machine accepts no jobs until this is fixed: %s", text)
            self.text = text
            self._note(text)
        self._not_before = asyncio.get_running_loop().time() + AGAIN_S

    async def look(self) -> None:
        """Check whether the condition has passed."""
        if not self.text or asyncio.get_running_loop().time() < self._not_before:
            return
        problem = await asyncio.to_thread(self._probed)
        if not problem:
            _log.info("this machine accepts jobs again")
            self._note("")
        self.text = problem

    def _probed(self) -> str:
        for directory in self._directories:
            place = directory / f".probe.{os.getpid()}"
            try:
                place.mkdir(exist_ok=True)
                try:
                    (place / "file").write_bytes(bytes(PROBE_BYTES))
                finally:
                    (place / "file").unlink(missing_ok=True)
                    place.rmdir()
            except OSError as error:
                return f"cannot write to {directory}: {error.strerror}"
        return ""
