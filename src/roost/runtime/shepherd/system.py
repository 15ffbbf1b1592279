# pathlib is too large for this process.
# ruff: noqa: PTH104
"""Calls of the Linux kernel that Python has no name for, and records written whole or not at all.

A record is a flat JSON object. It is written beside its place and renamed there, so that a reader sees nothing or all
of it. It is not forced to disk: a job does not survive a crash of its machine, and its record need not either.
"""

from __future__ import annotations

import ctypes
import os
from _json import encode_basestring_ascii

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36

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


def write_file(path: bytes, data: bytes) -> None:
    """Make the file, or replace it, in one instant."""
    temporary = path + b".new"
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
    finally:
        os.close(file)
    os.rename(temporary, path)


def write_record(path: bytes, record: dict[str, object]) -> None:
    """Write a flat record: texts, numbers, booleans and None."""
    write_file(path, _text(record))


def append_record(path: bytes, record: dict[str, object]) -> bool:
    """Add a record to a file that is there, in one write; False if that is not possible."""
    text = _text(record)
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.write(file, text) == len(text)
    except OSError:
        return False
    finally:
        os.close(file)


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
