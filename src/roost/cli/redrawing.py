"""Text that is redrawn in place on a terminal."""

from __future__ import annotations

import os
import sys


class Redrawing:
    """The last lines of a terminal."""

    def __init__(self) -> None:
        self.is_terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self._drawn = 0

    def show(self, lines: list[str]) -> None:
        """Draw lines in place of those drawn before; lines that do not fit are left out and counted."""
        room = self._height() - 1
        if len(lines) > room:
            lines = [*lines[: room - 1], f"… and {len(lines) - room + 1} more"]
        up = f"\x1b[{self._drawn}A\r" if self._drawn else ""
        sys.stdout.write(f"{up}\x1b[J" + "".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
        self._drawn = len(lines)

    @staticmethod
    def _height() -> int:
        try:
            # Some terminals do not know their size and say 0.
            return max(4, os.get_terminal_size(sys.stdout.fileno()).lines or 24)
        except (OSError, ValueError):
            return 24
