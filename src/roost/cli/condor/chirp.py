"""``condor_chirp``: a running job's requests to its queue, as a command."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from roost.cli.condor.chirp_client import ChirpError, HTChirp
from roost.cli.condor.errors import ToolError, UsageError

#: Command to the minimum and maximum number of its arguments.
COUNTS: Final = {
    "access": (2, 2), "chmod": (2, 2), "chown": (3, 3), "fetch": (2, 2), "get_job_attr": (1, 1),
    "get_job_attr_delayed": (1, 1), "getdir": (1, 1), "lchown": (3, 3), "link": (2, 2), "lstat": (1, 1), "put": (2, 2),
    "read": (2, 2), "readlink": (1, 1), "remove": (1, 1), "rmdir": (1, 1), "set_job_attr": (2, 2),
    "set_job_attr_delayed": (2, 2), "stat": (1, 1), "statfs": (1, 1), "truncate": (2, 2), "ulog": (1, 1),
    "utime": (3, 3), "whoami": (0, 0), "whoareyou": (1, 1), "write": (2, 3),
}  # fmt: skip
#: Option to the number of its values, and the commands that accept it.
_OPTIONS: Final = {
    "-mode": (1, ("put",)), "-perm": (1, ("put",)), "-offset": (1, ("read", "write")),
    "-stride": (2, ("read", "write")), "-r": (0, ("rmdir",)), "-l": (0, ("getdir",)), "-s": (0, ("link",)),
}  # fmt: skip
#: Command to the arguments that are numbers, and their base.
_NUMBERS: Final = {"chmod": {1: 8}, "chown": {1: 10, 2: 10}, "lchown": {1: 10, 2: 10}, "truncate": {1: 10},
                   "utime": {1: 10, 2: 10}, "read": {1: 10}}  # fmt: skip
_SILENT: Final = ("fetch", "put", "write")
_TIMES: Final = ("atime", "mtime", "ctime")


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_chirp``."""
    if not arguments or arguments[0] not in COUNTS:
        said = f"{arguments[0]!r} is not a command of condor_chirp\n" if arguments else ""
        raise UsageError(f"{said}Usage: condor_chirp COMMAND [ARGUMENT...]; commands: {', '.join(COUNTS)}")
    command = arguments[0]
    words, options = arguments_of(command, arguments[1:])
    try:
        with HTChirp() as line:
            found = carry_out(line, command, words, options)
    except (ChirpError, ValueError, RuntimeError, OSError) as error:
        raise ToolError(f"condor_chirp {command}: {error}") from None
    if command not in _SILENT:
        _show(found, command)
    return 0


def arguments_of(command: str, arguments: list[str]) -> tuple[list[Any], dict[str, list[str]]]:
    """The arguments and the options of a command. Raises UsageError."""
    words: list[Any] = []
    options: dict[str, list[str]] = {}
    rest = iter(arguments)
    for word in rest:
        if word in _OPTIONS and command in _OPTIONS[word][1]:
            options[word] = [value for _, value in zip(range(_OPTIONS[word][0]), rest, strict=False)]
            if len(options[word]) < _OPTIONS[word][0]:
                raise UsageError(f"condor_chirp {command}: {word} takes {_OPTIONS[word][0]} values")
        else:
            words.append(word)
    least, most = COUNTS[command]
    if not least <= len(words) <= most:
        raise UsageError(f"condor_chirp {command}: {least} arguments are expected, and {len(words)} are given")
    try:
        for at, base in _NUMBERS.get(command, {}).items():
            words[at] = int(words[at], base)
    except ValueError as error:
        raise UsageError(f"condor_chirp {command}: {error}") from None
    return words, options


def carry_out(line: HTChirp, command: str, words: list[Any], options: dict[str, list[str]]) -> Any:
    """Make the request to the queue; return the result."""
    part: dict[str, int] = {"offset": int(options["-offset"][0])} if "-offset" in options else {}
    if "-stride" in options:
        stride, skip = map(int, options["-stride"])
        part |= {"stride_length": stride, "stride_skip": skip}
    match command:
        case "put":
            mode = int(options["-perm"][0], 8) if "-perm" in options else None
            flags = options["-mode"][0] if "-mode" in options else "wct"
            return line.write(_input(words[0]), words[1], {*flags, "w"}, mode)
        case "fetch" if words[1] == "-":
            data = line.read(words[0], line.stat(words[0])["size"])
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return None
        case "write":
            length = int(words[2]) if len(words) > 2 else None
            return line.write(_input(words[0]), words[1], "w", None, length, **part)
        case "read":
            sys.stdout.buffer.write(line.read(words[0], words[1], **part))
            sys.stdout.buffer.flush()
            return None
        case "rmdir":
            return line.rmdir(words[0], recursive="-r" in options)
        case "getdir":
            return line.getdir(words[0], stat_dict="-l" in options)
        case "link":
            return line.link(words[0], words[1], symbolic="-s" in options)
        case "readlink":
            return line.readlink(words[0]).decode("utf-8", "surrogateescape")
    method: Callable[..., Any] = getattr(line, command)
    return method(*words)


def _input(name: str) -> bytes:
    return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()


def _show(found: Any, command: str, indent: str = "") -> None:
    if isinstance(found, dict):
        for key, value in found.items():
            if isinstance(value, dict):
                sys.stdout.write(f"{indent}{key}\n")
                _show(value, command, indent + "\t")
            else:
                shown = time.ctime(value) if key in _TIMES else value
                sys.stdout.write(f"{indent}{key}: {shown}\n")
    elif isinstance(found, list):
        sys.stdout.writelines(f"{each}\n" for each in found)
    elif found is not None:
        sys.stdout.write(f"{found}\n")
