"""The sections that build a job's ad, each a function that reads commands and puts attributes.

For each section, the table lists the attributes it may put, and the commands whose text goes into the attribute
unchanged, so that text that differs from job to job can be inserted without running the section again (`inert`). The
order is that of the ad.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from roost.base.records import dataclass
from roost.classad import UNDEFINED
from roost.classad.ad import Cell
from roost.schedd.jobs.owned import NOT_DESCRIBED, ZERO_SECONDS, ZEROES
from roost.schedd.submit import ending, files, matching, program, requests, retries
from roost.schedd.submit.commands import SIMPLE, Command, CommandKind
from roost.schedd.submit.diagnostics import SubmitCode
from roost.schedd.submit.job import PlannedJob, unquoted
from roost.schedd.submit.macros import Macros

_ATTRIBUTE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_MY: Final = "my."
_DIRECTORIES: Final = ("initialdir", "initial_dir", "iwd", "job_iwd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One row."""

    name: str
    run: Callable[[PlannedJob], None]
    #: Folded names of the attributes it may put, for sections with several or varying ones.
    gives: frozenset[str] = frozenset()
    #: Commands whose text goes into the attributes unchanged.
    inert: frozenset[str] = frozenset()
    #: It always puts the same single attribute: common to all jobs except those that differ.
    steady: bool = False


def _row(
    name: str,
    run: Callable[[PlannedJob], None],
    gives: str = "",
    *,
    inert: tuple[str, ...] = (),
    steady: bool = False,
) -> Section:
    return Section(name=name, run=run, gives=frozenset(gives.lower().split()), inert=frozenset(inert), steady=steady)


#: LeaveJobInQueue of jobs whose output the queue keeps: they stay for 10 days, as in HTCondor.
_UNTIL_FETCHED: Final = (
    "JobStatus == 4 && (CompletionDate =?= undefined || CompletionDate == 0 || ((time() - CompletionDate) < 864000))"
)


def begin(job: PlannedJob) -> None:
    """Owner, submission time and identity, and counters at zero."""
    defaults = job.defaults
    job.put("MyType", "Job")
    job.put("TargetType", "Machine")
    job.put("Owner", defaults.owner)
    job.put("User", f"{defaults.owner}@{defaults.uid_domain}")
    job.put("QDate", defaults.now)
    job.put("EnteredCurrentStatus", defaults.now)
    job.put("JobSubmitMethod", 0)
    job.put("ExitBySignal", False)
    job.put("MinHosts", 1)
    job.put("MaxHosts", 1)
    if job.defaults.spooled:
        job.put_expression("LeaveJobInQueue", _UNTIL_FETCHED, "leave_in_queue")
    else:
        job.put("LeaveJobInQueue", False)
    for name in ZEROES:
        job.put(name, 0)
    for name in ZERO_SECONDS:
        job.put(name, 0.0)
    for name, text in defaults.attributes:
        job.put_expression(name, text, None)


def _simple(row: Command) -> Callable[[PlannedJob], None]:
    def run(job: PlannedJob) -> None:
        if row.kind is CommandKind.BOOLEAN:
            truth = job.truth(*row.names)
            if truth is not None:
                job.put(row.attribute, truth)
            return
        if row.kind is CommandKind.INTEGER:
            number = job.integer(*row.names)
            if number is not None:
                job.put(row.attribute, number)
            return
        text = job.text(*row.names)
        if text is None:
            return
        match row.kind:
            case CommandKind.EXPRESSION:
                job.put_expression(row.attribute, text, job.given(*row.names))
            case CommandKind.UNQUOTED:
                job.put(row.attribute, unquoted(text))
            case CommandKind.PATH:
                job.put(row.attribute, files.text_path(job, text))
            case _:
                job.put(row.attribute, text)

    return run


def _simple_section(row: Command) -> Section:
    names = tuple(name.lower() for name in row.names)
    inert: tuple[str, ...] = ()
    if row.kind in (CommandKind.TEXT, CommandKind.UNQUOTED):
        inert = names
    elif row.kind is CommandKind.PATH:
        inert = (*names, *_DIRECTORIES)
    return _row(row.name, _simple(row), inert=inert)


_ENCRYPTED: Final = "encryptinputfiles encryptoutputfiles dontencryptinputfiles dontencryptoutputfiles"

SECTIONS: Final[tuple[Section, ...]] = (
    _row("begin", begin),
    _row(
        "universe",
        program.universe,
        "WantDocker WantContainer WantDockerImage WantSIF WantSandboxImage DockerImage ContainerImage",
    ),
    _row("executable", program.executable, "Cmd TransferExecutable", inert=("executable", "cmd")),
    _row("arguments", program.arguments, "Args Arguments", inert=("arguments", "arguments2", "args", "shell")),
    _row("environment", program.environment, inert=("environment", "environment2", "env")),
    _row("directory", files.directory, inert=_DIRECTORIES),
    _row(
        "standard files",
        files.standard_files,
        "In Out Err TransferIn TransferOut TransferErr StreamIn StreamOut StreamErr",
        inert=("input", "stdin", "output", "stdout", "error", "stderr"),
    ),
    _row(
        "moving",
        files.moving,
        "ShouldTransferFiles WhenToTransferOutput FileSystemDomain TransferInput TransferOutput "
        f"WantTransferPluginMethods {_ENCRYPTED}",
        inert=("transfer_input_files", "transfer_output_files"),
    ),
    _row("checkpoints", files.checkpoints, "SuccessCheckpointExitCode WantFTOnCheckpoint TransferCheckpoint"),
    _row("status", ending.status, "JobStatus HoldReason HoldReasonCode"),
    _row("priority", ending.priority, steady=True),
    _row("accounting", ending.accounting, "AcctGroup AcctGroupUser AccountingGroup MaxJobRetirementTime"),
    _row("limits", ending.limits),
    _row("notification", ending.notification, steady=True),
    _row("lease", ending.lease, steady=True),
    _row("retries", ending.retries, "OnExitRemove OnExitHold JobMaxRetries JobSuccessExitCode"),
    _row("signals", ending.signals, "KillSig RemoveKillSig HoldKillSig"),
    _row(
        "deferral",
        ending.deferral,
        "DeferralTime DeferralWindow DeferralPrepTime ScheddInterval "
        "CronMinute CronHour CronDayOfMonth CronMonth CronDayOfWeek",
    ),
    _row(
        "requests",
        requests.requests,
        "RequestCpus RequestMemory RequestDisk RequestGPUs RequireGPUs GPUsMinCapability GPUsMaxCapability "
        "GPUsMinMemory GPUsMinRuntime",
    ),
    _row(
        "retries with more",
        retries.retries_with_more,
        "RetryRequestMemory NextRequestMemory MaxRequestMemory RetryRequestDisk NextRequestDisk MaxRequestDisk",
    ),
    *map(_simple_section, SIMPLE),
    _row("rank", matching.rank, steady=True),
    _row("requirements", matching.requirements, steady=True),
)

BY_NAME: Final[Mapping[str, Section]] = {section.name: section for section in SECTIONS}


def custom(key: str) -> Section:
    """The section of ``MY.Name``: any attribute, overriding those of other sections."""

    def run(job: PlannedJob) -> None:
        found = job.macros.find(key, job.position)
        if found is None:
            return
        name = found.name[len(_MY) :]
        if not _ATTRIBUTE.match(name):
            job.report(SubmitCode.NAME, f"{name!r} is not a valid attribute name", key)
            return
        if key[len(_MY) :] in NOT_DESCRIBED:
            message, remedy = f"the queue maintains {name} itself; the line has no effect", "Remove the line."
            job.report(SubmitCode.UNUSED, message, key, remedy=remedy)
        if key == "my.jobprio":
            # The queue sorts by it, so it must be a number.
            number = job.integer(key)
            if number is not None:
                job.put("JobPrio", number)
            return
        text = job.text(key)
        if text is None:
            job.put(name, UNDEFINED)
        else:
            job.put_expression(name, text, key)
            _unquoted_word(job, name, text, key)

    return Section(name=key, run=run, gives=frozenset((key[len(_MY) :],)))


def _unquoted_word(job: PlannedJob, name: str, text: str, key: str) -> None:
    """Report a bare word that was probably meant to be a string."""
    if not re.fullmatch(r"[A-Za-z_]\w*", text) or text.lower() in ("true", "false", "undefined", "error"):
        return
    message = f"+{name} = {text} refers to an attribute {text}; it is not the string {text!r}"
    job.report(SubmitCode.SUSPICIOUS, message, key, remedy=f'For a string, write +{name} = "{text}".')


def custom_keys(macros: Macros) -> list[str]:
    """Folded names of all attributes that the user sets, in the order in which they were written."""
    return [key for key in (*macros.defined, *macros.variables) if key.startswith(_MY)]


def section_named(name: str) -> Section:
    """The section with a name. Raises KeyError."""
    return custom(name) if name.startswith(_MY) else BY_NAME[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The output of a section for one job."""

    section: Section
    #: Attribute to cell.
    cells: dict[str, Cell]
    #: Commands that it looked up.
    asked: frozenset[str]


def run(job: PlannedJob, sections: tuple[Section, ...]) -> Iterator[Result]:
    """Run sections for a job, one after another."""
    for section in sections:
        job.asked = set()
        job.ad = type(job.ad)()
        section.run(job)
        ad = job.ad
        yield Result(
            section=section,
            cells={ad.spelling(key): cell for key, cell in ad.cells.items()},
            asked=frozenset(job.asked),
        )
