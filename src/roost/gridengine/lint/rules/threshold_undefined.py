"""A threshold on a complex that does not exist.

What: A load or suspend threshold, or a load adjustment, names a complex that is not defined, or has a value that is
not of its type.

Why: Grid Engine accepts it. A threshold that cannot be compared counts as exceeded, so the instances are
in alarm forever.

Example::

    cqueues/all.q: load_thresholds np_load_avg=1.75,scratch_free=1G

Instead::

    cqueues/all.q: load_thresholds np_load_avg=1.75,mem_free=1G
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell
from roost.gridengine.objects.complex import bad_value
from roost.gridengine.objects.pairs import Pair


@cell_rule("RGE404", Severity.ERROR, "G7")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for attribute in ("load_thresholds", "suspend_thresholds"):
        for queue, _, pairs in site.settings(attribute):
            for pair in pairs:
                yield from _looked_at(
                    site, pair, f"cqueues/{queue.name}", attribute, "so it counts as exceeded forever"
                )
    for pair in site.cell.scheduler.job_load_adjustments:
        yield from _looked_at(site, pair, "schedconf", "job_load_adjustments", "so the adjustment has no effect")


def _looked_at(site: CheckedCell, pair: Pair, file: str, attribute: str, effect: str) -> Iterator[CellHit]:
    definition = site.complexes.get(pair.name)
    if definition is None:
        message, remedy = f"{pair.name} is not a complex, {effect}", "Define the complex, or correct the name."
    elif bad_value(definition, pair.text) and pair.text:
        message = f"{pair.text!r} is not a {definition.type} value for {pair.name}, {effect}"
        remedy = f"Write a value of type {definition.type}."
    else:
        return
    yield CellHit(message=message, remedy=remedy, file=file, attribute=attribute)
