"""A method that cannot be used.

What: suspend_method, resume_method or terminate_method is not NONE, a signal with SIG before its name, the number of a
signal, or an absolute path with variables that methods have.

Why: Grid Engine accepts any text. The first job that is to start in an instance of the queue fails before its prolog,
and the instance is in state E; with an unknown variable Grid Engine notices when the method is needed, and a pool
before the job starts.

Example::

    cqueues/low.q: terminate_method SIGFOO

Instead::

    cqueues/low.q: terminate_method SIGTERM
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell
from roost.gridengine.objects.values import is_none
from roost.starter.methods import VARIABLES, is_line, problem_of


@cell_rule("RGE604", Severity.ERROR)
def check(site: CheckedCell) -> Iterator[CellHit]:
    for attribute in ("suspend_method", "resume_method", "terminate_method"):
        for queue, _, text in site.settings(attribute):
            # What names a user is RGE602's.
            if is_none(text) or "@" in text.partition(" ")[0] or not problem_of(attribute, text):
                continue
            if is_line(text):
                problem = "which has a variable that methods do not have"
                remedy = f"The variables are {', '.join('$' + name for name in VARIABLES)}."
            else:
                problem = "which is neither a signal nor a path"
                remedy = "Write NONE, a signal such as SIGTERM, its number, or an absolute path."
            yield CellHit(
                message=f"{attribute} of {queue.name} is {text!r}, {problem}",
                remedy=remedy,
                file=f"cqueues/{queue.name}",
                attribute=attribute,
            )
