"""What is wrong with a message."""

from __future__ import annotations


class WireError(ValueError):
    """A message that cannot be read; the text says where and why. Nothing of it has been acted on."""
