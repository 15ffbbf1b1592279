"""An ad: a mapping from attribute names, in any case, to values or expressions.

Inside, an ad is one dict from the folded name to a *cell*: a plain value itself, a nested ad, or an `Expr` for anything
else. Ads of a pool repeat the same names, so spellings are shared: an ad keeps its own only where it differs from the
first one seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from roost.classad.conversion import chain, enclosing, to_cell
from roost.classad.errors import ParseError
from roost.classad.expr import Expr, expression_later, parse_expression
from roost.classad.lexer import Syntax
from roost.classad.limits import NAME_BYTES_MAX, SHARED_NAMES_MAX
from roost.classad.syntax import AdNode, Node
from roost.classad.syntax import Literal as LiteralNode
from roost.classad.values import ERROR, UNDEFINED, AbsTime, Exceptional, ListValue, RelTime, Value, fold, to_bytes
from roost.classad.world import WORLD, World

if TYPE_CHECKING:
    from roost.classad.refs import References


class Missing(Enum):
    """The class of `MISSING`."""

    MISSING = "missing"


#: What `ClassAd.cell` returns for an attribute that does not exist.
MISSING: Final[Literal[Missing.MISSING]] = Missing.MISSING

#: The stored form of an attribute.
Cell: TypeAlias = "Value | Expr"

#: Folded name to the spelling first seen.
_SPELLINGS: Final[dict[str, str]] = {}
#: Those spellings to their folded names: ads need not store them.
_USUAL: Final[dict[str, str]] = {}
#: The folded name for the spelling in the first ad with the attribute; None for any other spelling.
usual_key_of: Final = _USUAL.get


class _Keys(dict[str, str]):
    """Name, as spelled, to its folded name, as one string shared by all ads: it saves memory, and dicts find it by
    identity."""

    def __missing__(self, name: str) -> str:
        key = fold(name)
        if len(self) < SHARED_NAMES_MAX:
            key = self[name] = self.setdefault(key, key)
        return key


#: The folded name of an attribute, as ads keep it.
key_of: Final = _Keys().__getitem__


class ClassAd(MutableMapping[str, Any]):
    """A ClassAd, used like a dict whose keys ignore case and keep insertion order.

    ``ad["Memory"]`` is the value of a constant attribute and the `Expr` of any other; ``ad.eval("Memory")`` is
    always a value. Assigning accepts values, Python lists and dicts (as lists and nested ads), and `Expr`
    objects; the text of an expression is set by ``ad.set("Rank", "Memory * 2")``.
    """

    __slots__ = ("cells", "chained", "own_spellings", "scope")

    def __init__(self, attributes: str | Mapping[str, Any] | Iterable[tuple[str, Any]] = (), /, **more: Any) -> None:
        #: Folded name to cell.
        self.cells: dict[str, Cell] = {}
        #: Folded name to spelling, for names spelled otherwise than in the first ad that had them; None if none is.
        self.own_spellings: dict[str, str] | None = None
        #: The ad that attributes missing here are looked up in (a job's cluster ad); None if there is none.
        self.chained: ClassAd | None = None
        #: The ad this one is nested in; None at the top.
        self.scope: ClassAd | None = None
        if isinstance(attributes, str):
            from roost.classad.forms import parse_ad

            attributes = parse_ad(attributes)
        # A failing instance check is slow.
        if attributes.__class__ not in _NO_ADS and isinstance(attributes, ClassAd):
            self._copy_from(attributes)
        elif attributes:
            self.update(attributes)
        if more:
            self.update(more)

    # -- mapping -------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise KeyError(name)
        key = key_of(name)
        cell = self.cell(key)
        if cell is MISSING:
            raise KeyError(name)
        if isinstance(cell, Expr) and cell.may_be_plain:
            return self._settle(key, cell)
        return cell

    def get(self, name: Any, default: Any = None) -> Any:
        """As for any mapping. Ads are often asked for attributes that they lack, and raising an exception for that is
        slow."""
        if not isinstance(name, str):
            return default
        key = key_of(name)
        cell = self.cell(key)
        if cell is MISSING:
            return default
        return self._settle(key, cell) if cell.__class__ is Expr and cell.may_be_plain else cell

    def __setitem__(self, name: str, value: Any) -> None:
        self.put(check_name(name), to_cell(value, self))

    def __delitem__(self, name: str) -> None:
        if not isinstance(name, str):
            raise KeyError(name)
        key = key_of(name)
        if self.chained is not None and self.chained.cell(key) is not MISSING:
            # After deletion here, the attribute of the chained ad must stay hidden.
            self.put(name, UNDEFINED)
            return
        if key not in self.cells:
            raise KeyError(name)
        del self.cells[key]
        if self.own_spellings is not None:
            self.own_spellings.pop(key, None)

    def drop(self, name: str) -> None:
        """Remove an attribute, like `del`, if it exists."""
        key = key_of(name)
        if self.chained is not None and self.chained.cell(key) is not MISSING:
            self.put(name, UNDEFINED)
        elif self.cells.pop(key, MISSING) is not MISSING and self.own_spellings is not None:
            self.own_spellings.pop(key, None)

    def clear(self) -> None:
        """Remove the ad's own attributes; those of a chained ad become visible again."""
        self.cells.clear()
        self.own_spellings = None

    def popitem(self) -> tuple[str, Any]:
        """Remove the last of the ad's own attributes; KeyError if it has none."""
        if not self.cells:
            raise KeyError("the ad has no attributes of its own")
        name = self.spelling(next(reversed(self.cells)))
        value = self[name]
        del self.cells[key_of(name)]
        if self.own_spellings is not None:
            self.own_spellings.pop(key_of(name), None)
        return name, value

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))

    def __or__(self, other: Mapping[str, Any]) -> ClassAd:
        if not isinstance(other, Mapping):
            return NotImplemented
        ad = self.copy()
        ad.update(other)
        return ad

    def __ror__(self, other: Mapping[str, Any]) -> ClassAd:
        return NotImplemented if not isinstance(other, Mapping) else ClassAd(other) | self

    def __ior__(self, other: Mapping[str, Any]) -> ClassAd:
        self.update(other)
        return self

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.cell(key_of(name)) is not MISSING

    def __iter__(self) -> Iterator[str]:
        """The names, as spelled, in order; additional ones of a chained ad come last."""
        for key in self.cells:
            yield self.spelling(key)
        if self.chained is not None:
            for name in self.chained:
                if key_of(name) not in self.cells:
                    yield name

    def __len__(self) -> int:
        if self.chained is None:
            return len(self.cells)
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same attributes with the same expressions; order and case of names do not matter."""
        if not isinstance(other, ClassAd):
            try:
                other = ClassAd(other) if isinstance(other, Mapping) else None
            except (TypeError, ValueError):
                return False
            if other is None:
                return NotImplemented
        if self is other:
            return True
        return len(self) == len(other) and all([name in other and _same(self[name], other[name]) for name in self])

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        from roost.classad.unparse import unparse_value

        return unparse_value(self)

    def __repr__(self) -> str:
        try:
            return f"ClassAd({str(self)!r})"
        except ParseError as problem:
            # An attribute with deferred parsing is invalid; debuggers and logs must not fail.
            return f"<ClassAd of {len(self)} attributes, unreadable: {problem.message}>"

    def __copy__(self) -> ClassAd:
        return self.copy()

    def __deepcopy__(self, memo: object) -> ClassAd:
        return self.copy()

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, ([(self.spelling(key), cell) for key, cell in self.cells.items()], self.chained)

    def copy(self) -> ClassAd:
        """An independent copy, including nested ads; chained to the same ad, nested in none."""
        try:
            return ClassAd(self)
        except RecursionError:
            return deeply(lambda: ClassAd(self))

    def unchained(self) -> ClassAd:
        """An independent copy that has the attributes of the ads this one is chained to as its own."""
        layers = [self]
        while (chained := layers[-1].chained) is not None:
            layers.append(chained)
        found = ClassAd()
        if layers[-1].own_spellings is None:
            found.cells = dict(layers.pop().cells)
        while layers:
            found.lay(layers.pop())
        return found

    # -- cells ---------------------------------------------------------------------------------

    def cell(self, key: str) -> Cell | Missing:
        """The cell under the folded name `key`, here or in a chained ad; MISSING if there is none."""
        cell = self.cells.get(key, MISSING)
        if cell is MISSING:
            chained = self.chained
            while chained is not None:
                cell = chained.cells.get(key, MISSING)
                if cell is not MISSING:
                    break
                chained = chained.chained
        return cell

    def put(self, name: str, cell: Cell) -> None:
        """Store `cell` under `name` unchanged. An existing name keeps its spelling and place."""
        usual = usual_key_of(name)
        if usual is not None and cell.__class__ in _NO_ADS:
            self.cells[usual] = cell
            return
        key = key_of(name)
        cells = self.cells
        if key not in cells:
            shared = _SPELLINGS.get(key)
            if shared is None and len(_SPELLINGS) < SHARED_NAMES_MAX:
                shared = _SPELLINGS[key] = name
                _USUAL[name] = key
            if shared != name:
                if self.own_spellings is None:
                    self.own_spellings = {}
                self.own_spellings[key] = name
        if cell.__class__ not in _NO_ADS and isinstance(cell, ClassAd) and cell.scope is None and cell is not self:
            cell.scope = self
        cells[key] = cell

    def lay(self, other: ClassAd) -> None:
        """Store all of `other`'s own cells, like `put`."""
        if other.own_spellings is None:
            self.cells.update(other.cells)
            return
        for key, cell in other.cells.items():
            self.put(other.spelling(key), cell)

    def put_tree(self, name: str, tree: Node, source: str | None = None) -> None:
        """Store the expression of `tree` under `name`.

        With `source`, the text to which the spans of the tree refer, the expression is interned by its own text.
        """
        self.put(name, cell_of(tree, self, source=source))

    def tree(self, name: str) -> Node:
        """The syntax tree of an attribute. Raises KeyError."""
        from roost.classad.unparse import item_node

        return item_node(self[name])

    def spelling(self, key: str) -> str:
        """The spelling of the attribute with the folded name `key`, which must exist."""
        if key not in self.cells and self.chained is not None:
            return self.chained.spelling(key)
        if self.own_spellings is not None:
            own = self.own_spellings.get(key)
            if own is not None:
                return own
        return _SPELLINGS[key]

    def _settle(self, key: str, expression: Expr) -> Cell:
        """Store an expression with deferred parsing as if it had been parsed at once."""
        if key not in self.cells:
            assert self.chained is not None
            return self.chained._settle(key, expression)
        cell = self.cells[key] = cell_of(expression.tree, self, expression=expression, source=expression.source)
        return cell

    def _copy_from(self, other: ClassAd) -> None:
        self.own_spellings = None if other.own_spellings is None else dict(other.own_spellings)
        self.chained = other.chained
        cells = self.cells = dict(other.cells)
        if _NO_ADS.issuperset(map(type, cells.values())):
            return
        for key, cell in cells.items():
            if isinstance(cell, ClassAd):
                cell = cell.copy()
                cell.scope = self
                cells[key] = cell

    # -- expressions ---------------------------------------------------------------------------

    def set(self, name: str, text: str, syntax: Syntax = Syntax.NEW) -> None:
        """Set an attribute from the text of an expression. Raises ParseError."""
        self[name] = parse_expression(text, syntax)

    def set_later(self, name: str, text: str, syntax: Syntax = Syntax.NEW) -> None:
        """Set an attribute from a text that is parsed when it is first inspected or evaluated."""
        self.put(check_name(name), expression_later(text, syntax))

    def lookup(self, name: str) -> Expr:
        """The expression of an attribute. Raises KeyError."""
        cell = self[name]
        return cell if isinstance(cell, Expr) else Expr(self.tree(name))

    def chain_to(self, ad: ClassAd | None) -> None:
        """Look up attributes that are missing here in `ad`; None removes the chain. Raises ValueError on a cycle."""
        if ad is not None:
            links = [ad, *chain(ad)]
            if any(link is around for link in links for around in enclosing(self)):
                raise ValueError("an ad cannot be chained to itself, nor to one that holds it")
        self.chained = ad

    # -- evaluation ----------------------------------------------------------------------------

    def eval(self, name: str, target: ClassAd | None = None, world: World = WORLD) -> Value:
        """The value of an attribute; UNDEFINED if there is none.

        With `target`, an attribute missing here is looked up there, and then evaluated with the roles swapped.
        """
        key = key_of(name)
        cell = self.cell(key)
        if cell is MISSING:
            if target is None or (cell := target.cell(key)) is MISSING:
                return UNDEFINED
            return evaluate(cell, target, self, world) if isinstance(cell, Expr) else cell
        return evaluate(cell, self, target, world) if isinstance(cell, Expr) else cell

    def eval_expr(self, expression: str | Expr, target: ClassAd | None = None, world: World = WORLD) -> Value:
        """The value of an expression in this ad. Raises ParseError for a bad text."""
        return evaluate(_expression(expression), self, target, world)

    def matches(self, target: ClassAd, world: World = WORLD) -> bool:
        """Whether the Requirements of `target` accept this ad: true, or a number other than 0."""
        cell = target.cells.get("requirements") or target.cell("requirements")
        value = evaluate(cell, target, self, world) if cell.__class__ is Expr else cell
        return value is True or (value.__class__ in _NUMBERS and value != 0)

    def symmetric_match(self, target: ClassAd, world: World = WORLD) -> bool:
        """Whether each accepts the other."""
        return target.matches(self, world) and self.matches(target, world)

    def rank(self, target: ClassAd, world: World = WORLD) -> float:
        """How much this ad wants `target`: its Rank as a number; 0.0 for anything that is not a number."""
        value = self.eval("rank", target, world) if "rank" in self else UNDEFINED
        return float(value) if isinstance(value, int | float) else 0.0

    def flatten(self, expression: str | Expr, world: World = WORLD) -> Expr:
        """The expression with everything computed that depends only on this ad. Raises ParseError."""
        from roost.classad.partial import flatten

        return flatten(_expression(expression), self, world)

    def external_refs(self, expression: str | Expr) -> list[str]:
        """Names that `expression` needs and this ad lacks, through every attribute it reaches; sorted."""
        return self._references(expression).external

    def internal_refs(self, expression: str | Expr) -> list[str]:
        """Names of this ad that `expression` needs, through every attribute it reaches; sorted."""
        return self._references(expression).internal

    def _references(self, expression: str | Expr) -> References:
        from roost.classad.refs import references_in

        return references_in(_expression(expression), self)


def flat_cells(ad: ClassAd) -> dict[str, Cell]:
    """The cells of an ad and those it is chained to, by folded name; must not be changed. For lookups of many names."""
    if ad.chained is None:
        return ad.cells
    return {**flat_cells(ad.chained), **ad.cells}


def has_any(ad: ClassAd, keys: frozenset[str]) -> bool:
    """Whether an ad, or one it is chained to, has an attribute of one of these folded names."""
    link: ClassAd | None = ad
    while link is not None:
        if link.cells.keys() & keys:
            return True
        link = link.chained
    return False


def ad_of_cells(cells: dict[str, Cell], chained: ClassAd | None = None) -> ClassAd:
    """An ad with these `cells`, created faster: their names must be folded and known, and none may be an ad."""
    ad = object.__new__(ClassAd)
    ad.cells = cells
    ad.own_spellings = None
    ad.chained = chained
    ad.scope = None
    return ad


def cell_of(tree: Node, scope: ClassAd, *, expression: Expr | None = None, source: str | None = None) -> Cell:
    """The cell for an attribute of `scope` with that tree; `expression` or `source` give its origin."""
    if isinstance(tree, LiteralNode) and not isinstance(tree.value, RelTime):
        return tree.value
    if isinstance(tree, AdNode):
        ad = ClassAd()
        for name, node in tree.attributes:
            ad.put_tree(name, node, source)
        ad.scope = scope
        return ad
    if expression is not None:
        return expression
    return Expr(tree) if source is None else parse_expression(source[tree.span[0] : tree.span[1]])


#: Names of at most this many characters are short enough in any encoding.
_SHORT_NAME: Final = NAME_BYTES_MAX // 4


def check_name(name: str) -> str:
    """Check an attribute name given by Python code. Raises TypeError or ValueError."""
    if name.__class__ is str and 0 < len(name) <= _SHORT_NAME and "\0" not in name:
        return name
    if not isinstance(name, str):
        raise TypeError(f"an attribute name is a string, not a {type(name).__name__}")
    if not name:
        raise ValueError("an attribute name cannot be empty")
    if len(name) > NAME_BYTES_MAX or len(to_bytes(name)) > NAME_BYTES_MAX:
        raise ValueError(f"an attribute name cannot be longer than {NAME_BYTES_MAX} bytes")
    if "\0" in name:
        raise ValueError("an attribute name cannot hold a NUL character")
    return name


def _expression(expression: str | Expr) -> Expr:
    if isinstance(expression, str):
        return parse_expression(expression)
    if not isinstance(expression, Expr):
        raise TypeError(f"an expression is text or an Expr, not a {type(expression).__name__}")
    return expression


def _same(x: object, y: object) -> bool:
    if isinstance(x, ClassAd) or isinstance(y, ClassAd):
        return x == y
    from roost.classad.unparse import item_node, unparse

    if isinstance(x, Expr) and isinstance(y, Expr):
        return x == y
    first, second = item_node(x), item_node(y)
    # A real that is not finite may be a value on one side and a call on the other.
    return first == second or unparse(first, exact=True) == unparse(second, exact=True)


def _restore(cells: list[tuple[str, Cell]], chained: ClassAd | None) -> ClassAd:
    ad = ClassAd()
    for name, cell in cells:
        ad.put(name, cell)
    ad.chained = chained
    return ad


_NUMBERS: Final = frozenset((int, float))
#: Classes of cells that are not ads: isinstance is slow with abstract base classes such as a mapping's.
_NO_ADS: Final = frozenset((int, float, str, bool, tuple, dict, Exceptional, AbsTime, RelTime, ListValue, Expr))

# At the end, because the modules depend on each other: evaluation works on ads, and ads evaluate.
from roost.classad.evaluation import deeply, evaluate  # noqa: E402

__all__ = ["ERROR", "MISSING", "Cell", "ClassAd", "Missing", "ad_of_cells", "cell_of", "flat_cells", "has_any"]
