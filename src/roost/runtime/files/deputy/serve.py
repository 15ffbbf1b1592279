"""The deputy process: it becomes its user, for good, and then does one operation after another until its daemon goes.

A request is a head of two numbers (length of a JSON text, length of what follows it), the text, which is a list of the
operation and its arguments, and the bytes to write. The answer has the same form; a descriptor comes with its head. The
daemon trusts an answer only as far as it trusts the user about that user's own files.
"""

from __future__ import annotations

import json
import os
import socket
import struct

from roost.runtime.files.deputy.hands import done

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HEAD = struct.Struct("!II")
#: Size of the largest text, bytes.
TEXT_BYTES_MAX = 64 * 1024 * 1024


def serve(channel_file: int, uid: int, gid: int, groups: list[int]) -> None:
    """Serve until the daemon is gone, or does not want this process any more."""
    channel = socket.socket(fileno=channel_file)
    os.chdir("/")
    os.umask(0o022)
    _become(uid, gid, groups)
    while (head := received(channel, HEAD.size)) is not None:
        text_size, data_size = HEAD.unpack(head)
        text, data = received(channel, text_size), received(channel, data_size)
        if text is None or data is None:
            return
        deed, *arguments = json.loads(text)
        try:
            _answer(channel, deed, arguments, data)
        except OSError:
            # The daemon no longer wants the answer.
            return


def _become(uid: int, gid: int, groups: list[int]) -> None:
    """Become the user. There is no way back: real, effective and saved identity change."""
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if uid == 0 or os.getresuid() != (uid,) * 3 or os.getresgid() != (gid,) * 3:
        raise SystemExit("this process did not become its user")
    try:
        os.setuid(0)
    except PermissionError:
        return
    raise SystemExit("this process could be root again")


def _answer(channel: socket.socket, deed: str, arguments: list[Any], data: bytes) -> None:
    file = -1
    try:
        value, file = done(deed, arguments, data)
        text = json.dumps({"value": value}).encode()
    except OSError as problem:
        told = {"errno": problem.errno or 5, "text": problem.strerror or str(problem), "file": problem.filename}
        text = json.dumps(told).encode()
    except ValueError as problem:
        # A zero byte in a name, which no file has.
        text = json.dumps({"errno": 22, "text": str(problem), "file": None}).encode()
    head = HEAD.pack(len(text), 0)
    try:
        if file >= 0:
            socket.send_fds(channel, [head], [file])
        else:
            channel.sendall(head)
        channel.sendall(text)
    finally:
        if file >= 0:
            os.close(file)


def received(channel: socket.socket, size: int) -> bytes | None:
    """Read so many bytes; None if the other end closes or dies first."""
    parts, missing = [], size
    while missing:
        try:
            part = channel.recv(min(missing, 1 << 20))
        except ConnectionError:
            return None
        if not part:
            return None
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
