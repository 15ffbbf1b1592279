"""The streams of a program to which a user is connected, on the daemon's side: reading its output and writing its
input.

The program's shepherd (`roost.runtime.processes.shepherd.relay`) copies them between a directory of the machine and the
program's pipes or terminal. Output can be read from any byte on repeatedly, until the reader asks for a later position:
that confirms the bytes before it, and their segments are removed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from pathlib import Path
from typing import Final

from roost.runtime.processes.shepherd.relay import DATA, END, FRAME, FRAME_BYTES_MAX, SEGMENT_BYTES, WINDOW

#: Maximum number of bytes of one answer, for each stream.
PIECE_BYTES_MAX: Final = 256 * 1024
#: How long an answer may wait for output, and the interval of checks, s: longer while the program prints nothing.
WAIT_S: Final = 2.0
LOOK_S: Final = 0.005
LOOK_S_MAX: Final = 0.1
#: How long input waits for space before its sender is answered, and the interval of checks, s.
ROOM_S: Final = 0.5
_ROOM_LOOK_S: Final = 0.002
#: Maximum number of rows and columns of a terminal.
SIDE_MAX: Final = 65535
_DATA_BYTES_MAX: Final = FRAME_BYTES_MAX - FRAME.size
_STREAMS: Final = ("out", "err")


class LiveStreams:
    """The streams of one program."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        #: Set when there may be something to read.
        self._stirred = asyncio.Event()

    def make(self) -> None:
        """Create the directory again. Raises OSError."""
        self.remove()
        self.directory.mkdir(mode=0o700, parents=True)
        os.mkfifo(self.directory / "in", 0o600)

    def remove(self) -> None:
        """Remove everything stored of them."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def stir(self) -> None:
        """Check at once: the program has ended, or has read input to which it may respond."""
        self._stirred.set()

    # -- what it printed -----------------------------------------------------------------------------

    async def printed(self, out: int, err: int, ended: asyncio.Event) -> tuple[bytes, bytes] | None:
        """Its output from there on, as soon as there is some; None if it has ended, and there is no more.

        Both are empty if there is nothing for `WAIT_S`.
        """
        loop = asyncio.get_running_loop()
        pause_s, until = LOOK_S, loop.time() + WAIT_S
        for name, at in zip(_STREAMS, (out, err), strict=True):
            self._remove_read(name, at)
        while True:
            # Checked before the files are read: they contain its last output.
            was_over = ended.is_set()
            self._stirred.clear()
            pieces = self._piece("out", out), self._piece("err", err)
            if any(pieces):
                return pieces
            if was_over:
                return None
            if loop.time() >= until:
                return pieces
            try:
                async with asyncio.timeout(pause_s):
                    await self._stirred.wait()
                pause_s = LOOK_S
            except TimeoutError:
                pause_s = min(LOOK_S_MAX, 1.5 * pause_s)

    def _piece(self, name: str, at: int) -> bytes:
        number, place = divmod(at, SEGMENT_BYTES)
        try:
            with (self.directory / f"{name}.{number}").open("rb", buffering=0) as segment:
                segment.seek(place)
                return segment.read(PIECE_BYTES_MAX)
        except OSError:
            # It does not exist yet.
            return b""

    def _remove_read(self, name: str, at: int) -> None:
        number = at // SEGMENT_BYTES - 1
        while number >= 0:
            try:
                (self.directory / f"{name}.{number}").unlink()
            except OSError:
                return
            number -= 1

    # -- what it reads -------------------------------------------------------------------------------

    def give(self, offset: int, data: bytes, *, last: bool) -> tuple[int, bool]:
        """Give it input from a byte on, as far as there is space; `last`: there is no more.

        Returns from which byte on more is wanted, and whether the end was accepted. A program that is about to start,
        or has ended, accepts nothing.
        """
        frames = [
            (DATA, offset + at, data[at : at + _DATA_BYTES_MAX]) for at in range(0, len(data), _DATA_BYTES_MAX)
        ] + ([(END, offset + len(data), b"")] if last else [])
        return self._written(frames, offset)

    async def taken(self, offset: int, data: bytes, ended: asyncio.Event, *, last: bool) -> tuple[int, bool]:
        """The same, once there was space for all of it, or after `ROOM_S`."""
        loop, at = asyncio.get_running_loop(), offset
        until = loop.time() + ROOM_S
        while True:
            at, closed = self.give(at, data[at - offset :], last=last)
            is_all = at >= offset + len(data) and (closed or not last)
            if is_all or ended.is_set() or loop.time() >= until:
                return at, closed
            await asyncio.sleep(_ROOM_LOOK_S)

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of its terminal."""
        self._written([(WINDOW, (min(rows, SIDE_MAX) << 16) + min(columns, SIDE_MAX), b"")], 0)

    def _written(self, frames: list[tuple[bytes, int, bytes]], offset: int) -> tuple[int, bool]:
        closed = False
        # Without space, or without a shepherd that has the pipe open, the rest waits.
        with contextlib.suppress(OSError):
            pipe = os.open(self.directory / "in", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                for kind, place, data in frames:
                    os.write(pipe, FRAME.pack(kind, place, len(data)) + data)
                    offset, closed = (offset, kind == END) if kind != DATA else (place + len(data), False)
            finally:
                os.close(pipe)
                self.stir()
        return offset, closed
