"""``condor_ssh_to_job``: a shell, or a command, alongside a running job.

No ssh is involved: the machine starts the program, and its streams use the pool's own connections. `scp` and `sftp`
(``-ssh``) run here and talk to the machine's `sftp-server` through such a program; `rsync -e condor_ssh_to_job` works
unchanged.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from roost.cli.condor.asking import PLACE_OPTIONS, DaemonLocation
from roost.cli.condor.choosing import job_id
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Option, before_positional, given
from roost.cli.live import keyboard
from roost.cli.live.connection import Lost, RunningProgram, connect
from roost.cli.live.keeper import Ended, Keeper, signals_end
from roost.cli.pool_connection import Refused
from roost.schedd.status import JobStatus
from roost.wire.requests import machine, queue

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

OPTIONS: Final = (
    *PLACE_OPTIONS,
    Option("auto-retry", "wait for the job if it is not running yet", least=1),
    Option("remove-on-interrupt", "remove the job if this command is interrupted", least=1),
    Option("shells", "shells to try before /bin/sh, separated by commas", takes="SHELLS", least=3),
    Option("ssh", "use scp or sftp, with its own options, to copy files", takes="COMMAND", least=3),
    Option("keygen-options", "has no effect; no key is generated", takes="OPTIONS", least=1),
    Option("X", "not supported: X11 forwarding"),
    Option("x", "accepted; X11 forwarding is not supported"),
    Option("debug", "accepted, has no effect", least=1),
)  # fmt: skip
_USAGE: Final = "Usage: condor_ssh_to_job [options] cluster.proc [remote-command]"
_SHOWN: Final = ("ClusterId", "ProcId", "JobStatus", "JobUniverse", "RemoteHost", "GlobalJobId", "HoldReason")
#: Minimum and maximum pause between checks for a job that does not run yet, s.
_FIRST_S: Final = 0.1
_LONGEST_S: Final = 2.0
#: Universes of local jobs.
_LOCAL: Final = (7, 12)
#: The program that scp and sftp run in place of ssh; the variable names the job.
JOB_VARIABLE: Final = "_ROOST_SSH_TO_JOB"


class SshRequest(NamedTuple):
    """The program to run alongside a job."""

    #: ``12.0``.
    job: str
    #: A line for the shell of the job's account; empty for an interactive shell.
    words: tuple[str, ...] = ()
    #: Whether to use a terminal even for a command, or none even for a shell; None for the default.
    terminal: bool | None = None
    shells: tuple[str, ...] = ()
    auto_retry: bool = False
    remove_on_interrupt: bool = False
    reads: bool = True


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_ssh_to_job``."""
    own, rest = before_positional(arguments, OPTIONS)
    place, flags, client, shells = DaemonLocation(), set(), "", own_shells()
    for option in given(own, OPTIONS):
        if place.take(option):
            continue
        if option.name == "ssh":
            client = option.value
        elif option.name == "shells":
            shells = tuple(filter(None, option.value.split(",")))
        flags.add(option.name)
    if not rest:
        raise UsageError(f"You did not specify a job\n{_USAGE}")
    job = _job(rest[0])
    if "X" in flags:
        raise ToolError("ERROR: -X is not supported: Roost does not forward X11. Set DISPLAY in the job's environment.")
    if "keygen-options" in flags:
        sys.stderr.write("WARNING: -keygen-options has no effect: no ssh key is generated\n")
    if client:
        words = shlex.split(client)
        if not words or Path(words[0]).name not in ("ssh", "scp", "sftp"):
            raise ToolError(f"ERROR: -ssh {client}: must be ssh, scp or sftp")
        if Path(words[0]).name != "ssh":
            return _copy(job, words, rest[1:])
        rest[1:1] = words[1:]
    wanted = _wanted(job, rest[1:])._replace(
        shells=shells, auto_retry="auto-retry" in flags, remove_on_interrupt="remove-on-interrupt" in flags
    )
    return session(place, wanted)


def own_shells() -> tuple[str, ...]:
    """The user's shell, which is tried first."""
    shell = os.environ.get("SHELL", "")
    return (shell,) if shell else ()


def _job(word: str) -> str:
    parts = word.split(".")
    if len(parts) == 3 and parts[2] == "0":
        word = ".".join(parts[:2])
    found = job_id(word)
    if found is None:
        raise UsageError(f"ERROR: {word} is not a job\n{_USAGE}")
    return found if "." in found else f"{found}.0"


def _wanted(job: str, words: Sequence[str]) -> SshRequest:
    """The words after the job: options of ssh, then a command."""
    terminal, reads, at = None, True, 0
    while at < len(words) and words[at].startswith("-"):
        match words[at]:
            case "-t" | "-tt":
                terminal = True
            case "-T":
                terminal = False
            case "-n":
                reads = False
            case "-x" | "-q":
                # There is no X11 forwarding, and no banner.
                pass
            case word:
                raise UsageError(f"ERROR: {word} is not supported after the job; use only -t, -T, -n, -q and -x")
        at += 1
    return SshRequest(job, tuple(words[at:]), terminal, reads=reads)


# -- a program alongside the job -------------------------------------------------------------------------------------


def session(place: DaemonLocation, wanted: SshRequest) -> int:
    """Run it and stay connected to it; return its exit status. Raises ToolError."""
    with signals_end():
        keeper = Keeper(wanted.job, removes=wanted.remove_on_interrupt)
        try:
            status = place.ask(lambda pool: _session(pool, wanted, keeper))
            keeper.leave()
            return status
        except Refused as refused:
            keeper.leave()
            raise ToolError(f"ERROR: {refused}") from None
        except (ToolError, Lost) as error:
            keeper.leave()
            raise ToolError(str(error)) from None
        except Ended as ended:
            return 128 + ended.number
        finally:
            keeper.end()


def _session(pool: Pool, wanted: SshRequest, keeper: Keeper) -> int:
    name = uuid.uuid4().hex
    is_shell = not wanted.words
    terminal = wanted.terminal if wanted.terminal is not None else is_shell and os.isatty(0)
    host, opened = _opened(pool, wanted, name, terminal=terminal)
    keeper.follow(name, host)
    if is_shell and terminal:
        pids = " ".join(map(str, opened.pids))
        sys.stdout.write(f"Welcome to {opened.slot}!\nYour condor job is running with pid(s) {pids}.\n")
        sys.stdout.flush()
    program = RunningProgram(wanted.job, name, host, _gone)
    status = connect(pool, program, stdin=wanted.reads, terminal=terminal)
    if is_shell and terminal:
        sys.stderr.write(f"Connection to condor-job.{host} closed.\n")
    return status


def _gone(_: Pool) -> NoReturn:
    raise Lost("ERROR: the session has ended because the job has left the machine")


def _opened(pool: Pool, wanted: SshRequest, name: str, *, terminal: bool) -> tuple[str, machine.ShellOpened]:
    """Start the program as soon as the job runs; return the machine and its reply. Raises ToolError."""
    rows, columns = keyboard.terminal_size() if terminal else (0, 0)
    pause_s, told = _FIRST_S, False
    while True:
        row = _row(pool, wanted.job)
        host, why = _host(row)
        if host:
            try:
                request = machine.OpenShell(
                    job=wanted.job,
                    session=name,
                    global_id=str(row.get("GlobalJobId") or ""),
                    words=wanted.words,
                    shells=wanted.shells,
                    term=os.environ.get("TERM", "") if terminal else "",
                    stdin=wanted.reads,
                    rows=rows,
                    columns=columns,
                )
                return host, pool.ask(request, machine=host)
            except Refused as refused:
                if refused.answer.code != "not-found":
                    raise
                why = "is not running yet"
        if not wanted.auto_retry:
            raise ToolError(f"ERROR: Job {wanted.job} {why}.")
        if not told:
            told = True
            sys.stderr.write("Waiting for job to start...\n")
            sys.stderr.flush()
        time.sleep(pause_s)
        pause_s = min(_LONGEST_S, pause_s * 1.5)


def _row(pool: Pool, job: str) -> dict[str, Any]:
    rows = pool.ask(queue.Query(jobs=(job,), projection=_SHOWN))
    if not rows:
        raise ToolError(f"ERROR: Job {job} is not in the queue.")
    row: dict[str, Any] = dict(rows[0])
    if row.get("JobUniverse") in _LOCAL:
        raise ToolError(
            f"ERROR: Job {job} runs on the machine of the queue itself (universe local or scheduler); a shell "
            "is available only for jobs on execute machines."
        )
    if row.get("JobStatus") == JobStatus.HELD:
        raise ToolError(f"ERROR: Job {job} is held: {row.get('HoldReason') or ''}".rstrip())
    if row.get("JobStatus") in (JobStatus.COMPLETED, JobStatus.REMOVED):
        raise ToolError(f"ERROR: Job {job} has ended.")
    return row


def _host(row: dict[str, Any]) -> tuple[str, str]:
    """The machine of a job; or "" and the reason if it has none."""
    if row.get("JobStatus") == JobStatus.IDLE:
        return "", "is not running"
    host = str(row.get("RemoteHost") or "").rpartition("@")[2]
    return host, "is not running"


# -- copying files ---------------------------------------------------------------------------------------------------


def _copy(job: str, client: Sequence[str], words: Sequence[str]) -> int:
    """Run scp or sftp, with a program in place of ssh that runs alongside the job."""
    host = [] if Path(client[0]).name == "scp" else [f"condor-job.{job}"]
    with tempfile.TemporaryDirectory(prefix="condor_ssh_to_job_") as directory:
        ssh = Path(directory) / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m roost.cli.condor.as_ssh "$@"\n')
        ssh.chmod(0o700)
        try:
            done = subprocess.run(
                [client[0], "-S", str(ssh), *client[1:], *host, *words],
                env={**os.environ, JOB_VARIABLE: job},
                check=False,
            )
        except OSError as error:
            raise ToolError(f"ERROR: cannot run {client[0]}: {error.strerror}") from None
        except KeyboardInterrupt:
            return 130
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


#: Runs the machine's `sftp-server`, wherever it is installed.
_SFTP_SERVER: Final = (
    "for f in /usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server /usr/lib/ssh/sftp-server "
    "/usr/libexec/sftp-server; do test -x $f && exec $f; done; "
    "echo sftp-server is not installed on the machine of the job >&2; exit 127"
)


def as_ssh(arguments: Sequence[str]) -> int:
    """The program that `scp` and `sftp` run in place of ssh: the command line is ssh's. Raises ToolError."""
    words, subsystem = list(arguments), False
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "--":
            break
        if word == "-s":
            subsystem = True
        elif word in ("-l", "-p", "-o", "-c", "-F", "-i", "-J"):
            del words[:1]
    command = words[1:]
    line = ("exec", "/bin/sh", "-c", shlex.quote(_SFTP_SERVER)) if subsystem else tuple(command)
    return session(DaemonLocation(), SshRequest(os.environ[JOB_VARIABLE], line, terminal=False))
