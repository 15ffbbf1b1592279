"""A forced resource that closes all queues of a host.

What: A FORCED complex has a value at a host, or at `global`.

Why: Jobs that do not request it can use no queue of the host; at `global` no queue of the cell. To keep jobs out of
one queue, the value belongs to that queue. A value of 0 or FALSE forces as well.

Example::

    execution/node1: complex_values gpu=1

Instead::

    cqueues/low.q: complex_values gpu=1
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE301", Severity.WARNING, "G1")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for file, where, pair in site.attached():
        definition = site.complexes.get(pair.name)
        if definition and definition.is_forced and file.startswith("execution/"):
            yield CellHit(
                message=f"{pair.name} is forced, so jobs that do not request it cannot use {where}",
                remedy="Attach it to a queue, or make the complex requestable YES.",
                file=file,
                attribute="complex_values",
            )
