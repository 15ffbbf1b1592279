"""Unix sockets at paths of any length: the system limits addresses to about a hundred characters."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def at_path(path: Path) -> Iterator[str]:
    """The address of a Unix socket at a path, valid while it is bound or connected. Raises OSError."""
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)
