"""The process of a run before a queue that does not always answer."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from roost.dag import orders as o
from roost.dag import read_dag
from roost.dag.run import Settings
from roost.runtime.clock import Clock
from roost.runtime.workflow.description import SubmitOptions
from roost.runtime.workflow.files import RunFiles, read_text
from roost.runtime.workflow.process import Process, QueueAway
from roost.runtime.workflow.signals import Signals
from roost.runtime.workflow.submitting import Submitter
from roost.schedd.event_log import log
from roost.schedd.submit import Submission

#: A description within a DAG file needs no queue statement.
DAG = "JOB A {\nexecutable = /bin/true\nqueue\n}\nJOB B {\nexecutable = /bin/true\n}\nPARENT A CHILD B\n"


class Deaf(Signals):
    """Those of somebody else's process."""

    def listen(self) -> None:
        """Leave them be."""


class At(Clock):
    """A time that the test sets."""

    at = 0.0

    def now(self) -> float:
        """The time."""
        return self.at


class Queue:
    """A queue whose jobs end at once; some of its answers are lost."""

    def __init__(self, path: Path, *, lost: dict[str, bool], stays: bool = False) -> None:
        self._path = path
        #: Node to whether what is asked the first time is done before the answer is lost.
        self._lost = lost
        #: Whether jobs are in the queue still when it is asked again.
        self._stays = stays
        #: Nodes in the order in which their jobs were made; the first cluster is 1.
        self.made: list[str] = []

    def submit(self, submission: Submission) -> tuple[int, int]:
        """Make a node's job, which ends."""
        node = str(next(iter(submission.clusters[0].ads())).eval("DAGNodeName"))
        done = self._lost.pop(node, None)
        if done is not False:
            self.made.append(node)
            ended = log.JobTerminated(exit=log.ProgramExit(code=0))
            with self._path.open("a") as file:
                for event in (log.Submit(host="<h>", log_notes=f"DAG Node: {node}"), log.Execute(host="<h>"), ended):
                    file.write(log.format_event(event, len(self.made), 0, 0.0))
        if done is not None:
            raise QueueAway("no answer")
        return len(self.made), 1

    def remove(self, cluster: int, reason: str) -> None:
        """Nothing is removed here."""

    def tell(self, cluster: int, attributes: dict[str, Any]) -> None:
        """Nobody looks."""

    def clusters_of(self, run_cluster: int) -> dict[int, tuple[str, int]]:
        """The jobs that are there."""
        return {at: (node, 1) for at, node in enumerate(self.made, 1)} if self._stays else {}


def _process(files: RunFiles, queue: Queue, **further: Any) -> Process:
    return Process(
        files=files,
        dag=read_dag(["x.dag"], read_text),
        settings=Settings(),
        queue=queue,
        submitter=Submitter(
            cluster=99, nodes_log=files.nodes_log, owner="ann", uid_domain="here", config=None, options=SubmitOptions()
        ),
        version="1",
        **further,
    )


@pytest.mark.parametrize(
    ("knobs", "made"),
    [
        # At once; by the number between two looks; by the time between two submissions.
        ({}, [4, 4, 4]),
        ({"submits_max": 3}, [3, 4, 4]),
        ({"submit_delay_s": 5.0}, [1, 1, 2]),
    ],
)
def test_submissions_keep_to_their_number_and_distance(
    knobs: dict[str, Any], made: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.dag").write_text("".join(f"JOB {name} {{\nexecutable = /bin/true\n}}\n" for name in "ABCD"))
    files, clock = RunFiles(primary="x.dag"), At()
    queue = Queue(files.nodes_log, lost={})
    process = _process(files, queue, clock=clock, **knobs)
    process.signals.close()
    found = []
    with closing(Deaf()) as process.signals:
        process.begin(recovering=False)
        for seconds in (100, 102, 105):
            clock.at = seconds
            process.look()
            found.append(len(queue.made))
    assert found == made


@pytest.mark.parametrize("stays", [True, False])
@pytest.mark.parametrize("lost", [{}, {"A": True}, {"A": False}, {"B": True}, {"A": True, "B": False}])
def test_a_node_whose_submission_was_not_answered_is_submitted_once(
    lost: dict[str, bool], stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.dag").write_text(DAG)
    files = RunFiles(primary="x.dag")
    queue = Queue(files.nodes_log, lost=dict(lost), stays=stays)
    process = _process(files, queue)
    process.signals.close()
    with closing(Deaf()) as process.signals:
        assert process.work(recovering=False) == 0
    assert queue.made == ["A", "B"]


def test_a_run_that_goes_on_waits_for_jobs_that_its_log_was_not_told_of_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.dag").write_text("JOB A a.sub\n")
    files = RunFiles(primary="x.dag")
    queue = Queue(files.nodes_log, lost={}, stays=True)
    queue.made.append("A")
    submitted = log.Submit(host="<h>", log_notes="DAG Node: A")
    files.nodes_log.write_text("".join(log.format_event(submitted, 1, proc, 0.0) for proc in range(2)))
    queue.clusters_of = lambda run_cluster: {1: ("A", 5)}  # type: ignore[method-assign]
    process = _process(files, queue)
    assert [(each.cluster, each.jobs) for each in process._past() if isinstance(each, o.NodeSubmitted)] == [(1, 5)]
    process.signals.close()
