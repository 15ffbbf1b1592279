"""Modules that HTCondor's own command-line tools import in addition to the bindings: colours, and key presses."""

__version__ = "1"
__all__ = ("ansi", "keyboard")
