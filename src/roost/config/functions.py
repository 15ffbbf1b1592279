"""The function macros: ``$ENV``, ``$INT``, ``$REAL``, ``$STRING``, ``$EVAL``, ``$CHOICE``, ``$RANDOM_…``,
``$SUBSTR``, ``$F…``, ``$BASENAME`` and ``$DIRNAME``.

A function gets its arguments as text in which macros are already expanded. An *item*, as the manual calls it, is the
name of a macro, which stands for its value, or otherwise the text itself. Values are evaluated by the host's ClassAd
evaluator; plain numbers are read directly. A function without a result raises `FunctionFailed`, with the text to use
instead, nearly always empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Protocol

from roost.config.host import ExpressionProblem, Host
from roost.config.references import NAME

#: how functions look up the macro that an argument names: its expanded value, None when undefined or empty
ValueOf = Callable[[str], str | None]

_FORMAT = re.compile(r"([^%]*)%([-+ 0#]*\d{0,3}(?:\.\d{0,3})?)l{0,2}([A-Za-z])([^%]*)\Z")
_INTEGER = re.compile(r"[+-]?\d{1,18}\Z")


class Caller(Protocol):
    """The expansion that a function is part of."""

    host: Host
    #: set by functions whose result must not be cached
    random_used: bool


class FunctionFailed(Exception):
    """A function macro cannot give a result; ``text`` is used instead."""

    def __init__(self, message: str, text: str = "") -> None:
        super().__init__(message)
        self.text = text


def call(function: str, arguments: str, value_of: ValueOf, caller: Caller) -> str:
    """The result of a function macro."""
    if function == "ENV":
        return _environment(arguments, caller)
    if function == "EVAL":
        return _eval(arguments, value_of, caller)
    parts = split(arguments)
    if function in _SIMPLE:
        return _SIMPLE[function](parts, value_of, caller)
    return file_parts(_item(parts, value_of), function[1:])


def commas(arguments: str) -> list[int]:
    """Offsets of the commas outside parentheses and double quotes."""
    found, depth, quoted = [], 0, False
    for position, char in enumerate(arguments):
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth <= 0:
            found.append(position)
    return found


def split(arguments: str) -> list[str]:
    """Split at commas outside parentheses and double quotes; the parts are trimmed."""
    ends = [-1, *commas(arguments), len(arguments)]
    return [arguments[start + 1 : end].strip() for start, end in pairwise(ends)]


def _item(parts: list[str], value_of: ValueOf) -> str:
    value = value_of(parts[0])
    return parts[0] if value is None else value


def _environment(arguments: str, caller: Caller) -> str:
    name, colon, default = arguments.partition(":")
    if not NAME.match(name):
        return f"$ENV({arguments})"
    value = caller.host.environment().get(name)
    if value is not None:
        return value
    return default if colon else "UNDEFINED"


def evaluate(text: str, caller: Caller) -> object:
    """The value of an expression of constants; UNDEFINED is None."""
    if _INTEGER.match(text):
        return int(text)
    if not text:
        raise FunctionFailed("there is nothing to evaluate")
    try:
        return caller.host.evaluate(text)
    except ExpressionProblem as problem:
        raise FunctionFailed(f"{text!r} cannot be evaluated: {problem}") from problem


def _number(text: str, caller: Caller) -> int | float:
    value = evaluate(text, caller)
    if isinstance(value, (bool, int, float)):
        return value
    raise FunctionFailed(f"{text!r} is not a number")


def _format(value: int | float | str, form: str, letters: str) -> str:
    match = _FORMAT.match(form)
    if match is None or match.group(3) not in letters:
        raise FunctionFailed(
            f"{form!r} is not a format for this value; use one of the conversions %{', %'.join(letters)}"
        )
    before, flags, letter, after = match.groups()
    return f"{before}{('%' + flags + letter) % value}{after}"


def _integer(parts: list[str], value_of: ValueOf, caller: Caller) -> str:
    number = _number(_item(parts, value_of), caller)
    try:
        value = int(number)
    except (OverflowError, ValueError) as problem:
        raise FunctionFailed(f"{number} has no integer value") from problem
    return _format(value, ",".join(parts[1:]) or "%d", "dixXo")


def _real(parts: list[str], value_of: ValueOf, caller: Caller) -> str:
    number = _number(_item(parts, value_of), caller)
    if len(parts) > 1:
        return _format(float(number), ",".join(parts[1:]), "eEfFgG")
    return f"{float(number):.16G}".strip()


def _string(parts: list[str], value_of: ValueOf, caller: Caller) -> str:
    text = _item(parts, value_of)
    try:
        value = caller.host.evaluate(text) if text else text
    except ExpressionProblem:
        value = text
    result = value if isinstance(value, str) else text
    return _format(result, ",".join(parts[1:]), "s") if len(parts) > 1 else result


def _eval(arguments: str, value_of: ValueOf, caller: Caller) -> str:
    named = value_of(arguments.strip())
    value = evaluate(arguments.strip() if named is None else named, caller)
    match value:
        case None:
            return "undefined"
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.16G}".strip()
        case _:
            return str(value)


def _list_of(parts: list[str], value_of: ValueOf) -> list[str]:
    """The choices: written out, or the members of the one list macro named."""
    if len(parts) != 1:
        return parts
    value = value_of(parts[0])
    if value is None:
        return parts if parts[0] else []
    return [member.strip() for member in value.split(",") if member.strip()]


def _choice(parts: list[str], value_of: ValueOf, caller: Caller) -> str:
    index = int(_number(_item(parts, value_of), caller))
    if len(parts) == 2 and value_of(parts[1]) is None:
        raise FunctionFailed(f"{parts[1]!r} is not a macro that contains a list")
    choices = _list_of(parts[1:], value_of)
    if not 0 <= index < len(choices):
        raise FunctionFailed(f"there is no item {index} among {len(choices)} (the first is 0)")
    return choices[index]


def _random_choice(parts: list[str], value_of: ValueOf, caller: Caller) -> str:
    choices = _list_of(parts, value_of)
    if not choices:
        raise FunctionFailed("the list is empty")
    caller.random_used = True
    return choices[caller.host.random_integer(0, len(choices) - 1)]


def _random_integer(parts: list[str], value_of: ValueOf, caller: Caller) -> str:
    if not 2 <= len(parts) <= 3:
        raise FunctionFailed("expected two or three numbers: lowest, highest, step")
    numbers = [int(_number(_item([part], value_of), caller)) for part in parts]
    low, high, step = numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else 1
    if high < low or step < 1:
        raise FunctionFailed(f"no numbers from {low} to {high} in steps of {step}")
    caller.random_used = True
    return str(low + step * caller.host.random_integer(0, (high - low) // step))


def _substring(parts: list[str], value_of: ValueOf, caller: Caller) -> str:
    value = value_of(parts[0])
    if value is None or not 2 <= len(parts) <= 3:
        raise FunctionFailed("expected the name of a defined macro, a start and optionally a length")
    start = int(_number(_item(parts[1:], value_of), caller))
    start = max(len(value) + start, 0) if start < 0 else start
    if len(parts) == 2:
        return value[start:]
    length = int(_number(_item(parts[2:], value_of), caller))
    end = len(value) + length if length < 0 else start + length
    return value[start : max(end, start)]


def _basename(parts: list[str], value_of: ValueOf, caller: Caller) -> str:
    name = _item(parts, value_of).rpartition("/")[2]
    suffix = parts[1] if len(parts) > 1 else ""
    return name.removesuffix(suffix) if suffix and name != suffix else name


def _dirname(parts: list[str], value_of: ValueOf, caller: Caller) -> str:
    directory, slash, _ = _item(parts, value_of).rpartition("/")
    return directory + slash


def file_parts(path: str, letters: str) -> str:
    """The wanted parts of a path: p directory, d only its last (dd the last two), n name, x extension.

    b drops the slash after a lone directory or the dot before a lone extension; q quotes the result, with a
    in single quotes; w turns slashes into backslashes, u the reverse; f, or no letter for a part, is the
    whole path.
    """
    if len(path) >= 2 and path[0] == path[-1] and path[0] in "\"'":
        path = path[1:-1]
    directory, slash, base = path.rpartition("/")
    directory += slash
    dot = base.rfind(".")
    name, extension = (base, "") if dot < 0 else (base[:dot], base[dot:])
    wanted_directory = bool(set("pd") & set(letters))
    result = path
    if set("pdnx") & set(letters):
        result = _directory(directory, letters) if wanted_directory else ""
        result += name if "n" in letters or (directory and wanted_directory and "x" in letters) else ""
        result += extension if "x" in letters else ""
        if "b" in letters:
            result = result.rstrip("/") if not set("nx") & set(letters) else result
            result = result.removeprefix(".") if not set("pdn") & set(letters) else result
    if "w" in letters or "u" in letters:
        result = result.replace("/", "\\") if "w" in letters else result.replace("\\", "/")
    if "q" in letters:
        quote = "'" if "a" in letters else '"'
        result = f"{quote}{result}{quote}"
    return result


def _directory(directory: str, letters: str) -> str:
    count = letters.count("d")
    if not count:
        return directory
    parts = directory.rstrip("/").split("/")
    last = "/".join(parts[-count:]) + "/" if directory else ""
    return last if last != "//" else "/"


_Function = Callable[[list[str], ValueOf, Caller], str]
_SIMPLE: dict[str, _Function] = {
    "INT": _integer,
    "REAL": _real,
    "STRING": _string,
    "CHOICE": _choice,
    "RANDOM_CHOICE": _random_choice,
    "RANDOM_INTEGER": _random_integer,
    "SUBSTR": _substring,
    "BASENAME": _basename,
    "DIRNAME": _dirname,
}
