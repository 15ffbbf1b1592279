"""Calls of the Linux kernel that Python has no name for, and the lines of records.

What a shepherd has to say of its job is a flat JSON object, added to the record of the run as one line. It is not
forced to disk: a job does not survive a crash of its machine, and its record need not either.
"""

from __future__ import annotations

import ctypes
import os
import select
from _json import encode_basestring_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36

#: Size of the largest packet, bytes.
PACKET_BYTES_MAX = 64 * 1024

_HANGUP = select.POLLHUP | select.POLLERR

_libc = ctypes.CDLL(None, use_errno=True)
#: The same, without letting go of Python's lock meanwhile: who comes back may be a child, and has it.
_held = ctypes.PyDLL(None, use_errno=True)

#: The number of clone3 on all machines but Alphas, and what it is told.
_CLONE3 = 435
_CLONE_INTO_CGROUP = 1 << 33
_SIGCHLD = 17
#: A number that no open file has, and what the kernel says of it.
_NO_FILE, _BAD_FILE = 0x7FFFFFFF, 9
#: What `forks_into` has found out.
_found: list[bool] = []


class _CloneArguments(ctypes.Structure):
    """struct clone_args of linux/sched.h, as it is since Linux 5.7."""

    _NAMES = (
        "flags", "pidfd", "child_tid", "parent_tid", "exit_signal", "stack", "stack_size", "tls", "set_tid",
        "set_tid_size", "cgroup",
    )  # fmt: skip
    _fields_ = [(name, ctypes.c_uint64) for name in _NAMES]


def _prctl(option: int, argument: object) -> None:
    if _libc.prctl(option, argument, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def become_reaper() -> None:
    """Every orphan below this process becomes its child."""
    _prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1))


def die_with_parent(signal: int, parent: int) -> None:
    """Be sent the signal when the parent dies. Raises ProcessLookupError if it is dead already."""
    _prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal))
    if os.getppid() != parent:
        raise ProcessLookupError(3, "the shepherd is gone")


def fork_into(group: bytes) -> int:
    """Fork a child that is born in a control group: 0 in the child. Raises OSError where that is not possible.

    A process that moves into a group waits for a grace period of the kernel, some ten milliseconds, unless another has
    just waited for one; a process that is created there does not. The price is that neither the C library nor Python
    learns of the fork. They would reset locks that other threads might hold, and the thread id: so this is for a
    process without threads, whose child soon executes a program.
    """
    directory = os.open(group, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return _clone_into(directory)
    finally:
        os.close(directory)


def _clone_into(directory: int) -> int:
    wanted = _CloneArguments(flags=_CLONE_INTO_CGROUP, exit_signal=_SIGCHLD, cgroup=directory)
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    pid = int(_held.syscall(ctypes.c_long(_CLONE3), ctypes.byref(wanted), size))
    if pid < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return pid


def forks_into() -> bool:
    """Whether the kernel, and what guards this process (as containers are), allow `fork_into`; found out once.

    Who knows the call minds that there is no such file; who does not, or may not, minds something else.
    """
    if not _found:
        try:
            _clone_into(_NO_FILE)
        except OSError as problem:
            _found.append(problem.errno == _BAD_FILE)
    return _found[0]


def set_name(name: bytes) -> None:
    """What ps and top call this process; the first 15 bytes count."""
    _prctl(_PR_SET_NAME, ctypes.c_char_p(name[:15]))


def open_record(path: bytes) -> int:
    """A record, to be appended to; it is created if it does not exist. Raises OSError."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def append_record(file: int, record: dict[str, object], *, again: bool = False) -> None:
    """Add a flat record (texts, numbers, booleans, None) as a line. Raises OSError.

    `again`: an earlier try may have left half a line.
    """
    text = b"\n" + _text(record) if again else _text(record)
    if os.write(file, text) != len(text):
        raise OSError(28, os.strerror(28))


def receive(channel: _socket.socket) -> bytes | None:
    """The next order from a SEQPACKET socket; None when there will be none.

    It comes in packets, all but the last beginning with ``+``, the last with ``.``.
    """
    parts: list[bytes] = []
    ears = select.poll()
    ears.register(channel.fileno(), select.POLLIN)
    while True:
        if ears.poll()[0][1] & _HANGUP:
            return None
        packet = channel.recv(PACKET_BYTES_MAX)
        if not packet:
            return None
        parts.append(packet[1:])
        if packet[:1] == b".":
            return b"".join(parts)


def hung_up(channel: _socket.socket) -> bool:
    """Whether the other end of a socket is closed."""
    ears = select.poll()
    ears.register(channel.fileno(), 0)
    return bool(ears.poll(0))


def _text(record: dict[str, object]) -> bytes:
    fields = ", ".join([f"{encode_basestring_ascii(name)}: {_value(value)}" for name, value in record.items()])
    return b"{" + fields.encode() + b"}\n"


def _value(value: object) -> str:
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    assert isinstance(value, int | float)
    return repr(value)


def write_kernel_file(path: bytes, data: bytes) -> None:
    """Write into a file of the kernel, as those of control groups are, in one go. Raises OSError."""
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(file, data)
    finally:
        os.close(file)


def read_kernel_file(path: bytes | str) -> bytes:
    """The text of a file of the kernel; empty if it does not exist or may not be read."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        data = os.read(file, 65536)
        while part := os.read(file, 65536):
            data += part
        return data
    except OSError:
        return b""
    finally:
        os.close(file)
