"""The rules, a module each. `load_all` imports them; importing a module registers its rule."""

from __future__ import annotations

import importlib
import pkgutil


def load_all() -> None:
    """Import every module of this package."""
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        importlib.import_module(f"{__name__}.{module.name}")
