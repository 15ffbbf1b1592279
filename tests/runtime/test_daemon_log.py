"""The log of a daemon."""

from __future__ import annotations

import logging
from pathlib import Path

from roost.runtime.daemon_log import LOGS_KEPT, DaemonLog


def _record(text: str) -> logging.LogRecord:
    record = logging.LogRecord("roost.node", logging.INFO, "", 0, text, (), None)
    record.created, record.msecs = 1_700_000_000.25, 250
    return record


def test_a_line_has_its_time_in_utc(tmp_path: Path) -> None:
    log = DaemonLog(tmp_path / "node.log")
    log.emit(_record("slot1: \ud800 is odd"))
    log.close()
    assert (tmp_path / "node.log").read_text() == "2023-11-14T22:13:20.250Z INFO roost.node: slot1: \\ud800 is odd\n"


def test_what_others_say_is_no_line_of_the_log_and_no_order_to_a_terminal(tmp_path: Path) -> None:
    log = DaemonLog(tmp_path / "node.log")
    log.emit(_record("it said: a\tb\r\x1b[2J\n2026-11-22T00:00:00.000Z INFO roost.node: all is well\n  so there"))
    log.close()
    head, *more = (tmp_path / "node.log").read_text().splitlines()
    assert head.endswith("it said: a\tb\\r\\x1b[2J")
    assert more == ["    2026-11-22T00:00:00.000Z INFO roost.node: all is well", "  so there"]


def test_a_log_goes_on_and_is_turned_over_before_it_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "node.log"
    for _ in range(2):
        log = DaemonLog(path, bytes_max=500)
        for number in range(20):
            log.emit(_record(f"line {number}"))
        log.close()
    files = sorted(tmp_path.iterdir())
    assert [each.name for each in files] == ["node.log", *(f"node.log.{number + 1}" for number in range(LOGS_KEPT))]
    assert all(each.stat().st_size <= 500 for each in files)
    assert path.read_text().endswith("line 19\n")


def test_a_log_that_was_removed_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    log = DaemonLog(tmp_path / "log" / "node.log")
    written = logging.makeLogRecord({"msg": "first", "created": 1.0})
    log.emit(written)
    (tmp_path / "log" / "node.log").unlink()
    (tmp_path / "log").rmdir()
    log.emit(logging.makeLogRecord({"msg": "nowhere", "created": 2.0}))
    (tmp_path / "log").mkdir()
    log.emit(logging.makeLogRecord({"msg": "again", "created": 3.0}))
    log.close()
    assert (tmp_path / "log" / "node.log").read_text().endswith(": again\n")
