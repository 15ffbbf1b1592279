"""The script of a job: read when it is submitted, with the options embedded in it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, NamedTuple

from roost.cli.gridengine.option_lines import words_of
from roost.gridengine.commands.errors import FAILED, NO_INPUT, NO_SCRIPT, Failure, rejected
from roost.model.scripts import SCRIPT_BYTES_MAX, ScriptTooLong, packed_script

#: The name of a script that came from standard input.
STDIN: Final = "STDIN"
PREFIX: Final = "#$"


class Script(NamedTuple):
    """A script."""

    #: The name as given.
    file: str
    #: The text as in the job's ad.
    text: str
    data: bytes

    def options(self, prefix: str) -> list[str]:
        """The options on the lines that begin with a prefix; none without a prefix. Raises Failure."""
        if not prefix:
            return []
        lines = (line for line in self.data.decode(errors="replace").split("\n") if line.startswith(prefix))
        return [word for line in lines for word in words_of(line[len(prefix) :], self.file)]


def read_script(file: str) -> Script:
    """Read a script; "" and ``-`` are standard input. Raises Failure."""
    if file in ("", "-"):
        data = (
            sys.stdin.buffer.read(SCRIPT_BYTES_MAX + 1) if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode()
        )
        if not data:
            raise Failure("Unable to read script file because of error: no input read from stdin", NO_INPUT)
        return _script(STDIN, data)
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(SCRIPT_BYTES_MAX + 1)
    except OSError as error:
        text = f"Unable to read script file because of error: error opening {file}: {error.strerror}"
        raise Failure(text, NO_SCRIPT) from None
    return _script(file, data)


def _script(name: str, data: bytes) -> Script:
    """Raises Failure, also with Grid Engine's words if it refuses a script."""
    if not data:
        raise rejected("job rejected: no script in your request")
    if b"\0" in data:
        raise rejected("Script length does not match declared length")
    try:
        return Script(name, packed_script(data), data)
    except ScriptTooLong as problem:
        text = f"{name} is {problem}, and travels with the job; submit a short script that calls it, or it with -b y"
        raise Failure(text, FAILED) from None
