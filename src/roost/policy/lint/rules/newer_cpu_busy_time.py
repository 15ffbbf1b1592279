"""CpuBusyTime with the meaning of newer releases.

What: ``time() - CpuBusyTime``, or CpuBusyValue, unless the configuration publishes an attribute of that name.

Why: Here, as in the manual that this policy language comes from, CpuBusyTime counts the seconds for which the
processor has been busy, and is 0 while it is not. Releases of HTCondor after 8.8 have the time of the last change
under this name. The difference to the present time is then a number of about 1,800,000,000, and the machine looks
busy forever.

Example::

    CpuBusy = (LoadAvg - CondorLoadAvg) >= 0.5
    WANT_SUSPEND = True
    SUSPEND = (time() - CpuBusyTime) > 120
    CONTINUE = CpuBusyTime == 0

Instead::

    CpuBusy = (LoadAvg - CondorLoadAvg) >= 0.5
    WANT_SUSPEND = True
    SUSPEND = CpuBusyTime > 120
    CONTINUE = CpuBusyTime == 0
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.classad.values import fold
from roost.policy.lint.abstract import INSTANT
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_reference_to, references

_REMEDY = "Write CpuBusyTime > seconds: it counts the seconds itself, and is 0 while the processor is not busy."


@expression_rule("RST306", Severity.WARNING, "C3")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.SUB):
        left = expression.alone.of(node.left)
        if is_reference_to(node.right, "CpuBusyTime") and left.unit == INSTANT:
            yield Hit(message="CpuBusyTime is a duration, not a date", remedy=_REMEDY, node=node)
    if "cpubusyvalue" in expression.scope.published.get(expression.scope.my, {}):
        return
    for name_node, _, name in references(expression):
        if fold(name) == "cpubusyvalue":
            yield Hit(message="CpuBusyValue is not published", remedy=_REMEDY, node=name_node)
