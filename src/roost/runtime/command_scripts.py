"""Commands as small scripts that run this copy of Roost with this interpreter; nothing needs to be installed."""

from __future__ import annotations

import os
import shlex
import sys
import sysconfig
from pathlib import Path
from typing import Final

from roost.runtime.files.whole_files import write_whole

#: Maximum length of a script's first line that every Linux reads, bytes.
_INTERPRETER_LINE_MAX: Final = 127


def script(body: str, by: str) -> str:
    """A script for this interpreter that finds this copy of Roost; `by` is its author."""
    lines = [_first_lines(sys.executable), f"# Written by {by}.", "import sys"]
    parent = package_parent()
    if parent not in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        lines.append(f"sys.path.insert(0, {parent!r})")
    return "\n".join([*lines, body])


def package_parent() -> str:
    """The directory that has this copy of Roost."""
    return str(Path(__file__).resolve().parents[2])


def write_script(path: Path, text: str, mode: int) -> None:
    """Write a file unless it is up to date. Raises OSError."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    # The old one may be running.
    write_whole(path, text, mode=mode)


def _first_lines(interpreter: str) -> str:
    line = f"#!{interpreter}"
    if len(os.fsencode(line)) <= _INTERPRETER_LINE_MAX and not any(sign.isspace() for sign in interpreter):
        return line
    # A string literal to Python; to a shell, the words that start Python.
    return f"#!/bin/sh\n'''exec' {shlex.quote(interpreter)} \"$0\" \"$@\"\n' '''"
