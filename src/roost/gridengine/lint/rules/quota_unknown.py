"""A quota for something that does not exist.

What: A filter of a quota rule names a user list, host group, host, queue, project or parallel environment that the
cell does not have, or a pattern that none matches.

Why: Grid Engine accepts any name there. A rule for nothing limits nothing; a rule with `!` before it limits
everything.

Example::

    resource_quotas/limits: limit users @studnets to slots=2

Instead::

    resource_quotas/limits: limit users @staff to slots=2
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE502", Severity.WARNING, "G13")
def check(site: CheckedCell) -> Iterator[CellHit]:
    cell = site.cell
    known = {
        "projects": [*cell.projects],
        "pes": [*cell.parallel_environments],
        "queues": [*cell.queues],
        "hosts": [*cell.hosts, *cell.host_groups],
        "users": [f"@{name}" for name in cell.user_lists],
    }
    for quotas in cell.quota_sets.values():
        for number, rule in enumerate(quotas.rules):
            for name, found in rule.filters():
                for each in (*found.include, *found.exclude):
                    if each == "*" or (name == "users" and not each.startswith("@")):
                        continue
                    if not any(fnmatchcase(one, each) for one in known[name]):
                        yield CellHit(
                            message=f"{quotas.label(rule)} names {each!r} in {name}, which the cell does not have",
                            remedy="Correct the name, or take it out.",
                            file=f"resource_quotas/{quotas.name}",
                            attribute="limit",
                            number=number,
                        )
