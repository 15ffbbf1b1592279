"""The job's process from its birth to its program: everything that is set up between fork and exec.

An order is a dictionary; texts that reach the kernel are bytes:

======================  ==========================================================================================
``key``                 name of the job's run (text)
``record``              directory of its record
``program``             path of what is executed
``arguments``           list, the name of the program included
``environment``         dictionary
``directory``           working directory
``streams``             paths of standard input, output and error; None is /dev/null
``relay``               how the shepherd carries the streams (`relay`), or None where they are files
``ends``                with a relay: the files that become input, output and error; one file thrice is a terminal
``append``              output and error are added to, not emptied
``account``             (uid, gid, list of groups), or None to stay who one is
``umask``               number, or None
``limits``              list of (resource, soft, hard)
``niceness``            number added
``processors``          list of processor numbers to stay on, or None
``oom_score``           added to what the kernel judges by when memory runs out, or None
``group``               control group directory to make and to be in, or None
``home``                control group of the fork server, or None where jobs have no groups
``memory``              limit of memory (`roost.runtime.processes.memory_control.MemoryControl.packed`), or None
``isolation``           what of the machine the job does not see (`isolation`), or None
``told``                with a PID namespace: a pipe that the namespace's first process writes the job's status into
``alone``               no other jobs are being started at this time
``await_family``        what the main process leaves is waited for, not killed
======================  ==========================================================================================

What fails is told as (stage, errno, detail), in the words of `STAGES`; by a forked child through a pipe.

There are two ways. `launch` is for a forked child, which sets up all of the above for itself. Such a child is born in
its control group (`system.fork_into`) where the kernel allows that, and moves there where not.

A plain order, of a job that changes neither user nor limits, niceness or processors, and whose memory has no limit,
needs no Python in the child: `launch_plain` has the C library make it (posix_spawn), at half the cost, because a child
that shares its parent's memory until it executes its program has no pages to copy. What such a child inherits the
shepherd takes on for the moment, its control group as well. The kernel makes wait who moves into a group, but not who
does so right after another: this is the way where many jobs are started, and the first way is taken for one that is
started alone. One loss: the kernel does not kill such a child when the shepherd is killed; the node does, when it sees
that.

What this module does not do: decide what a failure means.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import fcntl
import os
import resource
import termios
import time

from roost.runtime.processes.shepherd.isolation import enter_mounts, forgo_rights, parent_is_gone, stand_by
from roost.runtime.processes.shepherd.system import die_with_parent, read_kernel_file, write_kernel_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

#: What can fail, in order.
STAGES = ("session", "isolation", "streams", "limits", "account", "directory", "input", "output", "error", "program")

_KILL = 9
_OOM_SCORE = b"/proc/self/oom_score_adj"
#: errno of a program that another process has open for writing, the number of retries, and the interval, s.
_TEXT_BUSY, _BUSY_TRIES, _BUSY_S = 26, 50, 0.01
#: Signals that this process or Python ignores; without a reset they would stay ignored in the program.
_TOUCHED = (
    _signal.SIGHUP,
    _signal.SIGINT,
    _signal.SIGQUIT,
    _signal.SIGTERM,
    _signal.SIGCHLD,
    _signal.SIGPIPE,
    _signal.SIGXFSZ,
)
_KIND, _DIRECTORY = 0o170000, 0o040000
_READ = os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_NOCTTY | os.O_NONBLOCK


class Failed(Exception):
    """Something could not be set up."""

    def __init__(self, stage: str, problem: Exception, detail: bytes = b"") -> None:
        super().__init__(stage)
        self.stage = stage
        self.number = getattr(problem, "errno", None) or 22
        self.detail = detail or str(problem).encode("utf-8", "replace")

    @classmethod
    def reported(cls, report: bytes) -> Failed:
        """The failure as a child has written it."""
        stage, number, detail = report.split(b"\0", 2)
        return cls(stage.decode(), OSError(int(number), ""), detail or b"?")


def launch(order: dict[str, Any], pipe: int, shepherd: int, *, moves: bool) -> NoReturn:
    """Become the job's program, or write into the pipe why that failed and exit. `moves`: it is not in its group
    yet.
    """
    try:
        _set_up(order, shepherd, moves, pipe)
        _execute(order)
    except Failed as failed:
        report = f"{failed.stage}\0{failed.number}\0".encode() + failed.detail
    except BaseException as problem:
        report = b"program\0" + b"22\0" + repr(problem).encode("utf-8", "replace")
    os.write(pipe, report[:4000])
    os._exit(127)


def is_plain(order: dict[str, Any]) -> bool:
    """Whether a job's process differs from its shepherd's only in what `launch_plain` supports."""
    return (
        order["account"] is None
        and order["relay"] is None
        and order["processors"] is None
        and not order["limits"]
        and not order["niceness"]
        and order["memory"] is None
        and order["isolation"] is None
        and _SPAWNS
    )


def launch_plain(order: dict[str, Any]) -> int:
    """Start the job's program; return its process. Raises Failed."""
    group, files = order["group"], []
    try:
        try:
            if group is not None:
                write_kernel_file(group + b"/cgroup.procs", b"0")
        except OSError as problem:
            raise Failed("session", problem) from problem
        _enter(order)
        mask = os.umask(0o022 if order["umask"] is None else order["umask"])
        streams = _opened_streams(order)
        files = [file for file in streams if file > 2]
        os.umask(mask)
        # Input last: if it is a file, the descriptor of /dev/null is replaced.
        actions = [(os.POSIX_SPAWN_DUP2, streams[number], number) for number in (2, 1, 0) if streams[number] != number]
        pid = _scored_spawn(order, actions, mask)
    finally:
        for file in set(files):
            os.close(file)
        os.chdir("/")
        if group is not None:
            # Back to the fork server's group: killing the job's group must not kill its shepherd.
            write_kernel_file(order["home"] + b"/cgroup.procs", b"0")
    return pid


def _scored_spawn(order: dict[str, Any], actions: list[Any], mask: int) -> int:
    """The child has the score from its first instant, and so have its own children."""
    if order["oom_score"] is None:
        return _spawn(order, actions, mask)
    before = read_kernel_file(_OOM_SCORE)
    _set_oom_score(b"%d" % order["oom_score"])
    try:
        return _spawn(order, actions, mask)
    finally:
        _set_oom_score(before)


def _spawn(order: dict[str, Any], actions: list[Any], mask: int) -> int:
    if order["umask"] is not None:
        os.umask(order["umask"])
    try:
        return int(
            _patiently(
                lambda: os.posix_spawn(
                    order["program"],
                    order["arguments"],
                    order["environment"],
                    file_actions=actions,
                    setsid=True,
                    setsigmask=(),
                    setsigdef=_TOUCHED,
                )
            )
        )
    except (OSError, ValueError) as problem:
        raise Failed("program", problem, order["program"]) from problem
    finally:
        os.umask(mask)


#: Whether the C library can start a session for a process that it creates.
_SPAWNS = hasattr(os, "posix_spawn") and os.confstr("CS_GNU_LIBC_VERSION") is not None


def _patiently(execute: Callable[[], Any]) -> Any:
    """Retry while a program that was just transferred is still open for writing, briefly, in a child of its writer."""
    for _ in range(_BUSY_TRIES):
        try:
            return execute()
        except OSError as problem:
            if problem.errno != _TEXT_BUSY:
                raise
            time.sleep(_BUSY_S)
    return execute()


def _set_up(order: dict[str, Any], shepherd: int, moves: bool, pipe: int) -> None:
    try:
        os.setsid()
        if moves and order["group"] is not None:
            write_kernel_file(order["group"] + b"/cgroup.procs", b"0")
        memory = order["memory"]
        if memory is not None and memory["group"] != order["group"]:
            write_kernel_file(memory["group"] + b"/cgroup.procs", b"0")
        if order["oom_score"] is not None:
            _set_oom_score(b"%d" % order["oom_score"])
        if order["processors"] is not None:
            os.sched_setaffinity(0, order["processors"])
        if order["niceness"]:
            os.nice(order["niceness"])
    except (OSError, ValueError) as problem:
        raise Failed("session", problem) from problem
    if order["isolation"] is not None:
        shepherd = _isolate(order, shepherd, pipe)
    _become(order)
    try:
        # After the change of user, which resets it.
        die_with_parent(_KILL, shepherd)
    except OSError as problem:
        raise Failed("session", problem) from problem
    _enter(order)
    if order["umask"] is not None:
        os.umask(order["umask"])
    streams = _opened_streams(order) if order["relay"] is None else order["ends"]
    # Input last: if it is a file, the descriptor of /dev/null is replaced.
    for number in (2, 1, 0):
        os.dup2(streams[number], number)
    if order["relay"] is not None and order["relay"]["terminal"]:
        try:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        except OSError as problem:
            raise Failed("streams", problem) from problem


def _isolate(order: dict[str, Any], shepherd: int, pipe: int) -> int:
    """See less of the machine; the parent from now on, which with a PID namespace is its first process."""
    isolation = order["isolation"]
    try:
        if isolation["private"] or isolation["processes"]:
            enter_mounts(isolation, order["account"])
        if not isolation["processes"]:
            return shepherd
        job = os.fork()
        if job == 0:
            os.setsid()
            return 1
    except (OSError, ValueError) as problem:
        where = getattr(problem, "filename", None) or b""
        raise Failed("isolation", problem, where if isinstance(where, bytes) else os.fsencode(where)) from problem
    told = order["told"]
    try:
        # Locks and lines of the shepherd's end with the shepherd, not with this process.
        os.closerange(0, told)
        os.closerange(told + 1, 65_536)
        os.chdir("/")
        _become(order)
        die_with_parent(_KILL, 0)
        if not parent_is_gone(told):
            stand_by(job, told, awaits=order["await_family"])
    finally:
        # With this process all others of the namespace end.
        os._exit(127)


def _enter(order: dict[str, Any]) -> None:
    try:
        os.chdir(order["directory"])
    except (OSError, ValueError) as problem:
        raise Failed("directory", problem, order["directory"]) from problem


def _set_oom_score(score: bytes) -> None:
    """Set the score; a machine that does not allow it does without."""
    try:
        write_kernel_file(_OOM_SCORE, score)
    except OSError:
        return


def _become(order: dict[str, Any]) -> None:
    account = order["account"]
    if account is None:
        return
    uid, gid, groups = account
    try:
        # Only root may raise limits, and after this the process is not root.
        for which, soft, hard in order["limits"]:
            if _above(hard, resource.getrlimit(which)[1]):
                resource.setrlimit(which, (soft, hard))
    except (OSError, ValueError) as problem:
        raise Failed("limits", problem) from problem
    try:
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    except OSError as problem:
        raise Failed("account", problem, b"uid %d, gid %d" % (uid, gid)) from problem


def _above(one: int, other: int) -> bool:
    infinite = resource.RLIM_INFINITY
    return other != infinite and (one == infinite or one > other)


def _opened_streams(order: dict[str, Any]) -> tuple[int, int, int]:
    """The files of standard input, output and error. The fork server's own input is /dev/null, for both ways."""
    source, output, error = order["streams"]
    how = _WRITE | (os.O_APPEND if order["append"] else os.O_TRUNC)
    input_file = 0 if source is None else _open("input", source, _READ)
    output_file = 0 if output is None else _open("output", output, how)
    if error == output:
        return input_file, output_file, output_file
    return input_file, output_file, 0 if error is None else _open("error", error, how)


def _open(stage: str, path: bytes, how: int) -> int:
    """Open without blocking: a pipe without a process at its other end must not delay the job forever."""
    try:
        file = os.open(path, how, 0o666)
        if how & os.O_NONBLOCK:
            os.set_blocking(file, True)
        if stage == "input" and os.fstat(file).st_mode & _KIND == _DIRECTORY:
            raise IsADirectoryError(21, "Is a directory")
    except (OSError, ValueError) as problem:
        raise Failed(stage, problem, path) from problem
    return file


def _execute(order: dict[str, Any]) -> None:
    try:
        for which, soft, hard in order["limits"]:
            ceiling = resource.getrlimit(which)[1]
            hard = ceiling if _above(hard, ceiling) else hard
            resource.setrlimit(which, (hard if _above(soft, hard) else soft, hard))
    except (OSError, ValueError) as problem:
        raise Failed("limits", problem) from problem
    if order["isolation"] is not None and order["isolation"]["no_rights"]:
        try:
            forgo_rights()
        except OSError as problem:
            raise Failed("isolation", problem) from problem
    for number in _TOUCHED:
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    try:
        _patiently(lambda: os.execve(order["program"], order["arguments"], order["environment"]))
    except (OSError, ValueError) as problem:
        raise Failed("program", problem, order["program"]) from problem
