"""What happened to a job or a slot, in order, with the reasons.

A job's story is its event log, where it has one, else its ad; the records that the machines it ran on keep of their
slots; and the audit trail, which knows who or what decided. A slot's story is its machine's record, with what was
ordered of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from roost.classad import ClassAd
from roost.explain.happenings import Happening, of_audit, of_event, of_records
from roost.schedd.event_log import LoggedEvent
from roost.schedd.status import JobStatus

Record = dict[str, Any]

#: Attributes that the story of a job without a log is told from: name to what happened then.
_FROM_AD: Final = {"QDate": "submitted", "JobStartDate": "started first", "CompletionDate": "finished"}
#: Kinds of decisions to how the event begins that each leads to, within this time, s.
_LED_TO: Final = {"hold": "put on hold", "release": "released", "removal": "removed", "eviction": "evicted"}
_NEAR_S: Final = 2.0
#: Decisions that a slot's story has, beside its own transitions.
_OF_SLOTS: Final = ("preemption", "drain", "command", "match")
#: What came of decisions that are told.
_TOLD: Final = ("done", "refused")


def job_story(
    name: str,
    ad: ClassAd,
    *,
    events: Sequence[LoggedEvent],
    records: Iterable[Record],
    decisions: Iterable[Record],
    kept_out: Iterable[Record],
) -> list[Happening]:
    """The story of a job.

    `events` are those of its log, `records` its transitions on machines, `decisions` the audit trail's records of it,
    and `kept_out` those of its submitter that kept jobs out of matchmaking.
    """
    told = [each for each in map(of_event, events) if each is not None] if events else list(_dates(ad, name))
    # What the job's log says itself, its slot need not say again without a reason.
    told += [each for each in of_records(records) if each.why or not events]
    of_it = [*decisions, *(each for each in kept_out if _was_there(ad, each))]
    told = _with_decisions(told, [each for each in of_it if _is_told(each)], name)
    return sorted(told, key=lambda each: each.at)


def slot_story(slot: str, records: Iterable[Record], decisions: Iterable[Record]) -> list[Happening]:
    """The story of a slot, or of a machine where `slot` is ""."""
    decided = [each for each in decisions if _is_told(each) and _belongs(each, slot)]
    return sorted([*of_records(records, passing=True), *map(of_audit, decided)], key=lambda each: each.at)


def submitter(ad: ClassAd) -> str:
    """The submitter whose job it is, as the negotiator names it."""
    group, user = ad.get("AccountingGroup"), str(ad.get("User", ""))
    if not isinstance(group, str) or not group:
        return user
    return group if "@" in group else f"{group}@{user.partition('@')[2]}"


def machines(ad: ClassAd, events: Iterable[LoggedEvent]) -> list[str]:
    """The machines that a job has been on, as far as is known."""
    slots = [ad.get("RemoteHost"), ad.get("LastRemoteHost")]
    slots += [getattr(each.event, "slot_name", "") for each in events]
    return list(dict.fromkeys(each.rpartition("@")[2] for each in slots if isinstance(each, str) and each))


def _is_told(record: Mapping[str, Any]) -> bool:
    return str(record.get("effect", "done")) in _TOLD


def _belongs(record: Mapping[str, Any], slot: str) -> bool:
    """Whether a decision is part of the story of a slot, or of a machine. Its own record tells more of evictions."""
    if record["kind"] not in _OF_SLOTS:
        return False
    names = [str(record.get("slot", "")), *map(str, record.get("samples", ()))]
    return not slot or not any(names) or slot in names


def _was_there(ad: ClassAd, record: Mapping[str, Any]) -> bool:
    """Whether a job was in the queue while a decision was in force."""
    began, ended = float(ad.get("QDate") or 0), float(ad.get("CompletionDate") or math.inf)
    return bool(record["until"] >= began and record["at"] <= ended)


def _with_decisions(told: list[Happening], decisions: Iterable[Record], name: str) -> list[Happening]:
    """What happened, with who or what decided it: beside the event that it led to, or for itself."""
    for record in decisions:
        said = of_audit(record)
        if said.kind != "job" and record["kind"] == "eviction" and not (record.get("actor") or record.get("user")):
            # The machine's own record of that transition has the reasons, but not who gets the slot.
            continue
        if said.kind == "job":
            said = said._replace(who=f"job {name}")
        word = _LED_TO.get(str(record["kind"]))
        near = [at for at, each in enumerate(told) if word and _is_near(each, word, said.at)]
        if near:
            at = min(near, key=lambda each: abs(told[each].at - said.at))
            told[at] = told[at]._replace(why=(*told[at].why, *said.why))
        else:
            told.append(said)
    return told


def _is_near(told: Happening, word: str, at: float) -> bool:
    return told.kind == "job" and told.what.startswith(word) and abs(told.at - at) <= _NEAR_S


def _dates(ad: ClassAd, name: str) -> Iterator[Happening]:
    for attribute, what in _FROM_AD.items():
        at = ad.get(attribute)
        if isinstance(at, int | float) and at > 0:
            yield Happening(float(at), f"job {name}", what, kind="job")
    entered = float(ad.get("EnteredCurrentStatus") or 0)
    if ad.get("JobStatus") == JobStatus.HELD:
        said = f"put on hold (code {ad.get('HoldReasonCode', 0)}): {ad.get('HoldReason', '')}"
        yield Happening(entered, f"job {name}", said, kind="job")
    if ad.get("JobStatus") == JobStatus.REMOVED:
        yield Happening(entered, f"job {name}", f"removed: {ad.get('RemoveReason', '')}", kind="job")
