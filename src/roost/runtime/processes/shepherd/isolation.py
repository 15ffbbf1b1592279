"""What a job sees of its machine: directories of its own, its own processes only, and no programs that give rights.

======================  ==========================================================================================
``private``             directories in whose place the job has others, below its scratch directory
``kept``                directories that stay at their paths where those hide them, the scratch directory first
``processes``           the job is in a PID namespace of its own, with a /proc that shows nothing else
``no_rights``           programs with the set-user-ID bit give no rights (no-new-privileges)
======================  ==========================================================================================

Mounts are made in a mount namespace of the job's, after the fork and before the change of user. They end with the
last process that is in it, so nothing has to be unmounted. Directories are made and opened as the job's user, and
mounted by their descriptors: no link that the user has put there leads the superuser elsewhere.

The first process of a PID namespace is not the job: the kernel would not deliver it a signal that it does not catch,
and would leave it to wait for orphans. `stand_by` is that process. It passes signals on to the job and ends when the
job ends; the kernel kills what is left in the namespace then.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import ctypes
import os
import select
from _functools import partial  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, TypeVar

    T = TypeVar("T")

#: What the directory in the scratch directory is called that has a job's own directories; a number follows.
PRIVATE = b".private"
#: Starts of a job in one scratch directory.
_TRIES = 10_000

CLONE_NEWNS = 0x00020000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_SLAVE = 2, 4, 8, 4096, 16384, 1 << 19
_PR_SET_NO_NEW_PRIVS = 38
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: Signals that are not passed on: they cannot be caught, or are about the process that gets them.
_OWN = frozenset(
    (_signal.SIGKILL, _signal.SIGSTOP, _signal.SIGCHLD, _signal.SIGSEGV, _signal.SIGBUS, _signal.SIGFPE, _signal.SIGILL)
)

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: bytes) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def _mount(source: bytes, target: bytes, kind: bytes | None, flags: int) -> None:
    _checked(_libc.mount(source, target, kind, ctypes.c_ulong(flags), None), target)


def enter_mounts(isolation: dict[str, Any], account: tuple[int, int, list[int]] | None) -> None:
    """Have mounts that the machine does not have, with the job's directories in their places. Raises OSError."""
    _checked(_libc.unshare(CLONE_NEWNS), b"/")
    # What is mounted on the machine later is seen, what is mounted here is not seen there.
    _mount(b"none", b"/", None, _MS_REC | _MS_SLAVE)
    kept = [(path, os.open(path, _DIRECTORY)) for path in isolation["kept"]]
    targets = isolation["private"]
    made = _as_user(account, partial(_make, kept[0][1], len(targets))) if targets else []
    for target, source in zip(targets, made, strict=True):
        _bind(source, target)
    for path, directory in kept:
        if targets and not _is_same(directory, path):
            place = _as_user(account, partial(_below, path))
            _bind(directory, b"/proc/self/fd/%d" % place)
            os.close(place)
    for file in (*made, *(directory for _, directory in kept)):
        os.close(file)
    if isolation["processes"]:
        _mount(b"proc", b"/proc", b"proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)


def _bind(source: int, target: bytes) -> None:
    _mount(b"/proc/self/fd/%d" % source, target, None, _MS_BIND | _MS_REC)


def _as_user(account: tuple[int, int, list[int]] | None, work: Callable[[], T]) -> T:
    """Do something on files with the rights of the job's user."""
    if account is None:
        return work()
    uid, gid, groups = account
    before = os.getgroups(), os.getegid(), os.geteuid()
    os.setgroups(groups)
    os.setegid(gid)
    os.seteuid(uid)
    try:
        return work()
    finally:
        os.seteuid(before[2])
        os.setegid(before[1])
        os.setgroups(before[0])


def _make(scratch: int, count: int) -> list[int]:
    """New empty directories below the scratch directory, open."""
    for number in range(_TRIES):
        try:
            os.mkdir(b"%s.%d" % (PRIVATE, number), 0o700, dir_fd=scratch)
        except FileExistsError:
            # Of an earlier start of the job.
            continue
        top = os.open(b"%s.%d" % (PRIVATE, number), _DIRECTORY, dir_fd=scratch)
        try:
            return [_entered(b"%d" % each, top) for each in range(count)]
        finally:
            os.close(top)
    raise OSError(17, os.strerror(17), PRIVATE)


def _below(path: bytes) -> int:
    """The directory of that path, made where it does not exist, and open; no link is followed where it is made."""
    known = path
    missing: list[bytes] = []
    while not os.path.isdir(known):  # noqa: PTH112
        known, _, name = known.rpartition(b"/")
        missing.insert(0, name)
    found = os.open(known, _DIRECTORY)
    for name in missing:
        inner = _entered(name, found, 0o711)
        os.close(found)
        found = inner
    return found


def _entered(name: bytes, within: int, mode: int = 0o1777) -> int:
    """A new directory, open."""
    os.mkdir(name, 0o700, dir_fd=within)
    found = os.open(name, _DIRECTORY, dir_fd=within)
    os.fchmod(found, mode)
    return found


def _is_same(directory: int, path: bytes) -> bool:
    try:
        return os.path.samestat(os.fstat(directory), os.stat(path))  # noqa: PTH116
    except OSError:
        return False


def forgo_rights() -> None:
    """No program that is executed from here on gives rights that this process does not have. Raises OSError."""
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), 0, 0, 0), b"no-new-privileges")


def parent_is_gone(told: int) -> bool:
    """Whether the reader of a pipe is gone: a parent in another PID namespace has no number here."""
    ears = select.poll()
    ears.register(told, 0)
    return any(seen & select.POLLERR for _, seen in ears.poll(0))


def stand_by(job: int, told: int, *, awaits: bool) -> NoReturn:
    """Be the first process of the namespace until the job has ended; its status goes into the pipe.

    `awaits`: until all other processes have ended, too.
    """

    def passed_on(number: int, _frame: object) -> None:
        try:
            os.kill(job, number)
        except OSError:
            return

    status = None
    for number in range(1, 32):
        if number not in _OWN:
            _signal.signal(number, passed_on)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    while status is None or awaits:
        try:
            pid, found = os.waitpid(-1, 0)
        except ChildProcessError:
            break
        if pid == job:
            status = found
            os.write(told, b"%d" % found)
    os._exit(0)
