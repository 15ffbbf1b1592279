"""The event log of all nodes' jobs, as events of a run. The queue writes it; the run writes the events of POST
scripts.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from roost.dag import ScriptPoint
from roost.dag import orders as o
from roost.runtime.clock import SYSTEM, Clock
from roost.schedd.event_log import log

_log = logging.getLogger("roost.dag")

_NODE: Final = re.compile(r"DAG Node: (\S+)")
#: How much of the log is read at once, bytes.
_PIECE: Final = 1 << 20


class NodesLog:
    """One log, read as it grows."""

    def __init__(
        self, path: Path, heard: Callable[[log.LoggedEvent], None] = lambda logged: None, clock: Clock = SYSTEM
    ) -> None:
        self._path = path
        self._clock = clock
        #: Called with every event that is read.
        self._heard = heard
        self._reader = log.LogReader()
        self._at = 0

    def begin_anew(self) -> None:
        """Remove an earlier run's log. Raises OSError."""
        self._path.unlink(missing_ok=True)
        self._path.touch()
        self._at, self._reader = 0, log.LogReader()

    def news(self) -> Iterator[o.Event]:
        """The events of jobs since the last call."""
        for logged in self._logged():
            event = event_of(logged)
            if event is not None:
                yield event

    def past(self) -> list[o.Event]:
        """All events in the log, including submissions and POST scripts; `news` continues after it."""
        logged = list(self._logged())
        return list(_with_nodes(logged, _jobs(logged)))

    def submissions(self) -> dict[int, tuple[str, int]]:
        """Cluster to node and number of jobs, for all submissions in the log so far."""
        found = _with_nodes(logged := list(self._read_again()), _jobs(logged))
        return {each.cluster: (each.node, each.jobs) for each in found if isinstance(each, o.NodeSubmitted)}

    def again(self, cluster: int) -> Iterator[o.Event]:
        """The events of a cluster that `news` has already returned, when its node was still unknown."""
        for logged in self._read_again(self._at):
            if logged.cluster == cluster:
                self._heard(logged)
                event = event_of(logged)
                if event is not None:
                    yield event

    def _read_again(self, size: int = -1) -> Iterator[log.LoggedEvent]:
        """The events of the log from its beginning; `size` bytes of it, all of them if negative."""
        try:
            with self._path.open("rb") as file:
                data = file.read(size)
        except FileNotFoundError:
            return
        yield from log.LogReader().feed(data)

    def _logged(self) -> Iterator[log.LoggedEvent]:
        try:
            if self._path.stat().st_size <= self._at:
                return
            with self._path.open("rb") as file:
                file.seek(self._at)
                while piece := file.read(_PIECE):
                    self._at += len(piece)
                    for logged in self._reader.feed(piece):
                        if logged.event is None:
                            _log.warning("%s: %s", self._path, logged.problem)
                        self._heard(logged)
                        yield logged
        except FileNotFoundError:
            return

    def write_post(self, node: str, cluster: int | None, status: int) -> None:
        """Write the event that a POST script has ended. Raises OSError."""
        exit_ = log.ProgramExit(code=status, signal=None) if status >= 0 else log.ProgramExit(code=None, signal=-status)
        event = log.PostScriptTerminated(exit=exit_, node_name=node)
        text = log.format_event(event, -1 if cluster is None else cluster, 0, self._clock.now())
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX)
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def _jobs(logged: Iterable[log.LoggedEvent]) -> Counter[int]:
    """Cluster to the number of its jobs."""
    return Counter(each.cluster for each in logged if isinstance(each.event, log.Submit))


def _with_nodes(logged: Iterable[log.LoggedEvent], jobs: Counter[int]) -> Iterator[o.Event]:
    seen: set[int] = set()
    for each in logged:
        if isinstance(each.event, log.Submit):
            named = _NODE.search(each.event.log_notes)
            if named is not None and each.cluster not in seen:
                seen.add(each.cluster)
                yield o.NodeSubmitted(node=named[1], cluster=each.cluster, jobs=jobs[each.cluster])
        elif isinstance(each.event, log.PostScriptTerminated):
            yield o.ScriptEnded(node=each.event.node_name, point=ScriptPoint.POST, status=_status(each.event.exit))
        elif (event := event_of(each)) is not None:
            yield event


def event_of(logged: log.LoggedEvent) -> o.Event | None:
    """The meaning of a log event for a run; None for none."""
    cluster, proc = logged.cluster, logged.proc
    match logged.event:
        case log.Execute():
            return o.JobRan(cluster=cluster, proc=proc)
        case log.JobEvicted() | log.JobReleased() | log.ShadowException() | log.JobReconnectFailed():
            return o.JobWaits(cluster=cluster, proc=proc)
        case log.JobHeld(reason=reason):
            return o.JobHeld(cluster=cluster, proc=proc, reason=reason)
        case log.JobTerminated(exit=exit_):
            return o.JobEnded(cluster=cluster, proc=proc, status=_status(exit_))
        case log.JobAborted():
            return o.JobRemoved(cluster=cluster, proc=proc)
    return None


def _status(exit_: log.ProgramExit) -> int:
    """An exit status; negative for a signal."""
    return -exit_.signal if exit_.signal else exit_.code or 0
