"""How a command fails: text on standard error, exit status 1 as in HTCondor."""

from __future__ import annotations


class ToolError(Exception):
    """Ends a command; the text is printed as it is."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


class UsageError(ToolError):
    """An argument that cannot be understood."""
