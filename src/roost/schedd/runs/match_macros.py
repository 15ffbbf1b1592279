"""``$$(…)`` in a job's ad: replaced by the machine's attributes when the job starts.

``$$(Name)`` is the machine's attribute, ``$$(Name:default)`` has a default for when it is missing, ``$$([expression])``
is the value of an expression that sees the job as MY and the machine as TARGET, ``$$(DOLLARDOLLAR)`` is ``$$``. In the
arguments and the environment ``$$(CondorScratchDir)`` stays: only the machine knows what it means. References inside
expressions are replaced too; the expression is parsed afterwards.
"""

from __future__ import annotations

from typing import Final

from roost.classad import ERROR, UNDEFINED, ClassAd, Expr, ParseError, Value, evaluate, parse_expression
from roost.classad.ad import MISSING, Cell
from roost.classad.unparse import unparse_value
from roost.classad.values import fold
from roost.classad.world import WORLD, World
from roost.model.cell_requests import SCRIPT

_OPENING: Final = "$$("
#: Attributes in which the machine itself inserts the name of the scratch directory.
_AT_MACHINE: Final = frozenset(("arguments", "args", "environment", "env"))
_SCRATCH: Final = "condorscratchdir"
#: Attributes that are read during matching, when no machine is known yet; and the text of a script.
_NEVER: Final = frozenset(("requirements", "rank", fold(SCRIPT)))
#: Maximum nesting depth of defaults.
_DEPTH_MAX: Final = 20


class Unexpandable(Exception):
    """The machine lacks a value that the job needs; the text is for the user."""


def expanded(job_ad: ClassAd, slot_ad: ClassAd, world: World = WORLD) -> ClassAd:
    """The job's whole ad, merged with its parents, with every ``$$(…)`` replaced. Raises `Unexpandable`."""
    ad = job_ad.unchained()
    cells = ad.cells
    for key, cell in cells.items():
        if cell.__class__ is str:
            if _OPENING in cell and key not in _NEVER:
                cells[key] = _Text(ad.spelling(key), job_ad, slot_ad, world).replaced(cell)
        elif cell.__class__ is Expr and key not in _NEVER and _OPENING in (text := str(cell)):
            name = ad.spelling(key)
            cells[key] = _expression(name, _Text(name, job_ad, slot_ad, world).replaced(text))
    return ad


def _expression(name: str, text: str) -> Cell:
    try:
        return parse_expression(text)
    except ParseError as problem:
        raise Unexpandable(f"{name} is no longer an expression with the machine's values in it: {text}") from problem


class _Text:
    """One attribute while its references are replaced."""

    def __init__(self, name: str, job_ad: ClassAd, slot_ad: ClassAd, world: World) -> None:
        self.name = name
        self.job_ad = job_ad
        self.slot_ad = slot_ad
        self.world = world

    def replaced(self, text: str, depth: int = 0) -> str:
        """The text with every reference replaced."""
        parts: list[str] = []
        at = 0
        while (begin := text.find(_OPENING, at)) >= 0:
            end = _closing(text, begin + 2)
            if end < 0 or depth > _DEPTH_MAX:
                raise Unexpandable(f"{self.name} has an unterminated $$(: {text[begin : begin + 60]}")
            parts.append(text[at:begin])
            parts.append(self._value(text[begin + len(_OPENING) : end], depth))
            at = end + 1
        parts.append(text[at:])
        return "".join(parts)

    def _value(self, body: str, depth: int) -> str:
        if body.startswith("[") and body.endswith("]"):
            return self._computed(body[1:-1])
        name, colon, default = body.partition(":")
        key = fold(name.strip())
        if key == "dollardollar":
            return "$$"
        if key == _SCRATCH and fold(self.name) in _AT_MACHINE:
            return f"{_OPENING}{name.strip()})"
        value = self.slot_ad.eval(name.strip(), self.job_ad, self.world)
        if key in ("", "requirements") or self.slot_ad.cell(key) is MISSING or value is UNDEFINED or value is ERROR:
            if colon:
                return self.replaced(default, depth + 1)
            raise Unexpandable(
                f"{self.name} refers to $$({name}), but the machine has no attribute {name}; give a default, "
                f"as in $$({name}:none), or require {name} =!= undefined"
            )
        return _plain(value)

    def _computed(self, text: str) -> str:
        try:
            value = evaluate(parse_expression(text), self.job_ad, self.slot_ad, self.world)
        except ParseError as problem:
            message = f"{self.name} contains $$([{text}]), which is not a valid expression: {problem.message}"
            raise Unexpandable(message) from problem
        if value is UNDEFINED or value is ERROR:
            raise Unexpandable(f"{self.name} refers to $$([{text}]), which is {unparse_value(value)} on this machine")
        return _plain(value)


def _plain(value: Value) -> str:
    return value if isinstance(value, str) else unparse_value(value)


def _closing(text: str, opening: int) -> int:
    """Offset of the parenthesis that closes the one at `opening`; -1 if there is none."""
    depth = 0
    for at in range(opening, len(text)):
        if text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
            if depth == 0:
                return at
    return -1
