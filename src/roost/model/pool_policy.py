"""How a pool's policy travels: attributes of the slot ad that a queue gets with a match.

The matchmaker sets them, overriding the machine's attributes of these names; the queue evaluates them before it uses
the slot for any job, the matched one or another. Later updates from the machine do not change them. The matchmaker also
tells queues which policy is in force (`IDENTITY`): a slot that was matched under another policy is not used for further
jobs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.classad import Expr

#: NEGOTIATOR_PE_RESOURCE_EXPR: MY is the slot, TARGET the job; only TRUE permits.
RESOURCE: Final = "PoolPolicyResourceExpr"
#: NEGOTIATOR_PE_JOB_EXPR: MY is the job, TARGET the slot; only TRUE permits.
JOB: Final = "PoolPolicyJobExpr"
#: NEGOTIATOR_PE_JOB_ONLY_EXPR: MY is the job; TRUE forbids.
JOB_ONLY: Final = "PoolPolicyJobOnlyExpr"
#: NEGOTIATOR_PE_STARTD_ONLY_EXPR: MY is the slot; TRUE forbids.
STARTD_ONLY: Final = "PoolPolicyStartdOnlyExpr"
IMPOSED: Final = (RESOURCE, JOB, JOB_ONLY, STARTD_ONLY)
#: Digest of the policy of a match; missing if nothing is imposed.
IDENTITY: Final = "PoolPolicyIdentity"
#: Attribute to the attribute with its place in the matchmaker's configuration, ``file:line:column``.
PLACES: Final = {name: f"{name}Place" for name in IMPOSED}
#: All attributes of the policy in a match.
HANDED: Final = (*IMPOSED, *PLACES.values(), IDENTITY)
#: Their folded names.
HANDED_KEYS: Final = frozenset(map(str.lower, HANDED))
#: Attribute to the knob that it carries.
KNOBS: Final = {
    RESOURCE: "NEGOTIATOR_PE_RESOURCE_EXPR",
    JOB: "NEGOTIATOR_PE_JOB_EXPR",
    JOB_ONLY: "NEGOTIATOR_PE_JOB_ONLY_EXPR",
    STARTD_ONLY: "NEGOTIATOR_PE_STARTD_ONLY_EXPR",
}
#: The rejection by which a queue learns that a submitter gets nothing: it then uses no more slots for it.
KEPT_OUT: Final = "pool policy: NEGOTIATOR_PE_SCHEDD_ONLY_EXPR"

#: Names of scopes; an ad with such an attribute could change what a policy's names mean.
SCOPES: Final = ("my", "target", "self", "parent", "toplevel", "root", "currenttime")


def scopes(policy: Iterable[object]) -> tuple[str, ...]:
    """The scopes that a policy's expressions use: under it no ad may have an attribute with such a name."""
    found: dict[str, None] = {}
    for expr in policy:
        if isinstance(expr, Expr):
            mentioned = expr.mentioned
            found.update(dict.fromkeys(("my",) if mentioned.my else ()))
            found.update(dict.fromkeys(("target",) if mentioned.target else ()))
            found.update(dict.fromkeys(scope for scope in SCOPES if scope in mentioned.plain))
    return tuple(found)


def is_true(value: object) -> bool:
    """Whether a value counts as TRUE: true, or a number other than 0."""
    return value is True or (value.__class__ in (int, float) and value != 0)
