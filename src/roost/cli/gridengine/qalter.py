"""``qalter``: change the requests, names and settings of jobs.

Changes of a running job take effect with its next run. The files of its streams depend on several options and on its
name, so they are computed again from the job's options.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from roost.cli.gridengine.acting import hold_jobs, of_users
from roost.cli.gridengine.asking import ask, may_change
from roost.cli.gridengine.choosing import Named, named, tasks_named
from roost.cli.gridengine.description import attributes_of, directory_of, environment_of
from roost.cli.gridengine.following import FOLLOWED, ONLY_ARRAYS, check_list, jobs_named
from roost.cli.pool_connection import Refused
from roost.explain.cell_tasks import Task
from roost.gridengine.commands import context
from roost.gridengine.commands.binding import UNBOUND
from roost.gridengine.commands.context import OPTIONS as CONTEXT_OPTIONS
from roost.gridengine.commands.errors import BAD_VALUE, FAILED, USAGE, Failure
from roost.gridengine.commands.names import check_account, check_name
from roost.gridengine.commands.numbers import task_range
from roost.gridengine.commands.options import Given, Option, is_yes, taken, usage
from roost.gridengine.commands.paths import Streams
from roost.gridengine.commands.qsub import OPTIONS as OF_QSUB
from roost.gridengine.commands.qsub import Asked, requirements_of
from roost.model import cell_requests as cell
from roost.model.cell_requests import HOLDS
from roost.model.command_line import environment_to_raw
from roost.schedd.status import JobStatus
from roost.wire.requests import queue

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

_TAKEN: Final = (
    "a", "A", "ar", "cwd", "dl", "e", "hard", "hold_jid", "hold_jid_ad", "i", "j", "js", "l", "M", "m", "masterq", "N",
    "o", "P", "p", "pe", "q", "R", "r", "S", "soft", "tc", "v", "V", "w", "wd", "ac", "dc", "sc", "binding", "c",
    "ckpt", "notify",
)  # fmt: skip
OPTIONS: Final = (
    *(option for option in OF_QSUB if option.name in _TAKEN),
    Option("h", "set holds (u, o, s), take them away (U, O, S), or all of them (n)", "hold_list"),
    Option("u", "all jobs of these users", "user_list"),
    Option("verify", "print the change and make none", "", "`-w v` verifies a change without making it"),
    Option("ot", "override tickets of the job; operators may give them", "override_tickets"),
)
_POSITIONAL: Final = "job_task_list"
#: The message for each option, in the order in which Grid Engine prints them.
_TOLD: Final = (
    ("a", "start time"), ("dl", "deadline time"), ("R", "reservation behaviour"), ("tc", "task concurrency"),
    ("A", "account"), ("cwd", "working directory"), ("wd", "working directory"),
    ("e", "stderr path list"), ("j", "output merge behaviour"), ("l", "hard resource list"),
    ("soft l", "soft resource list"), ("m", "mail options"), ("M", "mail list"), ("N", "job name"),
    ("i", "stdin path list"), ("o", "stdout path list"), ("P", "project"), ("pe", "parallel environment"),
    ("pe", "slot range"), ("notify", "notify behaviour"), ("binding", "binding"),
    ("q", "hard queue list"), ("soft q", "soft queue list"),
    ("masterq", "master hard queue list"), ("r", "restart behaviour"), ("S", "shell list"),
    ("v", "environment"), ("V", "environment"),
    ("ckpt", "checkpointing environment"), ("c", "checkpoint attributes"), ("context", "context"),
)  # fmt: skip
#: Parts of refusals, and the option that is refused.
_REFUSED: Final = (
    ("parallel environment", "pe"), ("requested project", "P"), ("unknown queue", "q"), ("unknown resource", "l"),
    ('attribute "', "l"),
)  # fmt: skip
#: Attributes with numbers.
_NUMBERS: Final = (cell.SHARE, cell.OVERRIDE_TICKETS, cell.RESERVATION)
#: Options that affect the files of streams.
_OF_STREAMS: Final = frozenset(("o", "e", "i", "j", "N", "cwd", "wd"))
#: Option to the attributes that it sets.
_ATTRIBUTES: Final = {
    "A": (cell.ACCOUNT,), "a": (cell.NOT_BEFORE,), "cwd": (cell.DIRECTORY,), "wd": (cell.DIRECTORY,),
    "e": (cell.ERROR_PATHS,), "i": (cell.INPUT_PATHS,), "j": (cell.MERGES,), "l": (cell.RESOURCES,),
    "soft l": (cell.SOFT_RESOURCES,), "M": (cell.MAIL_LIST,), "o": (cell.OUTPUT_PATHS,), "P": (cell.PROJECT,),
    "pe": (cell.PARALLEL,), "q": (cell.QUEUES,), "soft q": (cell.SOFT_QUEUES,), "masterq": (cell.MASTER_QUEUES,),
    "r": (cell.RERUN,), "S": (cell.SHELL,), "R": (cell.RESERVE,), "js": (cell.SHARE,), "ot": (cell.OVERRIDE_TICKETS,),
    "dl": (cell.DEADLINE,), "ar": (cell.RESERVATION,),
    "notify": (cell.NOTIFY,), "ckpt": (cell.CHECKPOINT,), "c": (cell.CHECKPOINT_WHEN,), "binding": (cell.BINDING,),
}  # fmt: skip
#: Attributes of a job from which the files of its streams are computed.
_SHOWN: Final = (
    "ClusterId", "ProcId", "Iwd", cell.NAME, cell.TASKS, cell.OUTPUT_PATHS, cell.ERROR_PATHS, cell.INPUT_PATHS,
    cell.MERGES, cell.PARALLEL, cell.RERUN, cell.NOT_BEFORE, "Owner", cell.CHECKPOINT, cell.CHECKPOINT_WHEN,
    cell.CONTEXT,
)  # fmt: skip
_FOUND: Final = "verification: found suitable queue(s)"
_NONE_FOUND: Final = "verification: no suitable queues"
#: Maximum number of tasks whose files are changed one by one.
TASKS_MAX: Final = 1000
#: Exit statuses.
_ONLY_JOBS: Final = 4
_UNKNOWN: Final = 5
#: Options of `qsub` that cannot be changed later.
_LATE: Final = ("-now", "-terse", "-sync", "-clear")
_WITH_YES: Final = ("-now", "-sync")
#: It follows the job to which it belongs.
_TASKS: Final = Option("t", "tasks of the job before it", "task_id_range")


class _Denied(Exception):
    """A refusal of the qmaster: Grid Engine prints it on standard output."""


def run(name: str, arguments: list[str]) -> int:
    """Run ``qalter``."""
    try:
        return _run(arguments)
    except _Denied as denied:
        sys.stdout.write(f"{denied}\n")
        return FAILED
    except Failure as failure:
        raise Failure(str(failure).replace("qsub: ", "qalter: "), failure.status) from None


def _run(arguments: list[str]) -> int:
    late = next((at for at, word in enumerate(arguments) if word in _LATE), None)
    if late is not None:
        word, value = arguments[late], arguments[late + 1 : late + 2]
        if word in _WITH_YES and value:
            is_yes("qalter", Given(word[1:], tuple(value)))
        raise Failure(f"Unknown option {word}\n", _UNKNOWN)
    given, rest = taken("qalter", arguments, (*OPTIONS, _TASKS))
    tasks = next((each.value for each in given if each.name == "t"), None)
    if tasks is not None:
        try:
            task_range(tasks)
        except Failure as failure:
            if failure.status == BAD_VALUE:
                raise
        raise Failure(f"found lonely '-t {tasks}' option (The -t option needs a leading job name).", USAGE)
    users = [user for each in given if each.name == "u" for user in each.value.split(",") if user]
    if not rest and not users:
        raise Failure(f"{usage('qalter', OPTIONS, _POSITIONAL)}ERROR! no option argument", FAILED)
    asked = Asked()
    asked.take([each for each in given if each.name not in ("h", "u")])
    asked.check()
    if "binding" in asked.texts:
        sys.stderr.write(f"qalter: {UNBOUND}\n")
    change = _Change(asked, _names(given), "".join(each.value for each in given if each.name == "h"))
    return ask("qalter", lambda pool: change.carry_out(pool, named(rest, "qalter"), users))


def _names(given: Iterable[Given]) -> tuple[str, ...]:
    """The options; those after -soft as ``soft l``."""
    found, soft = dict[str, None](), False
    for each in given:
        if each.name in ("hard", "soft"):
            soft = each.name == "soft"
        elif each.name not in ("h", "u"):
            name = "context" if each.name in CONTEXT_OPTIONS else each.name
            found[f"soft {name}" if soft and name in ("l", "q") else name] = None
    return tuple(found)


class _Change:
    """The change of each job."""

    def __init__(self, asked: Asked, options: tuple[str, ...], holds: str) -> None:
        self._asked = asked
        self._options = options
        self._holds = holds
        #: Option to the jobs for which the current job must wait.
        self._followed: dict[str, tuple[int, ...]] = {}
        if not set(holds) <= set("nuosUOS"):
            raise Failure(f'qalter: Unknown hold list "{holds}" specified to -h option', BAD_VALUE)
        for option in FOLLOWED:
            if option in options:
                check_list(asked.texts[option], option, "qalter")
        for option, check in (("N", check_name), ("A", check_account)):
            if option in options:
                _check(check, asked.texts[option])

    def carry_out(self, pool: Pool, wanted: Sequence[Named], users: Sequence[str]) -> int:
        """Carry out all changes; return the exit status."""
        if self._options and any(each.tasks is not None for each in wanted):
            raise Failure("denied: the selected option works only on jobs and not on tasks", _ONLY_JOBS)
        status, say = 0, sys.stdout.write
        if users:
            # As in Grid Engine, all jobs of these users, whatever is named.
            groups = [(Named("*"), of_users(pool, users))]
            if not groups[0][1]:
                say(f"The job * of user(s) {','.join(users)} does not exist\n")
                return FAILED
        else:
            groups = list(zip(wanted, tasks_named(pool, wanted), strict=True))
        for each, tasks in groups:
            if not tasks:
                say(f'denied: job "{each.written}" does not exist\n')
                status = FAILED
            jobs: dict[int, list[Task]] = {}
            for task in tasks:
                jobs.setdefault(task.job, []).append(task)
            for number, some in jobs.items():
                if self._options:
                    status = self._alter(pool, number) or status
                if self._holds:
                    status = self._hold(pool, some) or status
        return status

    def _hold(self, pool: Pool, tasks: list[Task]) -> int:
        letters = HOLDS.upper() if "n" in self._holds else self._holds
        status = 0
        if away := "".join(letter.lower() for letter in letters if letter.isupper()):
            status = hold_jobs(pool, "release", away, tasks)
        if kept := "".join(letter for letter in letters if letter.islower()):
            status = hold_jobs(pool, "hold", kept, tasks) or status
        return min(status, FAILED)

    def _alter(self, pool: Pool, number: int) -> int:
        """Change one job, and report it; return the exit status."""
        rows = pool.ask(queue.Query(jobs=(str(number),), projection=_SHOWN))
        if not rows:
            return 0
        say, owner = sys.stdout.write, str(rows[0].get("Owner", ""))
        if not may_change(pool, owner):
            say(f'denied: "{pool.user}" must be at least owner of job {number} to change job attributes\n')
            return FAILED
        if "tc" in self._options and cell.TASKS not in rows[0] and int(self._asked.texts["tc"]):
            say('invalid option argument "task concurrency"\n')
            return FAILED
        if "hold_jid_ad" in self._options and cell.TASKS not in rows[0]:
            say(f"{ONLY_ARRAYS}\n")
            return FAILED
        lists = {option: self._asked.texts[option] for option in FOLLOWED if option in self._options}
        if any(str(number) in text.split(",") for text in lists.values()):
            say(f'denied: job "{number}" may not be its own jobnet predecessor\n')
            return FAILED
        # A name that it shares with other jobs refers to those.
        self._followed = {
            option: tuple(each for each in jobs_named(pool, text, option, "qalter", owner=owner) if each != number)
            for option, text in lists.items()
        }
        try:
            if "w" in self._options and (status := self._verified(pool, number)) is not None:
                return status
            refused = ""
            for jobs, attributes in self._edits(number, rows):
                answer = pool.ask(queue.Act(action="edit", jobs=jobs, attributes=attributes, reason="qalter"))
                refused = refused or next(iter(answer.refused.values()), "")
        except Refused as refusal:
            words = _words(refusal.answer.text or str(refusal))
            say("".join(f"{line}\n" for line in self._messages_before(pool, number, words)))
            say(f"{words}\n")
            return FAILED
        if "dependency cycle" in refused:
            say(f"job {number} dependency change {refused}\n")
            return FAILED
        if "hold_jid_ad" in refused:
            say(f"{refused}\n")
            return FAILED
        if refused == "permission-denied":
            say(f'denied: "{pool.user}" must be at least owner of job {number} to change job attributes\n')
            return FAILED
        if refused:
            say(f"denied: job {number} is not changed: {refused}\n")
            return FAILED
        say("".join(f"{line}\n" for line in self._messages(pool, number)))
        return 0

    def _verified(self, pool: Pool, number: int) -> int | None:
        """Verify the changed job, and report the result; return the exit status if it must not be changed."""
        word = self._asked.texts.get("w", "n")
        if word == "n":
            return None
        from roost.cli.gridengine.verifying import why_not
        from roost.wire.ads import ad_from

        rows = pool.ask(queue.Query(jobs=(str(number),)))
        if word in ("v", "p") and all(row.get("JobStatus") != JobStatus.IDLE for row in rows):
            sys.stdout.write("verification: job is already running or is held\n")
            return 0
        row = rows[0]
        ad = ad_from(row)
        for name, value in self._changed(row).items():
            ad[name] = value
        why, say = why_not(pool, ad, as_it_is=word == "p"), sys.stdout.write
        if word in ("v", "p"):
            lines = [_FOUND] if why is None else [*(f"Job {number} {each}" for each in why), _NONE_FOUND]
            say("".join(f"{line}\n" for line in lines))
            return 0 if why is None else FAILED
        if why is not None:
            say("error: no suitable queues\n" if word == "e" else "warning: no suitable queues\n")
        return FAILED if why is not None and word == "e" else None

    def _messages_before(self, pool: Pool, number: int, refusal: str) -> Iterator[str]:
        """The messages about options that Grid Engine handles before the refused one; none of them takes effect."""
        option = next((name for words, name in _REFUSED if words in refusal), None)
        end = next((words for name, words in _TOLD if name == option), "")
        lines = self._messages(pool, number) if option in self._options else ()
        yield from takewhile(lambda line: not line.startswith((f"modified {end} of", "modified job id")), lines)

    def _messages(self, pool: Pool, number: int) -> Iterator[str]:
        from roost.runtime.identity import host_name

        if "p" in self._options:
            yield f"{pool.user}@{host_name()} sets scheduling priority of job {number} to {self._asked.priority}"
        for option, words in (("ar", "job advance reservation"), ("js", "job share"), ("ot", "override tickets")):
            if option in self._options:
                yield f"{pool.user}@{host_name()} sets {words} of job {number} to {int(self._asked.texts[option])}"
        for option, words in _TOLD:
            if option in self._options:
                yield f"modified {words} of job {number}"
        for option, words in (("hold_jid", "hold list"), ("hold_jid_ad", "hold array list")):
            if option in self._options:
                yield f"modified job id {words} of job {number}"
                yield f"   blocking jobs: {','.join(map(str, self._followed[option])) or 'NONE'}"
                yield "   exited jobs:   NONE"

    def _edits(self, number: int, rows: Sequence[Any]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        """Jobs of the queue, and their new attributes."""
        attributes = self._changed(rows[0])
        yield from self._by_task(number, rows, attributes)

    def _changed(self, row: Any) -> dict[str, Any]:
        """The new attributes of all tasks of a job."""
        asked = self._asked
        given = attributes_of(asked)
        attributes: dict[str, Any] = {}
        for option in self._options:
            for name in _ATTRIBUTES.get(option, ()):
                value = given[name]
                attributes[name] = (0 if name in _NUMBERS else "") if value is None else value
        if "p" in self._options:
            attributes["JobPrio"] = asked.priority
        if "tc" in self._options:
            attributes["JobMaterializeLimit"] = int(asked.texts["tc"])
        if "context" in self._options:
            attributes[cell.CONTEXT] = context.changed(row.get(cell.CONTEXT) or "", asked.context)
        for option, numbers in self._followed.items():
            name, written = FOLLOWED[option]
            attributes |= {name: ",".join(map(str, numbers)), written: asked.texts[option]}
        if "N" in self._options:
            attributes[cell.NAME] = asked.texts["N"]
        if not {"v", "V"}.isdisjoint(self._options):
            attributes["Environment"] = environment_to_raw(environment_of(asked))
        if "a" in self._options:
            not_before = attributes.get(cell.NOT_BEFORE, row.get(cell.NOT_BEFORE))
            attributes["Requirements"] = {"expr": requirements_of(not_before=not_before)}
        for option, other in (("ckpt", "c"), ("c", "ckpt")):
            if option in self._options and other not in self._options:
                # They are handled together.
                name = _ATTRIBUTES[other][0]
                attributes[name] = row.get(name) or ""
        if "masterq" in self._options and cell.PARALLEL not in attributes:
            # They are handled together.
            attributes[cell.PARALLEL] = row.get(cell.PARALLEL) or ""
        return attributes

    def _by_task(
        self, number: int, rows: Sequence[Any], attributes: dict[str, Any]
    ) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        """The same, with the files of the streams of each task."""
        if _OF_STREAMS.isdisjoint(self._options):
            yield (str(number),), attributes
            return
        by_task = [(f"{number}.{each['ProcId']}", self._streams(number, each)) for each in rows]
        if all(streams == by_task[0][1] for _, streams in by_task):
            yield (str(number),), attributes | by_task[0][1]
            return
        if len(by_task) > TASKS_MAX:
            raise Failure(
                f"qalter: the files of more than {TASKS_MAX} tasks cannot be changed; submit job {number} again"
            )
        if attributes:
            yield (str(number),), attributes
        for job, streams in by_task:
            yield (job,), streams

    def _streams(self, number: int, row: Any) -> dict[str, Any]:
        """The directory and the stream files of one task."""
        asked, options = self._asked, self._options
        directory = directory_of(asked) if {"cwd", "wd"} & set(options) else str(row.get("Iwd", ""))
        from pathlib import Path

        from roost.runtime.identity import user_name

        streams = Streams(
            directory=directory,
            home=str(Path("~").expanduser()),
            user=user_name(),
            is_directory=lambda path: Path(path).is_dir(),
            name=asked.texts["N"] if "N" in options else str(row.get(cell.NAME, "")),
            is_array=cell.TASKS in row,
        )
        paths = {
            letter: asked.texts.get(letter) if letter in options else row.get(name)
            for letter, name in (("o", cell.OUTPUT_PATHS), ("e", cell.ERROR_PATHS), ("i", cell.INPUT_PATHS))
        }
        merged = asked.yes["j"] if "j" in options else bool(row.get(cell.MERGES))
        output = streams.path(paths["o"], "o")
        found = {"Out": output, "Err": output if merged else streams.path(paths["e"], "e"), "Iwd": directory}
        if "i" in options:
            found["In"] = streams.path(paths["i"], "i") if paths["i"] else "/dev/null"
        first, _, step = _array(row)
        task = first + int(row["ProcId"]) * step
        return {name: _plain(text, number, task) for name, text in found.items()}


def _array(row: Any) -> tuple[int, int, int]:
    from roost.explain.cell_tasks import array_of

    return array_of(row) or (1, 1, 1)


def _plain(text: str, number: int, task: int) -> str:
    """The submit language's result for the value of a command."""
    for macro, value in (("$(Cluster)", f"{number}"), ("$INT(task)", f"{task}"), ("$(DOLLAR)", "$")):
        text = text.replace(macro, value)
    return text


def _check(check: Callable[[str], None], text: str) -> None:
    """Refuse a name that Grid Engine refuses."""
    try:
        check(text)
    except Failure as failure:
        if failure.status != FAILED:
            raise
        raise _Denied(str(failure).removeprefix("Unable to run job: ").removesuffix("\nExiting.")) from None


def _words(text: str) -> str:
    """The message of a refusal, where `qalter` has a different one than `qsub`."""
    for kind in ("parallel", "checkpointing"):
        start = f"job rejected: the requested {kind} environment "
        if text.startswith(start):
            name = text.removeprefix(start).partition('"')[2].partition('"')[0]
            return f'denied: {kind} environment "{name}" does not exist'
    return text
