"""A misspelt attribute.

What: A name that no ad is known to have, one or two letters away from one that is known.

Why: Unknown names are not syntax errors: they are UNDEFINED. The condition that uses them never holds, without any
message. (Case does not matter: Imagesize is ImageSize.)

Example::

    START = KeyBoardIdleTime > 900 && LoadAgv < 0.3

Instead::

    START = KeyboardIdle > 900 && LoadAvg < 0.3
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.values import fold
from roost.policy.attributes import ATTRIBUTES
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import references
from roost.policy.lint.spelling import nearest
from roost.policy.model import AdKind

_SPECIAL = frozenset(("my", "target", "other", "self", "parent", "root", "toplevel", "currenttime"))


@expression_rule("RST201", Severity.WARNING, "B23")
def check(expression: Expression) -> Iterator[Hit]:
    scope = expression.scope
    if scope.my is AdKind.NONE:
        return
    for node, where, name in references(expression):
        if fold(name) in _SPECIAL:
            continue
        if scope.knows(name, where):
            near = _slip_in_family(expression, name, where)
        else:
            near = nearest(name, scope.spellings(where)) or _longer(name, scope.spellings(where))
        if near is not None:
            yield Hit(
                message=f"no ad is known to have {name}: it is UNDEFINED",
                remedy=f"Did you mean {near}? If it is an attribute of your own, list it in STARTD_ATTRS, or in "
                "SUBMIT_ATTRS for jobs.",
                node=node,
            )


def _longer(name: str, known: list[str]) -> str | None:
    """A known name of some length that the name begins or ends with, give or take a unit."""
    key = fold(name)
    for one in known:
        other = fold(one)
        if (
            len(other) >= 8
            and key != other
            and key.startswith(other)
            and key[len(other) :] in ("time", "s", "mb", "kb")
        ):
            return one
    return None


def _slip_in_family(expression: Expression, name: str, where: str | None) -> str | None:
    """What was meant by a name like RequestMemry, which could be of a resource called Memry, but hardly is."""
    key = fold(name)
    published = any(key in names for names in expression.scope.published.values())
    if key in ATTRIBUTES or published or not key.startswith("request") or len(key) < 10:
        return None
    known = [one for one in expression.scope.spellings(where) if fold(one).startswith("request")]
    near = nearest(name, known)
    # A resource may well be called Gpu where others have GPUs.
    return near if near is not None and fold(near).rstrip("s") != key.rstrip("s") else None
