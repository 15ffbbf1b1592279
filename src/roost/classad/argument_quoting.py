"""The quoting of arguments in form 2: separated by blanks, grouped by single quotes, which are doubled to stand for
themselves."""

from __future__ import annotations

import re
from typing import Final

_TO_QUOTE: Final = re.compile(r"[ \t\n\r']+")


def quote_argument(argument: str) -> str:
    """An argument in form 2: only blanks and quotes are quoted."""
    if not argument:
        return "''"
    return _TO_QUOTE.sub(lambda run: "'" + run[0].replace("'", "''") + "'", argument)
