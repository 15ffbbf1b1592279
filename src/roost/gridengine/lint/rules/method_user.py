"""A method that is to run as another user.

What: starter_method, suspend_method, resume_method or terminate_method begins with `user@`.

Why: Only prolog, epilog and the commands of parallel environments may name a user. In a method it makes jobs fail
before their prolog, and each host on which one is tried ends in state E.

Example::

    cqueues/low.q: terminate_method root@/usr/local/bin/stop

Instead::

    cqueues/low.q: terminate_method /usr/local/bin/stop
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE602", Severity.ERROR, "G12")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for attribute in ("starter_method", "suspend_method", "resume_method", "terminate_method"):
        for queue, _, text in site.settings(attribute):
            if re.match(r"[^/\s]+@/", text):
                yield CellHit(
                    message=f"{attribute} of {queue.name} names a user, which puts its hosts into state E",
                    remedy="Write the path without user@.",
                    file=f"cqueues/{queue.name}",
                    attribute=attribute,
                )
