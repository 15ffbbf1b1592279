"""The terminal emulator of `qsh`."""

from __future__ import annotations

import os
from typing import Final

from roost.cli.gridengine.asking import ask, cell_files
from roost.cli.pool_connection import Pool

#: The default of a cell.
XTERM: Final = "/usr/bin/xterm"


def emulator(display: str, shell: str) -> tuple[str, tuple[str, ...]]:
    """The program and its arguments: the cell's `xterm`, with the shell, on that display."""
    command = shell or os.environ.get("SHELL") or "/bin/sh"
    return ask("qsh", _xterm), ("-display", display, "-n", "SGE Interactive Job", "-e", command)


def _xterm(pool: Pool) -> str:
    from roost.gridengine.objects.configuration import GLOBAL, parse_configuration

    text = cell_files(pool).get(f"configurations/{GLOBAL}")
    return (parse_configuration(text, GLOBAL, GLOBAL).get("xterm") if text else None) or XTERM
