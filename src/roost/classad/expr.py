"""An expression as the rest of the program holds it: tree, text, and its compiled code.

`Expr` objects are immutable, and interned by text: the same text is parsed and compiled once in a process,
so a thousand ads with the same START share one of them.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from roost.classad.lexer import Syntax
from roost.classad.limits import INTERNED_TEXTS_MAX
from roost.classad.syntax import Literal, Node

if TYPE_CHECKING:
    from roost.classad.evaluation import Code
    from roost.classad.refs import Mentioned


class Expr:
    """An immutable expression.

    `tree` is its syntax tree, `source` the text it was read from (None if built from a tree: spans then mean
    nothing). ``str(expr)`` is the canonical text in the new syntax. Two expressions are equal when their
    exact texts are.
    """

    __slots__ = ("__weakref__", "_code", "_refs", "_text", "source", "tree")

    tree: Node
    source: str | None
    _code: Code | None
    _refs: Mentioned | None
    _text: str | None

    def __init__(self, tree: Node, source: str | None = None) -> None:
        set_field = object.__setattr__
        set_field(self, "tree", tree)
        set_field(self, "source", source)
        set_field(self, "_code", None)
        set_field(self, "_refs", None)
        set_field(self, "_text", None)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("an Expr can't be changed")

    @staticmethod
    def parse(text: str, syntax: Syntax = Syntax.NEW) -> Expr:
        """The expression of `text`, which must be all of it. Raises ParseError."""
        return parse_expression(text, syntax)

    @property
    def code(self) -> Code:
        """The compiled form: a function of the evaluation state."""
        code = self._code
        if code is None:
            from roost.classad.evaluation import compile_tree
            from roost.classad.translator import warming

            code = warming(compile_tree(self.tree), self.tree, self._set_code)
            self._set_code(code)
        return code

    def _set_code(self, code: Code) -> None:
        object.__setattr__(self, "_code", code)

    @property
    def mentioned(self) -> Mentioned:
        """The names that stand in the expression."""
        refs = self._refs
        if refs is None:
            from roost.classad.refs import mentioned_in

            refs = mentioned_in(self.tree)
            object.__setattr__(self, "_refs", refs)
        return refs

    def located(self) -> Expr:
        """The same expression with a `source` that the spans of its tree count in."""
        return self if self.source is not None else parse_expression(self.exact_text)

    @property
    def exact_text(self) -> str:
        """A text that gives this expression back to the last bit of its reals, which the canonical one rounds."""
        from roost.classad.unparse import unparse

        return unparse(self.tree, exact=True)

    @property
    def is_literal(self) -> bool:
        """Whether the expression is one constant."""
        return self.tree.__class__ is Literal

    def __str__(self) -> str:
        text = self._text
        if text is None:
            from roost.classad.unparse import unparse

            text = unparse(self.tree)
            object.__setattr__(self, "_text", text)
        return text

    def __repr__(self) -> str:
        return f"Expr({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Expr) and str(self) == str(other) and self.exact_text == other.exact_text
        )

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[object, ...]:
        return parse_expression, (self.exact_text,)


def parse_expression(text: str, syntax: Syntax = Syntax.NEW) -> Expr:
    """The expression that is the whole of `text`, interned. Raises ParseError."""
    interned = _INTERNED[syntax]
    found = interned.get(text)
    if found is None:
        from roost.classad.parser import parse_tree

        found = Expr(parse_tree(text, syntax), text)
        if len(text) <= _INTERNED_CHARS_MAX:
            while len(interned) >= INTERNED_TEXTS_MAX:
                interned.popitem(last=False)
            interned[text] = found
    return found


#: Texts longer than this are seldom met twice.
_INTERNED_CHARS_MAX: Final = 16 * 1024

_INTERNED: Final[dict[Syntax, OrderedDict[str, Expr]]] = {syntax: OrderedDict() for syntax in Syntax}
