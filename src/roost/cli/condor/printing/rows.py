"""An ad in a command: names to values, and expressions that are evaluated when first needed.

Ads come from the pool as JSON objects (see `roost.wire.ads`), or from files. Names are case-insensitive. A projection
of evaluated attributes and a whole ad are used alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from roost.cli.condor.printing.values import ERROR, UNDEFINED, Code, Value, quoted

if TYPE_CHECKING:
    from roost.classad import ClassAd, Expr

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_WORDS: Final = frozenset(("true", "false", "undefined", "error", "is", "isnt", "my", "target"))
_PLAIN: Final = (bool, int, float, str)
#: Functions that read attributes which are not named in their text.
_LOOKS_AROUND: Final = re.compile(r"\b(?:eval|unresolved|unparse|evalInEach\w*|countMatches)\s*\(", re.IGNORECASE)


@lru_cache(maxsize=1000)
def is_name(text: str) -> bool:
    """Whether an expression is the bare name of an attribute."""
    return _NAME.match(text) is not None and text.lower() not in _WORDS


class AdRow:
    """One ad."""

    __slots__ = ("_ad", "_folded", "_texts", "data")

    def __init__(self, data: Mapping[str, Any], texts: Collection[str] = ()) -> None:
        #: Name to value, as JSON.
        self.data = data
        self._folded: dict[str, Any] | None = None
        self._ad: ClassAd | None = None
        #: Attributes that are expressions unless they are strings, in an ad that cannot evaluate them.
        self._texts = texts

    @classmethod
    def of(cls, ad: ClassAd) -> AdRow:
        """The row of an ad at hand."""
        from roost.wire.ads import ad_data

        row = cls(ad_data(ad))
        row._ad = ad
        return row

    @property
    def ad(self) -> ClassAd:
        """The row as an ad, for uses that need the language."""
        if self._ad is None:
            from roost.wire.ads import ad_from

            self._ad = ad_from(self.data)
        return self._ad

    def __contains__(self, name: str) -> bool:
        return self._cell(name) is not None

    def value(self, expression: str) -> Value:
        """The value of an attribute or any other expression."""
        cell = self.data.get(expression)
        if isinstance(cell, _PLAIN):
            return cell
        if not is_name(expression):
            return self._evaluated(expression)
        cell = self._cell(expression)
        if cell is None:
            return UNDEFINED
        if isinstance(cell, _PLAIN):
            return cell
        if cell.get("expr") in ("undefined", "error"):
            return Code(cell["expr"])
        return self._evaluated(expression)

    def known(self, expression: str) -> Value:
        """The value of an attribute, if known without evaluation; UNDEFINED for an expression that was sent
        unevaluated.
        """
        if expression in self._texts:
            cell = self._cell(expression)
            return cell if isinstance(cell, _PLAIN) else UNDEFINED
        return self.value(expression)

    def raw(self, expression: str) -> str:
        """The unevaluated text of an attribute, or of any other expression."""
        cell = self._cell(expression)
        if cell is None:
            return str(UNDEFINED) if is_name(expression) else str(parsed(expression))
        if isinstance(cell, _PLAIN):
            return quoted(cell)
        from roost.classad.unparse import item_node, unparse

        return unparse(item_node(self.ad[expression]), old=True)

    def text(self, name: str, otherwise: str = "") -> str:
        """A string; `otherwise` if it is not one."""
        value = self.value(name)
        return value if value.__class__ is str else otherwise

    def number(self, name: str, otherwise: float = 0) -> float:
        """A number; `otherwise` if it is not one."""
        value = self.value(name)
        return value if isinstance(value, int | float) else otherwise

    def whole(self, name: str, otherwise: int = 0) -> int:
        """An integer; `otherwise` if it is not a number."""
        return int(self.number(name, otherwise))

    def _cell(self, name: str) -> Any:
        cell = self.data.get(name)
        if cell is not None:
            return cell
        if self._folded is None:
            self._folded = {each.lower(): cell for each, cell in self.data.items()}
        return self._folded.get(name.lower())

    def _evaluated(self, expression: str) -> Value:
        expr = parsed(expression)
        if expr is None:
            return ERROR
        return value_of(self.ad.eval_expr(expr))


def value_of(found: object) -> Value:
    """A ClassAd value as a value of tables."""
    if isinstance(found, _PLAIN):
        return found
    from roost.classad.unparse import unparse_value

    return Code(unparse_value(found, old=True))  # type: ignore[arg-type]


@lru_cache(maxsize=1000)
def parsed(text: str) -> Expr | None:
    """An expression of the command line; None for an invalid one."""
    from roost.classad import ParseError, Syntax, parse_expression

    try:
        return parse_expression(text, Syntax.OLD)
    except ParseError:
        return None


def needed(expressions: Iterable[str]) -> list[str] | None:
    """The attributes that expressions need; None for all."""
    found: dict[str, str] = {}
    for text in expressions:
        if is_name(text):
            found.setdefault(text.lower(), text)
            continue
        expr = parsed(text)
        if expr is None:
            continue
        if _LOOKS_AROUND.search(text):
            return None
        from roost.classad.refs import mentioned_in

        mentioned = mentioned_in(expr.tree)
        for name in sorted(mentioned.plain | mentioned.my):
            found.setdefault(name, name)
    return list(found.values())
