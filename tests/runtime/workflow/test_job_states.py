"""The job state log of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.dag import ScriptPoint, read_dag
from roost.dag.run import Run, Settings
from roost.runtime.workflow.job_states import JobStates
from roost.schedd.event_log import log

AT = 1_795_256_430.0


class Told:
    """A run of two nodes, and its log."""

    def __init__(self, path: Path, tag: str = "") -> None:
        self.path = path
        files = {"x.dag": "JOB A a.sub\nJOB B b.sub\nPARENT A CHILD B\nRETRY A 1\n"}
        self.run = Run(read_dag(("x.dag",), files.get), Settings())
        self.states = JobStates(str(path), self.run.nodes, self.run.clusters, lambda node: tag)

    def submitted(self, node: str, cluster: int, tag: str = "") -> None:
        self.run.clusters[cluster] = self.run.nodes[node]
        self.run.nodes[node].cluster = cluster
        self.states.submitted(node, cluster, tag)

    def heard(self, cluster: int, *events: log.JobEvent) -> None:
        for each in events:
            self.states.heard(log.LoggedEvent(event=each, number=each.NUMBER, cluster=cluster, proc=0, time=AT))

    def lines(self) -> list[str]:
        """Lines without their times."""
        self.states.catch_up()
        return [line.split(" ", 1)[1] for line in self.path.read_text().splitlines()]


def ended(code: int) -> log.JobEvent:
    return log.JobTerminated(exit=log.ProgramExit(code=code, signal=None))


STARTED = (log.Submit(host="<h>"), log.Execute(host="<h>"))


def test_each_try_has_a_number_and_a_later_run_goes_on_counting(tmp_path: Path) -> None:
    path = tmp_path / "states"
    told = Told(path)
    told.states.began("7.0", recovering=False)
    told.states.script_began("A", ScriptPoint.PRE)
    told.states.pre_ended("A", good=True)
    told.submitted("A", 8, "local")
    told.heard(8, *STARTED, ended(3))
    told.lines()
    told.run.nodes["A"].retry = 1
    told.states.refused("A")
    told.states.finished(1)
    assert told.lines() == [
        "INTERNAL *** DAGMAN_STARTED 7.0 ***",
        "A PRE_SCRIPT_STARTED - - - 1",
        "A PRE_SCRIPT_SUCCESS - - - 1",
        "A SUBMIT 8.0 local - 1",
        "A EXECUTE 8.0 local - 1",
        "A JOB_TERMINATED 8.0 local - 1",
        "A JOB_FAILURE 3 local - 1",
        "A SUBMIT_FAILURE - local - 2",
        "INTERNAL *** DAGMAN_FINISHED 1 ***",
    ]
    again = Told(path)
    again.states.began("9.0", recovering=False)
    again.submitted("B", 10)
    again.heard(10, log.Submit(host="<h>"))
    assert again.lines()[-2:] == ["INTERNAL *** DAGMAN_STARTED 9.0 ***", "B SUBMIT 10.0 - - 3"]


def test_a_run_that_goes_on_writes_what_is_not_there_under_the_numbers_that_are(tmp_path: Path) -> None:
    path = tmp_path / "states"
    told = Told(path)
    told.states.began("7.0", recovering=False)
    told.submitted("A", 8)
    told.heard(8, *STARTED)
    before = told.lines()
    again = Told(path, tag="local")
    again.states.began("7.0", recovering=True)
    again.heard(8, *STARTED, ended(0))
    again.run.clusters[8] = again.run.nodes["A"]
    again.states.catch_up()
    again.states.recovered()
    assert again.lines() == [
        *before,
        "INTERNAL *** DAGMAN_STARTED 7.0 ***",
        "INTERNAL *** RECOVERY_STARTED ***",
        "A JOB_TERMINATED 8.0 local - 1",
        "A JOB_SUCCESS 0 local - 1",
        "INTERNAL *** RECOVERY_FINISHED ***",
    ]


def test_jobs_that_are_held_evicted_and_removed_have_dagmans_words(tmp_path: Path) -> None:
    told = Told(tmp_path / "states")
    told.submitted("A", 8)
    told.heard(8, log.JobEvicted(), log.ImageSize(image_size_kib=1), log.JobHeld(reason="x"), log.JobReleased(),
               log.JobAborted())  # fmt: skip
    words = [line.split()[1] for line in told.lines()]
    assert words == ["JOB_EVICTED", "IMAGE_SIZE", "JOB_HELD", "JOB_RELEASED", "JOB_ABORTED", "JOB_FAILURE"]


def test_without_a_path_nothing_is_written_and_one_that_cant_be_is_complained_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = Told(tmp_path / "none")
    told.states = JobStates("", told.run.nodes, told.run.clusters, lambda node: "")
    told.states.began("7.0", recovering=True)
    told.states.refused("A")
    told.states.finished(0)
    assert list(tmp_path.iterdir()) == []
    states = JobStates(str(tmp_path / "no" / "states"), told.run.nodes, told.run.clusters, lambda node: "")
    states.refused("A")
    assert "states is not written: No such file or directory" in caplog.text
