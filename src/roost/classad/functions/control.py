"""Functions that must see their arguments as expressions: choice, evaluation of text, and looking at attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from roost.classad.ad import MISSING, ClassAd
from roost.classad.errors import ParseError
from roost.classad.expr import Expr
from roost.classad.functions.conversion import to_text
from roost.classad.functions.regex import search
from roost.classad.functions.registry import special
from roost.classad.lookup import evaluate_apart, find, select_value
from roost.classad.ops import truth
from roost.classad.state import Code, EvaluationFailed, State
from roost.classad.syntax import Call, Name, Node, Select
from roost.classad.values import ERROR, UNDEFINED, Exceptional, ListValue, Value, fold

if TYPE_CHECKING:
    from roost.classad.ad import Cell
    from roost.classad.compiler import Compiler

#: Evaluates an expression in each ad of a list: the values, or the value of the call if the argument is not a list.
EachContext: TypeAlias = Callable[[State], "list[Value] | Value"]


@special("ifThenElse", 3, 3)
def if_then_else(compiler: Compiler, call: Call) -> Code:
    """ifThenElse(c, a, b): evaluates only the branch that c selects."""
    test, then, otherwise = (compiler.compile(argument) for argument in call.args)

    def run(state: State) -> Value:
        x = truth(test(state))
        if isinstance(x, Exceptional):
            return x
        return then(state) if x else otherwise(state)

    return run


@special("debug", 1, 1)
def debug(compiler: Compiler, call: Call) -> Code:
    """debug(x): the value of x. HTCondor logs the evaluation; here a trace shows it."""
    return compiler.compile(call.args[0])


@special("eval", 1, 1)
def evaluate_text(compiler: Compiler, call: Call) -> Code:
    """eval(text): the value of the expression in the text, in the current ad."""
    argument = compiler.compile(call.args[0])

    def run(state: State) -> Value:
        value = argument(state)
        if isinstance(value, ListValue | ClassAd | int | float):
            # The text of these values evaluates to themselves.
            return value
        text = to_text(value)
        if not isinstance(text, str):
            return ERROR
        try:
            return state.evaluate_text(text)
        except ParseError:
            return ERROR

    return run


@special("unparse", 1, 1)
def unparse_attribute(compiler: Compiler, call: Call) -> Code:
    """unparse(name): the text of the expression of an attribute of the current ad; "" if there is none."""
    node = call.args[0]
    if not isinstance(node, Name | Select):
        return lambda state: ERROR
    if isinstance(node, Select) or node.absolute:
        return lambda state: ""
    key = fold(node.name)

    def run(state: State) -> Value:
        from roost.classad.pretty import unparse_pretty
        from roost.classad.unparse import item_node

        cell = state.ad.cell(key)
        return "" if cell is MISSING else unparse_pretty(item_node(cell))

    return run


@special("unresolved", 1, 2)
def unresolved(compiler: Compiler, call: Call) -> Code:
    """unresolved(name[, pattern]): names that the attribute's expression needs and no ad here defines.

    With a pattern: whether one of them matches it, in any case.
    """
    node = call.args[0]
    if not isinstance(node, Name | Select):
        return lambda state: ERROR
    find_definition = _definition_of(compiler, node)
    pattern = compiler.compile(call.args[1]) if len(call.args) == 2 else None

    def run(state: State) -> Value:
        definition = find_definition(state)
        if definition is None:
            return UNDEFINED
        names = _unresolved_names(state, *definition)
        if pattern is None:
            return ",".join(names)
        text = pattern(state)
        if not isinstance(text, str):
            raise EvaluationFailed
        return _any_match(state, text, names)

    return run


def _unresolved_names(state: State, holder: ClassAd, cell: Cell) -> list[str]:
    from roost.classad.refs import references_in
    from roost.classad.unparse import item_node

    expression = cell if isinstance(cell, Expr) else Expr(item_node(cell))
    # Evaluations on the way count towards the limits of this one.
    names = references_in(expression, holder, value_of=state.value_in, scope_of=state.scope_of).external
    state.spend(len(names))
    other = state.other_ad()
    found = []
    for name in names:
        scope, _, rest = name.partition(".")
        if fold(scope) != "target" or not rest:
            found.append(name)
        elif other is None or other.cell(fold(rest)) is MISSING:
            # Names that the other ad of a match has are resolved.
            found.append(rest)
    return found


def _any_match(state: State, pattern: str, names: list[str]) -> Value:
    """Whether `pattern` is found in one of `names`."""
    if not names:
        names = [""] if search(state, pattern, "", "i") is ERROR else []
    for name in names:
        # The reference library hands its option for any case to the match too, where it means "not empty".
        found = search(state, pattern, name, "i", empty=False)
        if found is not False:
            return found
    return False


@special("evalInEachContext", 2, 2)
def eval_in_each_context(compiler: Compiler, call: Call) -> Code:
    """evalInEachContext(e, list): the values of e in each ad of the list."""
    each = _in_each_context(compiler, call)

    def run(state: State) -> Value:
        values = each(state)
        return ListValue(tuple(values)) if isinstance(values, list) else values

    return run


@special("countMatches", 2, 2)
def count_matches(compiler: Compiler, call: Call) -> Code:
    """countMatches(e, list): in how many ads of the list e is true, or a number other than 0."""
    each = _in_each_context(compiler, call)

    def run(state: State) -> Value:
        values = each(state)
        if isinstance(values, list):
            return sum([truth(value) is True for value in values])
        return 0 if values is UNDEFINED else values

    return run


def _in_each_context(compiler: Compiler, call: Call) -> EachContext:
    """The evaluation shared by both: the values, or UNDEFINED or ERROR if the argument is not a list."""
    expression, list_node = call.args
    inline = Expr(expression)
    contexts = compiler.compile(list_node)
    find_definition = _definition_of(compiler, expression)

    def run(state: State) -> list[Value] | Value:
        definition = find_definition(state)
        try:
            found = contexts(state)
        except EvaluationFailed:
            return ERROR
        if not isinstance(found, ListValue):
            return UNDEFINED if found is UNDEFINED else ERROR
        results: list[Value] = []
        for item in state.items_here(found):
            if isinstance(item, ClassAd):
                results.append(evaluate_apart(state, inline if definition is None else definition[1], item))
            else:
                results.append(item if isinstance(item, Exceptional) else ERROR)
        return results

    return run


def _definition_of(compiler: Compiler, node: Node) -> Callable[[State], tuple[ClassAd, Cell] | None]:
    """Finds the cell of the attribute that `node` names, and its ad; None if there is none."""
    base = compiler.compile(node.base) if isinstance(node, Select) else None

    def found(state: State) -> tuple[ClassAd, Cell] | None:
        if isinstance(node, Name):
            start = state.root_ad() if node.absolute else state.ad
            other = None if node.absolute else state.other_ad()
            definition = find(state, start, fold(node.name))
            if definition is None and other is not None:
                definition = find(state, other, fold(node.name))
            return definition
        if base is None or not isinstance(node, Select):
            return None
        holder = base(state)
        if isinstance(holder, ListValue):
            return state.ad, select_value(state, holder, fold(node.name))
        return find(state, holder, fold(node.name)) if isinstance(holder, ClassAd) else None

    return found
