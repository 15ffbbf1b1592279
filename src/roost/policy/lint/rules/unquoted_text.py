"""A text without quotation marks.

What: The value of a published attribute is a single word that is no attribute itself.

Why: Values in STARTD_ATTRS are expressions: a word is a reference, and this one is UNDEFINED. Texts need quotation
marks.

Example::

    Rack = blue
    STARTD_ATTRS = Rack

Instead::

    Rack = "blue"
    STARTD_ATTRS = Rack
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.classad.syntax import Name
from roost.classad.values import fold
from roost.policy.lint.findings import Severity
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.model import Side


@expression_rule("RST525", Severity.WARNING, "E8", "F1")
def check(expression: Expression) -> Iterator[Hit]:
    tree = expression.tree
    if expression.scope.my is Side.JOB and expression.knob.startswith(("+", "my.", "MY.")):
        return  # RST701 says so for submit descriptions.
    if not expression.attribute or expression.policy is not None or not isinstance(tree, Name):
        return
    if expression.scope.knows(tree.name) or fold(tree.name) in ("my", "target", "currenttime"):
        return
    yield Hit(
        message=f"{expression.knob} is UNDEFINED: {tree.name} is taken for the name of an attribute",
        remedy=f'If a text is meant, write "{tree.name}".',
        node=tree,
    )
