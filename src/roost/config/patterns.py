"""Regular expressions that administrators write, for Python's `re`.

`re` compiles possessive repeats and atomic groups wrongly before Python 3.11.5, so such a pattern would mean one thing
on one machine and another on the next. `compile_pattern` refuses them everywhere.
"""

from __future__ import annotations

import re
from typing import Final

#: An escaped character, a set of characters, or what `compile_pattern` refuses.
_PIECE: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<refused>\(\?>|[*+?}]\+)", re.DOTALL)


def compile_pattern(text: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """The compiled pattern. Raises `re.error` for one that is wrong or has a possessive repeat or an atomic group."""
    compiled = re.compile(text, flags)
    refused = unsupported(text)
    if refused is not None:
        what = "atomic groups" if refused[0] == "(?>" else "possessive repeats"
        raise re.error(f"{what} are not supported", text, refused.start())
    return compiled


def unsupported(text: str) -> re.Match[str] | None:
    """The first possessive repeat or opening of an atomic group in a pattern."""
    return next((found for found in _PIECE.finditer(text) if found["refused"]), None)
