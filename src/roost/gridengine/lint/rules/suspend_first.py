"""Jobs that are suspended before new ones are kept out.

What: A value is in both thresholds of a queue, and the suspend threshold is reached no later than the load threshold.

Why: New jobs still arrive when running ones are already being suspended; the load falls, the jobs resume, and so on
at every suspend_interval.

Example::

    cqueues/all.q: suspend_thresholds np_load_avg=1.5

Instead::

    cqueues/all.q: suspend_thresholds np_load_avg=3
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell
from roost.gridengine.objects.complex import value_number


@cell_rule("RGE406", Severity.WARNING, "G9")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for one in site.instances:
        loads = {pair.name: pair.text for pair in one.settings.load_thresholds}
        for pair in one.settings.suspend_thresholds:
            definition = site.complexes.get(pair.name)
            if definition is None or pair.name not in loads:
                continue
            limit = loads[pair.name]
            suspend, load = (value_number(definition.type, text) for text in (pair.text, limit))
            if suspend is None or load is None:
                continue
            if suspend <= load if definition.relation in (">=", ">") else suspend >= load:
                yield CellHit(
                    message=f"{one.name} suspends jobs at {pair.name}={pair.text} and takes new ones to {limit}",
                    remedy="Let load_thresholds be reached first.",
                    file=f"cqueues/{one.queue}",
                    attribute="suspend_thresholds",
                    same=f"{pair.name}={pair.text}",
                )
