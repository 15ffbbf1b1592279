"""How a pool's policy travels: attributes of the slot ad that a queue is given with a match.

The matchmaker writes them, over whatever the machine says under these names; the queue evaluates them before it uses
the slot for a job, the one it was matched for or another. What a machine tells later does not change them.
"""

from __future__ import annotations

from typing import Final

#: NEGOTIATOR_PE_RESOURCE_EXPR: MY is the slot, TARGET the job; only TRUE permits.
RESOURCE: Final = "PoolPolicyResourceExpr"
#: NEGOTIATOR_PE_JOB_EXPR: MY is the job, TARGET the slot; only TRUE permits.
JOB: Final = "PoolPolicyJobExpr"
#: NEGOTIATOR_PE_JOB_ONLY_EXPR: MY is the job; TRUE forbids.
JOB_ONLY: Final = "PoolPolicyJobOnlyExpr"
IMPOSED: Final = (RESOURCE, JOB, JOB_ONLY)

#: Names that mean scopes; an ad that has one could change what a policy's names mean.
SCOPES: Final = ("my", "target", "self", "parent", "toplevel", "root", "currenttime")
