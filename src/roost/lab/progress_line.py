"""A line on a terminal that says how far something long is; nothing where stderr is not a terminal."""

from __future__ import annotations

import sys
import time
from typing import Final

#: Shortest time between two drawings, s.
_GAP_S: Final = 0.1
#: Characters of the bar where there is room.
_BAR: Final = 40


class ProgressLine:
    """The line, on standard error."""

    def __init__(self) -> None:
        self.visible = sys.stderr.isatty()
        self._at = 0.0
        self._drawn = 0

    def show(self, share: float, text: str, columns: int = 100) -> None:
        """So much is done, from 0 to 1; `text` says more, and is cut to fit into so many columns."""
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
        """Make room for other lines."""
        if self._drawn:
            sys.stderr.write("\r" + " " * self._drawn + "\r")
            sys.stderr.flush()
            self._drawn = 0

    def keep(self) -> None:
        """Leave it as it stands; what comes is below it."""
        if self._drawn:
            sys.stderr.write("\n")
            sys.stderr.flush()
            self._drawn = 0
