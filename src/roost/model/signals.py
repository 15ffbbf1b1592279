"""Signals by name and number: as in submit files and job ads.

Numbers are those of Linux on common processors.
"""

from __future__ import annotations

from typing import Final

_NUMBERED: Final = (
    "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU "
    "URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS"
)

#: Names in the order of their numbers, from 1.
NAMES: Final[tuple[str, ...]] = tuple("SIG" + name for name in _NUMBERED.split())

#: Other names of some of them.
_ALIASES: Final = {"SIGIOT": "SIGABRT", "SIGCLD": "SIGCHLD", "SIGPOLL": "SIGIO"}


def signal_named(value: object) -> str | None:
    """The name of a signal given by name (with or without SIG, in any case) or by number; None for anything else."""
    if isinstance(value, str):
        text = value.strip().upper()
        if text.isdecimal() and len(text) < 4:
            value = int(text)
        else:
            name = text if text.startswith("SIG") else "SIG" + text
            name = _ALIASES.get(name, name)
            return name if name in NAMES else None
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= len(NAMES):
        return NAMES[value - 1]
    return None
