"""=?= between values that cannot be identical.

What: ``=?=`` or ``=!=`` between values of different kinds, or between texts that differ in case.

Why: These operators convert nothing: ``3 =?= 3.0`` and ``"a" =?= "A"`` are FALSE. The outcome is the same for every
job and every machine.

Example::

    START = TARGET.JobUniverse =?= 5.0

Instead::

    START = TARGET.JobUniverse =?= 5
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Binary, Literal, Op, strip
from roost.classad.values import fold
from roost.policy.lint.abstract import Abstract, Types
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_reference_to, is_undefined, text_of


@expression_rule("RST106", Severity.WARNING, "B6")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.IS, Op.ISNT):
        if is_undefined(node.left) or is_undefined(node.right):
            continue
        result = "FALSE" if node.op is Op.IS else "TRUE"
        why = _why(expression, node)
        if why:
            yield Hit(
                message=f"{expression.text(node)} is {'mostly' if 'mostly' in why else 'always'} {result}: {why}",
                remedy="Compare with a value of the same kind and spelling, or use == or != where the other side "
                "cannot be missing.",
                node=node,
            )


#: Amounts that may be fractions, and mostly are not.
_COUNTED = ("RequestCpus", "RequestMemory", "RequestDisk", "RequestGPUs", "Cpus", "Memory", "Disk", "GPUs")


def _kinds(value: Abstract) -> int:
    """The types that a value can be of: TRUE and FALSE are of one kind, since ``False =!= True`` can be a switch."""
    return value.types | Types.BOOLEAN if value.types & Types.BOOLEAN else value.types


def _why(expression: Expression, node: Binary) -> str:
    left = expression.alone.of(node.left).without(Types.UNDEFINED | Types.ERROR)
    right = expression.alone.of(node.right).without(Types.UNDEFINED | Types.ERROR)
    if left.types and right.types and not _kinds(left) & _kinds(right):
        return "the two sides are of different kinds, and =?= converts nothing"
    for side, other in ((left, node.right), (right, node.left)):
        value = strip(other)
        whole = isinstance(value, Literal) and isinstance(value.value, float) and value.value.is_integer()
        counted = node.left if other is node.right else node.right
        if whole and is_reference_to(counted, *_COUNTED):
            return "cores and sizes mostly are integers, and =?= tells 2 from 2.0"
        text = text_of(other)
        if text is None or side.texts is None or not side.only(Types.STRING) or text in side.texts:
            continue
        if fold(text) in {fold(one) for one in side.texts}:
            return "=?= tells capital letters from small ones"
    return ""
