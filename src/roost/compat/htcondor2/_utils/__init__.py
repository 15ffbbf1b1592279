"""What HTCondor's own command-line tools import beside the bindings: colours, and keys that are pressed."""

__version__ = "1"
__all__ = ("ansi", "keyboard")
