"""A template overrides a setting above it.

What: A policy expression is set, and a ``use POLICY`` below it sets the same one without referring to the earlier
value. Or a template that adds to a policy (a limit on run times, for instance) is used above one that sets a whole
policy, START included.

Why: Templates act where they stand, as if their lines were written there; the last setting counts. What was written
above has no effect.

Example::

    START = KeyboardIdle > 1800
    use POLICY : Always_Run_Jobs

Instead::

    use POLICY : Always_Run_Jobs
    START = KeyboardIdle > 1800
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from roost.base.diagnostics import Severity
from roost.config import Definition, Origin, Span
from roost.config.references import names_in
from roost.policy.catalogue import KNOB_POLICIES
from roost.policy.lint.findings import SourcePlace
from roost.policy.lint.mapping import is_template
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST522", Severity.WARNING, "E7")
def check(pool: Pool) -> Iterator[Hit]:
    for key, chain in pool.config.chains.items():
        if key.upper() not in KNOB_POLICIES or chain[-1].origin is not Origin.TEMPLATE:
            continue
        for earlier, later in pairwise(chain):
            outer = _use_of(later)
            if outer is None or key in names_in(later.written):
                continue
            if earlier.origin is Origin.TEMPLATE:
                yield from _addition_lost(pool, earlier, later)
                continue
            # The same file: in another one, the template is meant to replace what was set for all machines.
            if earlier.origin is not Origin.FILE or outer.file != earlier.span.file:
                continue
            yield Hit(
                message=f"{earlier.name} is set here, and set again by {later.span.file} below",
                remedy="Move the setting below the use statement, or drop it.",
                place=pool.place(earlier),
                knob=earlier.name,
                related=(("the use statement", SourcePlace(outer.file, outer.line, outer.column)),),
            )


def _addition_lost(pool: Pool, earlier: Definition, later: Definition) -> Iterator[Hit]:
    """A template that only adds to a policy, used above one that sets all of it."""
    added, whole = _use_of(earlier), _use_of(later)
    if added is None or whole is None or added == whole:
        return
    starts = [_use_of(one) for one in pool.config.chains.get("start", ()) if one.origin is Origin.TEMPLATE]
    if whole in starts and added not in starts:
        yield Hit(
            message=f"{earlier.name} of {_template(earlier)} is set again by {_template(later)} below",
            remedy=f"Move the use of {_template(earlier)} below that of {_template(later)}.",
            place=SourcePlace(added.file, added.line, added.column),
            knob=earlier.name,
            related=(("the use statement below", SourcePlace(whole.file, whole.line, whole.column)),),
        )


def _use_of(definition: Definition) -> Span | None:
    """The use statement in a file through which a template's line came to act; None if there is none."""
    if definition.origin is not Origin.TEMPLATE:
        return None
    outer = definition.span.via
    while outer is not None and is_template(outer.file):
        outer = outer.via
    return outer


def _template(definition: Definition) -> str:
    """The template that a file uses."""
    span = definition.span
    while span.via is not None and is_template(span.via.file):
        span = span.via
    return span.file
