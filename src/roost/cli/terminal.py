"""Streams, messages and exit statuses of every command. No exception leaves `guarded` as a traceback.

Output is UTF-8 whatever the locale, and bytes that are not UTF-8 are written unchanged.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import Final


class Exit(IntEnum):
    """The exit statuses of commands; other numbers are never used."""

    OK = 0
    #: The answer is no: not true, no match.
    NO = 1
    #: Bad usage or bad input; the message is on standard error.
    BAD = 2
    #: An internal error: a bug in Roost.
    INTERNAL = 3
    #: Ended by Ctrl-C, or by SIGTERM if something has to be cleaned up.
    INTERRUPTED = 130
    #: The reader of the output is gone.
    BROKEN_PIPE = 141


class CommandError(Exception):
    """Ends a command with a message and `Exit.BAD`."""


#: If it is set to anything, internal errors show their traceback.
_TRACEBACK_VARIABLE: Final = "ROOST_TRACEBACK"


def guarded(run: Callable[[], int], *, prefix: str = "roost", bad: int = Exit.BAD) -> int:
    """Call `run`; every exception becomes a message and an exit status.

    `prefix` and `bad` are the prefix of messages and the exit status for bad input: replacements of another system's
    commands use those of that system.
    """
    _prepare_streams()
    try:
        code = run()
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _silence_stdout()
        return Exit.BROKEN_PIPE
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception as error:
        return _ended_by(error, prefix, bad)


def _ended_by(error: Exception, prefix: str, bad: int) -> int:
    match error:
        case CommandError():
            text = str(error)
        case OSError():
            text = _described(error)
        case RecursionError():
            text = "the input is nested too deeply"
        case _:
            return _unexpected(error, prefix, bad)
    return _failed(text, prefix, bad)


def complain(message: str, prefix: str = "roost") -> None:
    """Write a message to standard error; control characters are made visible."""
    sys.stdout.flush()
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in message)
    sys.stderr.write(f"{prefix}: {shown}\n")
    sys.stderr.flush()


def say(text: str) -> None:
    """Write a line to standard output."""
    sys.stdout.write(f"{text}\n")


def width() -> int:
    """The width available for output, in columns; 100 if neither COLUMNS nor a terminal says."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) >= 20:
        return int(columns)
    try:
        return max(20, os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError):
        return 100


def _prepare_streams() -> None:
    # A stream that the caller closed: nothing to read, and nothing to write to.
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")


def _failed(message: str, prefix: str, bad: int) -> int:
    try:
        complain(message, prefix)
    except BrokenPipeError:
        _silence_stdout()
    return bad


def _described(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename is not None else reason


def _unexpected(error: Exception, prefix: str, bad: int) -> int:
    # Programs and people that call Roost must be able to rely on the form of its messages.
    from roost.classad.errors import ParseError

    if isinstance(error, ParseError):
        return _failed(str(error), prefix, bad)
    if os.environ.get(_TRACEBACK_VARIABLE):
        import traceback

        traceback.print_exc()
    _failed(
        f"internal error: {type(error).__name__}: {error}\n"
        f"    hint: this is a bug in Roost; {_TRACEBACK_VARIABLE}=1 shows where it occurred; please report it",
        prefix,
        bad,
    )
    # Other systems' commands have one status for all failures; some other numbers have a meaning there.
    return Exit.INTERNAL if bad == Exit.BAD else bad


def _silence_stdout() -> None:
    """Keep the interpreter from writing remaining output to a closed pipe when it exits."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
