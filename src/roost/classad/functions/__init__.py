"""The built-in functions. Importing this package enters all of them into the table in `registry`."""

from __future__ import annotations

from importlib.util import find_spec

from roost.classad.functions import (
    conversion,
    environment,
    lists,
    numbers,
    regex,
    stringlists,
    strings,
    times,
    types,
    users,
)
from roost.classad.functions.registry import FUNCTIONS, Builtin, builtin, lookup, special

if find_spec("roost.classad.functions.control") is not None:
    from roost.classad.functions import control  # noqa: F401

__all__ = [
    "FUNCTIONS",
    "Builtin",
    "builtin",
    "conversion",
    "environment",
    "lists",
    "lookup",
    "numbers",
    "regex",
    "special",
    "stringlists",
    "strings",
    "times",
    "types",
    "users",
]
