"""A job's output from any byte on: requested from its machine while it runs, otherwise from the queue.

    reader = OutputReader(pool, "12.0", "out")
    data = reader.next()          # what is new since the last call
    if not data and reader.ended: ...

A job that starts over, and has lost its output, is read from the beginning; `reader.began_again` counts that.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Any, Final, TypeVar

from roost.runtime.bus.pool_client import PoolClient
from roost.schedd.status import ON_MACHINE, JobStatus
from roost.wire.plain import PlainAnswer
from roost.wire.requests import machine, queue
from roost.wire.requests.verb import PIECE_BYTES_MAX, FilePiece, Request, Stream

R = TypeVar("R")

#: The attributes of a job that are needed to read its output.
STANDING: Final = ("ClusterId", "ProcId", "JobStatus", "RemoteHost", "GlobalJobId", "HoldReason")
_OVER: Final = frozenset((JobStatus.COMPLETED, JobStatus.REMOVED))
#: Codes of refusals that mean that the file does not exist.
_NOTHING_THERE: Final = ("not-found", "bad-request")
#: Size of the first read when looking for the last lines, bytes.
_LAST_BYTES: Final = 16 * 1024


class OutputReader:
    """One stream of one job."""

    def __init__(self, pool: PoolClient, job: str, stream: Stream, row: dict[str, Any] | None = None) -> None:
        """`row`: the job's `STANDING`, if already known."""
        self._pool = pool
        self.job = job
        self.stream: Stream = stream
        #: The job's `STANDING` as of the last request; empty for one that has left the queue.
        self.row: dict[str, Any] = row if row is not None else self._standing()
        self.offset = 0
        self.path = ""
        #: Why there is nothing to read; "" if the file exists.
        self.missing = ""
        #: How often the file was shorter than what had been read.
        self.began_again = 0
        #: The job has ended, and all its output has been read.
        self.ended = False

    def next(self) -> bytes:
        """The output since the last call, at most 256 KiB of it. Raises `error_class` and `refused_class`."""
        is_over = self.is_over
        piece = self.piece(self.offset)
        if piece is None:
            self.ended = is_over
            self.row = self._standing()
            return b""
        if piece.size < self.offset:
            self.began_again += 1
            self.offset = 0
            return self.next()
        data = b64decode(piece.data)
        self.offset = piece.offset + len(data)
        if not data:
            self.ended = is_over
            self.row = self._standing()
        return data

    def skip_to_last(self, lines: int) -> None:
        """Skip to the beginning of the last lines."""
        back = _LAST_BYTES
        while True:
            piece = self.piece(-back)
            if piece is None:
                return
            data = b64decode(piece.data)
            # The final line ends with a newline, after which no other line begins.
            at = len(data)
            for _ in range(lines + 1 if data.endswith(b"\n") else lines):
                at = data.rfind(b"\n", 0, at)
                if at < 0:
                    break
            if at >= 0 or piece.offset == 0 or back >= PIECE_BYTES_MAX:
                self.offset = piece.offset + at + 1
                return
            back = min(4 * back, PIECE_BYTES_MAX)

    @property
    def is_over(self) -> bool:
        """Whether the job has left the queue, or is waiting to leave."""
        return not self.row or self.row.get("JobStatus") in _OVER

    def _standing(self) -> dict[str, Any]:
        rows = self._pool.ask(queue.Query(jobs=(self.job,), projection=STANDING))
        return rows[0] if rows else {}

    def piece(self, offset: int) -> FilePiece | None:
        """A piece of the file from a byte on; None if there is no file, with the reason in `missing`."""
        piece = None
        if self.row.get("JobStatus") in ON_MACHINE:
            host = str(self.row.get("RemoteHost") or "").rpartition("@")[2]
            request = machine.ReadFile(
                job=self.job, global_id=str(self.row.get("GlobalJobId") or ""), stream=self.stream, offset=offset
            )
            piece = self._asked(request, host) if host else None
            if piece is None:
                # It may have ended meanwhile, and its output may be in its final place.
                self.row = self._standing()
        if piece is None and self.row.get("JobStatus") not in ON_MACHINE:
            piece = self._asked(queue.ReadOutput(job=self.job, stream=self.stream, offset=offset))
        if piece is not None:
            self.path, self.missing = piece.path, ""
        return piece

    def _asked(self, request: Request[R], host: str = "") -> R | None:
        try:
            return self._pool.ask(request, machine=host)
        except self._pool.refused_class as refused:
            answer: PlainAnswer | None = getattr(refused, "answer", None)
            if answer is None or answer.code not in _NOTHING_THERE:
                raise
            self.missing = str(refused)
            return None
