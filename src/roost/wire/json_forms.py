"""Values that cross the wire in a form of their own, not as structs: ads, plans of clusters, records of decisions.

Whatever else is sent or answered is a struct with typed fields, which `tests/wire/test_requests.py` checks.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from roost.wire.structs import JsonForm

#: An ad: name to bool, int, float, str or ``{"expr": text}``, which `ads.ad_from` reads.
AdData: TypeAlias = Annotated[dict[str, Any], JsonForm("an ad")]
#: The allocation of a job in a Grid Engine cell, an ad (`roost.gridengine.pool.tasks`).
TaskData: TypeAlias = Annotated[dict[str, Any], JsonForm("the ad of a task", Instance=str, Slots=int)]
#: A plan of a cluster, in the form of `schedd.submit.ClusterPlan.to_data`. It has its own version, since the queue
#: stores it on disk in this form, and `ClusterPlan.from_data` validates all of it.
PlanData: TypeAlias = Annotated[dict[str, Any], JsonForm("a plan of a cluster")]
#: A record of a decision. `audit.audit_from` reads each on its own, since an invalid one must not hold up the others.
AuditData: TypeAlias = Annotated[dict[str, Any], JsonForm("a record of a decision")]
