"""Counts and times of what a queue has seen since it started: how long jobs wait, how runs end, what is transferred.

Machines repeat their reports until these are acknowledged, so each stage of a run is counted once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import Final

from roost.classad.ad import MISSING
from roost.schedd import events as ev
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import Job
from roost.schedd.queue import Queue
from roost.wire.requests.queue import DURATION_BOUNDS_S, Durations, QueueFigures

#: Stage of a transfer to the one at which the time began, and to the name of the time.
_SPANS: Final = {
    "input-started": ("input-queued", "input_wait"),
    "input-finished": ("input-started", "input"),
    "output-started": ("output-queued", "output_wait"),
    "output-finished": ("output-started", "output"),
}
_TIMES: Final = ("submit_to_start", "match_to_start", "input", "output", "input_wait", "output_wait")
#: Runs whose transfers are followed, above the number of claims, before those that are gone are looked for.
_SPARE: Final = 1_000


class Figures:
    """See the module."""

    def __init__(self, since: float) -> None:
        self._since = since
        self._counts = {name: [0] * (len(DURATION_BOUNDS_S) + 1) for name in _TIMES}
        self._sums_s = dict.fromkeys(_TIMES, 0.0)
        self._ended: Counter[str] = Counter()
        self._sent = 0
        self._received = 0
        #: Of each run that goes on: stage of its transfers to its instant.
        self._stages: dict[str, dict[str, float]] = {}

    def data(self) -> QueueFigures:
        """The figures of this moment."""
        times = {name: Durations(counts=list(self._counts[name]), sum_s=self._sums_s[name]) for name in _TIMES}
        return QueueFigures(
            since=self._since,
            ended=dict(sorted(self._ended.items())),
            bytes_sent=self._sent,
            bytes_received=self._received,
            **times,
        )

    def take(self, event: ev.Event, queue: Queue) -> None:
        """Count what an event says of a run, before the queue takes it."""
        if not isinstance(event, ev.RunBegan | ev.FilesMoved | ev.RunEnded):
            return
        job = _job_of(queue, event.run, event.claim_id)
        if job is None:
            return
        match event:
            case ev.RunBegan():
                self._began(job, event.at)
            case ev.FilesMoved():
                self._moved(event, queue)
            case ev.RunEnded():
                self._stages.pop(event.run, None)
                self._ended[event.ending] += 1
                self._sent += event.bytes_sent
                self._received += event.bytes_received

    def _began(self, job: Job, at: float) -> None:
        if job.ad.cell("jobcurrentstartexecutingdate") is not MISSING:
            return
        if job.whole("numjobstarts") == 0:
            self._note("submit_to_start", at - job.whole("qdate"))
        # A job that takes over a claim of its user, or goes on after an eviction, may not have been matched for it.
        matched_at = job.whole("lastmatchtime")
        if matched_at and matched_at >= job.whole("lastvacatetime"):
            self._note("match_to_start", at - matched_at)

    def _moved(self, event: ev.FilesMoved, queue: Queue) -> None:
        claims = queue.claim_table.claims
        if len(self._stages) > len(claims) + _SPARE:
            present = {claim.run for claim in claims.values()}
            self._stages = {run: stages for run, stages in self._stages.items() if run in present}
        stages = self._stages.setdefault(event.run, {})
        if event.stage in stages:
            return
        stages[event.stage] = event.at
        before, name = _SPANS.get(event.stage, ("", ""))
        if before in stages:
            self._note(name, event.at - stages[before])

    def _note(self, name: str, seconds: float) -> None:
        seconds = max(0.0, seconds)
        self._counts[name][bisect_left(DURATION_BOUNDS_S, seconds)] += 1
        self._sums_s[name] += seconds


def _job_of(queue: Queue, run: str, claim_id: str) -> Job | None:
    """The job whose current run that is; None for a report of an earlier one."""
    try:
        name = JobId.read(run.partition("#")[0])
    except ValueError:
        return None
    cluster = queue.book.clusters.get(name.cluster)
    job = None if cluster is None else cluster.jobs.get(name.proc)
    return job if job is not None and job.run == run and job.claim_id == claim_id else None
