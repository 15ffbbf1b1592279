"""The terminal of the user before a command whose program runs elsewhere: its size, and each key as it is."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Final

#: Rows and columns of a terminal whose size is not known.
USUAL: Final = (24, 80)


def terminal_size() -> tuple[int, int]:
    """Rows and columns of the terminal that this process has, or of the usual one."""
    for stream in range(3):
        with contextlib.suppress(OSError):
            size = os.get_terminal_size(stream)
            if size.lines and size.columns:
                return size.lines, size.columns
    return USUAL


def resizes() -> int:
    """A file that can be read from each time when the terminal gets another size; to be called in the main thread."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def tell(*_: object) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(writer, b"w")

    signal.signal(signal.SIGWINCH, tell)
    return reader


@contextlib.contextmanager
def raw() -> Iterator[None]:
    """Have every key reach this process, where its standard input is a terminal."""
    import termios
    import tty

    if not os.isatty(0):
        yield
        return
    before = termios.tcgetattr(0)
    # What was typed already is for the program, too.
    tty.setraw(0, termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
