"""Users' actions on jobs of a queue, in steps between which other requests are served.

An action on a million jobs is a sequence of steps of the queue's core. Each is committed before the next one begins, so
neither memory nor the database's log of changes grows with the number of jobs, and whatever the requester is told was
done stays done. The size of a step adapts to the time that it takes. The requester gets progress reports.

An action whose queue is killed stays incomplete: each job was changed completely or not at all. The requester learns
that there was no answer and how many jobs were done by then, and repeats the action for the others.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

from roost.base.records import replace
from roost.runtime.bus.budget import SIGN_OF_LIFE_S
from roost.schedd import events as ev
from roost.schedd.commands import ABSENT
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.ranges import Ranges
from roost.wire.messages import Answer
from roost.wire.requests.queue import ActedUpon, ActionProgress

if TYPE_CHECKING:
    from roost.runtime.bus.client import Bus
    from roost.runtime.queue.user_logs import UserLogs
    from roost.schedd.queue import Queue

#: Number of jobs in the first step of an action, and maximum of any.
JOBS_FIRST: Final = 200
JOBS_MAX: Final = 5000
#: How long a step may block others, s of processor time.
STEP_S: Final = 0.01
#: How long an action waits for the event logs of its jobs before it continues, s.
LOGS_BEHIND_S: Final = 30.0


class Selection:
    """The jobs of an action, in the order in which their clusters were named."""

    def __init__(self) -> None:
        self._clusters: dict[int, Ranges] = {}

    def add(self, job: JobId) -> None:
        """Add a job; each job counts once."""
        self._clusters.setdefault(job.cluster, Ranges()).add(job.proc)

    @property
    def clusters(self) -> tuple[int, ...]:
        """The clusters of the jobs."""
        return tuple(self._clusters)

    def __len__(self) -> int:
        return sum(map(len, self._clusters.values()))

    def __iter__(self) -> Iterator[JobId]:
        return (JobId(cluster, proc) for cluster, procs in self._clusters.items() for proc in procs)


class Tally:
    """The results of the parts of one command.

    Only jobs that were `named` individually are reported as no longer in the queue: a cluster, or all jobs, means those
    that are in it.
    """

    def __init__(self, named: Collection[str] = ()) -> None:
        self._named = frozenset(named)
        self._counts: Counter[str] = Counter()
        self._refused: dict[str, str] = {}

    def add(self, data: dict[str, Any]) -> None:
        """Add the result of a part."""
        self._counts.update(data["counts"])
        for job, why in data["refused"].items():
            if why == ABSENT and job not in self._named:
                self._counts[why] -= 1
            else:
                self._refused[job] = why

    @property
    def answer(self) -> Answer:
        """The answer once all parts are done."""
        done = ActedUpon(counts=dict(+self._counts), refused=self._refused)
        return Answer(ok=self._counts["ok"] > 0, data=done)


class ActionsDaemon(Protocol):
    """The interface of the queue's daemon for actions."""

    bus: Bus
    queue: Queue
    logs: UserLogs

    def feed(self, event: ev.Event) -> None:
        """Pass an event to the core."""


class QueueActions:
    """The actions in progress in one queue."""

    def __init__(self, daemon: ActionsDaemon) -> None:
        self._daemon = daemon
        self._numbers = itertools.count(1)
        #: Steps whose answer from the core is not committed yet.
        self._steps: dict[str, asyncio.Future[Answer]] = {}

    async def act(self, event: ev.Acted, jobs: Selection, named: Collection[str], reply: str) -> Answer:
        """Apply `event`, which names no jobs, to `jobs`, and answer; heartbeats go to `reply`.

        The factories of clusters come first: what stops them must keep them from making jobs in place of those that go.
        What is edited comes to them last, for the logs tell what the jobs have had before.
        """
        tally, left, total = Tally(named), iter(jobs), len(jobs)
        factories, event = replace(event, jobs=()), replace(event, factories=())
        if factories.factories and event.action is not ev.Action.EDIT:
            await self._step(factories, tally)
        size, done, shown_at = JOBS_FIRST, 0, time.monotonic()
        while part := tuple(itertools.islice(left, size)):
            took_s = await self._step(replace(event, jobs=part), tally)
            done += len(part)
            size = min(JOBS_MAX, max(1, int(len(part) * min(4.0, STEP_S / max(took_s, 1e-6)))))
            if time.monotonic() - shown_at >= SIGN_OF_LIFE_S:
                shown_at = time.monotonic()
                await self._daemon.bus.answer(reply, Answer(more=True, data=ActionProgress(done=done, of=total)))
            await self._logs_written(part)
        if factories.factories and event.action is ev.Action.EDIT:
            await self._step(factories, tally)
        return tally.answer

    async def _step(self, event: ev.Acted, tally: Tally) -> float:
        """Apply the action to some jobs, and wait until that is committed; return the processor time used, s."""
        key = f"act {next(self._numbers)}"
        answered = self._steps[key] = asyncio.get_running_loop().create_future()
        began = time.thread_time()
        self._daemon.feed(replace(event, reply_to=key))
        took_s = time.thread_time() - began
        answer = await answered
        assert isinstance(answer.data, dict)
        tally.add(answer.data)
        return took_s

    async def _logs_written(self, jobs: tuple[JobId, ...]) -> None:
        """Wait for event logs that are behind: more pieces for them would only fill memory and database."""
        clusters = self._daemon.queue.book.clusters
        present = (clusters.get(number) for number in {job.cluster for job in jobs})
        owners = {cluster.owner for cluster in present if cluster is not None}
        until = time.monotonic() + LOGS_BEHIND_S
        while any(map(self._daemon.logs.is_behind, owners)) and time.monotonic() < until:
            await asyncio.sleep(0.05)

    def answered(self, key: str, answer: Answer) -> bool:
        """Take an answer of the core that is committed; False if it does not belong to a step of an action."""
        step = self._steps.pop(key, None)
        if step is None:
            return False
        if not step.done():
            step.set_result(answer)
        return True
