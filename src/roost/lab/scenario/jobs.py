"""Compares what a scenario expects of its jobs with the queue."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from roost.classad import ClassAd, Value, parse_expression, unparse_value
from roost.classad.world import FixedWorld
from roost.lab.scenario.values import JobExpectation
from roost.schedd.status import JobStatus
from roost.sim.queue.queue import Queue

#: Events of a job's log that are compared: number to the name in scenario files.
LOGGED: Final[Mapping[int, str]] = {
    0: "submit",
    1: "execute",
    4: "evicted",
    5: "terminated",
    7: "shadow_exception",
    9: "aborted",
    10: "suspended",
    11: "unsuspended",
    12: "held",
    13: "released",
    24: "reconnect_failed",
}
#: Job statuses with different names in scenarios.
_PLACES: Final = {JobStatus.TRANSFERRING_OUTPUT: "running"}
#: Status to the attribute with its reason, and the text that introduces it.
_WHY: Final = {
    JobStatus.HELD: ("HoldReason", "is held"),
    JobStatus.REMOVED: ("RemoveReason", "was removed"),
    JobStatus.IDLE: ("VacateReason", "is idle again because its last run was ended"),
}
_EVENT: Final = re.compile(r"^(\d{3}) \(", re.MULTILINE)

#: Whether a value equals the expected one.
Equals = Callable[[Any, Value], bool]


def misses(each: JobExpectation, name: str, queue: Queue, now: float, equals: Equals) -> Iterator[tuple[str, str]]:
    """What was expected of a job and what was found instead, one line each. `name` is the queue's name."""
    job, status = f"job {each.job}", queue.status.get(name)
    found = _absent(name, queue) if status is None else _PLACES.get(status, status.name.lower())
    if name in queue.refused:
        found = f"refused: {queue.refused[name]}"
    if each.status is not None and each.status != found.partition(":")[0]:
        yield f"{job} {each.status}", f"{job} {found}"
    ad = queue.any_ad_of(name) or ClassAd()
    for what, wanted, attribute in (
        ("starts", each.starts, "NumJobStarts"),
        ("exits", each.exits, "NumJobCompletions"),
    ):
        count = ad.get(attribute, 0)
        if wanted is not None and wanted != count:
            yield f"{job}: {wanted} {what}", f"{job}: {count} {what}"
    if each.log is not None and each.log != (log := logged(queue, name)):
        yield f"{job}: log {', '.join(each.log) or 'empty'}", f"{job}: log {', '.join(log) or 'empty'}"
    for text, wanted in each.values:
        value = ad.eval_expr(parse_expression(text), None, FixedWorld(instant=now))
        if not equals(wanted, value):
            yield f"{job}: {text} = {wanted}", f"{job}: {text} = {unparse_value(value)}"


def _absent(name: str, queue: Queue) -> str:
    """The place of a job that never was in the queue."""
    return "to_come" if name in queue.ids else "not submitted"


def why_there(job: str, name: str, queue: Queue) -> str:
    """Why a job is held, was removed, or waits again, from its ad; "" if the ad does not say."""
    ad, status = queue.any_ad_of(name) or ClassAd(), queue.status.get(name)
    attribute, what = _WHY.get(status, ("", "")) if status is not None else ("", "")
    reason = ad.get(attribute)
    return f"Job {job} {what}: {reason}" if isinstance(reason, str) and reason else ""


def logged(queue: Queue, name: str) -> tuple[str, ...]:
    """The events of a job's log, in order, except those that only report measurements or file transfers."""
    numbers = (int(number) for number in _EVENT.findall("".join(queue.logs.get(name, ()))))
    return tuple(LOGGED[number] for number in numbers if number in LOGGED)
