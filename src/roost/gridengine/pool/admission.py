"""Whether a queue accepts jobs under its cell: by their requests, their submitter, and the number of jobs.

Refusals are in Grid Engine's words where it has a message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from roost.classad import ClassAd
from roost.classad.ad import MISSING
from roost.classad.values import UNDEFINED, fold
from roost.gridengine.cell import Cell
from roost.gridengine.objects.configuration import count_of
from roost.gridengine.objects.values import is_none
from roost.gridengine.pool.requests import Reader
from roost.model.cell_requests import ASKED, DEADLINE, DEADLINE_USERS, NAME, OVERRIDE_TICKETS
from roost.schedd.job_source import JobSource

#: Most problems of a submission that are reported at once.
COMPLAINTS_MAX: Final = 5
#: The message for a priority that only operators may give.
RAISED: Final = "job rejected: positive submission priority requires operator privileges"
_ASKED: Final = frozenset(fold(name) for name in ASKED)
_NAME: Final = fold(NAME)
_PRIORITY: Final = fold("JobPrio")
_DEADLINE: Final = fold(DEADLINE)
_TICKETS: Final = fold(OVERRIDE_TICKETS)
#: Values of attributes that mean no request.
NOTHING: Final = (MISSING, UNDEFINED, 0, "")


class Submitter(NamedTuple):
    """The user who submits jobs."""

    user: str
    #: Where.
    host: str
    #: User id on that host; None if unknown.
    uid: int | None = None
    gid: int | None = None
    #: Operating system groups that count in user lists.
    groups: tuple[str, ...] = ()


def barred(cell: Cell, who: Submitter, reader: Reader, clusters: Sequence[JobSource]) -> list[str]:
    """Why the cell does not let a user submit these jobs."""
    found = [*_bars(cell, who)]
    for project in dict.fromkeys(reader.request(one.common).project for one in clusters):
        found.extend(_project_bars(cell, who, project))
    tasks_max = count_of(cell.parameter("max_aj_tasks"))
    if tasks_max and any(one.count > tasks_max for one in clusters):
        found.append(f"you tried to submit a job with more than {tasks_max} tasks")
    return [f"job rejected: {each}" for each in found]


def over_limits(cell: Cell, own: int, present: int) -> list[str]:
    """Why a user with `own` jobs, in a queue with `present` jobs, may not submit another one.

    An array is one job, as in Grid Engine.
    """
    own_max, all_max = count_of(cell.parameter("max_u_jobs")), count_of(cell.parameter("max_jobs"))
    found = []
    if own_max and own >= own_max:
        found.append(f"job rejected: only {own_max} jobs are allowed per user (current job count: {own})")
    if all_max and present >= all_max:
        found.append(f"job rejected: only {all_max} jobs are allowed per cluster")
    return found


def _bars(cell: Cell, who: Submitter) -> Iterator[str]:
    for number, least, called in ((who.uid, "min_uid", "user"), (who.gid, "min_gid", "group")):
        bound = count_of(cell.parameter(least))
        if number is not None and number < bound:
            yield f"your {called} id {number} is lower than minimum {called} id {bound} of cluster configuration"
    if cell.parameter("enforce_user").lower() == "true" and who.user not in cell.users:
        yield f'the user "{who.user}" does not exist'
    allowed, barred = _listed(cell, who, "user_lists"), _listed(cell, who, "xuser_lists")
    if barred or allowed is False:
        yield f"{who.user}@{who.host} is not allowed to submit jobs"


def _listed(cell: Cell, who: Submitter, attribute: str) -> bool | None:
    """Whether a user is in one of the lists that the global configuration names; None if it names none."""
    names = _names(cell, attribute)
    if not names:
        return None
    lists = (cell.user_lists[name] for name in names if name in cell.user_lists)
    return any(one.holds(who.user, who.groups) for one in lists)


def _names(cell: Cell, attribute: str) -> list[str]:
    text = cell.parameter(attribute)
    return [] if is_none(text) else text.replace(",", " ").split()


def _project_bars(cell: Cell, who: Submitter, project: str) -> Iterator[str]:
    allowed, barred = _names(cell, "projects"), _names(cell, "xprojects")
    if not project:
        if cell.parameter("enforce_project").lower() == "true":
            yield "no project assigned to job"
        elif allowed:
            yield "no project was supplied and only certain projects are allowed to submit jobs"
        return
    if project in barred or (allowed and project not in allowed):
        yield f'project "{project}" is not allowed to submit jobs'
    one = cell.projects.get(project)
    if one is None:
        return
    lists = cell.user_lists
    in_acl, in_xacl = (
        any(name in lists and lists[name].holds(who.user, who.groups) for name in names)
        for names in (one.acl, one.xacl)
    )
    if in_xacl or (one.acl and not in_acl):
        yield f'no access to project "{project}" for user "{who.user}"'


def deadline_bars(cell: Cell, user: str, groups: tuple[str, ...], given: ClassAd) -> str:
    """Why a user's jobs may not have the requested deadline; "" if they may, or have none."""
    if given.cell(_DEADLINE) in NOTHING:
        return ""
    listed = cell.user_lists.get(DEADLINE_USERS)
    if listed is not None and listed.holds(user, groups):
        return ""
    return f'job rejected: the user "{user}" is not a deadline initiation user'


def ticket_bars(user: str, given: ClassAd, *, operates: bool) -> str:
    """Why a user may not give jobs override tickets; "" if that is allowed, or none are given."""
    if operates or given.cell(_TICKETS) in NOTHING:
        return ""
    return f'denied: "{user}" must be operator to change amount of override tickets'


def is_raised(cluster: JobSource) -> bool:
    """Whether a job of `qsub` has a priority that only operators may give."""
    priority = cluster.common.cells.get(_PRIORITY)
    return _NAME in cluster.common.cells and isinstance(priority, int | float) and priority > 0


def complaints(reader: Reader, clusters: Sequence[JobSource]) -> list[str]:
    """Problems with the requests of the jobs of clusters."""
    found: dict[str, None] = {}
    for cluster in clusters:
        apart = not _ASKED.isdisjoint(cluster.varying)
        seen: set[tuple[str, ...]] = set()
        for index in range(cluster.count if apart else 1):
            ad = cluster.common.copy()
            for name, value in cluster.differences(index).items() if apart else ():
                ad.put(name, value)
            asked = tuple(str(ad.get(name, "")) for name in ASKED)
            if asked not in seen:
                seen.add(asked)
                found.update(dict.fromkeys(reader.complaints(ad)))
            if len(found) >= COMPLAINTS_MAX:
                return list(found)
    return list(found)
