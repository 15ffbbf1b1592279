"""``roost run``: run a command as a job, print its output while it runs, and exit with its status."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from roost.cli.live.keeper import Ended, Keeper, signals_end
from roost.cli.pool_connection import Pool, add_pool_options, with_pool
from roost.cli.submit import pool_config
from roost.cli.terminal import CommandError, Exit, complain
from roost.runtime.asking.output import OutputReader
from roost.runtime.home import Home, HomeError
from roost.runtime.queue import descriptions
from roost.schedd.status import JobStatus
from roost.wire.requests import queue

#: Exit status of a job that a signal ended, minus the signal's number.
_BY_SIGNAL: Final = 128
#: Minimum and maximum pause between checks of the job, s.
_FIRST_S: Final = 0.05
_LONGEST_S: Final = 0.5
#: How long a job waits before its user gets a hint how to find out why, s.
_PATIENT_S: Final = 5.0


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``run``."""
    parser = subparsers.add_parser(
        "run",
        help="run a command as a job and wait for it",
        description="Run a command as a job. What it prints appears here while it runs, files that it makes come back "
        "into the current directory, and the exit status is the command's (128 and the signal's number if a signal "
        "ended it). A command below the current directory is taken to the machine; any other has to exist there. "
        "If this command is interrupted or killed, the job is removed.",
    )
    add_pool_options(parser, as_json=False)
    parser.add_argument("--cpus", metavar="N", type=int, help="cores (default: 1)")
    parser.add_argument("--memory", metavar="MB", help="memory in MB, or with a unit (2GB)")
    parser.add_argument("--gpus", metavar="N", type=int, help="graphics processors")
    parser.add_argument("--input", metavar="FILE", action="append", default=[], help="a file that the job needs")
    parser.add_argument(
        "-a", "--append", metavar="LINE", action="append", default=[], help="line to insert before the queue statement"
    )
    parser.add_argument("words", metavar="COMMAND", nargs=argparse.REMAINDER, help="the command and its arguments")


def run(args: argparse.Namespace) -> int:
    """Run ``run``."""
    from roost.schedd.submit import read_submission

    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    if not words:
        raise CommandError("run needs a command\n    hint: `roost run -- hostname` runs hostname on some machine")
    home = Home.find(args.home)
    try:
        contact = home.contact()
    except HomeError as error:
        raise CommandError(str(error)) from None
    with tempfile.TemporaryDirectory(prefix="roost-run-") as directory:
        context = descriptions.submit_context(pool_config(home, contact), contact)
        text = _description(args, words, Path(directory))
        submission = read_submission(text, "<the command>", context, append=tuple(args.append))
        for finding in submission.findings:
            complain(str(finding))
        if submission.errors:
            return Exit.BAD
        request = queue.Submit(clusters=tuple(plan.to_data() for plan in submission.clusters))
        # The process that removes the job together with this command finds the pool by it.
        os.environ["ROOST_HOME"] = str(home.path)
        return with_pool(args, lambda pool: _run(pool, request))


def _description(args: argparse.Namespace, words: list[str], directory: Path) -> str:
    """The submit description."""
    program, is_own = _program(words[0])
    lines = {
        "executable": program,
        "transfer_executable": str(is_own).lower(),
        "arguments": _quoted(words[1:]),
        "output": str(directory / "out"),
        "error": str(directory / "err"),
        "getenv": "true",
        "batch_name": shlex.join(words)[:100].replace("\n", " "),
        "request_cpus": args.cpus,
        "request_memory": args.memory,
        "request_gpus": args.gpus,
        "transfer_input_files": ", ".join(args.input) or None,
        "should_transfer_files": "yes",
    }
    # A value is literal: a $ would begin a macro.
    told = [f"{name} = {str(value).replace('$', '$(DOLLAR)')}" for name, value in lines.items() if value is not None]
    return "\n".join([*told, "queue", ""])


def _program(word: str) -> tuple[str, bool]:
    """The program of a command, and whether it is transferred to the machine."""
    if "/" not in word:
        found = shutil.which(word)
        # It may be at another path on the job's machine.
        return (found, False) if found else (f"/usr/bin/{word}", False)
    path = Path(word).absolute()
    if not path.is_file():
        raise CommandError(f"{word}: no such file\n    hint: a command without a / is looked up on the PATH")
    return str(path), path.resolve().is_relative_to(Path.cwd().resolve())


def _quoted(words: list[str]) -> str | None:
    """Arguments in the new form of the submit language; None for none. Raises CommandError."""
    if not words:
        return None
    if any("\n" in word for word in words):
        raise CommandError("an argument has a line break, which a submit description cannot hold: use a script")
    inner = " ".join("'" + word.replace("'", "''").replace('"', '""') + "'" for word in words)
    return f'"{inner}"'


def _run(pool: Pool, request: queue.Submit) -> int:
    with signals_end():
        (taken,) = pool.ask(request)
        for warning in taken.warnings:
            complain(f"warning: {warning}")
        job = f"{taken.cluster}.0"
        keeper = Keeper(job)
        try:
            status = _followed(pool, job)
            keeper.leave()
            return status
        except Ended as ended:
            complain(f"job {job} is removed")
            return _BY_SIGNAL + ended.number
        finally:
            keeper.end()


def _followed(pool: Pool, job: str) -> int:
    """Print a job's output until it has ended; return its exit status."""
    readers = [OutputReader(pool, job, "out"), OutputReader(pool, job, "err")]
    streams = {"out": sys.stdout, "err": sys.stderr}
    pause_s, told, since = _FIRST_S, "", time.monotonic()
    while not all(reader.ended for reader in readers):
        is_new = False
        for reader in readers:
            while data := reader.next():
                is_new = True
                streams[reader.stream].write(data.decode("utf-8", "surrogateescape"))
                streams[reader.stream].flush()
        told = _tell(readers[0], told, time.monotonic() - since)
        if not is_new:
            time.sleep(pause_s)
        pause_s = _FIRST_S if is_new else min(1.5 * pause_s, _LONGEST_S)
    return _status(pool, job)


def _tell(reader: OutputReader, told: str, waited_s: float) -> str:
    """Report why nothing happens, once for each reason; return the last message."""
    status, text = reader.row.get("JobStatus"), ""
    if status == JobStatus.HELD:
        text = f"job {reader.job} is on hold: {reader.row.get('HoldReason', '')}"
        text += f"\n    hint: `roost release {reader.job}` lets it go on; Ctrl-C removes it"
    elif status == JobStatus.IDLE:
        text = f"job {reader.job} waits for a machine: `roost explain job {reader.job}` says why"
        if waited_s < _PATIENT_S:
            return told
    elif status is not None:
        return ""
    if text and text != told:
        complain(text)
    return text or told


def _status(pool: Pool, job: str) -> int:
    names = ("JobStatus", "ExitCode", "ExitBySignal", "ExitSignal", "RemoveReason")
    rows: list[dict[str, Any]] = pool.ask(queue.History(jobs=(job,), projection=names, limit=1))
    row = rows[0] if rows else {}
    if row.get("JobStatus") == JobStatus.REMOVED:
        complain(f"job {job} was removed: {row.get('RemoveReason', 'no reason is known')}")
        return Exit.NO
    if row.get("ExitBySignal"):
        return _BY_SIGNAL + int(row.get("ExitSignal", 0))
    return int(row.get("ExitCode", Exit.NO))
