"""A progress line on the terminal; nothing if stderr is not a terminal."""

from __future__ import annotations

import sys
import time
from typing import Final

#: Minimum interval between updates, s.
_GAP_S: Final = 0.1
#: Length of the bar if there is room, characters.
_BAR: Final = 40


class ProgressLine:
    """The line, on standard error."""

    def __init__(self) -> None:
        self.visible = sys.stderr.isatty()
        self._at = 0.0
        self._drawn = 0

    def show(self, share: float, text: str, columns: int = 100) -> None:
        """Show the completed share, from 0 to 1; `text` has details, and is truncated to fit the columns."""
        now = time.monotonic()
        if not self.visible or (now - self._at < _GAP_S and share < 1):
            return
        self._at = now
        bar = min(_BAR, columns // 4)
        filled = round(bar * min(1.0, max(0.0, share)))
        line = f"[{'#' * filled}{'.' * (bar - filled)}] {text}"[: columns - 1]
        sys.stderr.write(f"\r{line:<{self._drawn}}")
        sys.stderr.flush()
        self._drawn = len(line)

    def clear(self) -> None:
        """Erase the line so that others can be printed."""
        if self._drawn:
            sys.stderr.write("\r" + " " * self._drawn + "\r")
            sys.stderr.flush()
            self._drawn = 0

    def keep(self) -> None:
        """Keep the line; later output appears below it."""
        if self._drawn:
            sys.stderr.write("\n")
            sys.stderr.flush()
            self._drawn = 0
