"""Reading pieces of users' files as their user: a job's output so far, and later.

The whole file is never read: from the requested byte on, at most `limit` bytes. Directories, devices and pipes are
refused, since a user can put them where a file was.
"""

from __future__ import annotations

import os
import stat
from base64 import b64encode
from errno import EINVAL

from roost.runtime.files.worker.hands import Hands
from roost.wire.requests.verb import FilePiece


def read_piece(hands: Hands, path: str, offset: int, limit: int) -> FilePiece:
    """At most `limit` bytes from `offset` on; a negative one counts from the end. Raises OSError."""
    file = hands.open(path)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(EINVAL, "is not a regular file", path)
        begin = max(0, found.st_size + offset) if offset < 0 else min(offset, found.st_size)
        data = os.pread(file, limit, begin)
    finally:
        os.close(file)
    return FilePiece(path=path, size=found.st_size, offset=begin, data=b64encode(data).decode("ascii"))
