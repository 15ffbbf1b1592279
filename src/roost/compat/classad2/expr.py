"""`ExprTree`: an expression that is not evaluated until `eval` is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from roost.classad import ClassAd as Ad
from roost.classad import Expr, ParseError, evaluate, parse_expression
from roost.classad.pretty import unparse_pretty
from roost.classad.unparse import item_node, unparse
from roost.compat.classad2 import conversion
from roost.compat.classad2.values import ClassAdException

if TYPE_CHECKING:
    from roost.compat.classad2.ad import ClassAd

PARSE_FAILED = "Unable to parse string into a ClassAd."


class ExprTree:
    """An expression, from its text; ``ExprTree()`` is undefined."""

    _expr: Expr

    def __init__(self, expr: str | ExprTree | None = None) -> None:
        if isinstance(expr, ExprTree):
            self._expr = expr._expr
            return
        text = "undefined" if expr is None else str(expr)
        try:
            self._expr = parse_expression(text)
        except ParseError as error:
            raise ClassAdException(f"{PARSE_FAILED}\n{error}") from None

    @classmethod
    def _of_expr(cls, expr: Expr) -> Self:
        made = cls.__new__(cls)
        made._expr = expr
        return made

    @classmethod
    def _of_ad(cls, ad: Ad) -> ClassAd:
        from roost.compat.classad2.ad import ClassAd

        return ClassAd._of_ad(ad)

    def eval(self, scope: ClassAd | None = None, target: ClassAd | None = None) -> Any:
        """The value, with names looked up in `scope`, and those of TARGET in `target`."""
        return conversion.to_python(self._value(scope, target), type(self))

    def simplify(self, scope: ClassAd | None = None, target: ClassAd | None = None) -> Self:
        """The value as an expression."""
        return self._of_expr(Expr(item_node(self._value(scope, target))))

    def _value(self, scope: ClassAd | None, target: ClassAd | None) -> Any:
        return evaluate(self._expr, _ad(scope, "scope"), _ad(target, "target"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExprTree) and self._expr == other._expr

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return unparse_pretty(self._expr.tree)

    def __repr__(self) -> str:
        return unparse(self._expr.tree)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._of_expr, (self._expr,)


def _ad(given: ClassAd | None, name: str) -> Ad | None:
    from roost.compat.classad2.ad import ClassAd

    if given is None:
        return None
    if not isinstance(given, ClassAd):
        raise TypeError(f"{name} must be a ClassAd")
    return given._ad
