"""What the negotiator's record says about a job apart from slots: fair share, quotas, limits, and remedies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.base.records import dataclass
from roost.explain.remedies import Remedy, RemedyKind
from roost.model.cycle_answers import CeilingUse, GroupUse, JobInCycle, LimitUse, Served

#: Most submitters shown before the job's own.
_BEFORE_MAX: Final = 8


def held_up(record: JobInCycle) -> str:
    """Why slots that would accept the job do not run it; "" if nothing prevents it."""
    found = list(_held_up(record))
    if len(found) <= 1:
        return "" if not found else found[0][1].replace("are ", "is ", 1) if found[0][0] == 1 else found[0][1]
    return "; ".join(f"{count} {text}" if text.startswith("are ") else f"for {count} {text}" for count, text in found)


def _held_up(record: JobInCycle) -> Iterator[tuple[int, str]]:
    """Number of slots, and why they do not run it."""
    besides = record.besides
    if "own-slot" in besides:
        yield besides["own-slot"], "are in use by jobs of the same user"
    if "preemption-requirements" in besides:
        place = _preemption(record)[1]
        text = f"are in use, and PREEMPTION_REQUIREMENTS is not TRUE{place}"
        yield besides["preemption-requirements"], text
    if "priority" in besides:
        yield besides["priority"], "are in use by users whose priority is at least as good"
    limits = [count for cause, count in besides.items() if cause.startswith("concurrency-limit")]
    if limits:
        yield max(limits), "a concurrency limit is reached"
    if "queue-limit" in besides:
        yield besides["queue-limit"], "its queue has reached its limit (MAX_JOBS_RUNNING, JOB_START_COUNT)"
    if "ceiling" in besides:
        yield besides["ceiling"], "its user is at its ceiling"
    if "submitter-limit" in besides:
        group = record.group
        full = group is not None and group.used >= group.allocated
        whose = (
            f"its group {group.name} is at its quota" if group is not None and full else "its user has its fair share"
        )
        yield besides["submitter-limit"], whose
    if "out of time" in besides:
        yield besides["out of time"], "the cycle ran out of time"
    if "job-constraint" in besides:
        yield besides["job-constraint"], "NEGOTIATOR_JOB_CONSTRAINT excludes the job"


def limits(record: JobInCycle) -> Iterator[str]:
    """The limits that keep the job waiting, one sentence each."""
    besides, mine = record.besides, mine_of(record)
    for each in record.limits:
        name, most = each.name, f"{each.limit:g}"
        if _is_beyond(each):
            yield f"Concurrency limit {name} is {most}, but this job needs {each.wanted:g}."
        else:
            yield f"Concurrency limit {name}: {each.in_use:g} of {most} are in use."
    for ceiling in ceilings_in_the_way(record):
        most, uses, wanted = f"{ceiling.limit:g}", f"{ceiling.in_use:g}", record.too_large
        if _is_above(record, ceiling):
            needs = (
                f"a slot that would run this job counts as {wanted:g}"
                if record.whole
                else (f"this job needs {wanted:g}")
            )
            yield f"{ceiling.name} may use {most} at once ({ceiling.set_by}), but {needs}."
        else:
            yield f"{ceiling.name} is at its ceiling ({ceiling.set_by}): it may use {most} at once, and uses {uses}."
    group = record.group
    # If no slot was free, the quota was not checked, but it would still block the job.
    if group is not None and ("submitter-limit" in besides or group.used >= group.allocated):
        yield (
            f"Group {group.name} uses {group.used:g} of its quota of {group.quota:g}"
            f" (allocated in this cycle: {group.allocated:g})."
        )
    if "submitter-limit" in besides and mine is not None and mine.share is not None:
        of = f"the group's {group.allocated:g}" if group is not None else f"the pool's {record.weight:g}"
        yield f"The share of {mine.submitter} is {mine.share:.4g} of {of}; it uses {_has(mine):g}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A submitter, in the order of service."""

    submitter: str
    #: Effective priority: lower is served first.
    priority: float
    #: Weight in use before the cycle, and weight given in it.
    used: float
    got: float
    #: Its fair share, as weight; None if the cycle did not compute it.
    share: float | None
    #: Jobs still idle.
    left: int
    #: "ahead", "this job's" or "behind".
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FairShare:
    """The submitters served before and after a job's."""

    rows: tuple[Share, ...]
    #: Submitters ahead that are not shown.
    hidden: int


def fair_share(record: JobInCycle) -> FairShare | None:
    """The submitters served before the job's; None if it is the only one."""
    rows = record.served
    place = next((at for at, row in enumerate(rows) if row.submitter == record.submitter), None)
    if place is None or len(rows) < 2:
        return None
    hidden = max(0, place - _BEFORE_MAX)
    shares = (
        Share(
            submitter=row.submitter, priority=row.priority, used=row.used, got=row.got, share=row.share,
            left=row.left, place="this job's" if at == place else ("ahead" if at < place else "behind"),
        )
        for at, row in enumerate(rows[hidden:], hidden)
    )  # fmt: skip
    return FairShare(rows=tuple(shares), hidden=hidden)


def remedies(record: JobInCycle, causes: set[str], name: str = "ID") -> list[Remedy]:
    """What users and administrators can do about limits, priorities and occupied slots; `causes` are those of the slot
    groups."""
    besides = record.besides
    of_limits = list(_of_limits(record, besides))
    # A user at a limit may have no more slots, so freeing those of other users does not help.
    busy = not of_limits and bool(causes & _IN_USE or {"preemption-requirements", "own-slot"} & set(besides))
    if of_limits:
        return [*of_limits, *(_among_own(record, name) if _waiting_helps(record) else ())]
    return [
        *(_of_order(record, name) if busy or {"submitter-limit", "priority"} & set(besides) else ()),
        *(_of_preemption(record) if "occupied" in causes or "preemption-requirements" in besides else ()),
        *((Remedy(kind=RemedyKind.WAIT, text=_WAIT),) if busy else ()),
    ]


_IN_USE: Final = frozenset(("occupied", "claimed", "retirement-time", "given", "taken"))
_WAIT: Final = "Wait until a slot is free: `roost status` shows who is using them."


def _of_limits(record: JobInCycle, besides: dict[str, int]) -> Iterator[Remedy]:
    if any(each.startswith("concurrency-limit") for each in besides):
        found = record.limits
        which = ", ".join(f"{each.name.upper()}_LIMIT" for each in found) or "the limit"
        beyond = [each for each in found if _is_beyond(each)]
        less = ", ".join(f"at most {each.limit:g} of {each.name}" for each in beyond if each.limit > 0)
        none = ", ".join(each.name for each in beyond if each.limit <= 0)
        asked = [f"request {less}"] if less else []
        asked += [f"leave {none} out"] if none else []
        first = f"In concurrency_limits {' and '.join(asked)}" if asked else "Wait until other jobs release it"
        yield _raised(first, which)
    ceilings = ceilings_in_the_way(record)
    if ceilings:
        setters = ", ".join(dict.fromkeys(_quoted(each.set_by) for each in ceilings))
        first = f"Wait until other jobs of {ceilings[0].name} end"
        if any(_is_above(record, each) for each in ceilings):
            # The request does not change the weight of a slot that is given whole.
            first = "" if record.whole else "Request less"
        yield _raised(first, f"the ceiling ({setters})")
    group = record.group
    if group is not None and group_is_full(record):
        first = "" if _is_nothing(group) else f"Wait until other jobs of group {group.name} end"
        yield _raised(first, f"GROUP_QUOTA_{group.name}")


def _raised(first: str, what: str) -> Remedy:
    """A remedy: what the user can do ("" for nothing), and what the administrator can raise."""
    ask = f"sk the administrator to raise {what}."
    return Remedy(kind=RemedyKind.LIMIT, text=f"{first}, or a{ask}" if first else f"A{ask}")


def _waiting_helps(record: JobInCycle) -> bool:
    """Whether the limits stop blocking the job once other jobs have ended."""
    group = record.group
    return not (
        any(_is_beyond(each) for each in record.limits)
        or any(_is_above(record, each) for each in ceilings_in_the_way(record))
        or (group is not None and _is_nothing(group))
    )


def _of_order(record: JobInCycle, name: str) -> Iterator[Remedy]:
    """The order of service: among users by priority, among a user's own jobs by JobPrio."""
    share, mine = fair_share(record), mine_of(record)
    ahead = [] if share is None else [row for row in share.rows if row.place == "ahead"]
    if mine is not None and ahead:
        first = ahead[0]
        text = (
            f"{first.submitter} is served before {mine.submitter}: the lower priority comes first, "
            f"{first.priority:.6g} against {mine.priority:.6g}. Priorities improve while other users use more; "
            "`roost userprio` shows them, and an administrator sets a user's factor with `roost userprio --set-factor`."
        )
        yield Remedy(kind=RemedyKind.PRIORITY, text=text)
    else:
        yield from _among_own(record, name)


def _among_own(record: JobInCycle, name: str) -> Iterator[Remedy]:
    mine = mine_of(record)
    if mine is not None and mine.left > 1:
        text = (
            f"Among the jobs of {mine.submitter}, the highest JobPrio goes first: `roost edit {name} --set JobPrio=N`."
        )
        yield Remedy(kind=RemedyKind.PRIORITY, text=text)


def _of_preemption(record: JobInCycle) -> Iterator[Remedy]:
    text, place = _preemption(record)
    said = f"Slots in use are given to other users only if PREEMPTION_REQUIREMENTS ({text}{place}) and RANK allow it; "
    yield Remedy(kind=RemedyKind.POLICY, text=said + "only the administrator can change these.")


def _preemption(record: JobInCycle) -> tuple[str, str]:
    """PREEMPTION_REQUIREMENTS, and where it was set, in parentheses after a space; "" if unknown."""
    source = record.sources.get("preemption")
    if source is None:
        return "not set", ""
    return source.text or "not set", f" [{source.place}]" if source.place else ""


def mine_of(record: JobInCycle) -> Served | None:
    """How the job's submitter fared; None if it was not served."""
    return next((row for row in record.served if row.submitter == record.submitter), None)


def _quoted(setter: str) -> str:
    """A knob unquoted, a command in backquotes."""
    return f"`{setter}`" if " " in setter else setter


def ceilings_in_the_way(record: JobInCycle) -> list[CeilingUse]:
    """The ceilings that block a job: those that are reached; else the lowest one, if it refused a slot."""
    found = record.ceilings
    full = [each for each in found if each.in_use >= each.limit]
    if full or not found or "ceiling" not in record.besides:
        return full
    return [min(found, key=lambda each: each.limit - each.in_use)]


def _is_beyond(limit: LimitUse) -> bool:
    """Whether a job needs more of a concurrency limit than its maximum."""
    return limit.wanted > limit.limit


def _is_nothing(group: GroupUse) -> bool:
    """Whether a group has no allocation at all."""
    return group.quota <= 0 and not group.accepts


def _is_above(record: JobInCycle, ceiling: CeilingUse) -> bool:
    """Whether a job needs more than a ceiling allows even a user without other jobs."""
    return record.too_large is not None and record.too_large > ceiling.limit


def group_is_full(record: JobInCycle) -> bool:
    """Whether the job's group uses all that it was allocated."""
    group = record.group
    return group is not None and group.used >= group.allocated


def _has(row: Served) -> float:
    return row.used + row.got
