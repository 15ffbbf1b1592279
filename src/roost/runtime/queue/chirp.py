"""Chirp requests of running jobs: files of their user, attributes of their ad, lines of their event log.

They come from jobs with `want_io_proxy = true`, forwarded by their machine (`runtime.node.runs.chirp`). Relative names
refer to the job's initial directory, and files are accessed as the user.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
from typing import TYPE_CHECKING, Any, Final, Protocol

from roost.classad import ClassAd, ParseError, Syntax, parse_expression
from roost.classad.ad import MISSING
from roost.classad.values import fold
from roost.runtime.files.file_workers import with_hands
from roost.runtime.files.input_files import initial_directory
from roost.runtime.processes.accounts import NoSuchAccount
from roost.runtime.queue.actions import Selection
from roost.runtime.queue.spool import job_of
from roost.schedd import events as ev
from roost.wire.messages import Answer, Chirp, Chirped

if TYPE_CHECKING:
    from roost.runtime.files.file_workers import FileWorkers
    from roost.runtime.queue.answers import QueueAnswers
    from roost.schedd.jobs.book import Job
    from roost.schedd.queue import Queue

#: How many of the first arguments of a request are file names, if not one.
_NAMES: Final = {"rename": 2, "link": 2}
_SECOND: Final = {"symlink"}
#: File operations available to jobs.
FILE_OPERATIONS: Final = frozenset(
    (
        "open", "read", "write", "stat", "lstat", "statfs", "getdir", "readlink", "access", "rmall", "utime", "rename",
        "unlink", "rmdir", "mkdir", "link", "symlink", "chmod", "chown", "lchown", "truncate",
    )
)  # fmt: skip
#: Maximum length of a line in an event log, characters.
LINE_MAX: Final = 4096
#: Error numbers of requests that are not about files: not permitted, invalid, unknown.
_EPERM, _EINVAL, _ESRCH = 1, 22, 3


class ChirpDaemon(Protocol):
    """The interface of the queue's daemon for chirp."""

    queue: Queue
    file_workers: FileWorkers
    answers: QueueAnswers

    def feed(self, event: ev.Event) -> None:
        """Pass an event to the core."""


async def chirped(daemon: ChirpDaemon, message: Chirp, node: str) -> Chirped:
    """The answer to a job's request."""
    job = job_of(message.run, daemon.queue, node)
    if job is None:
        return Chirped(errno=_ESRCH, text="the run is no longer known")
    try:
        operation, *arguments = json.loads(message.asked)
    except ValueError:
        return Chirped(errno=_EINVAL, text="the request is not a list in JSON")
    if operation in FILE_OPERATIONS:
        return await _file_call(daemon, job, operation, arguments, message.data)
    match operation, arguments:
        case "get_job_attr", [str(name)]:
            return Chirped(data=_attribute(job, name).encode("utf-8", "surrogateescape"))
        case "set_job_attr", [str(name), str(text)]:
            return await _set(daemon, job, name, text)
        case "ulog", [str(text)]:
            line = " ".join(text.splitlines())[:LINE_MAX]
            daemon.feed(ev.JobSaid(job=job.id, run=message.run, text=line))
            return Chirped()
    return Chirped(errno=_EINVAL, text=f"{operation!r} is not a request")


async def _file_call(daemon: ChirpDaemon, job: Job, operation: str, arguments: list[Any], data: bytes) -> Chirped:
    names = (1,) if operation in _SECOND else range(_NAMES.get(operation, 1))
    iwd = initial_directory(job.ad)
    try:
        placed = [str(iwd / each) if at in names else each for at, each in enumerate(arguments)]
        hands = await asyncio.to_thread(daemon.file_workers.hands_of, job.owner)
        value, read, numbers = await with_hands(hands, hands.called, operation, placed, data)
    except OSError as problem:
        return Chirped(errno=problem.errno or _EINVAL, text=problem.strerror or str(problem))
    except (TypeError, ValueError, NoSuchAccount) as problem:
        return Chirped(errno=_EINVAL, text=str(problem))
    found = base64.b64decode(read)
    if operation in ("getdir", "readlink"):
        found = b"".join(os.fsencode(each) + (b"\n" if operation == "getdir" else b"") for each in numbers)
        numbers = []
    return Chirped(value=value, data=found, numbers=numbers)


def _attribute(job: Job, name: str) -> str:
    cell = job.ad.cell(fold(name))
    if cell is MISSING:
        return "UNDEFINED"
    from roost.classad import Expr, unparse_value

    return str(cell) if isinstance(cell, Expr) else unparse_value(cell)


async def _set(daemon: ChirpDaemon, job: Job, name: str, text: str) -> Chirped:
    ad = ClassAd()
    try:
        ad[name] = parse_expression(text, Syntax.OLD)
    except (ParseError, ValueError) as error:
        return Chirped(errno=_EINVAL, text=str(error))
    acted = ev.Acted(action=ev.Action.NOTE, jobs=(), user=job.owner, reply_to="", reason="chirp", attributes=ad)
    chosen = Selection()
    chosen.add(job.id)
    answer: Answer = await daemon.answers.actions.act(acted, chosen, (str(job.id),), "")
    if answer.ok:
        return Chirped()
    return Chirped(errno=_EPERM, text=f"{name} cannot be set by the job")
