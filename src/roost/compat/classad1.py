"""The module `classad`: ads and expressions as HTCondor's first bindings have them.

In addition to the second bindings: expressions support Python's operators, which build larger expressions, and errors
are also instances of Python's built-in exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Any, ClassVar

from roost.classad import Expr
from roost.classad.syntax import Binary, Call, Conditional, Elvis, Name, Node, Op, Paren, Select, Subscript, Unary
from roost.classad.syntax import Literal as LiteralNode
from roost.classad.unparse import item_node
from roost.compat import classad2
from roost.compat.classad2 import Parser, ParserType, Value, conversion, lastError, quote, reading, unquote, version
from roost.compat.classad2.values import ClassAdException
from roost.model.compatible import CONDOR_VERSION_NUMBER

__version__: str = CONDOR_VERSION_NUMBER


class ClassAdParseError(ClassAdException, SyntaxError):
    """A text is not an ad or expression."""


class ClassAdEvaluationError(ClassAdException, TypeError):
    """An expression has no value of the requested kind."""


class ClassAdValueError(ClassAdException, ValueError):
    """A value is not allowed."""


class ClassAdTypeError(ClassAdException, TypeError):
    """An object cannot be the value of an attribute."""


class ClassAdEnumError(ClassAdException, NotImplementedError):
    """A constant is not known."""


class ClassAdInternalError(ClassAdException, RuntimeError):
    """An internal error."""


class ClassAdOSError(ClassAdException, OSError):
    """A file cannot be read."""


class ExprTree(classad2.ExprTree):
    """An expression, from its text. Python's operators build larger ones: ``expr + 1``, ``expr.and_(other)``."""

    def __init__(self, expr: Any = None) -> None:
        try:
            super().__init__(expr)
        except ClassAdException as error:
            raise ClassAdParseError(str(error)) from None

    @classmethod
    def _of_ad(cls, ad: Any) -> ClassAd:
        return ClassAd._of_ad(ad)

    def sameAs(self, other: ExprTree) -> bool:
        """Whether both have the same text."""
        return self._expr == _tree_of(other)

    def __bool__(self) -> bool:
        value = self.eval()
        if value is Value.Error:
            raise ClassAdEvaluationError("Unable to evaluate expression.")
        return False if value is Value.Undefined else bool(value)

    def __int__(self) -> int:
        return int(self._number())

    def __float__(self) -> float:
        return float(self._number())

    def _number(self) -> Any:
        value = self.eval()
        if isinstance(value, Value) or not isinstance(value, int | float | str):
            raise ClassAdValueError("Unable to convert expression to numeric type.")
        try:
            return float(value) if isinstance(value, str) else value
        except ValueError:
            raise ClassAdValueError("Unable to convert string to numeric type.") from None

    def __getitem__(self, index: Any) -> ExprTree:
        return ExprTree._of_expr(Expr(Subscript(_primary(self._expr.tree), _node(index))))

    def and_(self, other: Any) -> ExprTree:
        """``self && other``."""
        return _binary(Op.AND, self, other)

    def or_(self, other: Any) -> ExprTree:
        """``self || other``."""
        return _binary(Op.OR, self, other)

    def is_(self, other: Any) -> ExprTree:
        """``self is other``."""
        return _binary(Op.IS, self, other)

    def isnt_(self, other: Any) -> ExprTree:
        """``self isnt other``."""
        return _binary(Op.ISNT, self, other)

    def __eq__(self, other: object) -> Any:
        return _binary(Op.EQ, self, other)

    def __ne__(self, other: object) -> Any:
        return _binary(Op.NE, self, other)

    def __lt__(self, other: Any) -> ExprTree:
        return _binary(Op.LT, self, other)

    def __le__(self, other: Any) -> ExprTree:
        return _binary(Op.LE, self, other)

    def __gt__(self, other: Any) -> ExprTree:
        return _binary(Op.GT, self, other)

    def __ge__(self, other: Any) -> ExprTree:
        return _binary(Op.GE, self, other)

    __hash__ = None


def _operators() -> None:
    """Give `ExprTree` the operators that have a form with the operands swapped."""
    table = {
        "add": Op.ADD, "sub": Op.SUB, "mul": Op.MUL, "truediv": Op.DIV, "mod": Op.MOD, "and": Op.BIT_AND,
        "or": Op.BIT_OR, "xor": Op.BIT_XOR, "lshift": Op.SHL, "rshift": Op.SHR,
    }  # fmt: skip
    for name, op in table.items():
        setattr(ExprTree, f"__{name}__", lambda self, other, op=op: _binary(op, self, other))
        setattr(ExprTree, f"__r{name}__", lambda self, other, op=op: _binary(op, other, self))
    for name, op in {"neg": Op.SUB, "pos": Op.ADD, "invert": Op.INVERT}.items():
        setattr(ExprTree, f"__{name}__", lambda self, op=op: _of(Unary(op, _operand(self._expr.tree))))


def _of(tree: Node) -> ExprTree:
    return ExprTree._of_expr(Expr(tree))


def _binary(op: Op, left: Any, right: Any) -> ExprTree:
    return _of(Binary(op, _operand(_node(left)), _operand(_node(right))))


def _operand(tree: Node) -> Node:
    return Paren(tree) if isinstance(tree, Binary | Conditional | Elvis | Unary) else tree


def _primary(tree: Node) -> Node:
    return tree if isinstance(tree, Name | Call | Select | Subscript | Paren) else Paren(tree)


def _node(value: Any) -> Node:
    try:
        return item_node(conversion._item(value))
    except ClassAdException as error:
        raise ClassAdTypeError(str(error)) from None


def _tree_of(value: Any) -> Expr:
    return value._expr if isinstance(value, classad2.ExprTree) else Expr(_node(value))


class ClassAd(classad2.ClassAd):
    """An ad, from a text in the new or old form, a dict, another ad, or nothing."""

    _expr_class: ClassVar[type[classad2.ExprTree]] = ExprTree

    def __init__(self, input: Any = None) -> None:
        if isinstance(input, classad2.ClassAd):
            self._ad = input._ad.copy()
            return
        if isinstance(input, str) and not input.lstrip().startswith("["):
            self._ad = parseOne(input)._ad
            return
        try:
            super().__init__(input)
        except ClassAdException as error:
            raise (ClassAdParseError if isinstance(input, str) else ClassAdTypeError)(str(error)) from None

    def get(self, key: str, default: Any = None) -> Any:
        """The value of an attribute, or the default."""
        return super().get(key, default)

    def flatten(self, expr: Any) -> Any:
        """Evaluate an expression as far as this ad allows."""
        return super().flatten(expr if isinstance(expr, classad2.ExprTree) else ExprTree(str(expr)))

    def externalRefs(self, expr: Any) -> list[str]:
        """Names that an expression needs and this ad lacks."""
        return super().externalRefs(expr if isinstance(expr, classad2.ExprTree) else ExprTree(str(expr)))

    def internalRefs(self, expr: Any) -> list[str]:
        """Names of this ad that an expression needs."""
        return super().internalRefs(expr if isinstance(expr, classad2.ExprTree) else ExprTree(str(expr)))

    def __setitem__(self, key: str, value: Any) -> None:
        try:
            super().__setitem__(key, value)
        except ClassAdException as error:
            raise ClassAdTypeError(str(error)) from None


# -- making expressions --------------------------------------------------------------------------------------------


def Literal(obj: Any) -> Any:
    """The expression of a Python object; constants stay unchanged."""
    tree = _node(obj)
    return conversion.node_to_python(tree, ClassAd) if isinstance(tree, LiteralNode) else _of(tree)


def Attribute(name: str) -> ExprTree:
    """The expression that is the name of an attribute."""
    return _of(Name(str(name)))


def Function(name: str, *args: Any) -> ExprTree:
    """The expression that calls a function of the language."""
    if not re.fullmatch(r"[A-Za-z_]\w*", str(name)):
        raise ClassAdValueError(f"{name!r} is not the name of a function")
    return _of(Call(str(name), tuple(_node(each) for each in args)))


def register(function: Any, name: str | None = None) -> None:
    """Not possible in Roost: daemons also evaluate expressions, and do not know a program's functions."""
    raise ClassAdEnumError("functions of Python cannot be called from expressions in Roost")


def registerLibrary(path: str) -> None:
    """Not possible in Roost: see `register`."""
    raise ClassAdEnumError("libraries of functions cannot be loaded into Roost")


# -- reading -------------------------------------------------------------------------------------------------------


def parseAds(input: str | IO[Any] | Iterator[str], parser: ParserType = ParserType.Auto) -> Iterator[ClassAd]:
    """The ads of the input, each as soon as it is read."""
    if not isinstance(input, str) and not hasattr(input, "read"):
        input = "".join(input)
    try:
        for ad in reading.ads(input, parser):  # type: ignore[arg-type]
            yield ClassAd._of_ad(ad)
    except ValueError as error:
        raise ClassAdParseError(str(error)) from None


def parseOne(input: str | IO[Any] | Iterator[str], parser: ParserType = ParserType.Auto) -> ClassAd:
    """All ads of the input as one: later attributes replace earlier ones."""
    whole = ClassAd()
    for ad in parseAds(input, parser):
        whole._ad.update(ad._ad)
    return whole


def parseNext(input: str | IO[Any], parser: ParserType = ParserType.Auto) -> ClassAd:
    """The next ad. Raises StopIteration at the end."""
    ad = next(reading.ads(input, parser, sparing=True), None)
    if ad is None:
        raise StopIteration("All input consumed.")
    return ClassAd._of_ad(ad)


def parseOldAds(input: str | IO[Any] | Iterator[str]) -> Iterator[ClassAd]:
    """The ads of an input in the old form."""
    return parseAds(input, ParserType.Old)


def parse(input: str | IO[Any]) -> ClassAd:
    """The ad of a text in the new form."""
    return parseOne(input, ParserType.New)


def parseOld(input: str | IO[Any]) -> ClassAd:
    """The ad of a text in the old form."""
    return parseOne(input, ParserType.Old)


_operators()

__all__ = [
    "Attribute",
    "ClassAd",
    "ClassAdEnumError",
    "ClassAdEvaluationError",
    "ClassAdException",
    "ClassAdInternalError",
    "ClassAdOSError",
    "ClassAdParseError",
    "ClassAdTypeError",
    "ClassAdValueError",
    "ExprTree",
    "Function",
    "Literal",
    "Parser",
    "ParserType",
    "Value",
    "lastError",
    "parse",
    "parseAds",
    "parseNext",
    "parseOld",
    "parseOldAds",
    "parseOne",
    "quote",
    "register",
    "registerLibrary",
    "unquote",
    "version",
]
