"""Tasks of an array that wait for tasks of other arrays: ``qsub -hold_jid_ad``.

A waiting task is on hold from its submission on, with the letter `ARRAY_HOLD` among its holds. It loses the letter in
the step in which the last task that it waits for leaves the queue, however that task ended; so a stored task never
waits for nothing. Both arrays must have the same first and last task. If their steps differ, a task stands for all
numbers up to the next one, and waits for each task whose numbers overlap its own.

What it does not do
    It does not look at holds of other letters: a task that has them stays on hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.model.cell_requests import ALL_HOLDS, ARRAY_HOLD, HELD, TASKS
from roost.model.codes import HoldCode
from roost.schedd.jobs.book import Book, Cluster, Job
from roost.schedd.jobs.job_transitions import On
from roost.schedd.runs.outcome import HoldReason, hold, release
from roost.schedd.status import JobStatus
from roost.schedd.work import Work

#: The hold reason of a waiting task.
WAITS: Final = "waits for tasks of other arrays (qsub -hold_jid_ad)"
_LEFT: Final = "the tasks that it waited for have left"
_TASKS: Final = fold(TASKS)
_OF_USERS: Final = (HoldCode.USER_REQUEST, HoldCode.SUBMITTED_ON_HOLD)
_RANGE: Final = re.compile(r"(\d+)-(\d+):(\d+)\Z")


def range_of(ad: ClassAd) -> tuple[int, int, int] | None:
    """First task, last task and step of an array; None for a job without tasks."""
    cell = ad.cell(_TASKS)
    found = _RANGE.match(cell) if isinstance(cell, str) else None
    if found is None or not int(found[3]):
        return None
    return int(found[1]), int(found[2]), int(found[3])


def refusal(book: Book, ad: ClassAd, after: tuple[int, ...]) -> str:
    """Why an array cannot wait for others task by task, in Grid Engine's words; "" if it can."""
    own = range_of(ad)
    for number in after:
        other = book.clusters.get(number)
        theirs = None if other is None else range_of(other.ad)
        if own is None or (other is not None and theirs is None):
            return 'Can only specify "-hold_jid_ad" option with an array job (using "-t" option)'
        if theirs is not None and theirs[:2] != own[:2]:
            return (
                "This array job must have the same range of sub-tasks as the dependent array job specified with "
                "-hold_jid_ad"
            )
    return ""


def _others(own: Cluster, proc: int, other: Cluster) -> range:
    """The jobs of another array whose task numbers overlap those of a task."""
    mine, theirs = range_of(own.ad), range_of(other.ad)
    if mine is None or theirs is None:
        return range(0)
    first = mine[0] + proc * mine[2]
    last = min(first + mine[2] - 1, mine[1])
    return range(max(0, (first - theirs[0]) // theirs[2]), min(other.count, (last - theirs[0]) // theirs[2] + 1))


def waits(book: Book, cluster: Cluster, proc: int) -> bool:
    """Whether a task waits for one of another array."""
    return any(
        other.status(each) is not JobStatus.GONE
        for number in cluster.array_after
        if (other := book.clusters.get(number)) is not None
        for each in _others(cluster, proc, other)
    )


def tasks_left(work: Work) -> None:
    """Release the tasks that waited for tasks that have left the queue in this step."""
    book = work.book
    if not book.array_followers:
        return
    for cluster, first, last in work.gone:
        for number in sorted(book.array_followers.get(cluster.number, ())):
            follower = book.clusters.get(number)
            if follower is None:
                continue
            begin, end = _others(cluster, first, follower), _others(cluster, last, follower)
            for proc in range(begin.start, max(begin.stop, end.stop)):
                look(work, follower, proc)


def submitted(work: Work, cluster: Cluster) -> None:
    """Release the tasks of a new array that wait for nothing."""
    if cluster.array_after:
        for proc in range(cluster.count):
            look(work, cluster, proc)


def look(work: Work, cluster: Cluster, proc: int) -> None:
    """Hold or release a task according to what it waits for now."""
    status = cluster.status(proc)
    if status not in (JobStatus.HELD, JobStatus.IDLE):
        return
    must_wait = waits(work.book, cluster, proc)
    if must_wait == (status is JobStatus.HELD and ARRAY_HOLD in _letters(cluster.ad_of(proc))):
        return
    job = cluster.job(proc)
    if must_wait:
        _wait(work, job)
    else:
        _go(work, job)


def _letters(ad: ClassAd) -> str:
    cell = ad.cell(fold(HELD))
    return cell if isinstance(cell, str) else ""


def _wait(work: Work, job: Job) -> None:
    if job.status is JobStatus.IDLE:
        if job.claim_id:
            # A slot is already being claimed for it: it was matched before it had to wait.
            return
        hold(work, job, On.HOLD_COMMAND, HoldReason(HoldCode.USER_REQUEST, WAITS))
    letters = {*_letters(job.ad), ARRAY_HOLD}
    job.ad[HELD] = "".join(letter for letter in ALL_HOLDS if letter in letters)
    work.touch(job)


def _go(work: Work, job: Job) -> None:
    left = _letters(job.ad).replace(ARRAY_HOLD, "")
    if left or job.ad.get("HoldReasonCode") not in _OF_USERS:
        job.ad[HELD] = left
        work.touch(job)
    else:
        release(work, job, On.RELEASE_COMMAND, _LEFT)


def dependency_cycle(book: Book, number: int, after: tuple[int, ...]) -> int | None:
    """A job that waits for job `number` and for which that job would now wait; None if there is none."""
    for first in after:
        seen: set[int] = set()
        waiting = [first]
        while waiting:
            each = waiting.pop()
            if each == number:
                return first
            if each not in seen:
                seen.add(each)
                waiting += _predecessors(book, each)
    return None


def _predecessors(book: Book, number: int) -> Iterator[int]:
    cluster = book.clusters.get(number)
    if cluster is not None:
        yield from cluster.after
        yield from cluster.array_after
