"""How one argument is written among others in form 2: blanks separate, single quotes hold together, two are one."""

from __future__ import annotations

import re
from typing import Final

_TO_QUOTE: Final = re.compile(r"[ \t\n\r']+")


def quote_argument(argument: str) -> str:
    """An argument as form 2 writes it: only blanks and quotes stand between quotes."""
    if not argument:
        return "''"
    return _TO_QUOTE.sub(lambda run: "'" + run[0].replace("'", "''") + "'", argument)
