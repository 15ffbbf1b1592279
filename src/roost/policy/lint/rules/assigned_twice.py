"""Set twice in one file.

What: A file sets the same knob twice, and nothing uses the first value.

Why: The last setting counts. The first one misleads the reader of the file, or one of the two was meant for another
knob.

Example::

    SLOT_TYPE_1 = cpus=2, memory=50%
    NUM_SLOTS_TYPE_1 = 1
    SLOT_TYPE_1 = cpus=4, memory=25%

Instead::

    SLOT_TYPE_1 = cpus=2, memory=50%
    NUM_SLOTS_TYPE_1 = 1
    SLOT_TYPE_2 = cpus=4, memory=25%
    NUM_SLOTS_TYPE_2 = 1
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.config.knobs import find
from roost.config.references import names_in
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.rules.dead_redefinition import reachable
from roost.policy.lint.rules.list_overwritten import GROWING


@pool_rule("RST526", Severity.WARNING, "A19")
def check(pool: Pool) -> Iterator[Hit]:
    used = reachable(pool)
    for key, chain in pool.user_definitions():
        if key in GROWING or (find(key) is None and key not in used):
            continue
        for earlier, later in pairwise(chain):
            same = earlier.span.file == later.span.file and earlier.span.via == later.span.via
            if not same or earlier.origin is not Origin.FILE or later.origin is not Origin.FILE:
                continue
            names = names_in(later.written)
            if later.appended or key in names or key.rpartition(".")[2] in names:
                continue
            if earlier.text == later.text or _conditional(pool, earlier.span.file, earlier.span.line, later.span.line):
                continue
            yield Hit(
                message=f"{earlier.name} is set again in line {later.span.line}: this value is not used",
                remedy="Remove one of the two, or correct its name.",
                place=pool.place(earlier),
                knob=earlier.name,
                related=(("the value in force", pool.place(later)),),
            )


def _conditional(pool: Pool, file: str, first: int, last: int) -> bool:
    """Whether an `if` or a template stands between: then the second value is an exception to the first."""
    text = pool.config.host.read_text(file)
    if text is None:
        return False
    lines = [line.strip().lower() for line in text.split("\n")[first:last]]
    return any(line.startswith(("if ", "elif ", "else", "endif", "use ", "include")) for line in lines)
