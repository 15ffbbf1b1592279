"""Recognizes forms of syntax trees that several rules check for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from roost.classad import ParseError, Syntax, parse_expression
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
from roost.classad.values import UNDEFINED, fold
from roost.policy.lint.findings import Edit, Fix
from roost.policy.lint.pool import Expression

_SCOPES = {"my": "my", "self": "my", "target": "target", "other": "target"}


def reference(node: Node) -> tuple[str | None, str] | None:
    """Scope (``my``, ``target`` or None) and name, if the node is a plain reference to an attribute."""
    node = strip(node)
    if isinstance(node, Name):
        return None, node.name
    if isinstance(node, Select):
        base = strip(node.base)
        if isinstance(base, Name) and fold(base.name) in _SCOPES:
            return _SCOPES[fold(base.name)], node.name
    return None


def references(expression: Expression) -> Iterator[tuple[Node, str | None, str]]:
    """Every reference to an attribute: node, scope, name."""
    for node, parent in expression.nodes:
        found = reference(node) if isinstance(node, Name | Select) else None
        if found is not None and not (isinstance(parent, Select) and isinstance(node, Name)):
            yield node, *found


def lack(expression: Expression, node: Node) -> str:
    """Why a reference can be UNDEFINED: the ad lacks the attribute or, if the configuration sets it, its value is."""
    found = reference(node)
    return "UNDEFINED itself" if found is not None and expression.scope.sets(found[1], found[0]) else "missing"


def is_reference_to(node: Node, *names: str) -> bool:
    """Whether the node is a reference to one of some attributes, in any scope."""
    found = reference(node)
    return found is not None and fold(found[1]) in {fold(name) for name in names}


def is_undefined(node: Node) -> bool:
    """Whether the node is the word UNDEFINED."""
    node = strip(node)
    return isinstance(node, Literal) and node.value is UNDEFINED


def is_boolean(node: Node) -> bool:
    """Whether the node is the word TRUE or FALSE."""
    node = strip(node)
    return isinstance(node, Literal) and isinstance(node.value, bool)


def text_of(node: Node) -> str | None:
    """The text of a string constant."""
    node = strip(node)
    return node.value if isinstance(node, Literal) and isinstance(node.value, str) else None


def is_comparison(node: Node) -> bool:
    """Whether the node, without parentheses around it, is ``== != < <= > >=``."""
    return isinstance(node, Binary) and node.op in (Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE)


def is_condition(node: Node) -> bool:
    """Whether the node has the form of a condition: a comparison, a logical operator, or a negation."""
    node = strip(node)
    logical = (Op.AND, Op.OR, Op.IS, Op.ISNT)
    return (isinstance(node, Binary) and (is_comparison(node) or node.op in logical)) or (
        isinstance(node, Unary) and node.op is Op.NOT
    )


def own_load(expression: Expression | None) -> str:
    """A hint for an expression that counts the load of the job against the job; empty if it does not."""
    if expression is None or not expression.mentions("LoadAvg", "TotalLoadAvg"):
        return ""
    if expression.mentions("CondorLoadAvg", "TotalCondorLoadAvg"):
        return ""
    return " LoadAvg has the load of the job itself in it: subtract CondorLoadAvg."


def binaries(expression: Expression, *ops: Op) -> Iterator[tuple[Binary, Node | None]]:
    """Every infix operator of some kinds, with its parent."""
    for node, parent in expression.binaries:
        if node.op in ops:
            yield node, parent


def calls(expression: Expression, *names: str) -> Iterator[Call]:
    """Every call of some functions; of any, without names."""
    for node, _ in expression.nodes:
        if isinstance(node, Call) and (not names or fold(node.name) in names):
            yield node


def conjuncts(node: Node) -> list[Node]:
    """The conditions that must all hold for the node to be TRUE."""
    return _operands(node, Op.AND)


def alternatives(node: Node) -> list[Node]:
    """The nodes one of which gives the value: the branches of a conditional; the node itself if it is not one."""
    found: list[Node] = []
    work = [node]
    while work:
        one = strip(work.pop())
        if isinstance(one, Conditional):
            work.extend((one.otherwise, one.then))
        elif isinstance(one, Elvis):
            work.extend((one.right, one.left))
        elif isinstance(one, Call) and fold(one.name) == "ifthenelse" and len(one.args) == 3:
            work.extend((one.args[2], one.args[1]))
        else:
            found.append(one)
    return found


def _operands(node: Node, op: Op) -> list[Node]:
    found: list[Node] = []
    work = [node]
    while work:
        one = strip(work.pop())
        if isinstance(one, Binary) and one.op is op:
            work.extend((one.right, one.left))
        else:
            found.append(one)
    return found


def operator_span(expression: Expression, node: Binary) -> tuple[int, int] | None:
    """The characters of an infix operator in the expanded text."""
    start, end = node.left.span[1], node.right.span[0]
    between = expression.mapped.text[start:end]
    match = re.search(r"=\?=|=!=|\bisnt\b|\bis\b|[=!<>]=|&&?|\|\|?|[-+*/%<>^]", between, re.IGNORECASE)
    return None if match is None else (start + match.start(), start + match.end())


def operator_fix(expression: Expression, node: Binary, new: str, title: str) -> Fix | None:
    """A correction that replaces an infix operator, if it was written literally."""
    span = operator_span(expression, node)
    if span is None or not _keeps_grouping(expression, node, *span, new):
        return None
    edit = expression.edit(*span, new)
    return None if edit is None else Fix(title=title, edits=(edit,))


def _keeps_grouping(expression: Expression, node: Binary, start: int, end: int, new: str) -> bool:
    """Whether the text with the new operator parses with the same grouping of operands."""
    tree = _read(expression, start, end, new)
    if tree is None or expression.tree is None:
        return False
    work = [(expression.tree, tree)]
    while work:
        before, after = work.pop()
        if before is node:
            if not (isinstance(after, Binary) and (after.left, after.right) == (node.left, node.right)):
                return False
            continue
        inner = list(zip(children(before), children(after), strict=False))
        if type(before) is not type(after) or len(children(before)) != len(children(after)):
            return False
        if isinstance(before, Binary | Unary) and isinstance(after, Binary | Unary) and before.op is not after.op:
            return False
        work.extend(inner)
    return True


def _read(expression: Expression, start: int, end: int, new: str) -> Node | None:
    """The tree of the expanded text with some characters replaced; None if it cannot be read."""
    text = expression.mapped.text
    try:
        return parse_expression(text[:start] + new + text[end:], Syntax.OLD).tree
    except ParseError:
        return None


def span_fix(expression: Expression, start: int, end: int, new: str, title: str) -> Fix | None:
    """A correction that replaces characters of the expanded text, if they were written literally."""
    readable = _read(expression, start, end, new) is not None
    edit: Edit | None = expression.edit(start, end, new) if readable else None
    return None if edit is None else Fix(title=title, edits=(edit,))


def bare(node: Node) -> bool:
    """Whether the node is not enclosed in its own parentheses."""
    return not isinstance(node, Paren)
