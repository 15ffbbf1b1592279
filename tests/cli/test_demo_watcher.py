"""What the demonstration shows is what the pool wrote, in order, and nothing of it is missed."""

from __future__ import annotations

import json
import time
from pathlib import Path

import demo.__main__ as play
import pytest

from roost.explain.happenings import Happening

END = "005 (00{}.000.000) 2020-01-01 00:00:0{} Job terminated.\n\t(1) Normal termination (return value 0)\n...\n"


@pytest.fixture
def watcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> play.Watcher:
    """A watcher of an empty stage, with little patience."""
    monkeypatch.setattr(play, "PATIENCE_S", 1.0)
    (tmp_path / "log").mkdir()
    return play.Watcher(tmp_path, tmp_path)


def test_events_that_come_together_are_all_seen(tmp_path: Path, watcher: play.Watcher) -> None:
    (tmp_path / "hello.log").write_text(END.format(1, 0) + END.format(2, 1))
    watcher.until("job 1.0", "finished")
    watcher.until("job 2.0", "finished")


def test_what_does_not_happen_ends_the_play(watcher: play.Watcher) -> None:
    with pytest.raises(TimeoutError, match="nothing has happened"):
        watcher.until("job 1.0", "finished")


def test_causes_are_shown_before_what_they_cause(
    tmp_path: Path, watcher: play.Watcher, capsys: pytest.CaptureFixture[str]
) -> None:
    midnight = time.mktime((2020, 1, 1, 0, 0, 0, 0, 0, -1))
    clause = {"clause": "KeyboardIdle < 3", "value": "TRUE", "because": ["KeyboardIdle is 0"]}
    record = {"at": midnight + 0.9, "slot": "slot1", "from": "Claimed/Busy", "to": "Claimed/Suspended", "number": "14",
              "reason": "SUSPEND true", "value": "TRUE", "expression": "SUSPEND", "why": [clause]}  # fmt: skip
    (tmp_path / "log" / "transitions.jsonl").write_text(json.dumps(record) + '\n{"at": 15778')
    (tmp_path / "count.log").write_text(END.format(2, 0))
    watcher.show(Happening(midnight, "the owner", "types", kind="owner"))
    watcher.until("job 2.0", "finished")
    shown = [line.split("  ")[1] for line in capsys.readouterr().out.splitlines() if line[:1].isdigit()]
    assert [each.strip() for each in shown] == ["the owner", "slot1", "job 2.0"]
