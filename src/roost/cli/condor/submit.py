"""``condor_submit``: read a submit description and submit its jobs to the queue.

It reads descriptions and submits like `roost submit`; the wording, the files of ``-dry-run`` and the exit statuses are
HTCondor's.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from roost.cli.condor.asking import DaemonLocation
from roost.cli.condor.errors import ToolError
from roost.cli.condor.options import Given, Option, given, number
from roost.cli.pool_connection import Refused
from roost.cli.terminal import CommandError
from roost.runtime.home import Home, HomeError
from roost.wire.requests import queue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roost.schedd.submit import ClusterPlan, Submission

OPTIONS: Final = (
    Option("terse", "print only the ids of the jobs", least=2),
    Option("verbose", "print the ads of the jobs", least=1),
    Option("file", "the description", takes="FILE", least=2),
    Option("append", "a line before each queue statement, or what -queue takes; repeatable", takes="LINE", least=1),
    Option("queue", "arguments of queue if the description has no queue statement", takes="ARGS..."),
    Option("batch-name", "name of the jobs' batch", takes="NAME", least=1),
    Option("dry-run", "write the ads to a file (- for standard output) without submitting them", takes="FILE", least=3,
           colon="cluster=N"),
    Option("maxjobs", "submit nothing if the description produces more than N jobs", takes="N", least=1),
    Option("single-cluster", "submit nothing if there is more than one cluster", least=3),
    Option("name", "queue to submit to", takes="NAME", least=1),
    Option("remote", "the same, and implies -spool", takes="NAME", least=1),
    Option("pool", "pool of that queue", takes="HOST", least=2),
    Option("spool", "copy the files of the jobs to the queue now; condor_transfer_data fetches their output", least=3),
    Option("disable", "do not check that files exist", least=2),
    Option("unused", "do not warn about lines that have no effect", least=1),
    Option("force", "accepted, has no effect"),
    Option("debug", "accepted, has no effect", least=2),
    Option("factory", "have the jobs enter the queue in parts; at most as many as max_materialize and max_idle say",
           least=2),
    Option("allow-crlf-script", "accepted, has no effect", least=2),
    Option("addr", "accepted, has no effect", takes="ADDRESS", least=2),
    Option("stm", "accepted, has no effect", takes="METHOD", least=3),
    Option("interactive", "open a shell on the machine that the job is matched with", least=1),
)  # fmt: skip
#: The lines of an interactive job, as in HTCondor: it gives up if no shell begins within 180 s.
INTERACTIVE: Final = (
    "executable = /bin/sleep", "arguments = 180", "transfer_executable = false", "My.InteractiveJob = true",
)  # fmt: skip
#: Maximum number of dots printed: one per job.
DOTS_MAX: Final = 100_000


class Order:
    """The parsed command line."""

    def __init__(self) -> None:
        self.place = DaemonLocation()
        self.file = ""
        self.assignments: list[str] = []
        self.append: list[str] = []
        self.queue: str | None = None
        self.dry_run = ""
        self.first_cluster = 1
        self.jobs_max = 0
        #: Names of the options without values.
        self.flags: set[str] = set()

    def take(self, option: Given) -> None:
        """Note an argument."""
        if self.place.take(option):
            return
        match option.name:
            case "":
                self._positional(option.value)
            case "file":
                self.file = option.value
            case "append":
                self._append(option.value)
            case "batch-name":
                self.append.append(f"batch_name = {option.value}")
            case "queue":
                self.queue = " ".join(option.values)
            case "dry-run":
                self.dry_run = option.value
                self._dry_run_options(option.colon or "")
            case "maxjobs":
                self.jobs_max = number(option)
            case "remote":
                self.place.name = option.value
                self.flags.add("spool")
            case _:
                self.flags.add(option.name)

    def _positional(self, word: str) -> None:
        name, equals, _ = word.partition("=")
        if equals and name.strip().replace("_", "").replace(".", "").replace("+", "").isalnum():
            self.assignments.append(word)
        elif self.file:
            raise ToolError(f"ERROR: more than one submit description given: {self.file} and {word}")
        else:
            self.file = word

    def _append(self, line: str) -> None:
        """A line of the description; a queue statement works like the arguments of -queue."""
        word, _, rest = line.strip().partition(" ")
        if word.lower() == "queue":
            self.queue = rest.strip()
        else:
            self.append.append(line)

    def _dry_run_options(self, colon: str) -> None:
        for part in colon.split(","):
            name, _, value = part.partition("=")
            if name == "cluster" and value.isdecimal():
                self.first_cluster = int(value)


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_submit``."""
    order = Order()
    for option in given(arguments, OPTIONS):
        order.take(option)
    if "interactive" in order.flags:
        _make_interactive(order)
    submission = _read(order)
    _complain(order, submission)
    if order.dry_run:
        return _dry_run(order, submission)
    if "factory" in order.flags:
        _make_factories(order, submission)
    if "interactive" in order.flags and "spool" in order.flags:
        raise ToolError("\nERROR: -interactive cannot be combined with -spool or -remote")
    if "interactive" in order.flags and submission.count != 1:
        raise ToolError(f"\nERROR: -interactive requires exactly one job; the description produces {submission.count}")
    return _submit(order, submission)


def _make_factories(order: Order, submission: Submission) -> None:
    """Have each cluster be one whose jobs are made one after another, if it is none by its description."""
    if "spool" in order.flags:
        raise ToolError("\nERROR: -factory cannot be combined with -spool or -remote")
    for plan in submission.clusters:
        if plan.max_materialize is None and plan.max_idle is None:
            plan.common.put("JobMaterializeLimit", plan.count)


def _make_interactive(order: Order) -> None:
    """Make the job a placeholder for a shell, whatever its program is in the description."""
    order.append += INTERACTIVE
    if not order.file:
        order.file, order.queue = os.devnull, order.queue or "1"


def _interact(order: Order, job: str) -> int:
    """Work in a shell alongside a job that was submitted for it."""
    from roost.cli.condor.ssh_to_job import SshRequest, own_shells, session

    wanted = SshRequest(job, shells=own_shells(), auto_retry=True, remove_on_interrupt=True)
    return session(order.place, wanted)


def _read(order: Order) -> Submission:
    from roost.cli.submit import pool_config, read_description
    from roost.runtime.queue.descriptions import submit_context

    home = Home.find(None)
    try:
        contact = home.contact()
    except HomeError as error:
        if not order.dry_run:
            raise ToolError(f"\nERROR: Can't find address of local schedd\n{error}") from None
        contact = {}
    file = order.file or "-"
    if file != "-" and not Path(file).exists():
        raise ToolError(f"\nERROR: Failed to open command file ({file}) (No such file or directory)")
    try:
        return read_description(
            file,
            submit_context(
                pool_config(home, contact),
                contact,
                look_at_files="disable" not in order.flags,
                spooled="spool" in order.flags,
            ),
            arguments=tuple(order.assignments),
            append=tuple(order.append),
            queue=order.queue,
        )
    except CommandError as error:
        raise ToolError(f"\nERROR: Failed to open command file: {error}") from None


def _complain(order: Order, submission: Submission) -> None:
    """Print the problems. Raises ToolError if nothing can be submitted."""
    from roost.config.not_text import SHOWN_MAX, joined
    from roost.schedd.submit.diagnostics import SubmitCode

    for finding in submission.findings[:SHOWN_MAX]:
        if finding in submission.errors or finding.code == SubmitCode.NO_QUEUE:
            continue
        if finding.code == SubmitCode.UNUSED:
            if "unused" not in order.flags:
                line = finding.message.removesuffix(" has no effect").replace("`", "'")
                _tell(f"\nWARNING: {line} was unused by condor_submit. Is it a typo?")
            continue
        _tell(f"\nWARNING: {finding.message} ({finding.span.chain()})")
    if submission.errors:
        texts = [f"ERROR: {_words(each.code, each.message)}\n    {each.span.chain()}: {each.remedy}"
                 for each in submission.errors]  # fmt: skip
        raise ToolError("\n" + joined(texts, submission.dropped))
    if not submission.count:
        raise ToolError("\nERROR: the description produces no jobs: nothing was submitted")
    if order.jobs_max and submission.count > order.jobs_max:
        raise ToolError(f"\nERROR: Number of submitted jobs would exceed -maxjobs ({order.jobs_max})")
    if "single-cluster" in order.flags and len(submission.clusters) > 1:
        raise ToolError("\nERROR: the description produces more than one cluster, but -single-cluster was specified")


def _words(code: str, message: str) -> str:
    from roost.schedd.submit.diagnostics import SubmitCode

    return "No 'executable' parameter was provided" if code == SubmitCode.NO_EXECUTABLE else message


def _tell(text: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


# -- submitting --------------------------------------------------------------------------------------------------


def _submit(order: Order, submission: Submission) -> int:
    request = queue.Submit(clusters=tuple(plan.to_data() for plan in submission.clusters))
    try:
        taken = order.place.ask(lambda pool: pool.ask(request), lost="\nERROR: Can't find address of local schedd")
    except Refused as refused:
        failed = "create cluster\n" if refused.answer.code == "too-many-jobs" else "submit job(s): "
        raise ToolError(f"\nERROR: Failed to {failed}{refused}") from None
    if "interactive" in order.flags:
        _report(order, [(each.cluster, each.jobs) for each in taken], "Submitting", "submitted")
        return _interact(order, f"{taken[0].cluster}.0")
    if "verbose" in order.flags:
        _verbose([each.cluster for each in taken], submission)
    _report(order, [(each.cluster, each.jobs) for each in taken], "Submitting", "submitted")
    if "spool" in order.flags:
        _spool(order, [each.cluster for each in taken])
    if "terse" not in order.flags and sys.stderr.isatty():
        # Programs interpret output on standard error as a failure.
        clusters = " ".join(str(each.cluster) for each in taken)
        _tell(f"To monitor your job(s), run: condor_watch_q -clusters {clusters}")
    return 0


def _spool(order: Order, clusters: list[int]) -> None:
    """Copy the files of the jobs to the queue."""
    from roost.runtime.asking.spooling import SpoolingProblem, send_files

    try:
        order.place.ask(lambda pool: send_files(pool, clusters))
    except (SpoolingProblem, ToolError, Refused) as problem:
        remove = " ".join(map(str, clusters))
        raise ToolError(
            f"\nERROR: Failed to spool job files.\n{problem}\n"
            f"The jobs stay on hold; remove them (condor_rm {remove}) and submit them again."
        ) from None


def _report(order: Order, taken: list[tuple[int, int]], doing: str, done: str) -> None:
    if "terse" in order.flags:
        for cluster, jobs in taken:
            sys.stdout.write(f"{cluster}.0 - {cluster}.{jobs - 1}\n")
        return
    if "verbose" not in order.flags:
        dots = "." * min(DOTS_MAX, sum(jobs for _, jobs in taken))
        sys.stdout.write(f"{doing} job(s){dots}\n")
    for cluster, jobs in taken:
        sys.stdout.write(f"{jobs} job(s) {done} to cluster {cluster}.\n")


def _verbose(clusters: list[int], submission: Submission) -> None:
    for cluster, plan in zip(clusters, submission.clusters, strict=True):
        for proc, text in enumerate(_ads(plan, cluster)):
            sys.stdout.write(f"\n** Proc {cluster}.{proc}:\n{text}")


def _ads(plan: ClusterPlan, number: int) -> Iterator[str]:
    """The ads of a cluster as texts, one attribute per line."""
    from roost.classad.forms import Form, Order, format_ad
    from roost.schedd.submit.plan import fill

    for proc, ad in enumerate(plan.for_cluster(number).ads()):
        fill(ad, number, proc, schedd="submit")
        yield format_ad(ad, Form.OLD, Order.NAME)


def _dry_run(order: Order, submission: Submission) -> int:
    """Write the ads as HTCondor does: the whole ad of a cluster's first job, and the differences of the others."""
    shown = "terse" not in order.flags
    if shown:
        sys.stdout.write("Dry-Run job(s)")
    with _dry_run_file(order.dry_run) as file:
        for number, plan in enumerate(submission.clusters, order.first_cluster):
            for lines in _differing(_ads(plan, number)):
                file.write("".join(("\n", *(f"{name}={value}\n" for name, value in lines.items()))))
                sys.stdout.write("." if shown else "")
            if shown:
                sys.stdout.write(f"\n{plan.count} job(s) dry-run to cluster {number}.\n")
            else:
                sys.stdout.write(f"{number}.0 - {number}.{plan.count - 1}\n")
    return 0


def _dry_run_file(name: str) -> AbstractContextManager[TextIO]:
    if name == "-":
        return nullcontext(sys.stdout)
    try:
        return Path(name).open("w", encoding="utf-8")
    except OSError as error:
        raise ToolError(f"\nERROR: Failed to open file -dry-run output file ({error.strerror})") from None


def _differing(texts: Iterator[str]) -> Iterator[dict[str, str]]:
    """The attributes of the first ad, and the differences of each other one."""
    first: dict[str, str] = {}
    for text in texts:
        parts = (line.partition(" = ") for line in text.splitlines())
        here = {name: value for name, _, value in parts}
        if not first:
            first = here
            yield here
        else:
            missing = {name: "undefined" for name in first if name not in here}
            yield {name: value for name, value in here.items() if first.get(name) != value} | missing
