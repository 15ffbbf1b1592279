"""Packages that import their modules when a name of theirs is first used, so that commands start at once.

A package says ``__getattr__ = late(__name__, {module: names})``; for readers and type checkers the same names are
imported under ``if TYPE_CHECKING``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def late(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """The ``__getattr__`` of a package; `homes`: module in it to the names that it is home to.

    What it finds becomes an attribute of the package, so that each name is looked up once. It raises AttributeError for
    other names.
    """
    module_of = {name: module for module, names in homes.items() for name in names}

    def find(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return find


def load_modules(package: ModuleType) -> None:
    """Import every module of a package, for what they register."""
    # Slow to import, and most commands have no use for it.
    from pkgutil import iter_modules

    for module in sorted(iter_modules(package.__path__), key=lambda module: module.name):
        import_module(f"{package.__name__}.{module.name}")
