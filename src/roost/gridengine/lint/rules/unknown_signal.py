"""A method that is neither a signal nor a path.

What: suspend_method, resume_method or terminate_method is not NONE, a signal, a number or an absolute path.

Why: Grid Engine accepts any text. When the method is needed nothing happens: the job is not suspended, or not ended.

Example::

    cqueues/low.q: terminate_method SIGFOO

Instead::

    cqueues/low.q: terminate_method SIGTERM
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import Site
from roost.gridengine.objects.parallel import SIGNALS
from roost.gridengine.objects.values import is_none


@cell_rule("RGE604", Severity.ERROR)
def check(site: Site) -> Iterator[CellHit]:
    for attribute in ("suspend_method", "resume_method", "terminate_method"):
        for queue, _, text in site.settings(attribute):
            word = text.casefold().removeprefix("sig")
            if not (is_none(text) or text.isdigit() or text.startswith("/") or word in SIGNALS or "@" in text):
                yield CellHit(
                    message=f"{attribute} of {queue.name} is {text!r}, which is neither a signal nor a path",
                    remedy="Write NONE, a signal such as SIGTERM, a number, or an absolute path.",
                    file=f"cqueues/{queue.name}",
                    attribute=attribute,
                )
