"""What the matchmaker's record says of a job beside slots: fair share, quotas, limits, and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

#: Submitters shown before the one that is asked about.
_BEFORE_MAX: Final = 8
_POLICIES: Final = ("pool-policy-resource", "pool-policy-job", "pool-policy")


def held_up(record: dict[str, Any]) -> str:
    """Why slots that would run the job do not; "" if nothing is in the way."""
    found = list(_held_up(record))
    if len(found) <= 1:
        return "" if not found else found[0][1].replace("are ", "is ", 1) if found[0][0] == 1 else found[0][1]
    return "; ".join(f"{count} {text}" if text.startswith("are ") else f"for {count} {text}" for count, text in found)


def _held_up(record: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Number of slots, and why it is that they do not run it."""
    besides: dict[str, int] = record.get("besides", {})
    if "own-slot" in besides:
        yield besides["own-slot"], "are in use by jobs of the same user"
    if "preemption-requirements" in besides:
        source = record["sources"].get("preemption") or {}
        place = f" [{source['place']}]" if source.get("place") else ""
        text = f"are in use, and may not be taken: PREEMPTION_REQUIREMENTS is not TRUE{place}"
        yield besides["preemption-requirements"], text
    if "priority" in besides:
        yield besides["priority"], "are in use by somebody whose priority is as good"
    limits = [count for cause, count in besides.items() if cause.startswith("concurrency-limit")]
    if limits:
        yield max(limits), "a concurrency limit is reached"
    if "ceiling" in besides:
        yield besides["ceiling"], "its user has as much as it may have at most"
    if "submitter-limit" in besides:
        group = record.get("group")
        full = group is not None and group["used"] >= group["allocated"]
        whose = f"its group {group['name']} has its quota" if group is not None and full else "its user has its share"
        yield besides["submitter-limit"], whose
    if "out of time" in besides:
        yield besides["out of time"], "the cycle's time was over"
    if "job-constraint" in besides:
        yield besides["job-constraint"], "NEGOTIATOR_JOB_CONSTRAINT keeps the job out"


def limits(record: dict[str, Any]) -> Iterator[str]:
    """The limits that are in the way, a sentence each."""
    besides, mine = record.get("besides", {}), _mine(record)
    for each in record.get("limits", ()):
        yield f"Concurrency limit {each['name']}: {each['in_use']:g} of {each['limit']:g} are in use."
    for each in _ceilings(record):
        most, used = f"{each['limit']:g}", f"{each['in_use']:g}"
        yield f"{each['name']} may have at most {most} at once ({each['set_by']}), and has {used}."
    group = record.get("group")
    # Where no slot was free nobody asked for the quota, and it would still be in the way.
    if group is not None and ("submitter-limit" in besides or group["used"] >= group["allocated"]):
        yield (
            f"Group {group['name']} has {group['used']:g} of its quota of {group['quota']:g}"
            f" (allocated in this cycle: {group['allocated']:g})."
        )
    if "submitter-limit" in besides and mine is not None and mine["share"] is not None:
        of = f"the group's {group['allocated']:g}" if group is not None else f"the pool's {record['weight']:g}"
        yield f"The share of {mine['submitter']} is {mine['share']:.4g} of {of}; it has {_has(mine):g}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A submitter in the order in which they are served."""

    submitter: str
    #: Effective priority: the lower is served first.
    priority: float
    #: Weight in use before the cycle, and given by it.
    used: float
    got: float
    #: Weight that is its due; None if the cycle did not come to that.
    share: float | None
    #: Jobs still idle.
    left: int
    #: "ahead", "this job's" or "behind".
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FairShare:
    """The submitters around that of a job."""

    rows: tuple[Share, ...]
    #: Submitters ahead that have no row.
    hidden: int


def fair_share(record: dict[str, Any]) -> FairShare | None:
    """Who is served before the job's submitter; None where it is alone."""
    rows: list[dict[str, Any]] = record["served"]
    place = next((at for at, row in enumerate(rows) if row["submitter"] == record["submitter"]), None)
    if place is None or len(rows) < 2:
        return None
    hidden = max(0, place - _BEFORE_MAX)
    shares = (
        Share(
            submitter=row["submitter"], priority=row["priority"], used=row["used"], got=row["got"], share=row["share"],
            left=row["left"], place="this job's" if at == place else ("ahead" if at < place else "behind"),
        )
        for at, row in enumerate(rows[hidden:], hidden)
    )  # fmt: skip
    return FairShare(rows=tuple(shares), hidden=hidden)


def hints(record: dict[str, Any], causes: set[str], *, edit: str = "", others: Sequence[str] = ()) -> list[str]:
    """What the user or the administrator can do.

    `edit` is a slot that a change of the job would do for, "" for none; `others` are those of which their owners or
    machines keep it.
    """
    found, besides, knob = [], record.get("besides", {}), record.get("knob")
    if knob:
        found.append(f"Nothing, while {knob['name']} says so: ask the pool's administrator.")
        return found
    if record.get("out"):
        return ["Submit the job again without that attribute."]
    if edit:
        found.append(f"Ask for what there is: `roost edit` changes a job that waits, and {edit} might do.")
    if others and "slot-requirements" in causes:
        which = others[0] if len(others) == 1 else f"{others[0]} and {len(others) - 1} more"
        found.append(
            f"Wait: what keeps {which} from the job is not the job's. `roost explain slot {others[0]}` says what "
            "its owner's policy, or its machine, waits for."
        )
    if causes & set(_POLICIES):
        names = [record["sources"][each]["name"] for each in _POLICIES if record["sources"].get(each)]
        found.append(f"The pool's policy ({', '.join(names)}) is the administrator's to change.")
    if any(each.startswith("concurrency-limit") for each in besides):
        names = [f"{each['name'].upper()}_LIMIT" for each in record.get("limits", ())]
        found.append(f"Wait until others are done, or have {', '.join(names) or 'the limit'} raised.")
    setters = dict.fromkeys(each["set_by"] for each in _ceilings(record))
    if setters:
        name = _ceilings(record)[0]["name"]
        found.append(f"Wait until other jobs of {name} are done, or have the ceiling raised ({', '.join(setters)}).")
    group = record.get("group")
    if group is not None and group["used"] >= group["allocated"]:
        knob = f"GROUP_QUOTA_{group['name']}"
        found.append(f"Wait until other jobs of group {group['name']} are done, or have {knob} raised.")
    elif "submitter-limit" in besides or "priority" in besides:
        found.append("Wait: priority gets better while others use more; `roost userprio` shows it.")
    if causes & {"occupied"} or "preemption-requirements" in besides:
        source = record["sources"].get("preemption") or {}
        place = f" [{source['place']}]" if source.get("place") else ""
        text = source.get("text") or "not set"
        found.append(f"Slots are taken from others only as PREEMPTION_REQUIREMENTS ({text}{place}) and RANK permit.")
    if {"preemption-requirements", "own-slot"} & set(besides) or causes & {
        "occupied",
        "claimed",
        "retirement-time",
        "taken",
    }:
        found.append("Wait until a slot is free: `roost status` shows who has them.")
    return found


def _mine(record: dict[str, Any]) -> dict[str, Any] | None:
    return next((row for row in record["served"] if row["submitter"] == record["submitter"]), None)


def _ceilings(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The ceilings in the way of a job: those that are reached; else the lowest one, where it refused a slot."""
    found: list[dict[str, Any]] = record.get("ceilings", [])
    full = [each for each in found if each["in_use"] >= each["limit"]]
    if full or not found or "ceiling" not in record.get("besides", {}):
        return full
    return [min(found, key=lambda each: each["limit"] - each["in_use"])]


def _has(row: dict[str, Any]) -> float:
    return float(row["used"]) + float(row["got"])
