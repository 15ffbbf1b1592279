"""Memory, disk or cores in requirements.

What: ``requirements`` compares Memory, Disk or Cpus of the machine with a number.

Why: On a partitionable slot that tests the whole machine, or what is left of it; the slot cut for the job is as large
as request_memory, request_disk and request_cpus say, 128 MB unless they say something.

Example::

    executable = work
    requirements = Memory > 4000
    request_memory = 128
    queue

Instead::

    executable = work
    request_memory = 4000
    queue
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.policy.lint.registry import Hit, submit_rule
from roost.policy.lint.shapes import binaries, is_reference_to, reference
from roost.policy.lint.submit import Submission

_REQUESTS = {"memory": "request_memory", "disk": "request_disk", "cpus": "request_cpus"}


@submit_rule("RST702", Severity.WARNING, "F3", "E12")
def check(submission: Submission) -> Iterator[Hit]:
    expression = submission.expression("requirements")
    if expression is None:
        return
    for node, _ in binaries(expression, Op.GT, Op.GE, Op.LT, Op.LE):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            name = next((n for n in _REQUESTS if is_reference_to(side, n)), None)
            asked = reference(side)
            if name is not None and asked is not None and asked[0] != "my" and expression.alone.of(other).constant:
                yield Hit(
                    message=f"{expression.text(node)} asks for a machine, not for a slot of that size",
                    remedy=f"Use {_REQUESTS[name]}.",
                    expression=expression,
                    node=node,
                )
