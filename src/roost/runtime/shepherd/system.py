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


def set_name(name: bytes) -> None:
    """What ps and top call this process; the first 15 bytes count."""
    _prctl(_PR_SET_NAME, ctypes.c_char_p(name[:15]))


def open_record(path: bytes) -> int:
    """A record, to be added to; it is made if it is not there. Raises OSError."""
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
    """Whether nobody is at the other end of a socket."""
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
    """The text of a file of the kernel; empty if it is not there or may not be read."""
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
