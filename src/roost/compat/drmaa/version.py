"""The version of the interface, which is that of the package `drmaa` on PyPI."""

from __future__ import annotations

__all__ = ["VERSION", "__version__"]

__version__ = "0.7.9"
VERSION = tuple(__version__.split("."))
