"""The script of a job: read when it is submitted, with the options embedded in it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, NamedTuple

from roost.cli.gridengine.option_lines import words_of
from roost.gridengine.commands.errors import FAILED, NO_INPUT, NO_SCRIPT, Failure

#: The name of a script that came by standard input.
STDIN: Final = "STDIN"
PREFIX: Final = "#$"
#: Longest script, bytes: it travels with the job.
BYTES_MAX: Final = 500_000


class Script(NamedTuple):
    """A script."""

    #: As it was named.
    file: str
    text: str

    def options(self, prefix: str) -> list[str]:
        """The options on the lines that begin with a prefix; none without a prefix. Raises Failure."""
        if not prefix:
            return []
        lines = (line for line in self.text.splitlines() if line.startswith(prefix))
        return [word for line in lines for word in words_of(line[len(prefix) :], self.file)]


def read_script(file: str) -> Script:
    """Read a script; "" and ``-`` are standard input. Raises Failure."""
    if file in ("", "-"):
        data = sys.stdin.buffer.read(BYTES_MAX + 1) if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode()
        if not data:
            raise Failure("Unable to read script file because of error: no input read from stdin", NO_INPUT)
        return Script(STDIN, _text(STDIN, data))
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(BYTES_MAX + 1)
    except OSError as error:
        text = f"Unable to read script file because of error: error opening {file}: {error.strerror}"
        raise Failure(text, NO_SCRIPT) from None
    return Script(file, _text(file, data))


def _text(file: str, data: bytes) -> str:
    if len(data) > BYTES_MAX:
        raise Failure(
            f"{file} is longer than {BYTES_MAX} bytes, which travel with the job; "
            "submit a short script that calls it, or the command with -b y",
            FAILED,
        )
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise Failure(f"{file} is not a text in UTF-8; submit a program with -b y", FAILED)
    return text
