"""A queue that no user may use.

What: The user lists of a queue hold no users, or every one of them is in a list of xuser_lists, too. With a forced
resource the queue is closed twice over.

Why: Where a user is in both, deny wins. The queue accepts no jobs, and jobs that ask for it, or for its forced
resource, wait forever.

Example::

    cqueues/low.q: user_lists none_in

Instead::

    cqueues/low.q: user_lists staff
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE303", Severity.ERROR)
def check(site: CheckedCell) -> Iterator[CellHit]:
    for queue, domain, allowed in site.settings("user_lists"):
        denied = queue.overrides.get("xuser_lists", {}).get(domain, queue.defaults.xuser_lists)
        if allowed and not site.users(allowed) - site.users(denied):
            where = f"{queue.name}@{domain}" if domain else queue.name
            yield CellHit(
                message=f"{where} admits {' and '.join(allowed)}, and no user of them is left",
                remedy="Add users to the lists, take the users out of xuser_lists, or write user_lists NONE.",
                file=f"cqueues/{queue.name}",
                attribute="user_lists",
            )
