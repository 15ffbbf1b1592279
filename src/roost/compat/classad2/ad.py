"""`ClassAd`: an ad, used like a dict whose keys ignore case and come in the reference library's order."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any, ClassVar, Self

from roost.classad import ClassAd as Ad
from roost.classad import Expr, ParseError
from roost.classad.forms import Form, Order, format_ad, parse_ad
from roost.classad.pretty import unparse_pretty
from roost.classad.unparse import reference_order, unparse_value
from roost.compat.classad2 import conversion
from roost.compat.classad2.expr import PARSE_FAILED, ExprTree
from roost.compat.classad2.values import ClassAdException


class ClassAd(MutableMapping[str, Any]):
    """An ad, from a text in the new form, a dict, or nothing."""

    _ad: Ad
    _expr_class: ClassVar[type[ExprTree]] = ExprTree

    def __init__(self, input: str | dict[str, Any] | None = None) -> None:
        match input:
            case None:
                self._ad = Ad()
            case dict():
                self._ad = conversion.ad_of(input)
            case str():
                self._ad = _parsed(input)
            case _:
                raise TypeError("input must be None, str, or dict")

    @classmethod
    def _of_ad(cls, ad: Ad) -> Self:
        made = cls.__new__(cls)
        made._ad = ad
        return made

    @classmethod
    def _of_expr(cls, expr: Expr) -> ExprTree:
        return cls._expr_class._of_expr(expr)

    # -- mapping -----------------------------------------------------------------------------------

    def __getitem__(self, key: str) -> Any:
        return conversion.cell_to_python(self._ad[self._key(key)], type(self))

    def __setitem__(self, key: str, value: Any) -> None:
        conversion.put(self._ad, key, value)

    def __delitem__(self, key: str) -> None:
        del self._ad[self._key(key)]

    def __contains__(self, key: object) -> bool:
        return key in self._ad

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._ad, key=reference_order))

    def __len__(self) -> int:
        return len(self._ad)

    def _key(self, key: object) -> str:
        if not isinstance(key, str):
            raise TypeError("ClassAd keys are strings")
        return key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClassAd) and self._ad == other._ad

    __hash__ = None  # type: ignore[assignment]

    # -- evaluation --------------------------------------------------------------------------------

    def eval(self, attr: str) -> Any:
        """The value of an attribute. Raises KeyError."""
        if self._key(attr) not in self._ad:
            raise KeyError(attr)
        return conversion.to_python(self._ad.eval(attr), type(self))

    def lookup(self, attr: str) -> ExprTree:
        """The expression of an attribute. Raises KeyError."""
        self._ad[self._key(attr)]
        return self._of_expr(self._ad.lookup(attr))

    def flatten(self, expr: ExprTree) -> Any:
        """Evaluate an expression as far as this ad allows: a value, or the remaining expression."""
        flat = self._ad.flatten(_expression(expr))
        return conversion.node_to_python(flat.tree, type(self)) if flat.is_literal else self._of_expr(flat)

    def externalRefs(self, expr: ExprTree) -> list[str]:
        """Names that an expression needs and this ad lacks."""
        return self._ad.external_refs(_expression(expr))

    def internalRefs(self, expr: ExprTree) -> list[str]:
        """Names of this ad that an expression needs."""
        return self._ad.internal_refs(_expression(expr))

    def matches(self, ad: ClassAd) -> bool:
        """Whether the Requirements of the other ad accept this one."""
        return self._ad.matches(_other(ad))

    def symmetricMatch(self, ad: ClassAd) -> bool:
        """Whether each accepts the other."""
        return self._ad.symmetric_match(_other(ad))

    # -- texts -------------------------------------------------------------------------------------

    def printJson(self) -> str:
        """The text as JSON."""
        return format_ad(self._ad, Form.JSON, Order.REFERENCE)

    def printOld(self) -> str:
        """The text in the old form."""
        return format_ad(self._ad, Form.OLD, Order.REFERENCE)

    formatJson = printJson
    formatOld = printOld

    def __str__(self) -> str:
        return unparse_pretty(self._ad)

    def __repr__(self) -> str:
        return unparse_value(self._ad)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._of_ad, (self._ad,)

    def __copy__(self) -> Self:
        return self._of_ad(self._ad.copy())

    def __deepcopy__(self, memo: object) -> Self:
        return self._of_ad(self._ad.copy())


def _parsed(text: str) -> Ad:
    try:
        return parse_ad(text, Form.NEW)
    except ParseError as error:
        raise ClassAdException(f"{PARSE_FAILED}\n{error}") from None


def _expression(expr: ExprTree) -> Expr:
    if not isinstance(expr, ExprTree):
        raise TypeError("expr must be an ExprTree")
    return expr._expr


def _other(ad: ClassAd) -> Ad:
    if not isinstance(ad, ClassAd):
        raise TypeError("ad must be a ClassAd")
    return ad._ad
