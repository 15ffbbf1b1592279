"""Default request files: options of the cell, of the user, and of the directory, one after another.

``$SGE_ROOT/$SGE_CELL/common/sge_request``, ``~/.sge_request`` and ``./.sge_request``; each overrides the previous one.
Lines that begin with ``#`` are comments; a backslash at the end of a line continues it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roost.cli.gridengine.option_lines import words_of

NAME: Final = "sge_request"


def request_files() -> Iterator[Path]:
    """The existing ones, lowest precedence first."""
    root = os.environ.get("SGE_ROOT")
    if root:
        yield Path(root, os.environ.get("SGE_CELL") or "default", "common", NAME)
    home, here = Path("~").expanduser(), Path.cwd()
    yield home / f".{NAME}"
    if here != home:
        yield here / f".{NAME}"


def words_of_file(path: Path) -> list[str]:
    """The options in a file; none if it does not exist. Raises Failure and OSError."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return []
    lines = text.replace("\\\n", " ").splitlines()
    return [word for line in lines if not line.lstrip().startswith("#") for word in words_of(line, str(path))]
