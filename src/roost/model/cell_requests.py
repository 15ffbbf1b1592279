"""Attributes by which a job asks a Grid Engine cell for something; `roost.gridengine.pool.requests` reads them."""

from __future__ import annotations

from typing import Final

RESOURCES: Final = "CellResources"
SOFT_RESOURCES: Final = "CellSoftResources"
QUEUES: Final = "CellQueues"
SOFT_QUEUES: Final = "CellSoftQueues"
PROJECT: Final = "CellProject"
#: All of them.
ASKED: Final = (RESOURCES, SOFT_RESOURCES, QUEUES, SOFT_QUEUES, PROJECT)
#: What a job got of the cell, an ad, in the job's ad and in that of its slot; see `roost.gridengine.pool.tasks`.
TASK: Final = "CellTask"
