"""HTTP over a Unix socket, on which the kernel identifies the peer."""

from __future__ import annotations

import asyncio
import pwd
import socket
import struct
from pathlib import Path
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from roost.runtime.files.long_paths import at_path

#: Prefix of the client address that the kernel vouches for. No network address has it.
PEER: Final = "uid:"


class PeerProtocol(H11Protocol):
    """A connection on the Unix socket; ``client`` in the scope is the user of the peer process."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Get the peer from the kernel."""
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        _, uid, _ = struct.unpack("3i", found)
        self.client = (f"{PEER}{uid}", 0)


def name_of_peer(client: str) -> str:
    """The name of the user; "" if there is none."""
    try:
        return pwd.getpwuid(int(client.removeprefix(PEER))).pw_name
    except (KeyError, ValueError):
        return ""


def listening(path: Path, *, others: bool) -> socket.socket:
    """A socket that listens at a path, for this user or for all users of the machine. Raises OSError."""
    path.unlink(missing_ok=True)
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with at_path(path) as address:
        found.bind(address)
    path.chmod(0o666 if others else 0o600)
    found.listen(128)
    found.setblocking(False)
    return found
