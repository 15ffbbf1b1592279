"""Linux system calls that Python does not provide, and the lines of records.

A shepherd's report about its job is a flat JSON object, appended to the record of the run as one line. It is not forced
to disk: a job does not survive a crash of its machine, and its record does not need to either.
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

#: Maximum size of a packet, bytes.
PACKET_BYTES_MAX = 64 * 1024

_HANGUP = select.POLLHUP | select.POLLERR

_libc = ctypes.CDLL(None, use_errno=True)
#: The same, without releasing Python's lock meanwhile: the returning process may be a child, which must hold it.
_held = ctypes.PyDLL(None, use_errno=True)

#: The number of clone3 on all architectures except Alpha, and its arguments.
_CLONE3 = 435
_CLONE_INTO_CGROUP = 1 << 33
_CLONE_NEWPID = 0x20000000
_SIGCHLD = 17
#: A number that no open file has, and the kernel's error for it.
_NO_FILE, _BAD_FILE = 0x7FFFFFFF, 9
#: The cached result of `forks_into`.
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
    """Make this process the parent of every orphan below it."""
    _prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1))


def die_with_parent(signal: int, parent: int) -> None:
    """Receive the signal when the parent dies. Raises ProcessLookupError if it is already dead."""
    _prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal))
    if os.getppid() != parent:
        raise ProcessLookupError(3, "the shepherd is gone")


def fork_into(group: bytes) -> int:
    """Fork a child that is born in a control group: 0 in the child. Raises OSError if that is not possible.

    A process that moves into a group waits for a grace period of the kernel, some ten milliseconds, unless another has
    just waited for one; a process that is created there does not. The price is that neither the C library nor Python
    learns of the fork. They would reset locks that other threads might hold, and the thread id, so this is only for a
    process without threads, whose child soon executes a program.
    """
    directory = os.open(group, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return _clone(_CLONE_INTO_CGROUP, directory)
    finally:
        os.close(directory)


def fork_apart() -> int:
    """Fork a child that is the first process of a PID namespace; as `fork_into`. Raises OSError."""
    return _clone(_CLONE_NEWPID)


def _clone(flags: int, directory: int = 0) -> int:
    wanted = _CloneArguments(flags=flags, exit_signal=_SIGCHLD, cgroup=directory)
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    pid = int(_held.syscall(ctypes.c_long(_CLONE3), ctypes.byref(wanted), size))
    if pid < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return pid


def forks_into() -> bool:
    """Whether the kernel, and any sandbox of this process (such as a container's), allow `fork_into`; determined once.

    If the call is supported, the error is about the bad file descriptor; if it is unknown or forbidden, the error is a
    different one.
    """
    if not _found:
        try:
            _clone(_CLONE_INTO_CGROUP, _NO_FILE)
        except OSError as problem:
            _found.append(problem.errno == _BAD_FILE)
    return _found[0]


def set_name(name: bytes) -> None:
    """Set the name of this process in ps and top; the first 15 bytes count."""
    _prctl(_PR_SET_NAME, ctypes.c_char_p(name[:15]))


def open_record(path: bytes) -> int:
    """Open a record for appending; it is created if it does not exist. Raises OSError."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def append_record(file: int, record: dict[str, object], *, again: bool = False) -> None:
    """Append a flat record (texts, numbers, booleans, None) as a line. Raises OSError.

    `again`: an earlier try may have left half a line.
    """
    text = b"\n" + _text(record) if again else _text(record)
    if os.write(file, text) != len(text):
        raise OSError(28, os.strerror(28))


def receive(channel: _socket.socket) -> bytes | None:
    """The next order from a SEQPACKET socket; None if there will be none.

    It arrives in packets, all but the last beginning with ``+``, the last with ``.``.
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
    """Write to a file of the kernel, such as those of control groups, in one call. Raises OSError."""
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
