"""What a machine keeps on a disk that fails (EIO), writes once it can, and never dies of."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, cast

import pytest

from roost.runtime.node import run_reports
from roost.runtime.node.run_reports import Reports
from roost.runtime.node.runner import Runner
from roost.runtime.processes.run_records import read_record

RUN = "1.0#1@q"


class Disk:
    """A disk that fails while it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fails = False
        for where, name in ((Path, "unlink"), (run_reports.os, "open")):
            monkeypatch.setattr(where, name, self._failing(getattr(where, name)))

    def _failing(self, work: Any) -> Any:
        def tried(path: Any, *words: Any, **options: Any) -> Any:
            if self.fails:
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
            return work(path, *words, **options)

        return tried


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_a_record_that_cannot_be_removed_keeps_no_machine_from_starting(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """The daemon ended and started again until the disk took the removal."""
    stray = tmp_path / "stray.run"
    stray.write_text("{}\n")
    disk.fails = True
    assert Reports(tmp_path).load() == {}
    assert f"{stray} does not belong to a run, and cannot be removed: Input/output error" in caplog.text
    disk.fails = False
    assert Reports(tmp_path).load() == {} and not stray.exists()


def test_a_run_whose_ticket_could_not_be_written_has_it_before_its_program_starts(tmp_path: Path, disk: Disk) -> None:
    """Without it a later daemon could not tell its queue how the run ended."""
    reports = Reports(tmp_path)
    disk.fails = True
    reports.begin(RUN, schedd="q", claim_id="c", slot="slot1")
    reports.begins_program(RUN, {"run": RUN, "slot": {}})
    assert "Input/output error" in reports.problem(RUN)
    disk.fails = False
    reports.begins_program(RUN, {"run": RUN, "slot": {}})
    assert reports.problem(RUN) == ""
    reports.begins_program(RUN, {"run": RUN, "slot": {"later": True}})
    found = read_record(reports.record(RUN))
    assert found.ticket == {"run": RUN, "schedd": "q", "claim_id": "c", "slot": "slot1"}
    assert reports.record(RUN).read_text().count("ticket") == 1 and found.slot["slot"] == {"later": True}


def test_the_end_of_a_run_whose_list_of_input_cannot_be_removed_is_an_end(tmp_path: Path, disk: Disk) -> None:
    """The daemon died of it in the middle of a step, at each job whose files had been moved."""
    done: list[bool] = []

    class Half:
        moved = True
        tasks = None
        around = type("Around", (), {"done": staticmethod(lambda: done.append(True))})
        _baseline_path = tmp_path / "1.0_1_q.baseline"

        def forget(self) -> None:
            pass

    disk.fails = True
    Runner.done(cast(Runner, Half()))
    assert done == [True]
