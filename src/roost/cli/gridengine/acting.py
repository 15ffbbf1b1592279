"""``qdel``, ``qhold`` and ``qrls``: users' actions on their jobs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from roost.cli.gridengine.asking import ask, may_change
from roost.cli.gridengine.choosing import Named, named, tasks_named
from roost.cli.pool_connection import Refused
from roost.explain.cell_tasks import Task, numbers
from roost.gridengine.commands.errors import BAD_VALUE, FAILED, USAGE, Failure
from roost.gridengine.commands.options import Given, Option, usage
from roost.model.cell_requests import HELD, HOLDS
from roost.schedd.status import JobStatus
from roost.wire.requests import queue

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

_USERS: Final = Option("u", "all jobs of these users", "user_list")
_LETTERS: Final = Option("h", "which holds: u of the user (default), o of an operator, s of the system", "hold_list")
OPTIONS_OF: Final = {
    "qdel": (Option("f", "remove them from the queue at once, whatever their machines say"), _USERS),
    "qhold": (_LETTERS, _USERS),
    "qrls": (_LETTERS, _USERS),
}
OPTIONS: Final = OPTIONS_OF["qdel"]
_POSITIONAL: Final = "job_task_list"

#: Maximum number of tasks in one request: more would keep the queue from other work for too long.
_AT_ONCE: Final = 1000
#: Exit statuses of qhold and qrls.
_ABSENT: Final = 3
_NO_OPERATOR: Final = 10
_NOT_OWNER: Final = 18
_NO_RIGHT: Final = '{user} - you do not have the necessary privileges to delete the job "{job}"'


def _read(name: str, arguments: list[str]) -> tuple[list[Given], list[Named]]:
    """Parse options and jobs: options may be anywhere, and ``-t`` belongs to the job before it."""
    options = {option.name: option for option in OPTIONS_OF[name]}
    given: list[Given] = []
    rest: list[str] = []
    at = 0
    while at < len(arguments):
        word = arguments[at]
        option = options.get(word[1:]) if word.startswith("-") else None
        if option is None:
            if name != "qdel" and word.startswith("-") and word != "-t":
                raise Failure(f'qalter: invalid option argument "{word}"', USAGE)
            if name != "qdel" and not word.strip(","):
                raise Failure(f'qalter: Wrong job id list format "{word}" specified', BAD_VALUE)
            rest.append(word)
            at += 1
            continue
        end = at + 1 + len(option.takes.split())
        if end > len(arguments):
            raise Failure(f"{name}: {word} option must have argument", BAD_VALUE)
        given.append(Given(option.name, tuple(arguments[at + 1 : end])))
        at = end
    return given, named(rest, name)


def run(name: str, arguments: list[str]) -> int:
    """Run one of them."""
    given, wanted = _read(name, arguments)
    users = [user for each in given if each.name == "u" for user in each.value.split(",") if user]
    if not users and not wanted:
        if name == "qdel":
            sys.stdout.write("ERROR! no option argument\n")
            raise Failure(usage(name, OPTIONS_OF[name], _POSITIONAL), FAILED)
        raise Failure(f"{usage(name, OPTIONS_OF[name], _POSITIONAL)}ERROR! no option argument", FAILED)
    if name == "qdel":
        force = any(each.name == "f" for each in given)
        return ask(name, lambda pool: _delete(pool, wanted, users, force=force))
    letters = "".join(dict.fromkeys("".join(each.value for each in given if each.name == "h"))) or "u"
    if not set(letters) <= set(HOLDS):
        raise Failure(f'qalter: Unknown hold list "{letters}" specified to -h option', BAD_VALUE)
    action: Literal["hold", "release"] = "hold" if name == "qhold" else "release"
    return ask(name, lambda pool: _hold(pool, action, letters, wanted, users))


def _act(pool: Pool, action: queue.Action, tasks: Sequence[Task], letters: str = "") -> dict[str, str]:
    """Act on tasks; return the reasons of failures, by the queue's job name. Raises Refused."""
    jobs = [f"{task.job}.{task.proc}" for task in tasks]
    attributes = {HELD: letters} if letters else None
    reason = f"by user {pool.user}"
    refused: dict[str, str] = {}
    for at in range(0, len(jobs), _AT_ONCE):
        some = tuple(jobs[at : at + _AT_ONCE])
        refused |= pool.ask(queue.Act(action=action, jobs=some, reason=reason, attributes=attributes)).refused
    return refused


def of_users(pool: Pool, users: Sequence[str]) -> list[Task]:
    """All tasks of these users."""
    (found,) = tasks_named(pool, [Named("*")], owners=None if "*" in users else users)
    return found


def _by_job(tasks: Sequence[Task]) -> Iterator[list[Task]]:
    found: dict[int, list[Task]] = {}
    for task in tasks:
        found.setdefault(task.job, []).append(task)
    yield from found.values()


# -- qdel --------------------------------------------------------------------------------------------------------------


def _delete(pool: Pool, wanted: Sequence[Named], users: Sequence[str], *, force: bool) -> int:
    failed = False
    say = sys.stdout.write
    if users and not wanted:
        found = of_users(pool, users)
        failed = _delete_jobs(pool, found, whole=True, force=force)
        if not found:
            say(f"There is no job registered for the following users: {','.join(users)}\n")
        return FAILED if failed or not found else 0
    owners = users or [pool.user]
    for each, found in zip(wanted, tasks_named(pool, wanted, owners=owners), strict=True):
        if not found:
            failed = True
            others = [] if each.tasks is None else tasks_named(pool, [each._replace(tasks=None)], owners=owners)[0]
            if others:
                say(f"{_no_tasks(pool, each, others[0], owners)}\n")
            elif each.number is None:
                say(f"The job {each.written} of user(s) {','.join(owners)} does not exist\n")
            else:
                say(f'denied: job "{each.number}" does not exist\n')
        failed |= _delete_jobs(pool, found, whole=each.tasks is None, force=force)
    return FAILED if failed else 0


def _no_tasks(pool: Pool, named: Named, other: Task, owners: Sequence[str]) -> str:
    """`qdel`'s message if a job has none of the named tasks; `other` is one that it has."""
    if not may_change(pool, other.owner):
        return _NO_RIGHT.format(user=pool.user, job=other.job)
    lacking, of_users = named.tasks or (), "" if named.number is not None else f" for user(s) {','.join(owners)}"
    if len(lacking) == 1:
        return f'job "{named.written}" task "{numbers(lacking)}" does not exist{of_users}'
    return f'job "{named.written}" task id range "{numbers(lacking)}" comprises no tasks{of_users}'


def _delete_jobs(pool: Pool, tasks: Sequence[Task], *, whole: bool, force: bool) -> bool:
    """Delete tasks, and report each job; return whether any was refused."""
    refused = _act(pool, "remove-x" if force else "remove", [task for task in tasks if force or not _is_going(task)])
    told = [_tell_deleted(pool.user, some, refused, whole=whole, force=force) for some in _by_job(tasks)]
    return any(told)


def _is_going(task: Task) -> bool:
    return task.state.startswith("d")


def _tell_deleted(user: str, tasks: list[Task], refused: Mapping[str, str], *, whole: bool, force: bool) -> bool:
    """Report the result for the tasks of one job; return whether it was refused."""
    number, say = tasks[0].job, sys.stdout.write
    chosen = {f"{task.job}.{task.proc}": task for task in tasks if force or not _is_going(task)}
    if len(chosen) < len(tasks):
        say(f"job {number} is already in deletion\n")
        if not chosen:
            return False
    if any(refused.get(name) == "permission-denied" for name in chosen):
        say(f"{_NO_RIGHT.format(user=user, job=number)}\n")
        return True
    done = [task for name, task in chosen.items() if name not in refused]
    running, waiting = [task for task in done if task.runs], [task for task in done if not task.runs]
    for task in running:
        what = f"job-array task {number}.{task.number}" if task.tasks else f"job {number}"
        say(f"{user} forced the deletion of {what}\n" if force else f"{user} has registered the {what} for deletion\n")
    if waiting:
        say(f"{user} has deleted {_called(waiting, whole=whole)}\n")
    return False


def _called(tasks: Sequence[Task], *, whole: bool) -> str:
    number = tasks[0].job
    if whole:
        return f"job {number}"
    if len(tasks) == 1:
        return f"job-array task {number}.{max(1, tasks[0].number)}"
    return f"job-array tasks {numbers([task.number for task in tasks])} of job {number}"


# -- qhold, qrls -------------------------------------------------------------------------------------------------------


def _hold(
    pool: Pool, action: Literal["hold", "release"], letters: str, wanted: Sequence[Named], users: Sequence[str]
) -> int:
    status, say = 0, sys.stdout.write
    groups = [(each, found) for each, found in zip(wanted, tasks_named(pool, wanted), strict=True)]
    if users:
        groups.append((Named("*"), of_users(pool, users)))
    for each, found in groups:
        others = tasks_named(pool, [each._replace(tasks=None)])[0] if not found and each.tasks is not None else []
        if others and not may_change(pool, others[0].owner):
            say(f"{_not_owner(pool, others[0].job)}\n")
            status = status or _NOT_OWNER
        elif not found and not others:
            say(f'denied: job "{each.written}" does not exist\n')
            status = status or _ABSENT
        status = hold_jobs(pool, action, letters, found) or status
    return status


def _not_owner(pool: Pool, job: int) -> str:
    return f'denied: "{pool.user}" must be at least owner of job {job} to change job attributes'


def _changes(task: Task, action: str, letters: set[str]) -> bool:
    """Whether new holds are set, or existing ones removed; other holds are left to the queue."""
    if action == "hold":
        return bool(letters - set(task.holds))
    return bool(letters & set(task.holds)) or (task.status == JobStatus.HELD and not task.holds)


def hold_jobs(pool: Pool, action: Literal["hold", "release"], letters: str, tasks: Sequence[Task]) -> int:
    """Hold or release tasks, and report those that change. Returns the exit status."""
    owners = {task.owner for task in tasks}
    allowed = {owner for owner in sorted(owners) if may_change(pool, owner)}
    # Permissions are checked only for changes.
    changing = [task for task in tasks if task.owner in allowed and _changes(task, action, set(letters))]
    denied, refused, status = "", dict[str, str](), 0
    try:
        refused = _act(pool, action, changing, letters)
    except Refused as refusal:
        if refusal.answer.code != "not-permitted":
            raise
        denied = refusal.answer.text
    of_job = {some[0].job: some for some in _by_job(changing)}
    for some in _by_job(tasks):
        number = some[0].job
        if some[0].owner not in allowed:
            sys.stdout.write(f"{_not_owner(pool, number)}\n")
            status = _NOT_OWNER
        elif denied and number in of_job:
            sys.stdout.write(f"{denied}\n" * len(of_job[number]))
            status = _NO_OPERATOR
        else:
            status = _tell_held(action, of_job.get(number, []), refused) or status
    return status


def _tell_held(action: Literal["hold", "release"], tasks: list[Task], refused: Mapping[str, str]) -> int:
    """Report the tasks of one job that were held or released. Returns the exit status."""
    say, status = sys.stdout.write, 0
    for task in tasks:
        number = task.job
        what = f"job-array task {number}.{task.number}" if task.tasks else f"job {number}"
        why = refused.get(f"{task.job}.{task.proc}")
        if why is None:
            if action == "hold" or task.holds:
                say(f"modified hold of {what}\n")
        elif action == "hold" and why == "bad-status":
            sys.stdout.flush()
            sys.stderr.write(f"{what} is being deleted, and cannot be held\n")
            status = FAILED
    return status
