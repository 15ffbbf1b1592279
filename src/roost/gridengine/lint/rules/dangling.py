"""A reference to an object that does not exist.

What: An object names a user list, project, host group, queue, calendar, environment or complex that the cell does not
have.

Why: `qconf` refuses the object, and so does an import. Deleting the other object first is refused as well, so that
such files come from editing by hand.

Example::

    cqueues/all.q: calendar holidays

Instead::

    cqueues/all.q: calendar office
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE002", Severity.ERROR)
def check(site: CheckedCell) -> Iterator[CellHit]:
    # References are looked at where objects are settled; the engine reports them under this code.
    yield from ()
