"""A function that does not exist, or with a wrong number of arguments.

What: The name in front of a parenthesis is not a known function, or the function takes fewer or more arguments.

Why: It is not a syntax error: the call is ERROR each time it is evaluated, and the policy silently does not work.

Example::

    START = isUndefinied(TARGET.NumJobStarts) || TARGET.NumJobStarts < 3

Instead::

    START = isUndefined(TARGET.NumJobStarts) || TARGET.NumJobStarts < 3
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad import functions
from roost.classad.values import fold
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import calls
from roost.policy.lint.spelling import nearest

#: Functions that only daemons provide.
_ELSEWHERE = frozenset(("sloteval",))


@expression_rule("RST115", Severity.ERROR)
def check(expression: Expression) -> Iterator[Hit]:
    for node in calls(expression):
        function = functions.lookup(node.name)
        if fold(node.name) in _ELSEWHERE:
            continue
        if function is None:
            near = nearest(node.name, functions.FUNCTIONS)
            yield Hit(
                message=f"there is no function {node.name}: the call is ERROR",
                remedy=f"Did you mean {near}?" if near else "See the list of functions of the ClassAd language.",
                node=node,
            )
        elif not function.accepts(len(node.args)):
            yield Hit(
                message=f"{node.name} does not take {len(node.args)} argument{'s' * (len(node.args) != 1)}: "
                "the call is ERROR",
                remedy="See the function's arguments in the reference of the ClassAd language.",
                node=node,
            )
