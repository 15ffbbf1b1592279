"""What keeps a machine from running any job: a scratch directory that cannot be made, a record that cannot be written.

A machine that would go on taking jobs would fail one after another, faster than all that work. So it tells what is
wrong as `MachineProblem`, and takes none until it can write again where it could not. That is tried every `AGAIN_S`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

_log = logging.getLogger("roost.node")

#: How long no job is taken at least, and how often to check whether one can be, s.
AGAIN_S: Final = 2.0
#: What has to find room in a directory before jobs are taken again, bytes.
PROBE_BYTES: Final = 64 * 1024


class Impediments:
    """What keeps one machine from running jobs."""

    def __init__(self, directories: Iterable[Path], note: Callable[[str], None] = lambda text: None) -> None:
        """`note` hears why no job is taken, and "" when jobs are again."""
        self._directories = tuple(directories)
        self._note = note
        #: Why no job is taken; "" if jobs are.
        self.text = ""
        self._not_before = 0.0

    async def begin(self) -> None:
        """Look before the first job comes."""
        self.found(await asyncio.to_thread(self._probed))

    def found(self, text: str) -> None:
        """A job could not be run, and no other could have been."""
        if text and not self.text:
            _log.error("this machine takes no jobs until this is fixed: %s", text)
            self.text = text
            self._note(text)
        self._not_before = asyncio.get_running_loop().time() + AGAIN_S

    async def look(self) -> None:
        """Find out whether it has passed."""
        if not self.text or asyncio.get_running_loop().time() < self._not_before:
            return
        problem = await asyncio.to_thread(self._probed)
        if not problem:
            _log.info("this machine takes jobs again")
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
