"""The end of a command that runs as a separate process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn


def leave_with(main: Callable[[str, Sequence[str]], int], name: str, arguments: Sequence[str]) -> NoReturn:
    """Run a command as a separate process, and exit at once.

    Deallocating a hundred modules object by object takes an interpreter longer than most requests to a pool.
    """
    status = main(name, arguments)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        # The reader is gone: the interpreter would report it, which is of no use.
        status = status or 1
    os._exit(status)
