"""Non-blocking keyboard input, as the module of that name in HTCondor's bindings offers them."""

from __future__ import annotations

import atexit
import select
import sys
import termios
from typing import Self

__version__ = "1"
__all__ = ("KBHit",)


class KBHit:
    """The terminal of standard input; while it listens, keys are not shown and need no Enter."""

    def __init__(self, listen: bool = False) -> None:
        self.is_listening = False
        self.fd = sys.stdin.fileno()
        self.old_term = termios.tcgetattr(self.fd)
        self.new_term = termios.tcgetattr(self.fd)
        self.new_term[3] &= ~(termios.ICANON | termios.ECHO)
        if listen:
            self.listen_term()
        atexit.register(self.reset_term)

    def __enter__(self) -> Self:
        self.listen_term()
        return self

    def __exit__(self, *_: object) -> None:
        self.reset_term()

    def listening(self) -> bool:
        """Whether it listens."""
        return self.is_listening

    def reset_term(self) -> None:
        """Stop listening."""
        if self.is_listening:
            termios.tcsetattr(self.fd, termios.TCSAFLUSH, self.old_term)
            self.is_listening = False

    def listen_term(self) -> None:
        """Listen."""
        if not self.is_listening:
            termios.tcsetattr(self.fd, termios.TCSAFLUSH, self.new_term)
            self.is_listening = True

    def getch(self) -> str | None:
        """The key that was pressed; None if there was none."""
        return sys.stdin.read(1) if self.anyKeyPressed() else None

    def anyKeyPressed(self) -> bool:
        """Whether a key was pressed."""
        return self.is_listening and bool(select.select([sys.stdin], [], [], 0)[0])
