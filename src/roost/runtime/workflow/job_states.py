"""The job state log of a run (``JOBSTATE_LOG file``), which Pegasus and similar tools follow: one line for each event
of a node, append-only.

A line is ``time node event id tag - number``: the id is that of the job, or its exit status in JOB_SUCCESS and
JOB_FAILURE; the tag is the value of ``+pegasus_site`` in the job's description, or of the attribute that
``+job_tag_name`` names; the number is a new one for each try of a node, and continues where an earlier run of the same
file ended. Events of jobs, and their times, come from the nodes' event log. A run that continues after it was killed
reads its file, and writes only the missing lines.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from roost.dag import ScriptPoint
from roost.dag.states import JOB_REMOVED, Progress
from roost.runtime.clock import SYSTEM, Clock
from roost.schedd.event_log import log

_log = logging.getLogger("roost.dag")

_LINE: Final = re.compile(r"(\d+) (\S+) (\S+) (\S+) (\S+) - (\d+)\n?")
_STARTED: Final = re.compile(r"\d+ INTERNAL \*\*\* (DAGMAN|RECOVERY)_STARTED ")
_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
#: Events whose word differs from the type of their ad.
_WORDS: Final[Mapping[int, str]] = {log.ImageSize.NUMBER: "IMAGE_SIZE", log.JobReleased.NUMBER: "JOB_RELEASED"}


class _Told(NamedTuple):
    """The fields that identify a line."""

    at: int
    node: str
    word: str
    id: str


class JobStates:
    """One such log; none at all where its path is "".

    `nodes` and `clusters` are the run's: the progress of each node, by name and by cluster. `tag_of` reads the tag of a
    node's description.
    """

    def __init__(
        self,
        path: str,
        nodes: Mapping[str, Progress],
        clusters: Mapping[int, Progress],
        tag_of: Callable[[str], str],
        clock: Clock = SYSTEM,
    ) -> None:
        self._clock = clock
        self._path = Path(path) if path else None
        self._nodes = nodes
        self._clusters = clusters
        self._tag_of = tag_of
        #: Node to tag, and clusters and tries of nodes to their numbers.
        self._tags: dict[str, str] = {}
        self._of_cluster: dict[int, int] = {}
        self._of_try: dict[tuple[str, int], int] = {}
        self._next = 1
        #: Lines of the continued run, each with its number.
        self._known: dict[_Told, int] = {}
        #: Events of jobs that were read before the run knew their clusters.
        self._waiting: list[log.LoggedEvent] = []

    # -- the run itself ----------------------------------------------------------------------------------

    def began(self, job: str, *, recovering: bool) -> None:
        """Log that the run begins or continues."""
        if self._path is None:
            return
        self._read(recovering)
        self._write(f"INTERNAL *** DAGMAN_STARTED {job} ***")
        if recovering:
            self._write("INTERNAL *** RECOVERY_STARTED ***")

    def recovered(self) -> None:
        """Note that all earlier events have been read."""
        self._write("INTERNAL *** RECOVERY_FINISHED ***")
        self._known = {}

    def finished(self, status: int) -> None:
        """Log that the run is over."""
        self._write(f"INTERNAL *** DAGMAN_FINISHED {status} ***")

    def _read(self, recovering: bool) -> None:
        for line in self._lines():
            if _STARTED.match(line) and "DAGMAN" in line and not recovering:
                self._known = {}
            found = _LINE.fullmatch(line)
            if found is None:
                continue
            at, node, word, id_, tag, number = found.groups()
            self._next = max(self._next, int(number) + 1)
            if tag != "-":
                self._tags[node] = tag
            if recovering:
                self._known[_Told(int(at), node, word, id_)] = int(number)

    def _lines(self) -> Iterator[str]:
        assert self._path is not None
        try:
            with self._path.open(encoding="utf-8", errors="replace") as file:
                yield from file
        except FileNotFoundError:
            return
        except OSError as error:
            _log.error("%s cannot be read: %s", self._path, error.strerror)

    # -- scripts and submissions -------------------------------------------------------------------------

    def script_began(self, node: str, point: ScriptPoint) -> None:
        """Log that a script begins."""
        if point is not ScriptPoint.HOLD:
            self._of_node(
                node, f"{point.name}_SCRIPT_STARTED", self._job_of(node) if point is ScriptPoint.POST else "-"
            )

    def pre_ended(self, node: str, *, good: bool) -> None:
        """Log the end of a PRE script; POST scripts are in the nodes' event log."""
        self._of_node(node, f"PRE_SCRIPT_{'SUCCESS' if good else 'FAILURE'}", "-")

    def submitted(self, node: str, cluster: int, tag: str) -> None:
        """Log that the queue has accepted a node's jobs."""
        if self._path is not None:
            self._tags[node] = tag or "-"
            self._of_cluster[cluster] = self._number(node)

    def refused(self, node: str) -> None:
        """Log that the queue has refused them."""
        self._of_node(node, "SUBMIT_FAILURE", "-")

    def _job_of(self, node: str) -> str:
        progress = self._nodes[node]
        return "-" if progress.cluster is None else f"{progress.cluster}.{max(0, progress.last_proc)}"

    def _of_node(self, node: str, word: str, id_: str) -> None:
        if self._path is not None:
            self._tell(_Told(int(self._clock.now()), node, word, id_), self._number(node))

    def _number(self, node: str) -> int:
        """The number of a node's current try."""
        key = node, self._nodes[node].retry
        if key not in self._of_try:
            self._of_try[key] = self._next
            self._next += 1
        return self._of_try[key]

    # -- jobs --------------------------------------------------------------------------------------------

    def heard(self, logged: log.LoggedEvent) -> None:
        """Handle an event of the nodes' event log."""
        if self._path is not None and logged.event is not None:
            self._waiting.append(logged)

    def catch_up(self) -> None:
        """Write pending events; the run knows its jobs now."""
        waiting, self._waiting = self._waiting, []
        for logged in waiting:
            for told, cluster in self._lines_of(logged):
                self._tell(told, self._number_of(told, cluster))

    def _lines_of(self, logged: log.LoggedEvent) -> Iterator[tuple[_Told, int]]:
        event, at, cluster = logged.event, int(logged.time), logged.cluster
        assert event is not None
        progress = self._clusters.get(cluster)
        named = event.node_name if isinstance(event, log.PostScriptTerminated) else ""
        node = named or (progress.node.name if progress is not None else "")
        if node not in self._nodes:
            return
        id_ = f"{cluster}.{logged.proc}" if cluster >= 0 else "-"
        yield _Told(at, node, _word(event), id_), cluster
        match event:
            case log.JobTerminated(exit=exit_):
                status = -exit_.signal if exit_.signal else exit_.code or 0
                yield _Told(at, node, "JOB_FAILURE" if status else "JOB_SUCCESS", str(status)), cluster
            case log.JobAborted():
                yield _Told(at, node, "JOB_FAILURE", str(JOB_REMOVED)), cluster
            case log.PostScriptTerminated(exit=exit_):
                word = "SUCCESS" if exit_.code == 0 and not exit_.signal else "FAILURE"
                yield _Told(at, node, f"POST_SCRIPT_{word}", id_), cluster

    def _number_of(self, told: _Told, cluster: int) -> int:
        if told in self._known:
            found = self._of_cluster[cluster] = self._known[told]
            progress = self._nodes[told.node]
            if progress.cluster == cluster:
                self._of_try[told.node, progress.retry] = found
            return found
        if cluster not in self._of_cluster:
            self._of_cluster[cluster] = self._number(told.node)
        return self._of_cluster[cluster]

    # -- the file ----------------------------------------------------------------------------------------

    def _tell(self, told: _Told, number: int) -> None:
        if told not in self._known:
            if told.node not in self._tags:
                self._tags[told.node] = self._tag_of(told.node) or "-"
            self._write(f"{told.node} {told.word} {told.id} {self._tags[told.node]} - {number}", told.at)

    def _write(self, text: str, at: int | None = None) -> None:
        if self._path is None:
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{int(self._clock.now()) if at is None else at} {text}\n")
        except OSError as error:
            _log.error("%s is not written: %s", self._path, error.strerror)


def _word(event: log.JobEvent) -> str:
    return _WORDS.get(event.NUMBER) or _WORD.sub("_", event.NAME.removesuffix("Event")).upper()
