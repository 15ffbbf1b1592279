# ruff: noqa: SIM105
"""The streams of a job to which a user is connected, relayed by the job's shepherd.

The job has pipes or a terminal. Its output goes to files in a directory of the machine, split into *segments* of
`SEGMENT_BYTES`: ``out.0`` holds the first bytes, ``out.1`` the next. The daemon reads them, and removes a segment once
the user has all of it; while there are `SEGMENTS_MAX` segments the job blocks, as on any other pipe. Nothing is
therefore lost when the daemon is killed, and a job that prints for days needs little space.

The job's input comes in *frames* through the named pipe ``in`` of that directory: a kind, a position and a length
(`FRAME`), then the data. A frame is at most `FRAME_BYTES_MAX` long, which the kernel writes atomically.

``D``  input from this byte on; what the job already has is skipped, so a daemon that is not sure says it again
``E``  there is no more than so many bytes
``W``  the terminal has 65536 · rows + columns as its size
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FRAME = struct.Struct(">cQH")
#: Maximum length of a frame, including its header, bytes: PIPE_BUF of Linux.
FRAME_BYTES_MAX = 4096
DATA, END, WINDOW = b"D", b"E", b"W"
#: Size of a segment, bytes, and maximum number of segments of one stream.
SEGMENT_BYTES = 4 * 1024 * 1024
SEGMENTS_MAX = 4
#: Amount of unread input from which on no more is accepted, bytes.
_HELD_BYTES_MAX = 64 * 1024
_PIECE = 64 * 1024
#: F_SETPIPE_SZ of Linux, and the size of the pipe for frames, bytes: everything in one message.
_SET_PIPE_SIZE, _PIPE_BYTES = 1031, 256 * 1024
#: The end-of-input character of a terminal, and a byte after which it takes effect.
_EOF, _LINE = b"\x04", b"\n"
#: Maximum time that the relay sleeps while a stream waits for space, s.
_FULL_S = 0.05
_AWAKE = select.POLLIN | select.POLLHUP | select.POLLERR


class Relay:
    """The streams of one job. Raises OSError from `__init__`."""

    __slots__ = (
        "_directory", "_ended", "_frames", "_given", "_held", "_last", "_master", "_poll", "_sink", "_sources",
        "_terminal", "_torn", "ends",
    )  # fmt: skip

    def __init__(self, order: dict[str, Any], account: tuple[int, int, list[int]] | None) -> None:
        self._directory: bytes = order["directory"]
        self._frames = os.open(
            self._directory + b"/in", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NOCTTY
        )
        try:
            fcntl.fcntl(self._frames, _SET_PIPE_SIZE, _PIPE_BYTES)
        except OSError:
            # The kernel's default size is sufficient.
            pass
        #: An incomplete frame.
        self._torn = b""
        #: Input for which the job has no space yet, the number of bytes received, and the position of the end.
        self._held = b""
        self._given = 0
        self._last = _LINE
        self._ended = False
        #: File to stream.
        self._sources: dict[int, _Stream] = {}
        self._terminal = bool(order["terminal"])
        #: Ends of the streams for the job's process; closed by `begun`.
        self.ends: tuple[int, int, int] = (0, 0, 0)
        self._master = self._sink = -1
        if self._terminal:
            self._open_terminal(order["rows"], order["columns"], account)
        else:
            self._open_pipes(account, reads=order["input"])

    def _open_terminal(self, rows: int, columns: int, account: tuple[int, int, list[int]] | None) -> None:
        self._master, slave = os.openpty()
        self._resize(rows, columns)
        if account is not None:
            os.fchown(slave, account[0], -1)
            os.fchmod(slave, 0o620)
        self._sink = self._master
        self._sources[self._master] = _Stream(self._directory + b"/out")
        os.set_blocking(self._master, False)
        self.ends = slave, slave, slave

    def _open_pipes(self, account: tuple[int, int, list[int]] | None, *, reads: bool) -> None:
        source = 0
        ours = []
        if reads:
            source, self._sink = os.pipe()
            os.set_blocking(self._sink, False)
            ours.append(source)
        theirs = []
        for name in (b"/out", b"/err"):
            reader, writer = os.pipe()
            os.set_blocking(reader, False)
            self._sources[reader] = _Stream(self._directory + name)
            theirs.append(writer)
            ours.append(writer)
        if account is not None:
            # A job that opens /dev/stdout opens the pipe again.
            for each in ours:
                os.fchown(each, account[0], account[1])
        self.ends = source, theirs[0], theirs[1]

    def begun(self) -> None:
        """Note that the job's process has its ends of the streams, or never will."""
        for each in set(self.ends) - {0}:
            os.close(each)
        self.ends = 0, 0, 0

    def close(self) -> None:
        """Close everything."""
        self.begun()
        self._drop_sink()
        for file in list(self._sources):
            self._drop_source(file)
        os.close(self._frames)

    # -- while the job runs --------------------------------------------------------------------------

    def carry(self, process: int, timeout_s: float) -> None:
        """Relay available data, or wait for data, for the process (a pidfd) to end, or for the time to pass."""
        poll, full = select.poll(), False
        poll.register(process, select.POLLIN)
        if len(self._held) < _HELD_BYTES_MAX:
            poll.register(self._frames, select.POLLIN)
        for file, stream in self._sources.items():
            if stream.has_room():
                poll.register(file, select.POLLIN)
            else:
                full = True
        if self._held and self._sink >= 0:
            poll.register(self._sink, select.POLLOUT | (select.POLLIN if self._sink in self._sources else 0))
        for file, event in poll.poll((_FULL_S if full else timeout_s) * 1000):
            if file == self._frames:
                self._take()
            elif file in self._sources and event & _AWAKE:
                self._print(file)
            elif file == self._sink and event & select.POLLERR:
                # The job does not read any longer.
                self._drop_sink()
        self._give()

    def finish(self) -> None:
        """Relay the last output, after the job and everything it left has ended."""
        for file in list(self._sources):
            while file in self._sources and self._print(file):
                pass

    def _print(self, file: int) -> bool:
        """Relay output; return whether there was any."""
        try:
            data = os.read(file, _PIECE)
        except BlockingIOError:
            return False
        except OSError:
            # A terminal that no process has open any longer.
            data = b""
        if not data:
            self._drop_source(file)
            return False
        self._sources[file].append(data)
        return True

    def _take(self) -> None:
        """Read frames."""
        try:
            data = self._torn + os.read(self._frames, _PIECE)
        except BlockingIOError:
            return
        at = 0
        while len(data) - at >= FRAME.size:
            kind, place, length = FRAME.unpack_from(data, at)
            if len(data) - at - FRAME.size < length:
                break
            at += FRAME.size
            self._frame(kind, place, data[at : at + length])
            at += length
        self._torn = data[at:]

    def _frame(self, kind: bytes, place: int, data: bytes) -> None:
        if kind == WINDOW:
            if self._terminal:
                self._resize(place >> 16, place & 0xFFFF)
        elif kind == END:
            if place == self._given and not self._ended:
                self._ended = True
                if self._terminal:
                    self._held += _EOF if self._last == _LINE else _EOF + _EOF
        elif place <= self._given and not self._ended:
            new = data[self._given - place :]
            if new and self._sink >= 0:
                self._held += new
            self._given += len(new)
            self._last = new[-1:] or self._last

    def _give(self) -> None:
        """Give the job as much input as it has space for."""
        while self._held and self._sink >= 0:
            try:
                self._held = self._held[os.write(self._sink, self._held) :]
            except BlockingIOError:
                return
            except OSError:
                self._drop_sink()
        if self._ended and not self._terminal:
            self._drop_sink()

    def _drop_sink(self) -> None:
        self._held = b""
        if self._sink >= 0 and self._sink not in self._sources:
            os.close(self._sink)
        self._sink = -1

    def _drop_source(self, file: int) -> None:
        self._sources.pop(file).close()
        if file == self._sink:
            self._sink, self._held = -1, b""
        os.close(file)

    def _resize(self, rows: int, columns: int) -> None:
        try:
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        except OSError:
            pass


class _Stream:
    """The output of the job on one stream, in segments."""

    __slots__ = ("_file", "_name", "_number", "_room")

    def __init__(self, name: bytes) -> None:
        self._name = name
        self._number = -1
        self._file = -1
        #: Bytes that still fit into the current segment.
        self._room = 0

    def has_room(self) -> bool:
        """Whether the daemon has removed enough output."""
        oldest = self._number - SEGMENTS_MAX + 1
        if self._room or oldest < 0:
            return True
        try:
            os.stat(self._path(oldest))  # noqa: PTH116
        except OSError:
            return True
        return False

    def append(self, data: bytes) -> None:
        """Store output. If that is impossible it is lost: the user is gone, or the disk is full."""
        while data:
            if not self._room:
                self._next()
            piece, data = data[: self._room], data[self._room :]
            try:
                written = os.write(self._file, piece) if self._file >= 0 else len(piece)
            except OSError:
                self.close()
                return
            self._room -= written
            data = piece[written:] + data

    def _next(self) -> None:
        self.close()
        self._number += 1
        self._room = SEGMENT_BYTES
        try:
            self._file = os.open(
                self._path(self._number), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        except OSError:
            pass

    def _path(self, number: int) -> bytes:
        return self._name + b".%d" % number

    def close(self) -> None:
        """Close its file."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
