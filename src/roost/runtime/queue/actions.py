"""Actions of users upon jobs of a queue, in steps that leave room for everything else.

An action upon a million jobs is a sequence of steps of the queue's core. Each is on disk before the next one begins,
so neither memory nor the database's log of changes grows with the number of jobs, and what the asker hears was done is
done whatever dies. The size of a step follows the time that it takes. The asker hears now and then how far it is.

An action whose queue is killed stays where it is: each job was acted upon wholly or not at all. The asker hears that no
answer came and how many jobs were done by then, and says it again for the others.
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
from roost.wire.requests.queue import ActedUpon

if TYPE_CHECKING:
    from roost.runtime.bus.client import Bus
    from roost.runtime.queue.user_logs import UserLogs
    from roost.schedd.queue import Queue

#: Jobs of the first step of an action, and at most of any.
JOBS_FIRST: Final = 200
JOBS_MAX: Final = 5000
#: How long a step may hold up others, s of processor time.
STEP_S: Final = 0.01
#: How long an action waits for the event logs of its jobs before it goes on, s.
LOGS_BEHIND_S: Final = 30.0


class Selection:
    """The jobs that an action is about, in the order in which their clusters were named."""

    def __init__(self) -> None:
        self._clusters: dict[int, Ranges] = {}

    def add(self, job: JobId) -> None:
        """One more job; a job counts once."""
        self._clusters.setdefault(job.cluster, Ranges()).add(job.proc)

    @property
    def clusters(self) -> tuple[int, ...]:
        """The clusters that they are of."""
        return tuple(self._clusters)

    def __len__(self) -> int:
        return sum(map(len, self._clusters.values()))

    def __iter__(self) -> Iterator[JobId]:
        return (JobId(cluster, proc) for cluster, procs in self._clusters.items() for proc in procs)


class Tally:
    """What became of the parts of one command.

    That a job is not in the queue any more is told of those that were `named` one by one: a cluster, or all jobs, means
    those that are in it.
    """

    def __init__(self, named: Collection[str] = ()) -> None:
        self._named = frozenset(named)
        self._counts: Counter[str] = Counter()
        self._refused: dict[str, str] = {}

    def add(self, data: dict[str, Any]) -> None:
        """A part is done."""
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
    """What actions need of the queue's daemon."""

    bus: Bus
    queue: Queue
    logs: UserLogs

    def feed(self, event: ev.Event) -> None:
        """Have the core take an event."""


class QueueActions:
    """The actions that are under way in one queue."""

    def __init__(self, daemon: ActionsDaemon) -> None:
        self._daemon = daemon
        self._numbers = itertools.count(1)
        #: Steps whose answer of the core is not on disk yet.
        self._steps: dict[str, asyncio.Future[Answer]] = {}

    async def act(self, event: ev.Acted, jobs: Selection, named: Collection[str], reply: str) -> Answer:
        """Do to `jobs` what `event` says, which names none, and answer; signs of life go to `reply`."""
        tally, left, total = Tally(named), iter(jobs), len(jobs)
        size, done, shown_at = JOBS_FIRST, 0, time.monotonic()
        while part := tuple(itertools.islice(left, size)):
            took_s = await self._step(replace(event, jobs=part), tally)
            done += len(part)
            size = min(JOBS_MAX, max(1, int(len(part) * min(4.0, STEP_S / max(took_s, 1e-6)))))
            if time.monotonic() - shown_at >= SIGN_OF_LIFE_S:
                shown_at = time.monotonic()
                await self._daemon.bus.answer(reply, Answer(more=True, data={"done": done, "of": total}))
            await self._logs_written(part)
        return tally.answer

    async def _step(self, event: ev.Acted, tally: Tally) -> float:
        """Act upon some jobs, and wait until that is on disk; the processor time that it took, s."""
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
        """Take an answer of the core that is on disk; False if it is not to a step of an action."""
        step = self._steps.pop(key, None)
        if step is None:
            return False
        if not step.done():
            step.set_result(answer)
        return True
