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
``append``              output and error are added to, not emptied
``account``             (uid, gid, list of groups), or None to stay who one is
``umask``               number, or None
``limits``              list of (resource, soft, hard)
``niceness``            number added
``processors``          list of processor numbers to stay on, or None
``oom_score``           added to what the kernel judges by when memory runs out, or None
``group``               control group directory to make and to be in, or None
``await_family``        what the main process leaves is waited for, not killed
======================  ==========================================================================================

What fails is told through a pipe as (stage, errno, detail), in the words of `STAGES`. What this module does not do:
decide what a failure means.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import resource

from roost.runtime.shepherd.system import die_with_parent, write_kernel_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

#: What can fail, in the order in which it is done.
STAGES = ("session", "limits", "account", "directory", "input", "output", "error", "program")

_KILL = 9
_NULL = b"/dev/null"
#: Signals that this process or Python ignores; what is ignored stays so in the program.
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


class _Failed(Exception):
    """Something could not be set up."""

    def __init__(self, stage: str, problem: Exception, detail: bytes = b"") -> None:
        super().__init__(stage)
        self.stage = stage
        self.number = getattr(problem, "errno", None) or 22
        self.detail = detail or str(problem).encode("utf-8", "replace")


def launch(order: dict[str, Any], pipe: int, shepherd: int) -> NoReturn:
    """Become the job's program, or write into the pipe why not and exit."""
    try:
        _set_up(order, shepherd)
        _execute(order)
    except _Failed as failed:
        report = f"{failed.stage}\0{failed.number}\0".encode() + failed.detail
    except BaseException as problem:
        report = b"program\0" + b"22\0" + repr(problem).encode("utf-8", "replace")
    os.write(pipe, report[:4000])
    os._exit(127)


def _set_up(order: dict[str, Any], shepherd: int) -> None:
    try:
        os.setsid()
        if order["group"] is not None:
            write_kernel_file(order["group"] + b"/cgroup.procs", b"0")
        if order["oom_score"] is not None:
            _raise_oom_score(order["oom_score"])
        if order["processors"] is not None:
            os.sched_setaffinity(0, order["processors"])
        if order["niceness"]:
            os.nice(order["niceness"])
    except (OSError, ValueError) as problem:
        raise _Failed("session", problem) from problem
    _become(order)
    try:
        # After the change of user, which forgets it.
        die_with_parent(_KILL, shepherd)
    except OSError as problem:
        raise _Failed("session", problem) from problem
    try:
        os.chdir(order["directory"])
    except (OSError, ValueError) as problem:
        raise _Failed("directory", problem, order["directory"]) from problem
    if order["umask"] is not None:
        os.umask(order["umask"])
    _open_streams(order)


def _raise_oom_score(score: int) -> None:
    """A machine that does not allow it goes without."""
    try:
        write_kernel_file(b"/proc/self/oom_score_adj", b"%d" % score)
    except OSError:
        return


def _become(order: dict[str, Any]) -> None:
    account = order["account"]
    if account is None:
        return
    uid, gid, groups = account
    try:
        # Only root may raise limits, and after this nobody is root.
        for which, soft, hard in order["limits"]:
            if _above(hard, resource.getrlimit(which)[1]):
                resource.setrlimit(which, (soft, hard))
    except (OSError, ValueError) as problem:
        raise _Failed("limits", problem) from problem
    try:
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    except OSError as problem:
        raise _Failed("account", problem, b"uid %d, gid %d" % (uid, gid)) from problem


def _above(one: int, other: int) -> bool:
    infinite = resource.RLIM_INFINITY
    return other != infinite and (one == infinite or one > other)


def _open_streams(order: dict[str, Any]) -> None:
    source, output, error = order["streams"]
    if source is None and output is None and error is None:
        os.dup2(_open("input", _NULL, os.O_RDWR), 0)
        os.dup2(0, 1)
        os.dup2(0, 2)
        return
    how = _WRITE | (os.O_APPEND if order["append"] else os.O_TRUNC)
    os.dup2(_open("input", source or _NULL, _READ), 0)
    os.dup2(_open("output", output or _NULL, how), 1)
    if error == output:
        os.dup2(1, 2)
    else:
        os.dup2(_open("error", error or _NULL, how), 2)


def _open(stage: str, path: bytes, how: int) -> int:
    """Open without waiting: a pipe with nobody at its other end must not hold up the job for ever."""
    try:
        file = os.open(path, how, 0o666)
        if how & os.O_NONBLOCK:
            os.set_blocking(file, True)
        if stage == "input" and os.fstat(file).st_mode & _KIND == _DIRECTORY:
            raise IsADirectoryError(21, "Is a directory")
    except (OSError, ValueError) as problem:
        raise _Failed(stage, problem, path) from problem
    return file


def _execute(order: dict[str, Any]) -> None:
    try:
        for which, soft, hard in order["limits"]:
            ceiling = resource.getrlimit(which)[1]
            hard = ceiling if _above(hard, ceiling) else hard
            resource.setrlimit(which, (hard if _above(soft, hard) else soft, hard))
    except (OSError, ValueError) as problem:
        raise _Failed("limits", problem) from problem
    for number in _TOUCHED:
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    try:
        os.execve(order["program"], order["arguments"], order["environment"])
    except (OSError, ValueError) as problem:
        raise _Failed("program", problem, order["program"]) from problem
