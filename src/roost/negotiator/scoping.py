"""Whose attribute a name without scope is in the pool's policy on matches, for the names that the catalogue knows.

Where MY and TARGET are both there, a name without scope is looked up in MY's ad, and then in TARGET's. So an owner who
puts an Owner into a slot's ad could make it the owner of every job, and a user who puts a Machine into a job the
machine that it runs on. What the pool imposes must not hang on that: a name that only jobs have by the catalogue is
asked of the job, and one that only slots have of the slot. Names that both have are MY's, but for those that a slot
has of the job that it runs: these are the job's that asks.

Names that the catalogue does not know stay as they are: only the administrator knows whose they are. Ads within an
expression stay as they are, too: their names may be their own. `roost policy lint` reports such names (RST618).
"""

from __future__ import annotations

from roost.base.records import replace
from roost.classad import Expr
from roost.classad.syntax import Binary, Call, Conditional, Elvis, ListNode, Name, Node, Paren, Select, Subscript, Unary
from roost.classad.values import fold
from roost.model.pool_policy import SCOPES
from roost.policy.attributes import attribute_of
from roost.policy.model import Side


def scoped(expression: Expr | None, mine: Side) -> Expr | None:
    """The expression with a scope at each name of the catalogue; `mine` is whose ad MY is, of slots or of jobs."""
    if expression is None:
        return None
    tree = _scoped(expression.tree, mine)
    return expression if tree == expression.tree else Expr(tree)


def _scoped(node: Node, mine: Side) -> Node:
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


def _scope_of(name: str, mine: Side) -> str:
    """MY or TARGET; "" for a name of which the catalogue does not say."""
    if fold(name) in SCOPES:
        return ""
    slots, jobs = attribute_of(name, Side.MACHINE), attribute_of(name, Side.JOB)
    if slots is None and jobs is None:
        return ""
    if slots is not None and jobs is not None:
        # While it is claimed a slot has some attributes of its job.
        owner = Side.JOB if slots.when.startswith("while") else mine
    else:
        owner = Side.MACHINE if jobs is None else Side.JOB
    return "MY" if owner is mine else "TARGET"
