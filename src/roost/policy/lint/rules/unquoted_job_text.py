"""A job's own attribute without quotation marks.

What: ``+Name = word`` in a submit description, where the word is not an attribute.

Why: The value is an expression: the word is a reference, and UNDEFINED. Texts need quotation marks.

Example::

    executable = work
    +ProjectName = astronomy
    request_memory = 1 GB
    queue

Instead::

    executable = work
    +ProjectName = "astronomy"
    request_memory = 1 GB
    queue
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Name
from roost.policy.lint.registry import Hit, submit_rule
from roost.policy.lint.submit import Submission


@submit_rule("RST701", Severity.WARNING, "F1")
def check(submission: Submission) -> Iterator[Hit]:
    for expression in submission.expressions:
        tree = expression.tree
        if expression.base not in submission.attributes or not isinstance(tree, Name):
            continue
        if not expression.scope.knows(tree.name):
            yield Hit(
                message=f"{expression.knob} is UNDEFINED: {tree.name} is taken for the name of an attribute",
                remedy=f'If a text is meant, write "{tree.name}".',
                expression=expression,
                node=tree,
            )
