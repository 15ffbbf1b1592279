"""A fraction of an integer resource.

What: A complex of type INT has a value with a fraction.

Why: Grid Engine keeps the fraction and books it. Two requests for 0.5 share one unit, so a unit does not stand for
one job.

Example::

    execution/node1: complex_values slots=1.5

Instead::

    execution/node1: complex_values slots=1
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell
from roost.gridengine.objects.complex import Type, value_number


@cell_rule("RGE306", Severity.WARNING, "A25")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for file, where, pair in site.attached():
        definition = site.complexes.get(pair.name)
        value = value_number(definition.type, pair.text) if definition and definition.type is Type.INT else None
        if value is not None and value not in (float("inf"), int(value)):
            yield CellHit(
                message=f"{pair.name} of {where} is {pair.text}, and the complex is an integer",
                remedy="Write a whole number, or make the complex a DOUBLE.",
                file=file,
                attribute="complex_values",
            )
