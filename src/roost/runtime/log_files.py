"""Users' event logs on disk: pieces appended in order, each whole.

A piece that was committed before a crash may or may not be in its file. Written again, it is looked for in the end of
the file first.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from roost.runtime.store import LogPiece

_log = logging.getLogger("roost.schedd")

#: How far back a piece is looked for, bytes.
LOOK_BACK_BYTES: Final = 256 * 1024


class LogFiles:
    """The files that event logs are."""

    def append(self, pieces: Iterable[LogPiece], *, again: bool = False) -> list[int]:
        """Write pieces; the ids of those that need not be kept any more.

        A log that can't be written is told in the daemon's log and given up: jobs do not wait for it.
        """
        done = []
        texts: dict[str, list[LogPiece]] = {}
        for piece in pieces:
            texts.setdefault(piece.path, []).append(piece)
        for path, parts in texts.items():
            try:
                self._write(path, parts, again)
            except OSError as error:
                _log.error("the event log %s can't be written: %s", path, error.strerror)
            done += [piece.id for piece in parts]
        return done

    def _write(self, path: str, parts: list[LogPiece], again: bool) -> None:
        tail = _tail(path) if again else b""
        data = b"".join(
            part.text.encode("utf-8", "surrogateescape") for part in parts if part.text.encode() not in tail
        )
        if not data:
            return
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Nothing is held open."""


def _tail(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - LOOK_BACK_BYTES))
            return file.read()
    except FileNotFoundError:
        return b""
