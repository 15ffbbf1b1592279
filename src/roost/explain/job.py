"""Why a job waits, is held, or is wherever it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from roost.classad import ClassAd
from roost.explain import limits
from roost.explain.happenings import of_audit
from roost.explain.verdict import Origins, Verdict, verdict
from roost.schedd.status import ON_MACHINE, JobStatus

#: Attributes that the data of a job that is not idle repeats.
_REPEATED: Final = (
    "JobStatus", "HoldReason", "HoldReasonCode", "HoldReasonSubCode", "RemoteHost", "RemoveReason", "ExitCode",
    "ExitSignal", "EnteredCurrentStatus",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFacts:
    """What the pool has, for a job that no cycle has looked at."""

    has_slots: bool = True
    #: Cycles since the negotiator started.
    cycles: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuestion:
    """All that is known of a job, by those who know it."""

    name: str
    ad: ClassAd
    #: What its queue says of an idle job: ``claim``, ``pause``, ``at_once``, ``rejection``.
    asked: Mapping[str, Any] = field(default_factory=dict)
    #: The record of the last cycle; None where the cycle was not asked for the job.
    record: dict[str, Any] | None = None
    #: Ads of `roost.explain.verdict.slots_to_trace`.
    slots: Mapping[str, ClassAd] = field(default_factory=dict)
    origins: Origins = lambda name: {}
    #: Decisions on record that led to its state.
    decided: Sequence[dict[str, Any]] = ()
    pool: PoolFacts = field(default_factory=PoolFacts)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAnswer:
    """Why a job is where it is."""

    job: str
    owner: str
    status: JobStatus
    #: When it came to this status, epoch s; 0 if that is not known.
    since: float
    #: Attributes of a job that is not idle that say how it came there.
    attributes: Mapping[str, Any] = field(default_factory=dict)
    #: Why it left a machine before, and why a machine that it was matched with refused it; "" if neither happened.
    vacated: str = ""
    refused: str = ""
    #: The slot that is claimed for it, the stage of that, and since when.
    claim: Mapping[str, Any] | None = None
    #: Slots in a row on which its cluster did not begin, and until when its queue asks for none.
    pause: Mapping[str, Any] | None = None
    #: Jobs of its cluster that may be at work at a time, if that is what it waits for; else 0.
    at_once: int = 0
    #: What the last cycle made of it; None if that was not asked for it.
    verdict: Verdict | None = None
    #: Why there is no verdict, a sentence each.
    unknown: tuple[str, ...] = ()
    #: Who or what decided that it is held or removed, a line each.
    decided: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    @property
    def is_well(self) -> bool:
        """Whether it ran, runs, is about to, or would run if a cycle came now."""
        if self.status is JobStatus.IDLE:
            fits = self.verdict is not None and bool(self.verdict.fits) and not self.at_once
            return bool(self.claim) or fits
        return self.status is JobStatus.COMPLETED or self.status in ON_MACHINE

    def data(self) -> dict[str, Any]:
        """As JSON."""
        if self.status is not JobStatus.IDLE:
            return {"job": self.job, **self.attributes}
        found = {} if self.verdict is None else self.verdict.data()
        about = {"claim": self.claim, "pause": self.pause, "at_once": self.at_once or None}
        return {"job": self.job, "status": "idle", **about, **found}


def explain_job(question: JobQuestion) -> JobAnswer:
    """Why a job is where it is."""
    ad = question.ad
    status = JobStatus(int(ad.get("JobStatus", JobStatus.IDLE)))
    common: dict[str, Any] = {"job": question.name, "owner": str(ad.get("Owner", "?")), "status": status}
    if status is not JobStatus.IDLE:
        since = float(ad.get("EnteredCurrentStatus") or ad.get("CompletionDate") or 0)
        decided = [line for record in question.decided for line in of_audit(record).why]
        attributes = {name: value for name in _REPEATED if isinstance(value := ad.get(name), bool | int | float | str)}
        return JobAnswer(**common, since=since, attributes=attributes, decided=tuple(decided))
    asked = question.asked
    found = None
    if question.record is not None:
        found = verdict(ad, question.record, question.slots, question.origins)
    return JobAnswer(
        **common,
        since=float(ad.get("EnteredCurrentStatus") or 0),
        vacated=_text(ad, "LastVacateReason") or _text(ad, "VacateReason"),
        refused=_text(ad, "LastRejMatchReason"),
        claim=asked.get("claim"),
        pause=asked.get("pause"),
        at_once=int(asked.get("at_once") or 0),
        verdict=found,
        unknown=() if found is not None or asked.get("claim") else tuple(_unknown(question)),
        hints=() if found is None or found.fits else tuple(_hints(found)),
    )


def _unknown(question: JobQuestion) -> list[str]:
    """Why the last cycle has nothing on a job."""
    if not question.pool.has_slots:
        return ["There is no slot in the pool: `roost status --daemons` says what runs on this machine."]
    if question.pool.cycles:
        said = "The matchmaker's last cycle was not asked for it: it is new, or a slot is on its way to it."
    else:
        said = "The matchmaker has not looked at anything yet: it does as soon as there are slots and jobs."
    rejection = question.asked.get("rejection")
    return [said, f"What its queue heard last: {rejection}."] if rejection else [said]


def _hints(found: Verdict) -> list[str]:
    return limits.hints(found.record, found.causes, edit=found.by_edit, others=found.others)


def _text(ad: ClassAd, name: str) -> str:
    value = ad.get(name)
    return value if isinstance(value, str) else ""
