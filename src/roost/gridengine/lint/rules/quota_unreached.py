"""A quota rule that is never reached.

What: An earlier rule of the same set matches everything that a rule matches.

Why: Of each set only the first rule that matches a job applies. A general rule before a special one hides it.

Example::

    resource_quotas/limits: limit users * to slots=10
    resource_quotas/limits: limit users ann to slots=2

Instead::

    resource_quotas/limits: limit users ann to slots=2
    resource_quotas/limits: limit users * to slots=10
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.instances import hosts_of
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell
from roost.gridengine.objects.quota import Filter, QuotaRule


@cell_rule("RGE501", Severity.WARNING, "G13")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for quotas in site.cell.quota_sets.values():
        for number, rule in enumerate(quotas.rules):
            earlier = next((one for one in quotas.rules[:number] if _covers(site, one, rule)), None)
            if earlier:
                yield CellHit(
                    message=f"rule {number + 1} is never reached: {quotas.label(earlier)} matches all of it",
                    remedy="Put the special rule first.",
                    file=f"resource_quotas/{quotas.name}",
                    attribute="limit",
                    number=number,
                )


def _covers(site: CheckedCell, earlier: QuotaRule, later: QuotaRule) -> bool:
    found = dict(later.filters())
    return all(_holds(site, name, one, found.get(name)) for name, one in earlier.filters())


def _holds(site: CheckedCell, name: str, wide: Filter, narrow: Filter | None) -> bool:
    """Whether a filter certainly matches whatever another one does."""
    if wide.exclude:
        return wide == narrow
    if not wide.include or "*" in wide.include:
        # `projects *` and `pes *` do not match jobs without one.
        return name not in ("projects", "pes") or bool(narrow and narrow.include)
    if narrow is None or not narrow.include:
        return False
    members = set(wide.include)
    for group in wide.include:
        if name == "users" and group.startswith("@"):
            members |= set(site.users((group[1:],)))
        if name == "hosts" and group.startswith("@"):
            members |= set(hosts_of((group,), site.cell.host_groups))
    return set(narrow.include) <= members
