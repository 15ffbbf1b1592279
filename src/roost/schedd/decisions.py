"""The decisions about jobs in one step of the queue, for the audit record.

The same decision about many jobs is one record that counts them and names their ranges. About few jobs it is one record
each, so that it can be found by job.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.base.records import dataclass, replace
from roost.base.structs import replaced
from roost.model.audit import AuditKind, AuditRecord, Effect, InForce, clipped, some
from roost.model.causes import CauseIds
from roost.model.digests import digest
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.ranges import Ranges

#: Maximum number of jobs of one decision that get one record each.
ALONE_MAX: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A decision, without the job it is about."""

    kind: AuditKind
    effect: Effect = Effect.DONE
    #: The user who ordered it; "" where an expression decided.
    actor: str = ""
    #: The owner of the jobs.
    user: str = ""
    machine: str = ""
    slot: str = ""
    #: The deciding knob or attribute, and its expression.
    knob: str = ""
    expression: str = ""
    reason: str = ""


class Rulings:
    """The decisions of one step."""

    __slots__ = ("_jobs", "_last", "_submissions")

    def __init__(self) -> None:
        self._jobs: dict[Ruling, list[JobId]] = {}
        #: Cluster to the id of the request that submitted it.
        self._submissions: dict[int, str] = {}
        #: The last decision, its user, and its jobs: many jobs in a row have the same.
        self._last: tuple[Ruling, str, list[JobId]] | None = None

    def add(self, ruling: Ruling, user: str, job: JobId, submission: str) -> None:
        """Add a decision about a job that competes under the name `user`, with the id of the request that
        submitted it.
        """
        self._submissions[job.cluster] = submission
        self._of(ruling, user).append(job)

    def add_all(self, ruling: Ruling, user: str, jobs: list[JobId], submission: str) -> None:
        """Add a decision about several jobs of a cluster."""
        self._submissions.update({job.cluster: submission for job in jobs[:1]})
        self._of(ruling, user).extend(jobs)

    def _of(self, ruling: Ruling, user: str) -> list[JobId]:
        if self._last is None or self._last[0] is not ruling or self._last[1] != user:
            self._last = ruling, user, self._jobs.setdefault(replace(ruling, user=user), [])
        return self._last[2]

    def records(self, in_force: InForce, now: float, request: str = "") -> Iterator[AuditRecord]:
        """All records; `request` is the id of the request that ordered the decisions, "" if there was none."""
        for ruling, jobs in self._jobs.items():
            record = _record(ruling, in_force, now)
            if len(jobs) <= ALONE_MAX:
                for job in jobs:
                    ids = self._ids(job, request)
                    yield replaced(record, id=_id(ruling, str(job), now), job=str(job), **ids._asdict())
            else:
                names, different = list(_ranges(jobs)), {self._ids(job, request) for job in jobs}
                shared = different.pop() if len(different) == 1 else CauseIds(request=request)
                yield replaced(
                    record, id=_id(ruling, names[0], now), count=len(jobs), samples=some(names), **shared._asdict()
                )

    def _ids(self, job: JobId, request: str) -> CauseIds:
        submission = self._submissions[job.cluster]
        return CauseIds(submission, request or submission)


def _record(ruling: Ruling, in_force: InForce, now: float) -> AuditRecord:
    return AuditRecord(
        id="",
        kind=ruling.kind,
        at=now,
        until=now,
        effect=ruling.effect,
        actor=ruling.actor,
        user=ruling.user,
        machine=ruling.machine,
        slot=ruling.slot,
        knob=ruling.knob,
        expression=clipped(ruling.expression),
        place=in_force.of(ruling.knob).place,
        configuration=in_force.configuration,
        reason=clipped(ruling.reason),
    )


def _id(ruling: Ruling, name: str, now: float) -> str:
    why = digest(ruling.actor, ruling.knob, ruling.reason, ruling.effect)
    return f"{ruling.kind}/{name}/{why}/{round(now * 1000)}"


def _ranges(jobs: list[JobId]) -> Iterator[str]:
    """Jobs as ``12.0-99``."""
    clusters: dict[int, Ranges] = {}
    for job in jobs:
        clusters.setdefault(job.cluster, Ranges()).add(job.proc)
    for cluster, procs in clusters.items():
        for part in str(procs).split(","):
            yield f"{cluster}.{part}"
