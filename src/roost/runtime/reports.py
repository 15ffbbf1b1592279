"""Reports of ends of runs, kept on disk until their queue has them on its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import Iterable
from pathlib import Path

from roost.runtime.runner import file_name
from roost.wire.codec import encode, expect
from roost.wire.errors import WireError
from roost.wire.messages import RunEnded

_log = logging.getLogger("roost.node")

_SUFFIX = ".report"


def write_small(path: Path, data: bytes) -> None:
    """Write a small private file at one stroke: whoever is killed leaves all of it or nothing."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


class Reports:
    """The reports of one machine that queues have not taken yet."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        #: Run to queue and report.
        self._waiting: dict[str, tuple[str, RunEnded]] = {}
        self._none = asyncio.Event()
        self._none.set()

    def load(self) -> None:
        """Read what an earlier daemon kept."""
        for path in sorted(self._directory.glob(f"*{_SUFFIX}")):
            try:
                head, _, body = path.read_bytes().partition(b"\n")
                message = expect(RunEnded, body)
                self._waiting[message.run] = (str(json.loads(head)["schedd"]), message)
                self._none.clear()
            except (OSError, ValueError, KeyError, WireError) as error:
                _log.error("%s can't be read and is left where it is: %s", path, error)

    def keep(self, schedd: str, message: RunEnded) -> None:
        """Keep a report; a disk that is full does not keep it from being sent."""
        self._waiting[message.run] = (schedd, message)
        self._none.clear()
        try:
            write_small(self._path(message.run), json.dumps({"schedd": schedd}).encode() + b"\n" + encode(message))
        except OSError as error:
            _log.error("the report of %s can't be kept: %s", message.run, error)

    def taken(self, runs: Iterable[str]) -> None:
        """Queues have these."""
        for run in runs:
            if self._waiting.pop(run, None) is not None:
                with contextlib.suppress(OSError):
                    self._path(run).unlink(missing_ok=True)
        if not self._waiting:
            self._none.set()

    def waiting(self) -> list[tuple[str, RunEnded]]:
        """Queue and report of all that have not been taken."""
        return list(self._waiting.values())

    def run_of(self, claim_id: str) -> str:
        """The run on a claim whose report has not been taken; "" if there is none."""
        return next((report.run for _, report in self._waiting.values() if report.claim_id == claim_id), "")

    def __contains__(self, run: str) -> bool:
        return run in self._waiting

    async def all_taken(self) -> None:
        """Wait until nothing is left."""
        await self._none.wait()

    def _path(self, run: str) -> Path:
        return self._directory / f"{file_name(run)}{_SUFFIX}"
