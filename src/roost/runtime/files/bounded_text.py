"""Reading user-named texts up to a limit: a device or a pipe may never end."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Final

#: Maximum length of any text, characters.
TEXT_CHARS_MAX: Final = 64 * 1024 * 1024


def bounded_text(path: Path | None, chars_max: int = TEXT_CHARS_MAX) -> str:
    """The text of a file, or of standard input for None. Raises OSError, with EFBIG if it is too long."""
    if path is None:
        text = sys.stdin.read(chars_max + 1)
    else:
        with path.open(encoding="utf-8", errors="replace") as stream:
            text = stream.read(chars_max + 1)
    if len(text) > chars_max:
        raise OSError(errno.EFBIG, f"longer than {chars_max} characters", str(path or "standard input"))
    return text
