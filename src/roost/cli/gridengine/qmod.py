"""``qmod``: states of queue instances and of jobs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from roost.cli.gridengine.asking import ask
from roost.cli.gridengine.choosing import Named, named, tasks_named
from roost.cli.gridengine.qstat import with_causes
from roost.cli.gridengine.selecting import select
from roost.explain.cell_tasks import Task
from roost.gridengine.commands.errors import FAILED, Failure
from roost.gridengine.commands.options import Option, usage
from roost.model import cell_requests as cell
from roost.runtime.identity import host_name
from roost.wire.requests import queue
from roost.wire.requests.cell import ChangeInstances, InstanceChange

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

_QUEUES: Final = "wc_queue_list"
_JOBS: Final = "job_list"
_BOTH: Final = "job_wc_queue_list"
OPTIONS: Final = (
    Option("c", "clear error state", _BOTH),
    Option("cj", "clear job error state", _JOBS),
    Option("cq", "clear queue error state", _QUEUES),
    Option("d", "disable", _QUEUES),
    Option("e", "enable", _QUEUES),
    Option("f", "force action: reschedule jobs that their queue would not"),
    Option("r", "reschedule jobs (running in queue)", _BOTH),
    Option("rj", "reschedule jobs", _JOBS),
    Option("rq", "reschedule all jobs in a queue", _QUEUES),
    Option("s", "suspend", _BOTH),
    Option("sj", "suspend jobs", _JOBS),
    Option("sq", "suspend queues", _QUEUES),
    Option("us", "unsuspend", _BOTH),
    Option("usj", "unsuspend jobs", _JOBS),
    Option("usq", "unsuspend queues", _QUEUES),
)
_TAKES: Final = {option.name: option.takes for option in OPTIONS}
#: Option to the requested state of the instance, and its name in messages.
_STATES: Final[dict[str, tuple[InstanceChange, str]]] = {
    "c": ("clear", "no error"), "d": ("disable", "disabled"), "e": ("enable", "enabled"),
    "s": ("suspend", "suspended"), "us": ("resume", "unsuspended"),
}  # fmt: skip
_NUMBER: Final = re.compile(r"\d+(\.\d+(-\d+(:\d+)?)?)?\Z")
#: The message about a job that a threshold has suspended, and no command.
_BY_THRESHOLD: Final = (
    "is not suspended by administrator - modify suspend threshold list of queue to remove suspend state"
)
#: Codes with which a queue refuses an action on another user's job.
_DENIED: Final = "permission-denied"


class _ItemAction(NamedTuple):
    """An action on one item."""

    #: c, d, e, r, s or us
    verb: str
    #: A queue or queue instance, with wildcards; "" for jobs.
    queue: str = ""
    job: Named | None = None
    #: The message for an item that does not exist.
    absent: str = ""


def run(name: str, arguments: list[str]) -> int:
    """Run ``qmod``."""
    if not arguments:
        raise Failure(f"{usage(name, OPTIONS)}ERROR! no option argument")
    orders = list(_orders(arguments))
    force = "-f" in arguments
    return ask(name, lambda pool: _Work(pool, force=force).all_of(orders))


def _orders(arguments: Sequence[str]) -> Iterator[_ItemAction]:
    """The orders of the command line. Raises Failure."""
    at = 0
    while at < len(arguments):
        word = arguments[at]
        option = word[1:]
        if not word.startswith("-") or option not in _TAKES:
            raise Failure(f'{usage("qmod", OPTIONS)}invalid option argument "{word}"')
        end = at = at + 1
        # -t belongs to the job before it.
        while end < len(arguments) and (not arguments[end].startswith("-") or arguments[end] == "-t"):
            end += 1
        words, takes = arguments[at:end], _TAKES[option]
        # A word that looks like an option and is not one belongs to the option before it.
        strange = words[:1] if not takes else ["-"] if "" in words else arguments[end : end + 1] if not words else []
        if strange and strange[0][1:] not in _TAKES:
            raise Failure(f'{usage("qmod", OPTIONS)}invalid option argument "{strange[0]}"')
        if takes and not words:
            raise Failure(f"{word} option must have argument")
        yield from _named(option, takes, words)
        at = end


def _named(option: str, takes: str, words: Sequence[str]) -> Iterator[_ItemAction]:
    if takes == _QUEUES:
        verb = option.removesuffix("q")
        parts = (part for word in words for part in word.split(",") if part)
        yield from (_ItemAction(verb, queue=part, absent=f'invalid queue "{part}"') for part in parts)
        return
    verb = option.removesuffix("j") if takes == _JOBS else option
    at = 0
    while at < len(words):
        word = words[at]
        count = 3 if words[at + 1 : at + 2] == ["-t"] else 1
        if word[:1].isdigit() and takes != _JOBS and not _NUMBER.match(word):
            raise Failure(f'ERROR! "{word}" is an invalid job-task identifier')
        as_job = takes == _JOBS or word[:1].isdigit()
        kinds = "queue" if takes == _BOTH and verb in ("c", "r") else "queue or job"
        of_task = as_job and _NUMBER.match(word)
        absent = f'invalid {kinds} "{word.partition(".")[0] if of_task else word}"'
        if not as_job:
            yield _ItemAction(verb, queue=word, absent=absent)
        else:
            # A comma is not a separator of jobs here.
            job = Named(word) if "," in word or not word else named(words[at : at + count], "qmod")[0]
            yield _ItemAction(verb, job=job, absent=absent)
        at += count


class _Work:
    """The orders of one command line, in sequence."""

    def __init__(self, pool: Pool, *, force: bool) -> None:
        self._pool = pool
        self._force = force
        self._who = f"{pool.user}@{host_name()}"

    def all_of(self, orders: Sequence[_ItemAction]) -> int:
        """Carry them out; return the exit status."""
        return max([self._one(order) for order in orders], default=0)

    def _one(self, order: _ItemAction) -> int:
        if order.job is None and order.verb == "r":
            return self._reschedule_queue(order)
        if order.job is None:
            return self._instances(order)
        (found,) = tasks_named(self._pool, [order.job])
        if not found:
            return _said(order.absent)
        tasks = with_causes(self._pool, found)
        match order.verb:
            case "c":
                return self._clear(tasks)
            case "r":
                return self._each_running(tasks, self._reschedule)
            case "s":
                return self._each_running(tasks, self._suspend)
            case _:
                return self._each_running(tasks, self._resume)

    # -- queue instances -----------------------------------------------------------------------------------------------

    def _instances(self, order: _ItemAction) -> int:
        action, called = _STATES[order.verb]
        status = 0
        for row in self._pool.ask(ChangeInstances(action=action, names=(order.queue,))):
            match row.outcome:
                case "unknown":
                    status = _said(order.absent)
                case "denied":
                    status = _said(f'{self._pool.user} - you have no permission to modify queue "{row.name}"')
                case _ if self._force:
                    _said(f'{self._who} forced state change of "{row.name}" ({called})')
                case "changed":
                    _said(f'{self._who} changed state of "{row.name}" ({called})')
                case _:
                    _said(f'Queue instance "{row.name}" is already in the specified state: {called}')
        return status

    def _reschedule_queue(self, order: _ItemAction) -> int:
        instances = select(self._pool, {"q": [order.queue]})
        if not instances:
            return _said(order.absent)
        (present,) = tasks_named(self._pool, [Named("*")])
        status = 0
        for instance in instances:
            tasks = [task for task in present if instance.name in task.grants]
            denied = f'you have no permission to reschedule jobs of queue instance "{instance.name}"'
            status = max([status, *(self._reschedule(task, denied) for task in tasks)])
        return status

    # -- jobs ----------------------------------------------------------------------------------------------------------

    def _each_running(self, tasks: Sequence[Task], do: Callable[[Task], int]) -> int:
        status = 0
        waiting = [task for task in tasks if not task.runs]
        for job in dict.fromkeys(task.job for task in waiting):
            _say_waiting([task for task in waiting if task.job == job])
        for task in tasks:
            if task.runs:
                status = max(status, do(task))
        return status

    def _act(
        self, action: queue.Action, task: Task, denied: str = "", attributes: dict[str, Any] | None = None
    ) -> str | None:
        """Act on a task: None on success, "" if only its owner or an operator may do it, which is reported."""
        job, reason = f"{task.job}.{task.proc}", f"by user {self._pool.user}"
        refused = self._pool.ask(queue.Act(action=action, jobs=(job,), reason=reason, attributes=attributes)).refused
        why = next(iter(refused.values()), None)
        if why == _DENIED:
            words = denied or f'you have no permission to modify job "{task.job}"'
            _said(f"{self._pool.user} - {words}")
            return ""
        return why

    def _suspend(self, task: Task) -> int:
        if "s" in task.state:
            # Users who may not act on it are told that first.
            return FAILED if self._act("suspend", task) == "" else self._already(task, "is already suspended")
        why = self._act("suspend", task)
        if why and self._now(task):
            return self._already(task, "is already suspended")
        return self._done(
            why,
            f"{self._pool.user} - {'forced suspension of' if self._force else 'suspended'} {_called(task)}",
            _gone(task),
        )

    def _resume(self, task: Task) -> int:
        why = self._act("continue", task)
        now = self._now(task) if why else task
        by_threshold = now is not None and "T" in now.state
        # The effect of the command that suspended a job may not show yet.
        if now and (why or (why is None and "s" not in task.state and task.stands_still)):
            return self._already(task, _BY_THRESHOLD if by_threshold else "is already unsuspended")
        if by_threshold:
            words = f"removed administrator suspension of {_called(task)} (suspend threshold is still active)"
            words = f"{self._who} {words}"
        elif self._force:
            words = f"{self._who} forced unsuspension of {_called(task)}"
        else:
            words = f"{self._pool.user} - unsuspended {_called(task)}"
        # Grid Engine 8.1.9 ends with 1 where a threshold is left.
        return max(FAILED if by_threshold else 0, self._done(why, words, _gone(task)))

    def _reschedule(self, task: Task, denied: str = "") -> int:
        if not self._force and not task.reruns:
            # A request without effect shows whether the user is permitted.
            if self._act("suspend" if "s" in task.state else "continue", task, denied) == "":
                return FAILED
            if task.ad.get(cell.RERUN) == "n":
                return _said(f"The {_called(task)} is not restartable", 0)
            # 8.1.9 names no queue here either.
            return _said(f"The {_called(task)} is running in queue none where jobs are not rerunable.", 0)
        if interface := task.ad.get(cell.CHECKPOINT):
            return _said(f"{task.job} requests ckpt object {interface}. Therefore this job is not restartable.", 0)
        host = task.instance.partition("@")[2]
        return self._done(
            self._act("vacate-fast", task, denied),
            f"{'Forced' if self._force else 'Pushed'} rescheduling of {_called(task)} on host {host}",
            _gone(task),
        )

    def _clear(self, tasks: Sequence[Task]) -> int:
        status = 0
        told: set[int] = set()
        for task in tasks:
            if task.is_error:
                status = max(status, self._clear_one(task))
            elif task.runs or task.ran:
                what = _called(task)
                status = max(status, _said(f"{what[0].upper()}{what[1:]} is not in error state"))
            elif task.job not in told:
                told.add(task.job)
                _say_waiting([one for one in tasks if one.job == task.job])
        return status

    def _clear_one(self, task: Task) -> int:
        words = f"{self._who} cleared error state of {_called(task)}"
        # Its holds remain.
        why = self._act("release", task, attributes={cell.HELD: ""})
        status = self._done(why, words, f"{_called(task)} is no longer in error state")
        # Grid Engine 8.1.9 exits with 1 after it has cleared a job.
        return max(status, FAILED)

    def _now(self, task: Task) -> Task | None:
        """A task as it is after an order for it was refused; None if it no longer runs."""
        (found,) = tasks_named(self._pool, [Named(str(task.job), number=task.job)])
        return next((one for one in with_causes(self._pool, found) if one.proc == task.proc and one.runs), None)

    def _already(self, task: Task, words: str) -> int:
        return _said(f"{self._pool.user} - {_called(task)} {words}", 0)

    def _done(self, why: str | None, words: str, gone: str) -> int:
        if why is None:
            return _said(words, 0)
        return FAILED if why == "" else _complain(gone)


def _called(task: Task) -> str:
    return f"job-array task {task.job}.{task.number}" if task.tasks else f"job {task.job}"


def _gone(task: Task) -> str:
    return f"{_called(task)} no longer runs"


def _say_waiting(tasks: Sequence[Task]) -> None:
    """Report tasks that would have to be running. Grid Engine calls a job without tasks a task here."""
    first = tasks[0]
    what = f"job {first.job}" if len(tasks) > 1 else f"job-array task {first.job}.{first.number or 1}"
    _said(f"Modify operation can not be applied on {what} in pending/hold state", 0)


def _said(words: str, status: int = FAILED) -> int:
    sys.stdout.write(f"{words}\n")
    return status


def _complain(words: str) -> int:
    sys.stdout.flush()
    sys.stderr.write(f"{words}\n")
    return FAILED
