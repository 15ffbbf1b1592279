"""The allocation of a job in a cell, as an ad: it is part of a match, and is kept in the ads of the job and of its
slot.

It has everything that a scheduling run needs to know about a running task, so that the slot suffices, whatever happens
to the job's queue. The job's ad and the slot's have it as ``CellTask``.

A parallel job has a claim for each of its parts, each with its own ad: ``Grants`` has the slots of this part, ``Gang``
identifies the parts of one job, and ``Part`` numbers them, 0 for that of the master. The ad of the master, which is
kept in the job's ad, also has the slots of all parts in ``AllGrants``, their sum in ``AllSlots``, and the number of
parts in ``Parts``; ``Summary`` is TRUE if one accounting record covers the job and all its slave tasks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from roost.classad import ClassAd
from roost.gridengine.cell import Cell
from roost.gridengine.instances import Resolver
from roost.gridengine.objects.complex import Type, value_number
from roost.gridengine.objects.configuration import BY_NAME, GLOBAL
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.objects.people import department_of
from roost.gridengine.objects.values import seconds
from roost.gridengine.scheduling import Dispatch, Grant, PendingJob, Request, RunningTask
from roost.gridengine.scheduling.loads import host_of
from roost.model.cell_requests import ranges

#: `max_unheard` may be infinite.
_UNHEARD_S_MAX: Final = 1e6
#: Reports of a host that Grid Engine 8.1.9 waits for before it restarts a rescheduled job there.
_REPORTS: Final = 2


class Parts(NamedTuple):
    """How a parallel job is spread over claims."""

    #: Identifies the job.
    gang: str
    #: Slots by claim, that of the master first.
    grants: Sequence[Sequence[Grant]]


class Start(NamedTuple):
    """When and under which cell a task starts, and its job and queue."""

    #: Of the job, as ``12.0``.
    name: str
    schedd: str
    #: Of the cell.
    revision: int
    now: float


def task_ad(
    cell: Cell,
    dispatch: Dispatch,
    job: PendingJob,
    start: Start,
    *,
    parts: Parts | None = None,
    part: int = 0,
) -> ClassAd:
    """The ad of a task that is about to start.

    `parts` is for a parallel job, and the ad then for one part of it.
    """
    grants = dispatch.grants if parts is None else parts.grants[part]
    request = job.request
    ad = ClassAd(
        Instance=grants[0].instance,
        Slots=sum(grant.slots for grant in grants),
        Revision=start.revision,
        Job=start.name,
        Schedd=start.schedd,
        User=request.user,
        Groups=",".join(request.groups),
        Project=request.project,
        Department=department_of(cell.user_lists, request.user, request.groups),
        Memory=_memory(request),
        Scaling=_scaling(cell, grants[0].instance),
        Resources=",".join(f"{pair.name}={pair.text}" for pair in request.hard),
        Submitted=job.submitted,
        Priority=job.priority,
        Granted=start.now,
    )
    ad.update({name: value for name, value in _ranked(job) if value})
    if nice := _nice(cell, grants[0].instance):
        ad["Nice"] = nice
    ad.update(_after_loss(cell, grants[0].instance))
    if category := category_of(cell, request, job.reservation):
        ad["Category"] = category
    if parts is not None:
        ad.update({"Environment": dispatch.environment, "Gang": parts.gang, "Part": part, "Grants": _text(grants)})
        if part == 0:
            slots = sum(grant.slots for grant in dispatch.grants)
            ad.update({"AllGrants": _text(dispatch.grants), "AllSlots": slots, "Parts": len(parts.grants)})
            environment = cell.parallel_environments.get(dispatch.environment)
            if environment is not None and environment.accounting_summary:
                ad["Summary"] = True
    return ad


def _ranked(job: PendingJob) -> Iterator[tuple[str, float | None]]:
    """What the priority of a job depends on in addition to its requests, where set."""
    yield "Share", job.share
    yield "Override", job.override
    yield "Deadline", job.deadline
    yield "Reservation", job.reservation


def _text(grants: Iterable[Grant]) -> str:
    return ",".join(f"{instance}={slots}" for instance, slots in grants)


def _grants(text: str) -> list[Grant]:
    pairs = (word.rpartition("=") for word in text.split(",") if word)
    return [Grant(instance, int(slots)) for instance, _, slots in pairs]


def _scaling(cell: Cell, instance: str) -> str:
    """`usage_scaling` of the host of an instance, as ``cpu=2.0,mem=1.5``."""
    host = cell.hosts.get(host_of(instance))
    return "" if host is None else ",".join(f"{one.name}={one.number}" for one in host.usage_scaling)


def _nice(cell: Cell, instance: str) -> int:
    """The nice value of a queue instance."""
    queue = cell.queues.get(instance.partition("@")[0])
    if queue is None or not (queue.defaults.priority.number or queue.overrides.get("priority")):
        return 0
    return int(Resolver(cell).instance(queue, host_of(instance)).settings.priority.number)


def _after_loss(cell: Cell, instance: str) -> dict[str, float | bool]:
    """Whether lost jobs of a queue instance are rerun, and after what time, s."""
    queue, host = cell.queues.get(instance.partition("@")[0]), host_of(instance)
    # A job that is rescheduled may start there again once its host has reported twice.
    found: dict[str, float | bool] = {"CleanUp": _REPORTS * _time(cell, host, "load_report_time")}
    if queue is not None and (queue.defaults.rerun or queue.overrides.get("rerun")):
        found["Rerun"] = Resolver(cell).instance(queue, host).settings.rerun
    wait_s = _time(cell, host, "reschedule_unknown")
    if wait_s and math.isfinite(wait_s):
        found["RescheduleAfter"] = wait_s + min(_time(cell, GLOBAL, "max_unheard"), _UNHEARD_S_MAX)
    return found


def _time(cell: Cell, host: str, name: str) -> float:
    """A time of the configuration of a host, or else of the global one, s."""
    text = cell.configured(host, name)
    return seconds(BY_NAME[name].default if text is None else text) or 0.0


def category_of(cell: Cell, request: Request, reservation: int = 0) -> str:
    """The requests of a job in the form of accounting: options of `qsub`; "" for none.

    Soft queues are left out, and so are the user lists that Grid Engine adds for queues that have any.
    """
    options = (
        ("-q", ",".join(request.queues)),
        ("-masterq", ",".join(request.master_queues)),
        ("-l", _pairs(cell, request.hard)),
        ("-soft -l", _pairs(cell, request.soft)),
        ("-pe", f"{request.environment} {ranges(request.slots)}" if request.environment else ""),
        ("-ckpt", request.checkpoint),
        ("-ar", str(reservation or "")),
    )
    return " ".join(f"{name} {text}" for name, text in options if text)


def _pairs(cell: Cell, pairs: Iterable[Pair]) -> str:
    return ",".join(f"{pair.name}={_shown_pair(cell, pair)}" for pair in sorted(pairs, key=lambda pair: pair.name))


def _shown_pair(cell: Cell, pair: Pair) -> str:
    """A value in Grid Engine's form: times in seconds."""
    definition = cell.complexes.get(pair.name)
    if definition is not None and definition.type is Type.TIME:
        number = value_number(Type.TIME, pair.text)
        if number is not None and math.isfinite(number):
            return f"{number:g}" if number < 1e6 else f"{number:.0f}"
    return pair.text


def _memory(request: Request) -> float:
    """The memory limit that a job requests per slot, bytes; 0 for none."""
    asked = {pair.name: pair.text for pair in request.hard}
    text = asked.get("h_vmem") or asked.get("s_vmem") or "0"
    return value_number(Type.MEMORY, text) or 0.0


def instance_of(task: ClassAd) -> str:
    """The queue instance of a task; for a part of a parallel job, its first."""
    return str(task.get("Instance", ""))


def cluster_of(task: ClassAd) -> tuple[str, int]:
    """The queue and the cluster of a task."""
    cluster = str(task.get("Job", "")).partition(".")[0]
    return str(task.get("Schedd", "")), int(cluster) if cluster.isdecimal() else 0


def gang_of(task: ClassAd) -> str:
    """The common id of the parts of one parallel job; "" for any other job."""
    return str(task.get("Gang", ""))


def part_of(task: ClassAd) -> int:
    """The number of a part of a parallel job, 0 for that of the master."""
    return int(task.get("Part", 0))


def grants_of(task: ClassAd) -> tuple[Grant, ...]:
    """The slots of a task; for a part of a parallel job, its own."""
    text = task.get("Grants")
    return tuple(_grants(text)) if isinstance(text, str) else (Grant(instance_of(task), int(task.get("Slots", 1))),)


def all_grants_of(task: ClassAd) -> tuple[Grant, ...]:
    """The slots of a whole job from the ad of its master, in the order of allocation."""
    text = task.get("AllGrants")
    return tuple(_grants(text)) if isinstance(text, str) else grants_of(task)


def running_task(
    parts: Sequence[ClassAd], number: int, started: float, place: int = 0, suspended: str = ""
) -> RunningTask:
    """A task for the run, from the ads of its parts, the master's first.

    `number` is that of its job in the run, `place` distinguishes it from others of the job.
    """
    task = parts[0]
    resources = str(task.get("Resources", ""))
    pairs = [word.partition("=") for word in resources.split(",") if word]
    request = Request(
        user=str(task.get("User", "")),
        groups=tuple(str(task.get("Groups", "")).split(",")),
        project=str(task.get("Project", "")),
        hard=tuple(Pair(name, text) for name, _, text in pairs),
    )
    slots: dict[str, int] = {}
    for instance, amount in (grant for part in parts for grant in grants_of(part)):
        slots[instance] = slots.get(instance, 0) + amount
    return RunningTask(
        job=number,
        task=place,
        request=request,
        grants=tuple(Grant(instance, amount) for instance, amount in slots.items()),
        submitted=float(task.get("Submitted", started)),
        started=started,
        environment=str(task.get("Environment", "")),
        suspended=suspended,
        priority=int(task.get("Priority", 0)),
        share=int(task.get("Share", 0)),
        override=int(task.get("Override", 0)),
        deadline=float(task.get("Deadline", 0)) or None,
        reservation=int(task.get("Reservation", 0)),
    )
