"""The end of a command that is a process of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn


def leave_with(main: Callable[[str, Sequence[str]], int], name: str, arguments: Sequence[str]) -> NoReturn:
    """Run a command as a process of its own, and end it at once.

    Taking a hundred modules apart object by object takes an interpreter longer than most questions to a pool.
    """
    status = main(name, arguments)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        # The reader is gone: the interpreter would report it, which is of no use.
        status = status or 1
    os._exit(status)
