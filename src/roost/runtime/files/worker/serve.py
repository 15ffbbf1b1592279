"""The file worker process: it switches to its user for good, and then performs one operation after another until its
daemon exits.

A request is a header of two numbers (length of a JSON text, length of the data after it), the text, which is a list of
the operation and its arguments, and the bytes to write. The answer has the same form; a descriptor is sent with its
header. The daemon trusts an answer only as far as it trusts the user about that user's own files.
"""

from __future__ import annotations

import json
import os
import socket
import struct

from roost.runtime.files.worker.hands import done

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HEAD = struct.Struct("!II")
#: Maximum size of a text, bytes.
TEXT_BYTES_MAX = 64 * 1024 * 1024


def serve(channel_file: int, uid: int, gid: int, groups: list[int]) -> None:
    """Serve until the daemon exits, or no longer needs this process."""
    channel = socket.socket(fileno=channel_file)
    os.chdir("/")
    os.umask(0o022)
    _become(uid, gid, groups)
    while (head := received(channel, HEAD.size)) is not None:
        text_size, data_size = HEAD.unpack(head)
        text, data = received(channel, text_size), received(channel, data_size)
        if text is None or data is None:
            return
        operation, *arguments = json.loads(text)
        try:
            _answer(channel, operation, arguments, data)
        except OSError:
            # The daemon no longer wants the answer.
            return


def _become(uid: int, gid: int, groups: list[int]) -> None:
    """Switch to the user. This is irreversible: real, effective and saved ids change."""
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if uid == 0 or os.getresuid() != (uid,) * 3 or os.getresgid() != (gid,) * 3:
        raise SystemExit("this process failed to switch to its user")
    try:
        os.setuid(0)
    except PermissionError:
        return
    raise SystemExit("this process could regain root privileges")


def _answer(channel: socket.socket, operation: str, arguments: list[Any], data: bytes) -> None:
    file = -1
    try:
        value, file = done(operation, arguments, data)
        text = json.dumps({"value": value}).encode()
    except OSError as problem:
        told = {"errno": problem.errno or 5, "text": problem.strerror or str(problem), "file": problem.filename}
        text = json.dumps(told).encode()
    except ValueError as problem:
        # A NUL byte in a name, which no file can have.
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
    """Read exactly that many bytes; None if the peer closes the connection or exits first."""
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
