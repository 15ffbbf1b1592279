"""The description of a job's process, and the result of starting it, as the node and its fork server exchange them."""

from __future__ import annotations

import errno
import hashlib
import os
import resource
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from roost.base.records import dataclass, field
from roost.model.starter import StarterHold
from roost.runtime.processes.accounts import Account
from roost.runtime.processes.isolation import Isolation
from roost.runtime.processes.memory_control import MemoryLimit
from roost.runtime.processes.shepherd.processes import MARK

#: Maximum size of an order, bytes; the kernel itself accepts at most a few megabytes of arguments and environment.
ORDER_BYTES_MAX: Final = 8 * 1024 * 1024

#: Limits of processes, under the names of the shell and of the manual.
LIMITS: Final[Mapping[str, int]] = {
    name.removeprefix("RLIMIT_").lower(): getattr(resource, name)
    for name in sorted(dir(resource))
    if name.startswith("RLIMIT_")
}

#: No limit.
UNLIMITED: Final = resource.RLIM_INFINITY


def mark_of(record: Path, key: str) -> bytes:
    """The mark in the environment of a run's processes. Runs of other pools on this machine have the same keys."""
    return f"{key} {_place(record.parent)}".encode()


def key_of(mark: bytes, directory: Path) -> str:
    """The key of a run whose record is in that directory, from a mark; "" for a mark of another run."""
    key, _, place = mark.decode("utf-8", "surrogateescape").rpartition(" ")
    return key if place == _place(directory) else ""


@lru_cache(maxsize=64)
def _place(directory: Path) -> str:
    return hashlib.blake2b(os.fsencode(directory.resolve()), digest_size=8).hexdigest()


class OrderTooLarge(ValueError):
    """Arguments and environment are larger than any system accepts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayOrder:
    """The order that the shepherd relays the job's streams (`shepherd.relay`)."""

    #: The directory of the streams; it has the named pipe ``in``.
    directory: Path
    #: Rows and columns of the job's terminal; None for pipes.
    terminal: tuple[int, int] | None = None
    #: Whether it reads any input; a terminal does.
    reads: bool = True

    def packed(self) -> dict[str, object]:
        """The order in the form for the shepherd."""
        rows, columns = self.terminal or (0, 0)
        return {
            "directory": os.fsencode(self.directory),
            "terminal": self.terminal is not None,
            "rows": rows,
            "columns": columns,
            "input": self.reads,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnOrder:
    """A job's program and everything that its process has from the beginning."""

    #: Globally unique name of the run; with the place of its record it goes into the environment of its processes.
    key: str
    #: The run's record; created if it does not exist; its directory must exist.
    record: Path
    program: Path
    #: Including the name of the program.
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: Path = Path("/")
    #: None is /dev/null. A relative path refers to `directory`. The files are opened as the job's user.
    stdin: Path | None = None
    stdout: Path | None = None
    #: The same path as `stdout` makes both one stream.
    stderr: Path | None = None
    #: Streams to which a user is connected; the three files are then ignored.
    relay: RelayOrder | None = None
    #: Append to output and error instead of truncating them first: a job restarted from a checkpoint.
    append: bool = False
    #: The account as which the job runs; None for the node's account. Only root can choose.
    account: Account | None = None
    umask: int | None = 0o022
    #: Name in `LIMITS` to (soft, hard), in the units of setrlimit(2); limits that only root may raise stay unchanged.
    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    #: Added to the niceness of the node; 19 at most.
    niceness: int = 0
    #: Processors to use; None for all.
    processors: tuple[int, ...] | None = None
    #: Added to the score by which the kernel selects processes when memory runs out, so that jobs go before the owner's
    #: programs.
    oom_score: int | None = 800
    #: Processes that the main process leaves behind are waited for, not killed.
    await_family: bool = False
    #: How much memory its processes may use together, if this machine can limit that; None for no limit.
    memory: MemoryLimit | None = None

    #: What of the machine the job does not see; None where it sees all.
    isolation: Isolation | None = None

    def packed(
        self, number: int, group: Path | None, home: Path | None, memory: dict[str, object] | None, *, alone: bool
    ) -> dict[str, object]:
        """The order in the form for the fork server (`shepherd.launch`). Raises KeyError for unknown limits."""
        environment = {os.fsencode(name): os.fsencode(value) for name, value in self.environment.items()}
        environment[MARK] = mark_of(self.record, self.key)
        account = self.account
        return {
            "number": number,
            "key": self.key,
            "record": os.fsencode(self.record),
            "program": os.fsencode(self.program),
            "arguments": [os.fsencode(each) for each in self.arguments],
            "environment": environment,
            "directory": os.fsencode(self.directory),
            "streams": tuple(None if each is None else os.fsencode(each) for each in self._streams),
            "relay": None if self.relay is None else self.relay.packed(),
            "append": self.append,
            "account": None if account is None else (account.uid, account.gid, list(account.groups)),
            "umask": self.umask,
            "limits": [(LIMITS[name], *pair) for name, pair in self.limits.items()],
            "niceness": self.niceness,
            "processors": None if self.processors is None else list(self.processors),
            "oom_score": self.oom_score,
            "group": None if group is None else os.fsencode(group),
            "home": None if home is None else os.fsencode(home),
            "memory": memory,
            "alone": alone,
            "isolation": None if self.isolation is None else self.isolation.packed(),
            "await_family": self.await_family,
        }

    @property
    def _streams(self) -> tuple[Path | None, Path | None, Path | None]:
        return self.stdin, self.stdout, self.stderr


@dataclass(frozen=True, slots=True, kw_only=True)
class NotStarted:
    """A job whose program does not run, and why."""

    key: str
    #: The failed stage: a word of `roost.runtime.processes.shepherd.launch.STAGES`, "record" or "shepherd".
    stage: str
    errno: int
    #: The object of the failure, usually a path.
    detail: str

    @property
    def code(self) -> StarterHold:
        """The hold code."""
        return _HOLDS.get(self.stage, StarterHold.FAILED_TO_CREATE_PROCESS)

    @property
    def is_machines_fault(self) -> bool:
        """Whether no other job could have been started either."""
        return self.stage in ("record", "shepherd", "memory", "isolation")

    @property
    def text(self) -> str:
        """The failure in words, with the remedy."""
        what = _WORDS.get(self.stage, f"The job could not be started ({self.stage})")
        why = os.strerror(self.errno) if self.errno else "unknown error"
        remedy = self._remedy()
        return f"{what} {self.detail!r}: {why}" + (f"; {remedy}" if remedy else "")

    def _remedy(self) -> str:
        if self.stage == "program":
            return self._program_remedy()
        return _REMEDIES.get((self.stage, self.errno), _REMEDIES.get((None, self.errno), ""))

    def _program_remedy(self) -> str:
        if self.errno == errno.ENOENT:
            interpreter = _interpreter(self.detail)
            if interpreter:
                return f"its first line asks for {interpreter}, which this machine does not have"
            if Path(self.detail).exists():
                return "the file exists, but its loader or a library is missing on this machine"
            return "check 'executable', and whether it is transferred"
        return _REMEDIES.get(("program", self.errno), "")


def _interpreter(program: str) -> str:
    """The interpreter in the first line of a script; empty if it names none."""
    try:
        with Path(program).open("rb") as file:
            line = file.readline(256)
    except OSError:
        return ""
    return line[2:].strip().decode("utf-8", "replace") if line.startswith(b"#!") else ""


_HOLDS: Final[Mapping[str, StarterHold]] = {
    "directory": StarterHold.IWD_ERROR,
    "input": StarterHold.UNABLE_TO_OPEN_INPUT,
    "output": StarterHold.UNABLE_TO_OPEN_OUTPUT,
    "error": StarterHold.UNABLE_TO_OPEN_OUTPUT,
}

_WORDS: Final[Mapping[str, str]] = {
    "session": "The job's process could not be prepared:",
    "isolation": "The job could not be isolated from the machine:",
    "streams": "The job's standard streams could not be set up:",
    "limits": "The resource limits of the job could not be set:",
    "account": "The job could not run as its user:",
    "directory": "The job's working directory cannot be entered:",
    "input": "The job's standard input cannot be opened:",
    "output": "The job's standard output cannot be opened:",
    "error": "The job's standard error cannot be opened:",
    "program": "The job's program cannot be executed:",
    "record": "The start of the job could not be recorded:",
    "shepherd": "The machine cannot create another process:",
    "memory": "The memory of the job cannot be limited:",
}

_REMEDIES: Final[Mapping[tuple[str | None, int], str]] = {
    ("program", errno.EACCES): "it must be an executable file (chmod +x), on a file system that allows execution",
    ("program", errno.ENOEXEC): "it is not a program that this machine can run; a script must begin with #!",
    ("program", errno.ETXTBSY): "it is open for writing",
    ("program", errno.E2BIG): "arguments and environment are too large; put them into a file",
    ("output", errno.ENXIO): "it is a named pipe without a reader",
    ("error", errno.ENXIO): "it is a named pipe without a reader",
    ("directory", errno.ENOENT): "check 'initialdir', or let files be transferred",
    ("input", errno.ENOENT): "check 'input', and whether it is transferred",
    (None, errno.EACCES): "the job's user is not allowed to",
    (None, errno.ENOSPC): "the disk is full",
    (None, errno.EDQUOT): "the user's disk quota is exhausted",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnd:
    """How a run ended. Either code or signal is set, or neither if the end was not observed."""

    key: str
    exit_code: int | None = None
    signal: int | None = None
    core_dumped: bool = False
    #: Epoch s; None if unknown.
    started_at: float | None = None
    ended_at: float | None = None
    #: CPU time of all processes of the job, s, as far as they were waited for or counted by a control group.
    user_cpu_s: float = 0.0
    system_cpu_s: float = 0.0
    #: Their reads and writes through system calls, as far as they were waited for, bytes.
    io_bytes: int = 0
    #: Largest resident size of one process, KiB.
    max_resident_kib: int = 0
    #: Processes that could not be killed.
    left: int = 0
    #: The memory limit at which the kernel killed it, and its peak usage, bytes; None if it did not.
    out_of_memory: tuple[int, int] | None = None
    #: Usage of the main process and those that it waited for, by the field names of getrusage(2); empty if unknown.
    resources: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_seen(self) -> bool:
        """Whether a shepherd observed it."""
        return self.exit_code is not None or self.signal is not None
