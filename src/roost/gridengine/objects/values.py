"""The scalar values of Grid Engine's objects: numbers, amounts of memory and time, truth values, names.

A value is parsed from the text accepted by `qconf` and shown as printed by `qconf -s…`. Times and amounts of memory
keep their text in addition to the number, because Grid Engine prints them back unchanged. Errors have Grid Engine's
messages; the caller adds the place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from roost.base.records import dataclass

T = TypeVar("T")

#: the largest value of Grid Engine's unsigned numbers
ULONG_MAX: Final = 2**32 - 1
#: what Grid Engine writes for an empty list and for no value
NONE: Final = "NONE"
_DECIMAL = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_HEXADECIMAL = re.compile(r"[-+]?0[xX][0-9a-fA-F]+")
_OCTAL = re.compile(r"[-+]?0[0-7]+")
_MULTIPLIERS: Final = {
    "k": 10**3,
    "K": 2**10,
    "m": 10**6,
    "M": 2**20,
    "g": 10**9,
    "G": 2**30,
    "t": 10**12,
    "T": 2**40,
}
_NOT_IN_NAMES: Final = {
    " ": "Space (' ')",
    "/": "Slash ('/')",
    ":": "Colon (':')",
    "'": "Quote (''')",
    '"': "Double quote ('\"')",
    "\\": "Backslash ('\\')",
    "[": "Brackets ('[')",
    "]": "Brackets (']')",
    "{": "Braces ('{')",
    "}": "Braces ('}')",
    "|": "Pipe ('|')",
    "(": "Parenthesis ('(')",
    ")": "Parenthesis (')')",
    "@": "At ('@')",
    "%": "Percent ('%')",
    ",": "Comma (',')",
}
_RESERVED: Final = ("NONE", "ALL", "TEMPLATE")
NAME_LENGTH_MAX: Final = 512


class BadValue(Exception):
    """A text is not a value of its type; the message is Grid Engine's.

    A message that begins with ``is`` is about the attribute, whose name the reader of the object prepends.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Quantity:
    """A time or an amount of memory: the text, and the number of seconds or bytes."""

    text: str
    #: seconds or bytes; infinite for INFINITY
    number: float

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class ValueType(Generic[T]):
    """How values of one type are read, shown and described."""

    name: str
    #: raises `BadValue`
    parse: Callable[[str], T]
    show: Callable[[T], str]
    #: what may be written, for the reference page
    syntax: str


def is_none(text: str) -> bool:
    """Whether a text is NONE, in any case."""
    return text.casefold() == "none"


def number(text: str) -> float | None:
    """The number of a text with an optional multiplier letter, or None if it is not a number."""
    if text.casefold() in ("infinity", "inf"):
        return math.inf
    factor = 1
    if text[-1:] in _MULTIPLIERS and not _HEXADECIMAL.fullmatch(text):
        factor, text = _MULTIPLIERS[text[-1]], text[:-1]
    if _HEXADECIMAL.fullmatch(text):
        return float(int(text, 16)) * factor
    if _OCTAL.fullmatch(text):
        return float(int(text, 8)) * factor
    if _DECIMAL.fullmatch(text):
        return float(text) * factor
    return None


def seconds(text: str) -> float | None:
    """The seconds of a time: a number, or ``hours:minutes:seconds`` in which a part may be empty."""
    if ":" not in text:
        return number(text)
    parts = text.split(":")
    if len(parts) != 3 or not all(part == "" or (part.isascii() and part.isdigit()) for part in parts):
        return None
    hours, minutes, rest = (int(part or "0") for part in parts)
    return float(hours * 3600 + minutes * 60 + rest)


def _quantity(text: str, remedy: str) -> Quantity:
    found = seconds(text)
    if found is None:
        raise BadValue(f'error parsing value "{text}"', remedy)
    return Quantity(text, found)


def _time(text: str) -> Quantity:
    return _quantity(text, "Write seconds, hours:minutes:seconds, or INFINITY.")


def _memory(text: str) -> Quantity:
    return _quantity(text, "Write a number with an optional letter k, K, m, M, g, G, t or T, or INFINITY.")


def _ulong(text: str) -> int:
    """An unsigned number, which has no multiplier and, unlike other numbers, no octal form."""
    text = text.strip()
    remedy = f"Write a whole number from 0 to {ULONG_MAX}."
    if not text:
        return 0
    if _HEXADECIMAL.fullmatch(text):
        found = float(int(text, 16))
    elif _DECIMAL.fullmatch(text):
        found = float(text)
    elif text.casefold() in ("infinity", "inf"):
        found = math.inf
    else:
        raise BadValue(f'error parsing unsigned long value from string "{text}"', remedy)
    if not 0 <= found <= ULONG_MAX or found != int(found):
        raise BadValue(f'"{text}" is not an u_long32 value', remedy)
    return int(found)


def _double(text: str) -> float:
    if not _DECIMAL.fullmatch(text):
        raise BadValue(f'error parsing double value from string "{text}"', "Write a decimal number.")
    return float(text)


def _boolean(text: str) -> bool:
    word = text.casefold()
    if word in ("true", "1", "yes", "y", "t"):
        return True
    if word in ("false", "0", "no", "n", "f"):
        return False
    raise BadValue(f'error parsing value "{text}"', "Write TRUE or FALSE.")


def _integer(text: str) -> Quantity:
    found = re.match(r"[-+]?\d+", text)
    if not found:
        raise BadValue("Invalid character", "Write a whole number.")
    return Quantity(text, float(int(found.group())))


def words(text: str, separators: str) -> tuple[str, ...]:
    """The words of a list, each once, in order; empty if the first is NONE."""
    found = [word for word in re.split(f"[{separators}]+", text) if word]
    if not found:
        raise BadValue(f'error parsing value "{text}"', "Write names, or NONE.")
    return () if found and is_none(found[0]) else tuple(dict.fromkeys(found))


def _listed(separators: str, between: str) -> tuple[Callable[[str], tuple[str, ...]], Callable[[tuple[str, ...]], str]]:
    return (lambda text: words(text, separators)), (lambda value: between.join(value) or NONE)


def _every_host(text: str) -> tuple[str, ...]:
    found = [word if word.startswith("@") or is_none(word) else word.lower() for word in text.split()]
    return () if [is_none(word) for word in found] == [True] else tuple(found)


def _queue_hosts(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_every_host(text.replace(",", " "))))


def _entries(text: str) -> tuple[str, ...]:
    return () if is_none(text) else tuple(word for word in text.split(",") if word)


ULONG: Final = ValueType("number", _ulong, str, f"a whole number, 0 to {ULONG_MAX}")
INTEGER: Final = ValueType("integer", _integer, str, "a whole number")
DOUBLE: Final = ValueType("real", _double, lambda value: f"{value:.6f}", "a decimal number")
BOOLEAN: Final = ValueType("boolean", _boolean, lambda value: "TRUE" if value else "FALSE", "TRUE or FALSE")
TIME: Final = ValueType("time", _time, str, "seconds, hours:minutes:seconds, or INFINITY")
MEMORY: Final = ValueType("memory", _memory, str, "bytes, a number with k K m M g G t T, or INFINITY")
TEXT: Final = ValueType("text", str, str, "any text")
#: names separated by blanks or commas, shown with blanks
NAMES: Final = ValueType("names", *_listed(r"\s,", " "), "names separated by blanks or commas, or NONE")
#: names separated by blanks only, as Grid Engine reads them in objects other than queues
BLANK_NAMES: Final = ValueType("names", *_listed(r"\s", " "), "names separated by blanks, or NONE")
COMMA_NAMES: Final = ValueType("names", *_listed(r",\s", ","), "names separated by commas, or NONE")
#: a user list's entries, kept unchanged, including repetitions
ENTRIES: Final = ValueType(
    "entries", _entries, lambda value: ",".join(value) or NONE, "users and @groups separated by commas, or NONE"
)
#: hosts of a queue: each once
QUEUE_HOSTS: Final = ValueType(
    "hosts", _queue_hosts, lambda value: " ".join(value) or NONE, "hosts and @groups separated by blanks, or NONE"
)
#: hosts of a group: repetitions stay, as in Grid Engine
GROUP_HOSTS: Final = ValueType(
    "hosts", _every_host, lambda value: " ".join(value) or NONE, "hosts and @groups separated by blanks, or NONE"
)


def bad_name(name: str) -> str | None:
    """Why a text is not a name for an object, in Grid Engine's words; None if it is one."""
    for character, called in _NOT_IN_NAMES.items():
        if character in name:
            return f"{called} not allowed in objectname"
    if not name.isprintable():
        return "non-printable character not allowed in objectname"
    if name.upper() in _RESERVED:
        return f'Keyword ("{name.upper()}") not allowed as objectname'
    if not name:
        return "Empty objectname"
    if len(name) > NAME_LENGTH_MAX:
        return f"object name has more than {NAME_LENGTH_MAX} characters"
    return None


#: Maximum number of slots of a queue instance or a parallel environment.
SLOTS_MAX: Final = 9_999_999


def slots_problem(value: int) -> str | None:
    """What is wrong with a number of slots; None for nothing."""
    if value <= SLOTS_MAX:
        return None
    return f'{value} is an invalid value for the "slots" attribute - it must be a value between 0 and {SLOTS_MAX}'
