"""What a job got of a cell, as an ad: a match carries it, the job's ad keeps it, and the ad of its slot shows it.

It holds all that a scheduling run needs of a task that runs, so that the run knows it from the slot alone, whatever
became of the queue that the job came from. The job's ad and the slot's have it as ``CellTask``.
"""

from __future__ import annotations

from roost.classad import ClassAd
from roost.gridengine.pairs import Pair
from roost.gridengine.scheduling import Dispatch, Grant, PendingJob, Request, RunningTask


def task_ad(dispatch: Dispatch, job: PendingJob, *, name: str, schedd: str, revision: int, now: float) -> ClassAd:
    """The ad of a task that is about to start; `name` is the job, as ``12.0``, `revision` that of the cell."""
    (instance, slots), request = dispatch.grants[0], job.request
    return ClassAd(
        Instance=instance,
        Slots=slots,
        Revision=revision,
        Job=name,
        Schedd=schedd,
        User=request.user,
        Groups=",".join(request.groups),
        Project=request.project,
        Resources=",".join(f"{pair.name}={pair.text}" for pair in request.hard),
        Submitted=job.submitted,
        Priority=job.priority,
        Granted=now,
    )


def instance_of(task: ClassAd) -> str:
    """The queue instance of a task."""
    return str(task.get("Instance", ""))


def cluster_of(task: ClassAd) -> tuple[str, int]:
    """The queue and the cluster that a task is of."""
    cluster = str(task.get("Job", "")).partition(".")[0]
    return str(task.get("Schedd", "")), int(cluster) if cluster.isdecimal() else 0


def running_task(task: ClassAd, number: int, started: float) -> RunningTask:
    """A task as the run sees it; `number` is that of its job in the run."""
    resources = str(task.get("Resources", ""))
    pairs = [word.partition("=") for word in resources.split(",") if word]
    request = Request(
        user=str(task.get("User", "")),
        groups=tuple(str(task.get("Groups", "")).split(",")),
        project=str(task.get("Project", "")),
        hard=tuple(Pair(name, text) for name, _, text in pairs),
    )
    return RunningTask(
        job=number,
        task=0,
        request=request,
        grants=(Grant(instance_of(task), int(task.get("Slots", 1))),),
        submitted=float(task.get("Submitted", started)),
        started=started,
        priority=int(task.get("Priority", 0)),
    )
