"""A conditional that hangs on an attribute which may be missing.

What: The test of ``ifThenElse()`` or ``? :`` is an attribute that the ad may lack.

Why: Where it is missing, the whole is UNDEFINED: neither of the two values.

Fix: the test ``X`` becomes ``X =?= True``.

Example::

    MAXJOBRETIREMENTTIME = ifThenElse(TARGET.IsLongJob, 86400, 0)

Instead::

    MAXJOBRETIREMENTTIME = ifThenElse(TARGET.IsLongJob =?= True, 86400, 0)
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Call, Conditional, Node
from roost.classad.values import fold
from roost.policy.lint.abstract import Types
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import lack, reference, span_fix


@expression_rule("RST121", Severity.WARNING, "B13", fixes=True)
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in expression.nodes:
        test: Node | None = None
        if isinstance(node, Conditional):
            test = node.test
        elif isinstance(node, Call) and fold(node.name) == "ifthenelse" and len(node.args) == 3:
            test = node.args[0]
        if test is None or reference(test) is None or not expression.inferred.of(test).can_be_undefined:
            continue
        if expression.inferred.of(test).without(Types.UNDEFINED).only(Types.NUMBER):
            continue
        text = expression.text(test)
        yield Hit(
            message=f"the value is UNDEFINED where {text} is {lack(expression, test)}",
            remedy=f"Test {text} =?= True.",
            node=test,
            fix=span_fix(expression, *test.span, f"{text} =?= True", f"test {text} =?= True"),
        )
