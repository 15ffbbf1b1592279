"""Names that a job may have."""

from __future__ import annotations

from typing import Final

from roost.gridengine.commands.errors import USAGE, Failure, rejected

#: Characters that Grid Engine refuses, in its order, with its names.
_SIGNS: Final = {
    "@": "At ('@')",
    ":": "Colon (':')",
    "*": "Asterisk ('*')",
    "?": "Questionmark ('?')",
    "\\": "Backslash ('\\')",
    "\n": "Newline ('\\n')",
    "\t": "Tabulator ('\\t')",
    "\r": "Carriage return ('\\r')",
}
_SEPARATORS: Final = {"/": "Slash ('/')", " ": "Space (' ')", "@": _SIGNS["@"], ":": _SIGNS[":"]}
_KEYWORDS: Final = frozenset(("NONE", "ALL", "TEMPLATE"))
#: Longest name, characters.
LENGTH_MAX: Final = 512


def check_name(name: str) -> None:
    """Raise Failure for a name that a job cannot have."""
    if "/" in name:
        raise Failure("qsub: argument to -N option must not contain / ", USAGE)
    if not name:
        raise rejected("job rejected cause there is no job_name in the request")
    if name[0].isdigit():
        raise rejected(f'denied: "{name}" is not a valid object name (cannot start with a digit)')
    _check_signs(name)
    if any(sign.isspace() or not sign.isprintable() for sign in name):
        raise rejected(f'denied: "{name}" is not a valid object name (blanks are not allowed)')
    if name.upper() in _KEYWORDS:
        raise rejected(f'Keyword ("{name.upper()}") not allowed as objectname')
    if len(name) > LENGTH_MAX:
        raise rejected(f"denied: the name of the job is longer than {LENGTH_MAX} characters")


def check_environment(name: str) -> None:
    """Raise Failure for a name of a parallel environment that none can have; patterns are names here."""
    _check_separators(name)
    if name.upper() in _KEYWORDS:
        raise rejected(f'Keyword ("{name.upper()}") not allowed as objectname')


def _check_separators(text: str) -> None:
    for sign, called in _SEPARATORS.items():
        if sign in text:
            raise rejected(f"{called} not allowed in objectname")


def check_account(text: str) -> None:
    """Raise Failure for an account string that a job cannot have."""
    _check_separators(text)
    _check_signs(text)
    if any(not sign.isprintable() for sign in text) or len(text) > LENGTH_MAX:
        raise rejected(f"denied: an account string has at most {LENGTH_MAX} characters that can be printed")


def _check_signs(text: str) -> None:
    for sign, called in _SIGNS.items():
        if sign in text:
            raise rejected(f"{called} not allowed in objectname")
