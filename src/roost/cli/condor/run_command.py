"""``condor_run``: run a shell command as a job, and print its output when it has ended.

The command is written to a script, next to which its output and event log are kept while it runs; all of them are
removed at the end. The exit status is the job's. Interrupting the command removes its job.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.classad.reading import whole_in
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Option

if TYPE_CHECKING:
    from roost.classad import ClassAd

OPTIONS: Final = (
    Option("a", "a line of the submit description; repeatable", takes="LINE"),
    Option("u", "universe of the job", takes="UNIVERSE"),
)
#: Interval of checks of the event log, s.
_PAUSE_S: Final = 0.1
#: Exit status of a job that a signal ended, minus the signal's number.
_BY_SIGNAL: Final = 128


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_run``. The words after the options are the command."""
    lines, universe, words = [], "vanilla", list(arguments)
    while words and words[0] in ("-a", "-u"):
        option = words.pop(0)
        if not words:
            raise UsageError(f"Error: Argument {option} requires a value")
        if option == "-a":
            lines.append(words.pop(0))
        else:
            universe = words.pop(0)
    if words and words[0].startswith("-"):
        raise UsageError(f"Error: unrecognized argument {words[0]}")
    if not words:
        raise UsageError(f"Usage: {name} [-u UNIVERSE] [-a LINE] COMMAND")
    # A single word is a line for the shell; several are its words.
    command = words[0] if len(words) == 1 else shlex.join(words)
    with _Files(f".condor_run.{os.getpid()}") as files:
        files.script.write_text(f"#!/bin/sh\n{command}\n")
        files.script.chmod(0o700)
        files.description.write_text(_description(files, universe, lines))
        return _result(files, _submitted(files))


class _Files:
    """The files of a running command, in the working directory; they are removed at its end."""

    def __init__(self, name: str) -> None:
        self.script = Path(name).absolute()
        self.description, self.out, self.err, self.log = (
            Path(f"{name}.{end}").absolute() for end in ("sub", "out", "err", "log")
        )

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        for path in (self.script, self.description, self.out, self.err, self.log):
            path.unlink(missing_ok=True)


def _description(files: _Files, universe: str, lines: list[str]) -> str:
    said = [
        f"universe = {universe}",
        f"executable = {files.script}",
        f"output = {files.out}",
        f"error = {files.err}",
        f"log = {files.log}",
        f"initialdir = {Path.cwd()}",
        "getenv = True",
        "notification = never",
    ]
    return "\n".join([*said, *lines, "queue", ""])


def _submitted(files: _Files) -> str:
    """Submit the job; return its cluster. Raises ToolError."""
    from roost.cli.condor import submit

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = submit.run("condor_submit", ["-terse", str(files.description)])
    cluster = printed.getvalue().partition(".")[0].strip()
    if status or not cluster.isdecimal():
        raise ToolError(f"condor_run: the command was not submitted\n{printed.getvalue()}")
    return cluster


def _result(files: _Files, cluster: str) -> int:
    """Wait for the job, print its output, and return its exit status."""
    try:
        status = _waited(files)
    except KeyboardInterrupt:
        from roost.cli.condor import acting

        with contextlib.redirect_stdout(io.StringIO()):
            acting.run("condor_rm", [cluster])
        return _BY_SIGNAL + 2
    for path, stream in ((files.out, sys.stdout), (files.err, sys.stderr)):
        with contextlib.suppress(OSError):
            stream.write(path.read_text(encoding="utf-8", errors="replace"))
    return status


def _waited(files: _Files) -> int:
    from roost.schedd.event_log.log import LogReader

    reader, offset = LogReader(), 0
    while True:
        with contextlib.suppress(FileNotFoundError), files.log.open("rb") as file:
            file.seek(offset)
            data = file.read()
            offset += len(data)
            for event in reader.feed(data):
                found = _end_of(event.ad())
                if found is not None:
                    return found
        time.sleep(_PAUSE_S)


def _end_of(ad: ClassAd) -> int | None:
    """The exit status in an event; None for one that ends nothing."""
    match ad.eval("EventTypeNumber"):
        case 5:
            if ad.eval("TerminatedNormally") is True:
                return whole_in(ad, "ReturnValue")
            return _BY_SIGNAL + whole_in(ad, "TerminatedBySignal")
        case 9:
            sys.stderr.write(f"condor_run: the job was removed: {_text(ad, 'Reason')}\n")
            return 1
        case 12:
            sys.stderr.write(f"condor_run: the job was put on hold: {_text(ad, 'HoldReason')}\n")
    return None


def _text(ad: ClassAd, name: str) -> str:
    value = ad.eval(name)
    return value if isinstance(value, str) else "no reason given"
