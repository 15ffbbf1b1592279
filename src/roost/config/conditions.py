"""The conditions of ``if`` and ``elif``.

A condition is one word or number, ``defined NAME``, ``defined use CATEGORY:option`` or ``version OP
X.Y[.Z]``, optionally after one ``!``. There are no operators between conditions: they are refused as complex. Macro
references are expanded first, with the definitions made so far.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from roost.base.records import dataclass
from roost.config.diagnostics import Code

_TRUE = frozenset({"true", "t", "yes", "y"})
_FALSE = frozenset({"false", "f", "no", "n"})
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
_WORD = re.compile(r"[A-Za-z0-9_.]*\Z")
_VERSION = re.compile(r"(==|!=|>=|<=|>|<)\s*(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?\Z")
_USE = re.compile(r"use\s+(\S+)\Z", re.IGNORECASE)

Version = tuple[int, int, int]


class ConditionProblem(Exception):
    """A text is not a condition."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts that conditions can test."""

    #: whether a macro has a non-empty value
    defined: Callable[[str], bool]
    #: whether a category, or an option in a category, exists (second argument None: the category)
    template: Callable[[str, str | None], bool]
    version: Version


def decide(condition: str, facts: Facts) -> bool:
    """The truth of an expanded condition; one that expands to nothing is false."""
    text = condition.strip()
    negated = text.startswith("!")
    if negated:
        text = text[1:].strip()
    return _simple(text, facts) is not negated


def _simple(text: str, facts: Facts) -> bool:
    word = text.lower()
    if not word or word in _FALSE:
        return False
    if word in _TRUE:
        return True
    if _NUMBER.match(text):
        return float(text) != 0
    first, *rest = text.split(None, 1)
    if first.lower() == "defined":
        return _defined(rest[0] if rest else "", facts)
    if first.lower() == "version":
        return _version(rest[0] if rest else "", facts.version)
    if _WORD.match(text):
        raise ConditionProblem(Code.BAD_CONDITION, f"{text!r} is not a condition")
    raise ConditionProblem(Code.COMPLEX_CONDITION, f"{text!r}: complex conditions are not supported")


def _defined(name: str, facts: Facts) -> bool:
    use = _USE.match(name)
    if use:
        category, colon, option = use.group(1).partition(":")
        return facts.template(category, option if colon else None)
    if "&&" in name or "||" in name:
        raise ConditionProblem(Code.COMPLEX_CONDITION, f"'defined {name}': complex conditions are not supported")
    if any(char.isspace() for char in name) or not _WORD.match(name.replace("/", "_")):
        raise ConditionProblem(Code.BAD_CONDITION, f"{name!r} is not a valid name")
    return bool(name) and (facts.defined(name) or _NUMBER.match(name) is not None or name.lower() in _TRUE | _FALSE)


def _version(text: str, version: Version) -> bool:
    match = _VERSION.match(text)
    if match is None:
        raise ConditionProblem(Code.BAD_VERSION, f"{text!r} is not a comparison with a version")
    operator, *numbers = match.groups()
    wanted = tuple(int(number) for number in numbers if number is not None)
    have = version[: len(wanted)]
    return {
        "==": have == wanted,
        "!=": have != wanted,
        ">=": have >= wanted,
        "<=": have <= wanted,
        ">": have > wanted,
        "<": have < wanted,
    }[operator]
