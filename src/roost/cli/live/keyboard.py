"""The user's terminal for a command whose program runs elsewhere: its size, and unprocessed key input."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Final

#: Rows and columns of a terminal of unknown size.
USUAL: Final = (24, 80)


def terminal_size() -> tuple[int, int]:
    """Rows and columns of this process's terminal, or the default."""
    for stream in range(3):
        with contextlib.suppress(OSError):
            size = os.get_terminal_size(stream)
            if size.lines and size.columns:
                return size.lines, size.columns
    return USUAL


def resizes() -> int:
    """A file that becomes readable when the size of the terminal changes; must be called in the main thread."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def tell(*_: object) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(writer, b"w")

    signal.signal(signal.SIGWINCH, tell)
    return reader


@contextlib.contextmanager
def raw() -> Iterator[None]:
    """Switch a terminal on standard input to raw mode."""
    import termios
    import tty

    if not os.isatty(0):
        yield
        return
    before = termios.tcgetattr(0)
    # Keys typed already are for the program, too.
    tty.setraw(0, termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
