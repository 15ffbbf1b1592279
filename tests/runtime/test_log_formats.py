"""Logs as lines of JSON and in systemd's journal: the same messages, with their ids as fields."""

from __future__ import annotations

import json
import logging
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.config import MemoryHost, load_text
from roost.runtime import log_formats, log_settings
from roost.runtime.home import Home
from roost.runtime.log_formats import JournalLog, ids_of
from roost.runtime.log_settings import BadLog, hand_over, log_as


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    home.log.mkdir()
    root, names = logging.getLogger(), ("roost.starter", "roost.hooks")
    before, level = root.handlers[:], root.level
    yield home
    for name in names:
        hand_over(logging.getLogger(name), None)
        logging.getLogger(name).propagate = True
        logging.getLogger(name).setLevel(logging.NOTSET)
    for handler in [each for each in root.handlers if each not in before]:
        handler.close()
    root.handlers[:] = before
    root.setLevel(level)


def _log_as(text: str, home: Home) -> None:
    settings = log_settings.log_settings(load_text(text, MemoryHost()), home, "node")
    log_as(settings, home, "node")


@pytest.mark.parametrize(
    ("message", "ids"),
    [
        (
            "slot1@vm: Claimed/Idle -> Claimed/Busy (11: activation) [3b5478b7]",
            {"submission": "3b5478b7", "slot": "slot1@vm"},
        ),
        (
            "job 1.2: run 1.2#1@vm ended: evict [3b5478b7, by 77d0e5b2]",
            {"submission": "3b5478b7", "request": "77d0e5b2", "job": "1.2"},
        ),
        ("request 3f2a9c01 of ann: hold", {"request": "3f2a9c01"}),
        ("nothing [of the kind]", {}),
    ],
)
def test_a_message_is_tied_by_the_ids_that_it_names(message: str, ids: dict[str, str]) -> None:
    assert ids_of(message) == ids


def test_each_line_is_a_json_object_whatever_the_message(home: Home) -> None:
    _log_as("LOG_FORMAT = json\n", home)
    logging.getLogger("roost.node").info("job 7.0 says %r [3b5478b7]", "a\x7f\x1b[1m\nb")
    logging.getLogger("roost.starter").warning("two\nlines \x7f\u2028 \ud800")
    try:
        raise ValueError("bad")
    except ValueError:
        logging.getLogger("roost.node").critical("internal error", exc_info=sys.exc_info())
    lines = (home.log / "node.log").read_text("ascii").splitlines()
    first, second, third = map(json.loads, lines)
    assert first["at"].endswith("Z")
    assert (first["level"], first["daemon"], first["logger"]) == ("INFO", "node", "roost.node")
    assert (first["job"], first["submission"]) == ("7.0", "3b5478b7")
    assert second["message"] == "two\nlines \x7f\u2028 \ud800"
    assert "ValueError: bad" in third["exception"]
    assert all(line.isprintable() for line in lines)


def test_the_journal_gets_fields(tmp_path: Path) -> None:
    place = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(str(place))
        log = JournalLog("schedd", place)
        log.emit(logging.LogRecord("roost.schedd", logging.WARNING, "", 0, "job 1.2: late [3b5478b7]", (), None))
        assert journal.recv(65536) == (
            b"MESSAGE=job 1.2: late [3b5478b7]\nPRIORITY=4\nSYSLOG_IDENTIFIER=roost-schedd\nROOST_LOGGER=roost.schedd\n"
            b"ROOST_SUBMISSION=3b5478b7\nROOST_JOB=1.2\n"
        )
        # A message cannot add fields of its own.
        log.emit(logging.LogRecord("roost.schedd", logging.INFO, "", 0, "a\nPRIORITY=0", (), None))
        assert journal.recv(65536).startswith(b"MESSAGE\n" + struct.pack("<Q", 12) + b"a\nPRIORITY=0\nPRIORITY=6\n")
        log.close()


def test_a_machine_without_a_journal_is_told(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_formats.JournalLog.__init__, "__defaults__", (home.path / "none",))
    with pytest.raises(BadLog, match="LOG_FORMAT: cannot reach the journal"):
        _log_as("LOG_FORMAT = journal\n", home)


def test_one_daemon_may_log_otherwise(home: Home) -> None:
    _log_as("LOG_FORMAT = json\nSTARTD.LOG_FORMAT = text\n", home)
    logging.getLogger("roost.node").info("plain")
    assert (home.log / "node.log").read_text().endswith("Z INFO roost.node: plain\n")
