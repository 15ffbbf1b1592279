"""Why an idle job does not run, in a fixed vocabulary, the cause closest to running first.

A job needs one slot. So the slots that count first are those that would run it except for a limit or another user; then
those that are closed or whose owners reserve them; then those that the pool's policy forbids; and only if there are no
others, those that the job's own requirements reject.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from roost.explain.edits import EditKind
from roost.explain.limits import ceilings_in_the_way, group_is_full
from roost.explain.verdict import Verdict
from roost.model.cycle_answers import JobInCycle


class Cause(StrEnum):
    """Why an idle job does not run."""

    #: A slot is claimed or requested for it.
    MATCHED = "matched"
    #: Slots were claimed for jobs of its cluster, but the jobs did not start there.
    NOT_STARTING = "not-starting"
    #: The cluster already has as many jobs in the queue as max_materialize permits.
    MATERIALIZE_LIMIT = "materialize-limit"
    #: Its queue requests no more slots: MAX_JOBS_RUNNING, or JOB_START_COUNT.
    QUEUE_LIMIT = "queue-limit"
    #: It has a start time that has not come yet or is past.
    DEFERRED = "deferred"
    DEFERRAL_MISSED = "deferral-missed"
    #: START_LOCAL_UNIVERSE or START_SCHEDULER_UNIVERSE is not TRUE.
    LOCAL_POLICY = "local-policy"
    NO_SLOTS = "no-slots"
    NO_CYCLE = "no-cycle"
    #: No cycle has considered it yet.
    NEW = "new"
    #: The scheduling run of the pool's Grid Engine cell did not start it.
    CELL = "cell"
    #: It would get a slot if a cycle ran now.
    READY = "ready"
    CONCURRENCY_LIMIT = "concurrency-limit"
    USER_CEILING = "user-ceiling"
    GROUP_QUOTA = "group-quota"
    FAIR_SHARE = "fair-share"
    #: The slots are used by users whose priority is at least as good.
    PRIORITY = "priority"
    PREEMPTION_REQUIREMENTS = "preemption-requirements"
    #: The slots are used by jobs of the same user.
    OWN_JOBS = "own-jobs"
    OUT_OF_TIME = "out-of-time"
    JOB_CONSTRAINT = "job-constraint"
    RETIREMENT = "retirement"
    BUSY = "busy"
    NOT_OFFERED = "not-offered"
    DRAINED = "drained"
    SLOT_CLOSED = "slot-closed"
    #: A slot's START or another part of its requirements.
    MACHINE_POLICY = "machine-policy"
    POOL_POLICY = "pool-policy"
    #: The ad has an attribute named like a scope.
    DISCARDED = "discarded"
    SLOT_CONSTRAINT = "slot-constraint"
    #: The job requests more than any slot has.
    REQUEST_TOO_LARGE = "request-too-large"
    #: It requests a resource that no slot has any of.
    NO_SUCH_RESOURCE = "no-such-resource"
    #: Its requirements name an attribute that no ad has.
    MISSPELT = "misspelt"
    REQUIREMENTS = "requirements"


#: Causes in the record that are not about slots, in order of precedence.
_BESIDES: Final = (
    ("queue-limit", Cause.QUEUE_LIMIT),
    ("ceiling", Cause.USER_CEILING),
    ("preemption-requirements", Cause.PREEMPTION_REQUIREMENTS),
    ("priority", Cause.PRIORITY),
    ("own-slot", Cause.OWN_JOBS),
    ("out of time", Cause.OUT_OF_TIME),
    ("job-constraint", Cause.JOB_CONSTRAINT),
)
_GROUPS: Final = (
    ("retirement-time", Cause.RETIREMENT),
    ("occupied", Cause.BUSY),
    ("claimed", Cause.BUSY),
    ("given", Cause.BUSY),
    ("taken", Cause.BUSY),
    ("no-claim-offered", Cause.NOT_OFFERED),
)
_LAST: Final = (
    ("pool-policy-resource", Cause.POOL_POLICY),
    ("pool-policy-job", Cause.POOL_POLICY),
    ("constraint", Cause.SLOT_CONSTRAINT),
)


def causes_of(verdict: Verdict) -> list[Cause]:
    """The causes in a cycle's verdict, each once."""
    if knob := verdict.record.knob:
        return [Cause.JOB_CONSTRAINT if knob.name == "NEGOTIATOR_JOB_CONSTRAINT" else Cause.POOL_POLICY]
    if verdict.record.out:
        return [Cause.DISCARDED]
    if verdict.fits:
        return [Cause.READY]
    return list(dict.fromkeys((*_limits(verdict.record), *_slots(verdict))))


def _limits(record: JobInCycle) -> Iterator[Cause]:
    besides = record.besides
    if any(each.startswith("concurrency-limit") for each in besides):
        yield Cause.CONCURRENCY_LIMIT
    if ceilings_in_the_way(record):
        yield Cause.USER_CEILING
    if group_is_full(record):
        yield Cause.GROUP_QUOTA
    elif "submitter-limit" in besides:
        yield Cause.FAIR_SHARE
    for name, cause in _BESIDES:
        if name in besides:
            yield cause


def _slots(verdict: Verdict) -> Iterator[Cause]:
    found = verdict.causes
    for name, cause in _GROUPS:
        if name in found:
            yield cause
    if verdict.when_free:
        yield Cause.BUSY
    if "slot-requirements" in found:
        shut = set(verdict.shut.values())
        if any(each.startswith("its machine is draining") for each in shut):
            yield Cause.DRAINED
        if any(not each.startswith("its machine is draining") for each in shut):
            yield Cause.SLOT_CLOSED
        open_ones = {slot for group in verdict.groups if group.cause == "slot-requirements" for slot in group.slots}
        if open_ones - set(verdict.shut) - set(verdict.when_free):
            yield Cause.MACHINE_POLICY
    for name, cause in _LAST:
        if name in found:
            yield cause
    if "pool-policy" in found:
        yield Cause.POOL_POLICY
    if "job-requirements" in found:
        yield from _requirements(verdict)


def _requirements(verdict: Verdict) -> Iterator[Cause]:
    kinds = {each.kind for each in verdict.edit.changes} if verdict.edit is not None else set()
    if verdict.misspelt:
        yield Cause.MISSPELT
    if EditKind.LOWERED in kinds:
        yield Cause.REQUEST_TOO_LARGE
    if EditKind.DROPPED in kinds:
        yield Cause.NO_SUCH_RESOURCE
        return
    if not verdict.misspelt and kinds != {EditKind.LOWERED} and not verdict.when_free:
        yield Cause.REQUIREMENTS
