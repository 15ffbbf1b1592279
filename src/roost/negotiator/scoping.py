"""Scopes for unscoped names in the pool's policy on matches, for the names in the catalogue.

With both MY and TARGET, an unscoped name is looked up in MY's ad first, and then in TARGET's. So an owner who puts an
Owner attribute into a slot's ad could make it appear as the owner of every job, and a user who puts Machine into a job
could fake the machine that it runs on. The pool's policy must not be open to that: a name that only jobs have according
to the catalogue refers to the job, and one that only slots have to the slot. A name that both have refers to MY, except
those that a slot copies from the job that it runs: these refer to the job of the request.

Names that the catalogue does not know stay as they are: only the administrator knows what they refer to. Nested ads in
an expression stay as they are, too: their names may be their own attributes. `roost policy lint` reports such names
(RST618).
"""

from __future__ import annotations

from roost.base.records import replace
from roost.classad import Expr
from roost.classad.syntax import Binary, Call, Conditional, Elvis, ListNode, Name, Node, Paren, Select, Subscript, Unary
from roost.classad.values import fold
from roost.model.pool_policy import SCOPES
from roost.policy.attributes import attribute_of
from roost.policy.model import AdKind


def scoped(expression: Expr | None, mine: AdKind) -> Expr | None:
    """The expression with a scope added to each name of the catalogue; `mine` is the kind of ad that MY is, slot or
    job."""
    if expression is None:
        return None
    tree = _scoped(expression.tree, mine)
    return expression if tree == expression.tree else Expr(tree)


def _scoped(node: Node, mine: AdKind) -> Node:
    match node:
        case Name(name=name, absolute=False):
            scope = _scope_of(name, mine)
            return Select(Name(scope), name, node.span) if scope else node
        case Select(base=Name()):
            return node
        case Select(base=base):
            return replace(node, base=_scoped(base, mine))
        case Unary(operand=operand):
            return replace(node, operand=_scoped(operand, mine))
        case Binary(left=left, right=right) | Elvis(left=left, right=right):
            return replace(node, left=_scoped(left, mine), right=_scoped(right, mine))
        case Conditional(test=test, then=then, otherwise=otherwise):
            test, then, otherwise = (_scoped(each, mine) for each in (test, then, otherwise))
            return replace(node, test=test, then=then, otherwise=otherwise)
        case Subscript(base=base, index=index):
            return replace(node, base=_scoped(base, mine), index=_scoped(index, mine))
        case Call(args=args):
            return replace(node, args=tuple(_scoped(each, mine) for each in args))
        case ListNode(items=items):
            return replace(node, items=tuple(_scoped(each, mine) for each in items))
        case Paren(inner=inner):
            return replace(node, inner=_scoped(inner, mine))
    return node


def _scope_of(name: str, mine: AdKind) -> str:
    """MY or TARGET; "" for a name whose scope the catalogue does not determine."""
    if fold(name) in SCOPES:
        return ""
    slots, jobs = attribute_of(name, AdKind.MACHINE), attribute_of(name, AdKind.JOB)
    if slots is None and jobs is None:
        return ""
    if slots is not None and jobs is not None:
        # A claimed slot has some attributes of its job.
        owner = AdKind.JOB if slots.when.startswith("while") else mine
    else:
        owner = AdKind.MACHINE if jobs is None else AdKind.JOB
    return "MY" if owner is mine else "TARGET"
