"""``qsub``: submit a script, a command, or a script from standard input."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from roost.cli.gridengine.asking import ask
from roost.cli.gridengine.description import Work, plan_of
from roost.cli.gridengine.request_files import request_files, words_of_file
from roost.cli.gridengine.script import PREFIX, read_script
from roost.cli.pool_connection import Refused
from roost.gridengine.commands.binding import UNBOUND
from roost.gridengine.commands.errors import FAILED, TOO_MANY_JOBS, USAGE, Failure, rejected
from roost.gridengine.commands.options import Given, taken
from roost.gridengine.commands.qsub import OPTIONS, Asked, repeated
from roost.model.cell_requests import TASKS
from roost.wire.requests import queue
from roost.wire.requests.cell import OVER_LIMIT

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool
    from roost.schedd.submit.plan import ClusterPlan

__all__ = ["OPTIONS", "run"]

#: Maximum nesting depth of option files.
_DEPTH_MAX = 10


def run(name: str, arguments: list[str]) -> int:
    """Run ``qsub``."""
    given, rest = command_line(arguments)
    asked, work = _read(given, rest)
    asked.check()
    if asked.tasks is None and "tc" in asked.texts:
        raise rejected('invalid "task concurrency" value in job request')
    events = asked.texts.get("m", "n")
    if events != "n":
        sys.stderr.write(f"qsub: the pool sends no mail: -m {events} has no effect\n")
    if "binding" in asked.texts:
        sys.stderr.write(f"qsub: {UNBOUND}\n")
    called, plan = plan_of(asked, work)
    if asked.verifiers:
        from roost.cli.gridengine.jsv import verified

        plan = verified(asked, plan)
    if "verify" in asked.flags:
        return show_plan(plan)
    return ask(name, lambda pool: _submit(pool, asked, called, plan))


def show_plan(plan: ClusterPlan) -> int:
    """Print what would be submitted, for `-verify`; return the exit status."""
    from roost.cli.gridengine.details import verified
    from roost.explain.cell_tasks import tasks_of
    from roost.runtime.identity import user_name
    from roost.wire.ads import ad_data

    row = {"ClusterId": 0, "ProcId": 0, **ad_data(plan.common), "Owner": user_name()}
    sys.stdout.write(verified(plan.common, tasks_of([row])))
    return 0


def options_of(words: Sequence[str], place: str) -> list[Given]:
    """The options of a file or a script; other words are reported, because they have no effect. Raises Failure."""
    found: list[Given] = []
    while words:
        some, words = taken("qsub", words, OPTIONS)
        found += some
        if words and words[0].startswith("#"):
            break
        if words:
            sys.stderr.write(f"qsub: {place}: {words[0]!r} is not an option and has no effect\n")
            words = words[1:]
    return found


def command_line(arguments: list[str], depth: int = 0) -> tuple[list[Given], list[str]]:
    """The options, including those of files named by ``-@``, and the remaining words. Raises Failure."""
    given, rest = taken("qsub", arguments, OPTIONS)
    found: list[Given] = []
    for each in given:
        if each.name != "@":
            found.append(each)
            continue
        if depth >= _DEPTH_MAX:
            raise Failure(f"qsub: -@ {each.value}: files name one another more than {_DEPTH_MAX} deep", USAGE)
        try:
            inside, more = command_line(words_of_file_there(each.value), depth + 1)
        except OSError as error:
            raise Failure(f"qsub: -@ {each.value}: {error.strerror}", USAGE) from None
        found += inside
        rest = rest or more
    return found, rest


def words_of_file_there(path: str) -> list[str]:
    """The options in a file that must exist. Raises Failure and OSError."""
    from pathlib import Path

    Path(path).stat()
    return words_of_file(Path(path))


def _read(given: list[Given], rest: list[str]) -> tuple[Asked, Work]:
    """The request of all sources together, and what to run."""
    asked, typed = Asked(), Asked()
    typed.take(given)
    for warning in repeated(given):
        sys.stdout.write(f"qsub: {warning}\n")
    if "clear" not in typed.flags:
        for path in request_files():
            asked.take(options_of(words_of_file(path), str(path)))
    is_binary = typed.yes.get("b", asked.yes.get("b", False))
    if is_binary:
        if not rest or rest[0] == "-":
            raise Failure("qsub: command required for a binary job", USAGE)
        asked.take(given)
        return asked, Work(None, rest[0], tuple(rest[1:]))
    script = read_script(rest[0] if rest else "")
    prefix = typed.texts.get("C", asked.texts.get("C", PREFIX))
    asked.take(options_of(script.options(prefix), script.file))
    asked.take(given)
    return asked, Work(script, "", tuple(rest[1:]))


def follow(pool: Pool, plan: ClusterPlan, asked: Asked) -> None:
    """Let a job wait for the jobs that lists name now; those that are not in the queue are not waited for."""
    from roost.cli.gridengine.following import FOLLOWED, arrays_named, jobs_named

    for option, (name, written) in FOLLOWED.items():
        text = asked.texts.get(option)
        if text is None:
            continue
        plan.common[written] = text
        if option == "hold_jid_ad":
            arrays_named(pool, text, asked.tasks)
        if numbers := jobs_named(pool, text, option, "qsub"):
            plan.common[name] = ",".join(map(str, numbers))


def _submit(pool: Pool, asked: Asked, name: str, plan: ClusterPlan) -> int:
    follow(pool, plan, asked)
    # As in Grid Engine, a job that an advance reservation could never run is refused.
    if (verify := asked.texts.get("w", "e" if int(asked.texts.get("ar", 0)) else "n")) != "n":
        from roost.cli.gridengine.verifying import verified

        if not verified(pool, plan, verify):
            return 0
    try:
        (taken_cluster,) = pool.ask(queue.Submit(clusters=(plan.to_data(),)))
    except Refused as refused:
        status = TOO_MANY_JOBS if refused.answer.code == OVER_LIMIT else FAILED
        raise rejected(refused.answer.text or str(refused), status) from None
    number = taken_cluster.cluster
    for warning in taken_cluster.warnings:
        sys.stderr.write(f"qsub: warning: {warning}\n")
    name = taken_cluster.name or name
    tasks = f"{number}.{taken_cluster.tasks}" if taken_cluster.tasks else f"{number}"
    if "terse" in asked.flags:
        sys.stdout.write(f"{tasks}\n")
    else:
        kind = "job-array" if taken_cluster.tasks else "job"
        sys.stdout.write(f'Your {kind} {tasks} ("{name}") has been submitted\n')
    if asked.yes.get("now"):
        from roost.cli.gridengine.waiting import wait_for_start

        sys.stdout.flush()
        if not wait_for_start(pool, number, tasks):
            return 1
    if not asked.yes.get("sync"):
        return 0
    from roost.cli.gridengine.waiting import wait_for
    from roost.explain.cell_tasks import array_of

    sys.stdout.flush()
    return wait_for(pool, number, array_of({TASKS: taken_cluster.tasks or None}), is_terse="terse" in asked.flags)
