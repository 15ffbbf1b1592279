"""The requests of a `qsub` command: options of request files, of the script and of the command line, in increasing
precedence.

For most options the last one counts. ``-l`` and ``-v`` are merged by name and ``-M`` by address; ``-q`` of a place with
higher precedence replaces those of lower ones, and within one place they are merged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from roost.base.records import dataclass, field
from roost.gridengine.commands.binding import WAYS, binding_of
from roost.gridengine.commands.context import changed
from roost.gridengine.commands.errors import BAD_VALUE, USAGE, Failure, rejected
from roost.gridengine.commands.numbers import slot_range, task_range
from roost.gridengine.commands.options import Given, Option, is_yes
from roost.model import cell_requests as cell
from roost.model.cell_reservations import NUMBER_MAX

OPTIONS: Final = (
    Option("a", "do not start before this time, [[CC]YY]MMDDhhmm[.SS]", "date_time"),
    Option("A", "account string", "account_string"),
    Option("ar", "use the resources of this advance reservation; 0 for none", "ar_id"),
    Option("b", "the command is a program, not a script", "y[es]|n[o]"),
    Option("C", 'prefix of options in the script; "" for none', "directive_prefix"),
    Option("c", "when to checkpoint: n, letters of s, m and x, or the time between two", "ckpt_selector"),
    Option("ckpt", "checkpointing interface", "ckpt_name"),
    Option("clear", "forget the options of request files"),
    Option("cwd", "run in the present directory"),
    Option("dl", "when the job has to run, [[CC]YY]MMDDhhmm[.SS]; for users of the list deadlineusers", "date_time"),
    Option("e", "file for standard error", "path_list"),
    Option("h", "submit on hold (user hold)"),
    Option("hard", "requests that follow must be met"),
    Option("hold_jid", "start when these jobs have left; names mean your own jobs", "job_identifier_list"),
    Option("hold_jid_ad", "start each task when those tasks of other arrays have left", "job_identifier_list"),
    Option("i", "file for standard input", "file_list"),
    Option("j", "write standard error to the file of standard output", "y[es]|n[o]"),
    Option("js", "functional share of the job among others, from 0 on", "job_share"),
    Option("jsv", "a program that may change or refuse the job; all that are named are run", "jsv_url"),
    Option("l", "request resources", "resource_list"),
    Option("M", "addresses for mail; the pool sends none", "mail_list"),
    Option("masterq", "request queues for the master task of a parallel job", "wc_queue_list"),
    Option("m", "when to send mail; only n acts, others are answered with a warning", "mail_options"),
    Option("N", "name of the job", "name"),
    Option("notify", "warn the job by a signal before it is suspended or ended"),
    Option("now", "y: start now or not at all, in an interactive queue", "y[es]|n[o]"),
    Option("o", "file for standard output", "path_list"),
    Option("P", "project", "project_name"),
    Option("p", "priority, -1023 to 1024; operators may give a positive one", "priority"),
    Option("pe", "parallel environment and slots, n[-[m]]|[-]m,...", "pe_name slot_range"),
    Option("q", "request queues", "wc_queue_list"),
    Option("R", "y: keep what the job needs for it, so that smaller jobs do not pass it forever", "y[es]|n[o]"),
    Option("r", "n: do not start the job a second time if its machine fails", "y[es]|n[o]"),
    Option("S", "the shell that runs the job", "path_list"),
    Option("shell", "n: with -b y, execute the command without a shell", "y[es]|n[o]"),
    Option("soft", "requests that follow should be met"),
    Option("sync", "wait for the job to end; exit with its exit status", "y[es]|n[o]"),
    Option("t", "an array of tasks, n[-m[:s]]", "task_id_range"),
    Option("tc", "number of tasks that run at once", "max_running_tasks"),
    Option("terse", "print only the number of the job"),
    Option("V", "give the job the whole environment of qsub"),
    Option("v", "give the job these variables", "variable_list"),
    Option("w", "verify that a queue takes the job: e refuses it, w warns, v and p submit nothing", "e|w|n|v|p"),
    Option("wd", "run in this directory", "working_directory"),
    Option("@", "read options from a file", "file"),
    Option("ac", "add variables to the context of the job, which `qstat -j` shows", "context_list"),
    Option("dc", "delete variables from the context of the job", "simple_context_list"),
    Option("sc", "set the context of the job", "context_list"),
    Option("binding", "cores that the job asks for; shown, and without effect", "binding_instance", before=WAYS),
    Option("verify", "print the job and submit nothing"),
)  # fmt: skip

#: Options that make a job wait, and so exclude `-now y`.
_WAITS: Final = ("h", "a", "hold_jid", "hold_jid_ad", "tc")
#: Options that take a non-empty list, with its name in messages.
_LISTS: Final = {"q": "queue", "masterq": "queue", "M": "mail", "S": "shell", "o": "stdout path", "e": "stderr path",
                 "i": "stdin path"}  # fmt: skip
#: Options for which Grid Engine warns that a second one overrides the first.
_ONCE: Final = frozenset(("N", "w", "a", "A", "r", "j", "P", "pe", "R", "now", "b", "h", "shell", "C", "dl"))
#: Options that take a non-negative number, with its name in messages.
_NUMBERS: Final = {"js": "jobshare", "ot": "override tickets"}
_NUMBER_MAX: Final = 2**32 - 1
_MAIL: Final = re.compile(r"[beasn]+\Z")


@dataclass(slots=True)
class Asked:
    """The parsed options; a list or value that was not given is empty or None."""

    flags: set[str] = field(default_factory=set)
    #: Options whose last value counts, by name.
    texts: dict[str, str] = field(default_factory=dict)
    #: Options that say y or n, by name.
    yes: dict[str, bool] = field(default_factory=dict)
    hard: dict[str, str] = field(default_factory=dict)
    soft: dict[str, str] = field(default_factory=dict)
    hard_queues: str = ""
    soft_queues: str = ""
    #: Variables with their values; None for that of the environment.
    variables: dict[str, str | None] = field(default_factory=dict)
    mail: list[str] = field(default_factory=list)
    #: `-ac`, `-dc` and `-sc`, in their order.
    context: list[Given] = field(default_factory=list)
    #: Programs of `-jsv`, in the order in which they are run.
    verifiers: list[str] = field(default_factory=list)
    #: First, last and step.
    tasks: tuple[int, int, int] | None = None
    priority: int = 0

    def take(self, options: Sequence[Given]) -> None:
        """Add the options of one place, which take precedence over those added so far. Raises Failure."""
        soft = False
        queues: dict[bool, list[str]] = {}
        # Those with higher precedence come first.
        self.verifiers = [each.value for each in options if each.name == "jsv"] + self.verifiers
        for each in options:
            match each.name:
                case "jsv":
                    pass
                case "hard" | "soft":
                    soft = each.name == "soft"
                case "l":
                    (self.soft if soft else self.hard).update(_pairs(each.value))
                case "q":
                    _check(each)
                    queues.setdefault(soft, []).append(each.value)
                case "cwd" | "wd":
                    self.flags -= {"cwd"}
                    self.texts.pop("wd", None)
                    if each.name == "cwd":
                        self.flags.add("cwd")
                    else:
                        self.texts["wd"] = each.value
                case _:
                    self._take(each)
        self.hard_queues = ",".join(queues.get(False, [])) or self.hard_queues
        self.soft_queues = ",".join(queues.get(True, [])) or self.soft_queues

    def _take(self, each: Given) -> None:
        if each.values:
            _check(each)
        match each.name:
            case "b" | "j" | "now" | "R" | "r" | "shell" | "sync":
                self.yes[each.name] = is_yes("qsub", each)
            case "v":
                pairs = [word.partition("=") for word in each.value.split(",") if word]
                if not pairs or not all(name for name, _, _ in pairs):
                    text = f'qsub: Wrong variable list format -v "{each.value}" or environment variable not set'
                    raise Failure(text, BAD_VALUE)
                self.variables.update({name: value if equals else None for name, equals, value in pairs})
            case "M":
                self.mail += [word for word in each.value.split(",") if word and word not in self.mail]
            case "ac" | "dc" | "sc":
                self.context.append(each)
            case "t":
                self.tasks = task_range(each.value)
            case "p":
                self.priority = _priority(each.value)
            case "pe":
                self.texts["pe"] = parallel_request(*each.values)
            case "binding":
                self.texts["binding"] = binding_of(" ".join(each.values))
            case "js" | "ot":
                self.texts[each.name] = str(int(_amount(each.value)))
            case _ if each.values:
                self.texts[each.name] = each.value
            case _:
                self.flags.add(each.name)

    def check(self) -> None:
        """Raise Failure for conflicting options."""
        waits = [f"-{name}" for name in _WAITS if name in self.flags or name in self.texts]
        if self.yes.get("now") and waits:
            raise Failure(
                f"qsub: -now y is not possible with {' and '.join(waits)}: an immediate job cannot wait", USAGE
            )


def repeated(options: Sequence[Given]) -> list[str]:
    """Warnings for options repeated in one place."""
    names = [each.name for each in options]
    again = [name for at, name in enumerate(names) if name in _ONCE and name in names[:at]]
    return [f'warning: "-{name}" option has already been set, overriding previous setting' for name in again]


def _check(each: Given) -> None:
    """Raise Failure for an invalid value of an option."""
    name, value = each.name, each.value
    if name in _LISTS and not value.strip(","):
        raise Failure(f'qsub: Wrong {_LISTS[name]} list format "{value}" specified to -{name} option', BAD_VALUE)
    match name:
        case "m" if not _MAIL.match(value):
            raise Failure(f'qsub: Wrong mail options list format "{value}" specified to -m option', BAD_VALUE)
        case "w" if value not in ("e", "w", "n", "v", "p"):
            raise Failure(f'qsub: invalid option argument "-w {value}"', BAD_VALUE)
        case "c":
            _check_when(value)
        case "ac" | "dc" | "sc" if not value:
            raise Failure(f'qsub: Wrong context list format -{name} "{value}"', BAD_VALUE)
        case "tc" if not value.isdecimal():
            text = f'qsub: invalid task concurrency number "{value}". Must be an integer greater or equal to 0.'
            raise Failure(text, BAD_VALUE)
        case "ar" if not value.isdecimal() or int(value) > NUMBER_MAX:
            raise Failure("qsub: invalid advance reservation id, must be an unsigned integer", USAGE)
        case "js" | "ot" if not 0 <= _amount(value) <= _NUMBER_MAX:
            raise Failure(f"qsub: invalid {_NUMBERS[name]}, must be an unsigned integer", USAGE)


def _pairs(text: str) -> dict[str, str]:
    """Names to values; TRUE if there is none. Blanks separate requests like commas. Raises Failure."""
    pairs = [word.partition("=") for word in re.split("[, ]+", text) if word]
    if not all(name for name, _, _ in pairs):
        message = f'error: unknown resource ""\nqsub: Wrong resource list format "{text}" specified to -l option'
        raise Failure(message, BAD_VALUE)
    return {name: value if equals else "TRUE" for name, equals, value in pairs}


def _amount(text: str) -> float:
    """A number of shares or tickets, which may be written as a decimal fraction; below 0 for none."""
    try:
        return float(text)
    except ValueError:
        return -1.0


def _check_when(text: str) -> None:
    from roost.gridengine.pool.requests import when_of

    try:
        when_of(text)
    except ValueError as problem:
        raise Failure(f"qsub: {problem}", USAGE) from None


def parallel_request(environment: str, amounts: str) -> str:
    """The request for a parallel environment, in the form of a job's ad."""
    from roost.gridengine.pool.requests import slot_ranges

    amounts = slot_range(amounts)
    try:
        slot_ranges(amounts)
    except ValueError as problem:
        raise rejected(f'"job" rejected: {problem}') from None
    return f"{environment} {amounts}"


def _priority(text: str) -> int:
    number = int(text) if re.fullmatch(r"\s*[-+]?\d+", text) else 1 << 20
    if not -1023 <= number <= 1024:
        raise Failure(f'qsub: invalid priority "{text}".  Must be an integer from -1023 to 1024', BAD_VALUE)
    return number


def requirements_of(*, not_before: int | None) -> str:
    """The requirements on the start time of a job; the cell alone decides the host."""
    return f"time() >= {not_before}" if not_before else "true"


def requests_of(asked: Asked) -> dict[str, str | int | bool | None]:
    """The requests of options to a cell, and how the job is counted there, as attributes of a job; None if not given.

    The shell (`-S`) and the time of `-a` depend on where the command is given, and are left out.
    """
    texts = asked.texts
    rerun = asked.yes.get("r")
    return {
        cell.ACCOUNT: texts.get("A"),
        cell.CONTEXT: changed("", asked.context),
        cell.OUTPUT_PATHS: texts.get("o"),
        cell.ERROR_PATHS: texts.get("e"),
        cell.INPUT_PATHS: texts.get("i"),
        cell.MERGES: asked.yes.get("j"),
        cell.DIRECTORY: "cwd" in asked.flags or "wd" in texts,
        cell.MAIL_LIST: ",".join(asked.mail),
        cell.IMMEDIATE: asked.yes.get("now"),
        cell.NOTIFY: "notify" in asked.flags,
        cell.CHECKPOINT: texts.get("ckpt"),
        cell.CHECKPOINT_WHEN: texts.get("c"),
        cell.RERUN: None if rerun is None else "ny"[rerun],
        cell.RESERVATION: int(texts.get("ar", 0)) or None,
        cell.RESERVE: asked.yes.get("R"),
        cell.SHARE: int(texts.get("js", 0)) or None,
        cell.OVERRIDE_TICKETS: int(texts.get("ot", 0)) or None,
        cell.RESOURCES: _resources(asked.hard),
        cell.SOFT_RESOURCES: _resources(asked.soft),
        cell.QUEUES: asked.hard_queues,
        cell.SOFT_QUEUES: asked.soft_queues,
        cell.PROJECT: texts.get("P"),
        cell.PARALLEL: texts.get("pe"),
        cell.MASTER_QUEUES: texts.get("masterq"),
        cell.BINDING: texts.get("binding"),
    }


def _resources(given: dict[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in given.items())
