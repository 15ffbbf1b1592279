"""What happened to a job or a slot, from the daemons and the job's event log, for `roost.explain.story`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from roost.classad import ClassAd
from roost.explain.happenings import Happening
from roost.explain.story import job_story, machines, slot_story, submitter
from roost.model.audit import AuditRecord
from roost.model.slot_transition import SlotTransition
from roost.runtime.bus.pool_client import PoolClient
from roost.schedd.event_log.log import LoggedEvent, LogReader
from roost.wire.ads import ad_from
from roost.wire.requests import central, queue
from roost.wire.requests.machine import Story

_JOB: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
#: How long to wait for the audit trail, which is optional for a story, s.
_ANSWER_S: Final = 6.0
#: Maximum number of decisions requested for one story.
_DECISIONS_MAX: Final = 500


def slot_happenings(pool: PoolClient, name: str, limit: int) -> list[Happening]:
    """What happened to a slot or a machine, the last `limit` records of it; 0 for all."""
    slot, _, machine = name.rpartition("@") if "@" in name else (name, "", "")
    if not machine and not slot.lower().startswith("slot"):
        slot, machine = "", name
    records = pool.ask(Story(slot=name if machine or not slot else slot, limit=limit), machine=machine)
    where = machine or str(pool.contact["node"])
    return slot_story(
        f"{slot}@{where}" if slot else "",
        records,
        *_on_record(pool, central.AuditTrail(machine=where, limit=_DECISIONS_MAX)),
    )


def _on_record(pool: PoolClient, *questions: central.AuditTrail) -> list[list[AuditRecord]]:
    """The last audit records for each request; after a request without a reply, none is made."""
    found: list[list[AuditRecord]] = [[] for _ in questions]
    try:
        for number, asked in enumerate(questions):
            found[number] = pool.ask(asked, within_s=_ANSWER_S).records
    except (pool.refused_class, pool.error_class) as error:
        pool.warn(f"the audit trail is missing from this story: {error}")
    return found


def _to_come(pool: PoolClient, name: str) -> str:
    """Why a job is not in the queue yet, if its cluster has its jobs enter the queue a few at a time; "" if not."""
    cluster, _, proc = name.partition(".")
    for ad in pool.ask(queue.Query(jobs=(cluster,), factories=True)):
        count, made = ad.get("TotalSubmitProcs", 0), ad.get("JobMaterializeNextProcId", 0)
        if proc and not made <= int(proc) < count:
            return ""
        limits = {"max_materialize": "JobMaterializeLimit", "max_idle": "JobMaterializeMaxIdle"}
        said = [f"{command} = {ad[key]}" for command, key in limits.items() if key in ad]
        said += {1: ["the cluster is on hold"], 3: ["the cluster is being removed"]}.get(ad["JobMaterializePaused"], [])
        about = f"job {name}" if proc else f"the next job of cluster {cluster}"
        there = f"{made} of the {count} jobs of its cluster are or were ({', '.join(said)})"
        return f"{about} is not in the queue yet: {there}"
    return ""


def job_ad(pool: PoolClient, name: str) -> tuple[str, dict[str, Any]]:
    """The name and the ad of a job, in the queue or in the history; the name of a cluster stands for its only job.

    Raises `error_class`.
    """
    if not _JOB.fullmatch(name):
        raise pool.error_class(f"{name!r} is not a job: write 12.0, or 12 for a cluster of one job")
    found: dict[str, dict[str, Any]] = {}
    for request in (queue.Query(jobs=(name,), limit=2), queue.History(jobs=(name,), limit=2)):
        for row in pool.ask(request):
            found.setdefault(f"{row.get('ClusterId')}.{row.get('ProcId')}", row)
        if found and "." in name:
            break
    if not found and (later := _to_come(pool, name)):
        raise pool.error_class(later)
    if not found:
        what = "job" if "." in name else "cluster"
        raise pool.error_class(f"there is no {what} {name}; `roost queue` and `roost history` list the jobs")
    if len(found) > 1:
        raise pool.error_class(f"cluster {name} has several jobs: name one of them, such as {min(found)}")
    return next(iter(found.items()))


def job_happenings(pool: PoolClient, name: str, *, reads_log: bool = True) -> list[Happening]:
    """What happened to a job. `reads_log`: the requester may read its log as the user of this process."""
    name, data = job_ad(pool, name)
    ad = ad_from(data)
    events = list(_events(pool, ad, name)) if reads_log else []
    knob = "NEGOTIATOR_PE_SCHEDD_ONLY_EXPR"
    kept_out = central.AuditTrail(user=submitter(ad), kinds=("discard",), knob=knob, limit=_DECISIONS_MAX)
    records = [record for machine in machines(ad, events) for record in _transitions(pool, machine, name)]
    decisions, forbidden = _on_record(pool, central.AuditTrail(job=name, limit=_DECISIONS_MAX), kept_out)
    return job_story(name, ad, events=events, records=records, decisions=decisions, kept_out=forbidden)


def _transitions(pool: PoolClient, machine: str, name: str) -> list[SlotTransition]:
    try:
        return pool.ask(Story(job=name), machine=machine)
    except (pool.refused_class, pool.error_class) as error:
        pool.warn(f"the record of {machine} is missing from this story: {error}")
        return []


def _events(pool: PoolClient, ad: ClassAd, name: str) -> Iterator[LoggedEvent]:
    """The events of a job in its log."""
    path = ad.get("UserLog")
    if not isinstance(path, str):
        return
    where = Path(str(ad.get("Iwd", "/"))) / path
    cluster, proc = (int(part) for part in name.split("."))
    reader = LogReader()
    try:
        with where.open("rb") as file:
            while piece := file.read(1 << 20):
                for event in reader.feed(piece):
                    if (event.cluster, event.proc) == (cluster, proc):
                        yield event
    except OSError as error:
        pool.warn(f"{where}: {error.strerror}; the job's log is missing from this story")
