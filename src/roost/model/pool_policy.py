"""How a pool's policy travels: attributes of the slot ad that a queue is given with a match.

The matchmaker writes them, over whatever the machine says under these names; the queue evaluates them before it uses
the slot for a job, the one it was matched for or another. What a machine tells later does not change them. The
matchmaker tells queues, too, which policy is in force (`IDENTITY`): a slot that came under another one is used for no
other job.
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
#: What tells the policy of a match from others: a digest; missing where nothing is imposed.
IDENTITY: Final = "PoolPolicyIdentity"
#: Attribute to the one that says where the matchmaker's configuration sets it, ``file:line:column``.
PLACES: Final = {name: f"{name}Place" for name in IMPOSED}
#: All that a match brings of the policy.
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
#: How a queue is told that a submitter gets nothing: it uses no slot for it any more.
KEPT_OUT: Final = "pool policy: NEGOTIATOR_PE_SCHEDD_ONLY_EXPR"

#: Names that mean scopes; an ad that has one could change what a policy's names mean.
SCOPES: Final = ("my", "target", "self", "parent", "toplevel", "root", "currenttime")


def scopes(policy: Iterable[object]) -> tuple[str, ...]:
    """The scopes that expressions of a policy name: under it no ad may have attributes of those names."""
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
