"""A prolog that closes its host forever.

What: A prolog adds its host to a host group (`qconf -aattr hostgroup`), and no epilog of the same queue takes it out
again. Programs that the prolog names are read where they are found on this machine.

Why: Where a quota or a host list closes the group, the host stays closed after the first job, and after every job
that ends between the two.

Example::

    cqueues/low.q: prolog /usr/bin/qconf -aattr hostgroup hostlist $host @left

Instead::

    cqueues/low.q: prolog /usr/bin/qconf -aattr hostgroup hostlist $host @left
    cqueues/low.q: epilog /usr/bin/qconf -dattr hostgroup hostlist $host @left
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE601", Severity.ERROR, "A24")
def check(site: CheckedCell) -> Iterator[CellHit]:
    for file, _, text in site.commands("prolog"):
        if not _changes(site, text, "-aattr"):
            continue
        epilogs = [
            text for other, _, text in site.commands("epilog") if other == file or other.startswith("configurations/")
        ]
        if not any(_changes(site, text, "-dattr") for text in epilogs):
            yield CellHit(
                message="the prolog adds the host to a host group, and no epilog takes it out",
                remedy="Let the epilog run `qconf -dattr hostgroup hostlist` with the same host and group.",
                file=file,
                attribute="prolog",
            )


def _changes(site: CheckedCell, command: str, option: str) -> bool:
    path = command.split()[0].rpartition("@")[2]
    text = f"{command}\n{site.program(path) or ''}"
    return re.search(rf"qconf\b.*{option}\s+hostgroup\b", text) is not None
