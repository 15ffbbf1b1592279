"""An expression as used by the rest of the program: tree, text, and compiled code.

`Expr` objects are immutable, and interned by text: the same text is parsed and compiled once in a process,
so a thousand ads with the same START share one of them.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from roost.classad.errors import ParseError
from roost.classad.lexer import Syntax
from roost.classad.limits import INTERNED_TEXTS_MAX
from roost.classad.syntax import AdNode, Literal, Node
from roost.classad.values import ERROR, Value

if TYPE_CHECKING:
    from roost.classad.refs import Mentioned
    from roost.classad.state import Code, State


class Expr:
    """An immutable expression.

    `tree` is its syntax tree, `source` the text it was read from (None if built from a tree: spans then mean
    nothing). ``str(expr)`` is the canonical text in the new syntax. Two expressions are equal when their
    exact texts are.
    """

    __slots__ = ("__weakref__", "_code", "_refs", "_text", "_tree", "source")

    #: The tree, or, until needed, the syntax in which to parse `source`.
    _tree: Node | Syntax
    source: str | None
    _code: Code | None
    _refs: Mentioned | None
    _text: str | None

    def __init__(self, tree: Node | Syntax, source: str | None = None) -> None:
        set_field = object.__setattr__
        set_field(self, "_tree", tree)
        set_field(self, "source", source)
        set_field(self, "_code", None)
        set_field(self, "_refs", None)
        set_field(self, "_text", None)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("an Expr cannot be changed")

    @staticmethod
    def parse(text: str, syntax: Syntax = Syntax.NEW) -> Expr:
        """The expression of `text`, which must be all of it. Raises ParseError."""
        return parse_expression(text, syntax)

    @property
    def tree(self) -> Node:
        """The syntax tree. Raises ParseError if the text was not parsed before and is invalid."""
        tree = self._tree
        if isinstance(tree, Syntax):
            from roost.classad.parser import parse_tree

            assert self.source is not None
            tree = parse_tree(self.source, tree)
            object.__setattr__(self, "_tree", tree)
        return tree

    @property
    def pending(self) -> bool:
        """Whether the text has not been parsed yet."""
        return isinstance(self._tree, Syntax)

    @property
    def may_be_plain(self) -> bool:
        """Whether an ad that parsed this at once might keep it as a value or a nested ad."""
        return self._tree.__class__ in _PLAIN_OR_PENDING

    @property
    def code(self) -> Code:
        """The compiled form: a function of the evaluation state. A text that cannot be parsed is ERROR."""
        code = self._code
        if code is None:
            from roost.classad.evaluation import compile_tree
            from roost.classad.translator import warming

            try:
                code = warming(compile_tree(self.tree), self.tree, self._set_code)
            except ParseError:
                code = _bad_text
            self._set_code(code)
        return code

    def _set_code(self, code: Code) -> None:
        object.__setattr__(self, "_code", code)

    @property
    def mentioned(self) -> Mentioned:
        """The names that occur in the expression."""
        refs = self._refs
        if refs is None:
            from roost.classad.refs import mentioned_in

            refs = mentioned_in(self.tree)
            object.__setattr__(self, "_refs", refs)
        return refs

    def located(self) -> Expr:
        """The same expression with a `source` to which the spans of its tree refer."""
        return self if self.source is not None else parse_expression(self.exact_text)

    @property
    def exact_text(self) -> str:
        """A text that preserves reals exactly, while the canonical one rounds them."""
        from roost.classad.unparse import unparse

        return unparse(self.tree, exact=True)

    @property
    def is_literal(self) -> bool:
        """Whether the expression is one constant."""
        return isinstance(self.tree, Literal)

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
    found = _INTERNED[syntax].get(text)
    if found is None:
        from roost.classad.parser import parse_tree

        found = _intern(Expr(parse_tree(text, syntax), text), text, syntax)
    elif found.pending:
        found.tree  # noqa: B018  (raises what there is to raise)
    return found


def expression_later(text: str, syntax: Syntax = Syntax.NEW) -> Expr:
    """The expression of `text`, interned, but parsed when it is first inspected or evaluated.

    For texts known to be valid, such as those Roost wrote itself: inspecting an invalid one raises ParseError,
    evaluating it gives ERROR.
    """
    return _INTERNED[syntax].get(text) or _intern(Expr(syntax, text), text, syntax)


def _intern(expression: Expr, text: str, syntax: Syntax) -> Expr:
    if len(text) <= _INTERNED_CHARS_MAX:
        interned = _INTERNED[syntax]
        while len(interned) >= INTERNED_TEXTS_MAX:
            interned.popitem(last=False)
        interned[text] = expression
    return expression


def _bad_text(state: State) -> Value:
    return ERROR


_PLAIN_OR_PENDING: Final = frozenset((AdNode, Literal, Syntax))

#: Longer texts rarely repeat.
_INTERNED_CHARS_MAX: Final = 16 * 1024

_INTERNED: Final[dict[Syntax, OrderedDict[str, Expr]]] = {syntax: OrderedDict() for syntax in Syntax}
