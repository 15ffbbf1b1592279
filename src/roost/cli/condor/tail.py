"""``condor_tail``: the last bytes of a running job's output, as they are on its machine.

A program alongside the job reads the files, started like those of `condor_ssh_to_job`; only the job's user can
therefore use it.
"""

from __future__ import annotations

import shlex
from typing import Final

from roost.cli.condor.asking import PLACE_OPTIONS, DaemonLocation
from roost.cli.condor.choosing import job_id
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Option, given, number
from roost.cli.condor.ssh_to_job import SshRequest, session
from roost.wire.requests import queue

OPTIONS: Final = (
    Option("follow", "go on until interrupted", least=1),
    Option("maxbytes", "how many bytes of each file are shown at first; 1024", takes="BYTES", least=1),
    Option("auto-retry", "wait until the job runs", least=2),
    Option("stderr", "standard error, not standard output", least=4),
    Option("no-stdout", "not standard output", least=4),
    Option("stdout", "standard output, too, where files are named", least=4),
    *PLACE_OPTIONS,
    Option("debug", "accepted, has no effect", least=1),
)
_BYTES: Final = 1024
#: Attribute to the name of the file in the scratch directory of a job with file transfer.
_STREAMS: Final = {"Out": "_condor_stdout", "Err": "_condor_stderr"}


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_tail``."""
    place, flags, words, most = DaemonLocation(), set[str](), list[str](), _BYTES
    for option in given(arguments, OPTIONS):
        if place.take(option):
            continue
        if option.name == "maxbytes":
            most = number(option)
        elif option.name == "":
            words.append(option.value)
        else:
            flags.add(option.name)
    job = job_id(words[0]) if words else None
    if job is None:
        raise UsageError(f"Usage: {name} [options] JOB [FILE...]")
    job = job if "." in job else f"{job}.0"
    streams = _streams(flags, has_files=len(words) > 1)
    if not streams and len(words) == 1:
        raise UsageError(f"{name}: there is nothing to show: name a file, or leave -no-stdout out")
    shown = [*(_path(place, job, each) for each in streams), *map(_word, words[1:])]
    follows = "-f " if "follow" in flags else ""
    line = f"exec tail -c {most} {follows}-- {' '.join(shown)}"
    return session(place, SshRequest(job, (line,), terminal=False, auto_retry="auto-retry" in flags, reads=False))


def _streams(flags: set[str], *, has_files: bool) -> list[str]:
    if "stderr" in flags:
        return ["Err", *(["Out"] if "stdout" in flags else [])]
    hidden = "no-stdout" in flags or (has_files and "stdout" not in flags)
    return [] if hidden else ["Out"]


def _path(place: DaemonLocation, job: str, attribute: str) -> str:
    """A shell word for the file to which a job prints."""
    rows = place.ask(lambda pool: pool.ask(queue.Query(jobs=(job,), projection=("Iwd", attribute))))
    if not rows:
        raise ToolError(f"Error: job {job} is not in the queue")
    path = str(rows[0].get(attribute) or "/dev/null")
    if path == "/dev/null":
        what = "standard output" if attribute == "Out" else "standard error"
        raise ToolError(f"Error: job {job} has no {what}: its description names no file for it")
    moved, own = f'"$_CONDOR_SCRATCH_DIR"/{_STREAMS[attribute]}', _word(path)
    return f'"$(if [ -e {moved} ]; then echo {moved}; else echo {own}; fi)"'


def _word(text: str) -> str:
    return shlex.quote(text)
