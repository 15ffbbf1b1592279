"""Pieces of event logs that are written again after a daemon was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.runtime.files.file_workers import FileWorkers
from roost.runtime.identity import user_name
from roost.runtime.queue.database.kept import LogPiece
from roost.runtime.queue.log_files import LOOK_BACK_BYTES, LogFiles


def _piece(number: int, events: int) -> str:
    return "".join(
        f"012 ({number:03}.{proc:03}.000) 2026-01-01 00:00:00 Job was held.\n...\n" for proc in range(events)
    )


@pytest.mark.parametrize("kept", [0, 1, 20, 40, 100, 500_000, None])
def test_a_piece_is_in_its_log_once_wherever_its_writer_was_killed(tmp_path: Path, kept: int | None) -> None:
    path = tmp_path / "log"
    pieces = [_piece(number, 10_000) for number in (1, 2, 3)]
    assert len(pieces[0]) > 2 * LOOK_BACK_BYTES > 500_000
    path.write_text("earlier\n" + pieces[0] + pieces[1][:kept])
    waiting = [LogPiece(id=n, path=str(path), owner=user_name(), text=text) for n, text in enumerate(pieces)]
    written = LogFiles(FileWorkers()).append(waiting, again=True)
    assert (written.done, written.refused) == ([0, 1, 2], [])
    assert path.read_text() == "earlier\n" + "".join(pieces)
