"""The error for an invalid message."""

from __future__ import annotations


class WireError(ValueError):
    """A message that cannot be read; the text says where and why. No part of it has been acted on."""
