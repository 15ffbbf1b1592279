"""Hot expressions to Python source: the second tier of the evaluator.

An expression starts as closures (`compiler`), which are made in microseconds. A frequently evaluated one deserves more:
`warming` counts evaluations, and after `TRANSLATED_AFTER` evaluations the tree is written as one Python function, which
replaces the closures. Its results are the same; a test compares them.

The function is a stack machine in local variables: the operand at stack level 3 is ``t3``. Attributes are read directly
from the dict of their ad. A cell that is not a plain value (an expression, a nested ad, a name to look for elsewhere)
is left to the closure of the name, and so is every node of a kind that is not written here. A comparison or a sum first
tries the most common operand types, then calls its row in `ops`. A chain of ``&&`` or ``||`` and a conditional are
loops that run once and are left by ``break``, so that the source stays flat.

No text of an expression becomes code: names and short strings enter the source as Python literals, everything
else as a global variable of the function. Expressions nested too deeply for Python's compiler stay closures.

Not here: anything that watches an evaluation. Subclasses of `Compiler` keep their closures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, TypeAlias
from weakref import WeakValueDictionary

from roost.base.records import dataclass
from roost.classad import functions
from roost.classad.ad import MISSING, Missing
from roost.classad.compiler import Compiler, is_long
from roost.classad.lookup import enter, name_value
from roost.classad.ops import BINARY, LONG_TEXT_CHARS, UNARY, truth
from roost.classad.state import MATCH_NAMES, PLAIN, SPECIAL_NAMES, Code, State
from roost.classad.syntax import (
    Binary,
    Call,
    Conditional,
    Elvis,
    Literal,
    Name,
    Node,
    Op,
    Paren,
    Select,
    Unary,
    children,
    strip,
)
from roost.classad.values import ERROR, INT_MAX, INT_MIN, UNDEFINED, Value, fold, wrap

#: Evaluations after which an expression is translated: translating costs as much as some hundred evaluations.
TRANSLATED_AFTER: Final = 400

#: Nodes of a tree that is translated; a larger one stays closures.
NODES_MAX: Final = 600

#: Operands open at once; what lies deeper stays closures.
_LEVELS_MAX: Final = 40

#: Levels of indentation; what lies deeper stays closures. Python allows 20 loops within each other.
_BLOCKS_MAX: Final = 16

#: Characters of a string that is written into the source; a longer one is a global.
_LITERAL_CHARS_MAX: Final = 80

#: Translations alive at once; beyond, expressions stay closures.
TRANSLATIONS_MAX: Final = 10_000


# -- tiers ---------------------------------------------------------------------------------------


def warming(code: Code, tree: Node, replace: Callable[[Code], None]) -> Code:
    """The first code of an expression: `code`, until it is hot; `replace` then gets the code to use."""
    if not _is_worthwhile(tree):
        return code
    left = TRANSLATED_AFTER

    def run(state: State) -> Value:
        nonlocal left
        left -= 1
        if not left:
            replace(translate(tree) or code)
        return code(state)

    return run


def translate(tree: Node) -> Code | None:
    """The tree as one compiled Python function; None if it is too large. Equal trees share theirs."""
    if not _is_small(tree):
        return None
    try:
        found = _TRANSLATIONS.get(tree)
        if found is None and len(_TRANSLATIONS) < TRANSLATIONS_MAX:
            found = _TRANSLATIONS[tree] = _Writer(tree).function()
    except RecursionError:
        return None
    return found


#: Tree to its function, as long as an expression uses it.
_TRANSLATIONS: Final[WeakValueDictionary[Node, FunctionType]] = WeakValueDictionary()


def _is_worthwhile(tree: Node) -> bool:
    """Whether the tree has an operator at the top: other nodes are a single closure anyway."""
    return isinstance(strip(tree), Binary | Unary | Conditional | Elvis | Call)


def _is_small(tree: Node) -> bool:
    work = [tree]
    count = 0
    while work:
        count += 1
        if count > NODES_MAX:
            return False
        work.extend(children(work.pop()))
    return True


# -- the source ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operand:
    """The location of a node's value."""

    #: A local variable, or a constant as Python text.
    text: str
    #: For a cell just read, which may turn out not to be a plain value: what evaluates its name then.
    general: str | None = None
    #: Whether it can only be a boolean, UNDEFINED or ERROR.
    logical: bool = False
    #: The value of a constant.
    value: Value | Missing = MISSING


#: Lines that compute a result, each group under its condition on the types of the operands.
_Ways: TypeAlias = "list[tuple[str, list[str]]]"


class _Writer:
    """Writes the function of one tree."""

    __slots__ = (
        "_blocks",
        "_cells",
        "_compiler",
        "_globals",
        "_lines",
        "_opened",
        "_readers",
        "_repeated",
        "_tree",
    )

    def __init__(self, tree: Node) -> None:
        self._tree = tree
        self._compiler = Compiler()
        self._lines: list[str] = []
        self._globals: dict[str, object] = {"__builtins__": _SHARED}
        #: Levels of indentation.
        self._blocks = 1
        #: Operands being written.
        self._opened = 0
        #: Which of the ads the function reads: names of local variables.
        self._readers: set[str] = set()
        #: Cells that are used more than once: how they are read, and the variable for it.
        self._repeated = _repeated(tree)
        #: Of these, the ones that have been read wherever the next line is reached.
        self._cells: dict[str, str] = {}

    def function(self) -> FunctionType:
        """The compiled function."""
        result = self._resolve(self._write(self._tree, 0), 0)
        self._line(f"return {result.text}")
        source = "\n".join(["def run(state):", *self._preamble(), *self._lines])
        exec(compile(source, "<translated expression>", "exec"), self._globals)
        run = self._globals.pop("run")
        assert isinstance(run, FunctionType)
        return run

    def _preamble(self) -> list[str]:
        lines = [" ad = state.ad", " get = ad.cells.get"] if self._readers else []
        for reader in ("mine", "theirs"):
            if reader in self._readers:
                lines += _PREAMBLES[reader]
        return lines

    def _line(self, text: str) -> None:
        self._lines.append(" " * self._blocks + text)

    def _bind(self, value: object) -> str:
        """A global variable that holds `value`."""
        name = f"g{len(self._globals)}"
        self._globals[name] = value
        return name

    # -- operands ------------------------------------------------------------------------------

    def _write(self, node: Node, level: int) -> _Operand:
        """Write code that puts the value of `node` into the variable of `level`, or return where the value is
        already."""
        node = strip(node)
        if isinstance(node, Literal):
            return self._closure(node, level)
        if (read := _read(node)) is not None:
            return self._cell(node, read, level)
        if self._opened >= _LEVELS_MAX or self._blocks >= _BLOCKS_MAX:
            return self._closure(node, level)
        self._opened += 1
        try:
            match node:
                case Unary(op=op, operand=operand):
                    return self._unary(op, operand, level)
                case Binary(op=Op.AND | Op.OR as op):
                    return self._chain(op, _links(op, node), level)
                case Binary():
                    return self._strict(node, level)
                case Conditional():
                    return self._conditional(node, level)
                case Elvis(left=left, right=right):
                    return self._elvis(left, right, level)
                case Call():
                    return self._call(node, level)
            return self._closure(node, level)
        finally:
            self._opened -= 1

    def _constant(self, value: Value) -> _Operand:
        kind = value.__class__
        if kind is bool or kind is int or (kind is str and len(value) <= _LITERAL_CHARS_MAX):  # type: ignore[arg-type]
            text = ascii(value)
        elif kind is float and math.isfinite(value):  # type: ignore[arg-type]
            text = repr(value)
        elif value is UNDEFINED or value is ERROR:
            text = value.name
        else:
            text = self._bind(value)
        return _Operand(text=text, value=value)

    def _cell(self, node: Node, read: str, level: int) -> _Operand:
        self._readers.add(read.partition("(")[0])
        cell = self._cells.get(read)
        if cell is None:
            cell = self._repeated.get(read)
            if cell is not None:
                self._cells[read] = cell
            else:
                cell = f"t{level}"
            self._line(f"{cell} = {read}")
        if isinstance(node, Name):
            key = ascii(fold(node.name))
            general = f"(enter(state, ad, {cell}, {key}) if {cell} is not None else name_value(state, {key}))"
        else:
            general = f"{self._bind(self._compiler.compile(node))}(state)"
        return _Operand(text=cell, general=general)

    def _resolve(self, operand: _Operand, level: int) -> _Operand:
        """Ensure that an operand is a value."""
        if operand.general is None:
            return operand
        result = f"t{level}"
        if operand.text == result:
            self._line(f"if type({result}) not in PLAIN: {result} = {operand.general}")
        else:
            self._line(f"{result} = {operand.text} if type({operand.text}) in PLAIN else {operand.general}")
        return _Operand(text=result)

    def _value(self, node: Node, level: int) -> _Operand:
        """Write an operand whose value is needed at once."""
        return self._resolve(self._write(node, level), level)

    def _closure(self, node: Node, level: int) -> _Operand:
        part = self._compiler.part(node)
        if not isinstance(part.value, Missing):
            return self._constant(part.value)
        return self._result(f"{self._bind(part.code)}(state)", level)

    def _result(self, expression: str, level: int, *, logical: bool = False) -> _Operand:
        self._line(f"t{level} = {expression}")
        return _Operand(text=f"t{level}", logical=logical)

    def _call(self, node: Call, level: int) -> _Operand:
        function = functions.lookup(node.name)
        if function is not None and function.name == "ifThenElse" and function.accepts(len(node.args)):
            test, then, otherwise = node.args
            return self._conditional(Conditional(test, then, otherwise), level)
        if (
            function is None
            or function.special is not None
            or function.eager is None
            or not function.accepts(len(node.args))
        ):
            return self._closure(node, level)
        arguments = [self._value(argument, level + at).text for at, argument in enumerate(node.args)]
        return self._result(f"{self._bind(function.eager)}({', '.join(['state', *arguments])})", level)

    # -- strict operators ----------------------------------------------------------------------

    def _unary(self, op: Op, operand: Node, level: int) -> _Operand:
        x = self._value(operand, level)
        if not isinstance(x.value, Missing):
            return self._constant(UNARY[op](x.value))
        if op is Op.NOT:
            rest = x.text if x.logical else f"{op.name}({x.text})"
            text = f"False if {x.text} is True else True if {x.text} is False else {rest}"
            return self._result(text, level, logical=True)
        return self._result(f"U_{op.name}({x.text})", level)

    def _strict(self, node: Binary, level: int) -> _Operand:
        op = node.op
        left = self._write(node.left, level)
        if not _is_immediate(node.right):
            # What stands to the left is evaluated first.
            left = self._resolve(left, level)
        right = self._write(node.right, level + 1)
        if not isinstance(left.value, Missing) and not isinstance(right.value, Missing):
            return self._constant(BINARY[op](left.value, right.value))
        if op in (Op.IS, Op.ISNT) and right.value.__class__ in _IDENTITY and not is_long(right.value):
            return self._identity(op, self._resolve(left, level), right, level)
        if op in _COMPARE:
            fast = self._comparisons(op, left, right, f"t{level}")
        elif op in (Op.IS, Op.ISNT):
            fast = [_any_texts(op, left, right, f"t{level}")]
        elif op in _SUM:
            fast = _sums(op, left, right, f"t{level}")
        else:
            fast = []
        return self._tried(fast, op, left, right, level)

    def _tried(self, fast: _Ways, op: Op, left: _Operand, right: _Operand, level: int) -> _Operand:
        """Write the `fast` ways, and the general one after them."""
        for at, (condition, lines) in enumerate(fast):
            self._line(f"{'elif' if at else 'if'} {condition}:")
            for line in lines:
                self._line(" " + line)
        if fast:
            self._line("else:")
            self._blocks += 1
        x, y = self._resolve(left, level), self._resolve(right, level + 1)
        self._line(f"t{level} = {op.name}({x.text}, {y.text})")
        if fast:
            self._blocks -= 1
        return _Operand(text=f"t{level}", logical=op in _COMPARE)

    def _comparisons(self, op: Op, left: _Operand, right: _Operand, result: str) -> _Ways:
        x, y = left.text, right.text
        compared = [f"{result} = {x} {op.value} {y}"]
        if left.value is MISSING and right.value is MISSING:
            numbers = [(f"type({x}) is {kind} is type({y})", compared) for kind in ("int", "float")]
            return [*numbers, _any_texts(op, left, right, result)]
        if is_long(left.value) or is_long(right.value):
            return [_any_texts(op, left, right, result)]
        if right.value.__class__ is str and op in (Op.EQ, Op.NE):
            return [(f"type({x}) is str", [_text_comparison(op, x, right, result)])]
        number, cell = (left, y) if right.value is MISSING else (right, x)
        kind = number.value.__class__
        if kind not in _NUMBERS:
            return []
        # An integer and a real compare as reals.
        if kind is int:
            known, unknown, other = self._constant(float(number.value)).text, cell, "float"  # type: ignore[arg-type]
        else:
            known, unknown, other = number.text, f"float({cell})", "int"
        x, y = (known, unknown) if number is left else (unknown, known)
        converted = [f"{result} = {x} {op.value} {y}"]
        return [(f"type({cell}) is {kind.__name__}", compared), (f"type({cell}) is {other}", converted)]

    def _identity(self, op: Op, left: _Operand, right: _Operand, level: int) -> _Operand:
        x, kind = left.text, right.value.__class__
        if kind is bool or kind is UNDEFINED.__class__:
            return self._result(f"{x} {'is' if op is Op.IS else 'is not'} {right.text}", level, logical=True)
        test = f"type({x}) is {kind.__name__} and {x} == {right.text}"
        return self._result(test if op is Op.IS else f"not ({test})", level, logical=True)

    # -- control flow --------------------------------------------------------------------------

    def _chain(self, op: Op, links: list[Node], level: int) -> _Operand:
        """``a && b && c``, or ``||``: the first operand that decides ends the loop."""
        result, idle = f"t{level}", "True" if op is Op.AND else "False"
        self._line("while True:")
        self._blocks += 1
        self._line(f"{result} = {idle}")
        read = self._cells
        for at, link in enumerate(links):
            x = self._value(link, level + 1)
            if at == 0:
                # Only the first operand is evaluated in any case.
                read = dict(self._cells)
            self._link(x, result, idle, level + 1)
        self._line("break")
        self._blocks -= 1
        self._cells = read
        return _Operand(text=result, logical=True)

    def _link(self, x: _Operand, result: str, idle: str, level: int) -> None:
        test = f"t{level}"
        self._assign(test, x)
        self._line(f"if {test} is not {idle}:")
        blocks = self._blocks
        if not x.logical:
            self._line(f" {test} = truth({test})")
            self._line(f" if {test} is not {idle}:")
            self._blocks += 1
        self._line(f" {result} = {test}")
        self._line(f" if {test} is not UNDEFINED: break")
        self._blocks = blocks

    def _conditional(self, node: Node, level: int) -> _Operand:
        """``a ? b : c ? d : e``: one loop over the tests."""
        result = f"t{level}"
        self._line("while True:")
        self._blocks += 1
        read: dict[str, str] | None = None
        while isinstance(node, Conditional):
            test = self._test(node.test, level)
            if read is None:
                read = dict(self._cells)
            self._line(f"if {test} is not False:")
            self._blocks += 1
            self._line(f"if {test} is True:")
            self._branch(node.then, level)
            self._line("break")
            self._blocks -= 1
            node = node.otherwise
        self._assign(result, self._value(node, level))
        self._line("break")
        self._blocks -= 1
        assert read is not None
        self._cells = read
        return _Operand(text=result)

    def _test(self, node: Node, level: int) -> str:
        """Write a condition into the variable of `level`: a boolean, UNDEFINED or ERROR."""
        x, test = self._value(node, level), f"t{level}"
        self._assign(test, x)
        if not x.logical:
            self._line(f"if type({test}) is not bool: {test} = truth({test})")
        return test

    def _branch(self, node: Node, level: int) -> None:
        """Write an operand that is evaluated only under the condition on the line before."""
        read = dict(self._cells)
        self._blocks += 1
        self._assign(f"t{level}", self._value(node, level))
        # A block cannot be empty.
        self._line("pass")
        self._blocks -= 1
        self._cells = read

    def _assign(self, variable: str, operand: _Operand) -> None:
        if operand.text != variable:
            self._line(f"{variable} = {operand.text}")

    def _elvis(self, left: Node, right: Node, level: int) -> _Operand:
        x = self._value(left, level)
        if not isinstance(x.value, Missing):
            return self._value(right, level) if x.value is UNDEFINED else x
        self._assign(f"t{level}", x)
        self._line(f"if t{level} is UNDEFINED:")
        self._branch(right, level)
        return _Operand(text=f"t{level}")


# -- reading trees -------------------------------------------------------------------------------


def _read(node: Node) -> str | None:
    """How the cell that a node names is read; None if that takes more than a look into one ad."""
    match node:
        case Name(name=name, absolute=False):
            return f"get({fold(name)!a})"
        case Select(base=base, name=name):
            base = strip(base)
            key = fold(name)
            if isinstance(base, Name) and not base.absolute and fold(base.name) in _READERS:
                reader = _READERS[fold(base.name)]
                # The value of such names without an attribute can only be found by a search.
                absent = "" if key in SPECIAL_NAMES or key in MATCH_NAMES else f", no_{reader}"
                return f"{reader}({key!a}{absent})"
    return None


def _repeated(tree: Node) -> dict[str, str]:
    """How cells that are used more than once are read, and a variable for each."""
    counts: dict[str, int] = {}
    work = [tree]
    while work:
        node = work.pop()
        read = _read(node)
        if read is None:
            work.extend(children(node))
        else:
            counts[read] = counts.get(read, 0) + 1
    return {read: f"c{at}" for at, read in enumerate(counts) if counts[read] > 1}


def _links(op: Op, node: Node) -> list[Node]:
    """The operands of a chain of one logical operator; both operators are associative."""
    links: list[Node] = []
    work = [node]
    while work:
        node = strip(work.pop())
        if isinstance(node, Binary) and node.op is op:
            work += (node.right, node.left)
        else:
            links.append(node)
    return links


def _is_immediate(node: Node) -> bool:
    """Whether reading the operand evaluates nothing: a cell, or an operation on constants."""
    if _read(strip(node)) is not None:
        return True
    work = [node]
    while work:
        node = work.pop()
        if not isinstance(node, Literal | Paren | Unary | Binary):
            return False
        work.extend(children(node))
    return True


def _text_comparison(op: Op, x: str, right: _Operand, result: str) -> str:
    """``x == "text"`` in any case. Folding keeps the length, so most different strings are never folded."""
    text = right.value
    assert isinstance(text, str)
    folded = f"fold({right.text})" if len(text) > _LITERAL_CHARS_MAX else ascii(fold(text))
    test = f"{x} == {right.text} or (len({x}) == {len(text)} and fold({x}) == {folded})"
    return f"{result} = {test}" if op is Op.EQ else f"{result} = not ({test})"


def _any_texts(op: Op, left: _Operand, right: _Operand, result: str) -> tuple[str, list[str]]:
    """A comparison of two strings of whatever length, which long ones pay for."""
    x, y = left.text, right.text
    pay = f"if len({x}) > {LONG_TEXT_CHARS}: state.spend_on_comparison({x}, {y})"
    test = f"{x} == {y}"
    if op in (Op.EQ, Op.NE):
        test += f" or (len({x}) == len({y}) and fold({x}) == fold({y}))"
    elif op not in (Op.IS, Op.ISNT):
        test = f"{op.name}({x}, {y})"
    negated = op is Op.NE or op is Op.ISNT
    return f"type({x}) is str is type({y})", [pay, f"{result} = not ({test})" if negated else f"{result} = {test}"]


def _sums(op: Op, left: _Operand, right: _Operand, result: str) -> _Ways:
    computed = f"{result} = {left.text} {op.value} {right.text}"
    checks = {
        int: f"if not {INT_MIN} <= {result} <= {INT_MAX}: {result} = wrap({result})",
        float: f"if {result} == INFINITY: {result} = ERROR",
    }
    ways = []
    for kind, check in checks.items():
        if all(operand.value is MISSING or operand.value.__class__ is kind for operand in (left, right)):
            unknown = [operand.text for operand in (left, right) if operand.value is MISSING]
            condition = " and ".join([f"type({text}) is {kind.__name__}" for text in unknown])
            ways.append((condition, [computed, check]))
    return ways


_READERS: Final = {"my": "mine", "target": "theirs"}

#: How MY and TARGET are found: `get` of the ad's dict, and what a missing name is. An attribute called MY or
#: TARGET, or a chain to another ad, leave everything to the closures.
_PREAMBLES: Final = {
    "mine": [
        " if ad.chained is None and get('my') is None:",
        "  mine = get",
        "  no_mine = UNDEFINED if ad.scope is None or ad is state.left or ad is state.right else None",
        " else:",
        "  mine = EMPTY.get",
        "  no_mine = None",
    ],
    "theirs": [
        " theirs = state.right if ad is state.left else state.left if ad is state.right else None",
        " if theirs is None or ad.chained is not None or get('target') is not None:",
        "  theirs = EMPTY.get",
        "  no_theirs = None",
        " else:",
        "  no_theirs = UNDEFINED if theirs.chained is None else None",
        "  theirs = theirs.cells.get",
    ],
}

_COMPARE: Final = frozenset((Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE))
_SUM: Final = frozenset((Op.ADD, Op.SUB, Op.MUL))
_NUMBERS: Final = frozenset((int, float))
_IDENTITY: Final = frozenset((bool, int, float, str, UNDEFINED.__class__))

#: What every translated function knows, in the place of Python's built-in names.
_SHARED: Final[dict[str, Any]] = {
    **{kind.__name__: kind for kind in (bool, int, float, str, type)},
    "len": len,
    "EMPTY": {},
    "ERROR": ERROR,
    "INFINITY": math.inf,
    "PLAIN": PLAIN,
    "UNDEFINED": UNDEFINED,
    "enter": enter,
    "fold": fold,
    "name_value": name_value,
    "truth": truth,
    "wrap": wrap,
    **{op.name: run for op, run in BINARY.items()},
    "NOT": UNARY[Op.NOT],
    **{f"U_{op.name}": run for op, run in UNARY.items()},
}

__all__ = ["NODES_MAX", "TRANSLATED_AFTER", "TRANSLATIONS_MAX", "translate", "warming"]
