"""Places in a cell's text: the file, and the line of an attribute.

The text is the files that a cell was read from; for objects that were not read from a file it is their printed form.
"""

from __future__ import annotations

from collections.abc import Mapping

from roost.base.diagnostics import Span
from roost.gridengine.cell import Cell, write_cell
from roost.gridengine.objects.text import logical_lines


class Places:
    """Finds lines in the files of a cell."""

    def __init__(self, files: Mapping[str, str], under: str = "") -> None:
        self._files = files
        #: prefix of each file's name
        self._under = under

    @classmethod
    def printed(cls, cell: Cell) -> Places:
        """The places in the printed form of a cell."""
        return cls(write_cell(cell))

    def line(self, file: str, attribute: str, number: int = 0) -> Span:
        """The line of an attribute; of several, such as the limits of a quota set, the one with the given index from
        0."""
        shown = f"{self._under}{file}"
        found = [
            span
            for line, span in logical_lines(self._files.get(file, ""), shown)
            if line.split()[0] == attribute or line.partition("=")[0] == attribute
        ]
        return found[min(number, len(found) - 1)] if found else Span(shown)
