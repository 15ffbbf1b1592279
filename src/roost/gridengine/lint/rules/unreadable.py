"""An object that Grid Engine would refuse.

What: A file is not in the form of its object, lacks an attribute, or has a value that is not of the attribute's type.

Why: `qconf` refuses the object, and so does an import: nothing of the cell is taken over until every file can be
read.

Example::

    cqueues/all.q: slots four

Instead::

    cqueues/all.q: slots 4
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE001", Severity.ERROR)
def check(site: CheckedCell) -> Iterator[CellHit]:
    # What cannot be read never reaches a rule; the engine reports it under this code.
    yield from ()
