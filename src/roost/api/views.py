"""The content of each page: the replies of calls, arranged for its template."""

from __future__ import annotations

import shlex
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from roost.api.calls import Site
from roost.api.feed import SlotNow
from roost.api.people import Person
from roost.api.problems import Problem
from roost.model.command_line import CommandLineError, split_old, split_raw
from roost.schedd.status import JobStatus

if TYPE_CHECKING:
    from starlette.requests import Request


#: Maximum number of slots shown as one cell each; in a larger pool a cell is a machine.
CELLS_MAX: Final = 6_000
#: Number of bytes of a job's output that its page begins with.
_OUTPUT_BYTES: Final = 16 * 1024
#: Rows of a page.
ROWS: Final = 100
#: The attributes that the list of jobs needs.
_OF_JOBS: Final = (
    "Owner", "JobStatus", "QDate", "Cmd", "JobBatchName", "RemoteHost", "HoldReason", "JobPrio", "MemoryUsage",
    "RequestMemory", "EnteredCurrentStatus",
)  # fmt: skip
_STATUS: Final = {int(each): str(each.name).replace("_", " ").lower() for each in JobStatus}
#: The actions on a job by status, for the buttons of its page.
_ACTIONS: Final = {
    JobStatus.IDLE: ("hold", "remove"),
    JobStatus.RUNNING: ("hold", "suspend", "vacate", "remove"),
    JobStatus.SUSPENDED: ("continue", "vacate", "hold", "remove"),
    JobStatus.HELD: ("release", "remove"),
    JobStatus.TRANSFERRING_OUTPUT: ("hold", "remove"),
}
#: States of slots in the order in which they are counted, with the look of their cells.
STATES: Final = {
    "Claimed": "claimed", "Unclaimed": "unclaimed", "Owner": "owner", "Matched": "matched", "Preempting": "preempting",
    "Backfill": "backfill", "Drained": "drained",
}  # fmt: skip

View = tuple[str, dict[str, Any]]


class Ad(dict[str, Any]):
    """An ad in which a missing attribute is None."""

    def __missing__(self, name: str) -> None:
        return None


class Asker(NamedTuple):
    """A person who views a page."""

    site: Site
    person: Person

    def reply(self, path: str, query: dict[str, Any] | None = None, **parts: str) -> Any:
        """The reply of a call of the API, as JSON. Raises Problem."""
        return self.site.called("GET", path, self.person, parts, query or {})


def _pages(asked: Request, path: str, following: str | None) -> str | None:
    """The address of the next page."""
    if following is None:
        return None
    kept = {name: value for name, value in asked.query_params.items() if name != "cursor"}
    return f"{path}?{urlencode(kept | {'cursor': following})}"


# -- the pool ------------------------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """A slot or a machine in the overview."""

    name: str
    look: str
    title: str
    address: str


def _cells(slots: Iterable[SlotNow]) -> list[Cell]:
    found = sorted(slots, key=lambda slot: (slot.machine, slot.name))
    if len(found) <= CELLS_MAX:
        return [_cell(slot) for slot in found]
    machines: dict[str, list[SlotNow]] = {}
    for slot in found:
        machines.setdefault(slot.machine, []).append(slot)
    return [_machine_cell(name, its) for name, its in machines.items()]


def _cell(slot: SlotNow) -> Cell:
    look = look_of(slot.state, slot.activity)
    what = f"{slot.name}: {slot.state}/{slot.activity}"
    what += f", {slot.user}" if slot.user else ""
    return Cell(slot.name, look, what, f"/slots/{quote(slot.name)}")


def _machine_cell(name: str, slots: list[SlotNow]) -> Cell:
    states = Counter(slot.state for slot in slots)
    state, _ = states.most_common(1)[0]
    what = f"{name}: " + ", ".join(f"{number} {each}" for each, number in states.most_common())
    return Cell(name, look_of(state, ""), what, f"/machines?{urlencode({'machine': name})}")


def look_of(state: str, activity: str) -> str:
    """The class of a cell: its state and, if more informative, its activity."""
    look = STATES.get(state, "unknown")
    return f"{look} {activity.lower()}" if activity in ("Suspended", "Retiring", "Vacating", "Killing") else look


def pool(asker: Asker, request: Request) -> View:
    """Every slot as a cell, job totals, and problems."""
    slots = asker.site.server.feed.slots()
    figures = asker.reply("/pool")
    cycle = asker.reply("/cycle")
    causes: Counter[str] = Counter()
    for rejected in cycle["rejections"].values():
        causes.update(rejected["causes"])
    held = asker.reply("/jobs", {"status": str(int(JobStatus.HELD)), "projection": ",".join(_OF_JOBS), "limit": "5"})
    return "pool.html", {
        "active": "pool",
        "cells": _cells(slots.values()),
        "by_machine": len(slots) > CELLS_MAX,
        "number": asker.site.server.feed.number,
        "figures": figures,
        "states": [(state, look, figures["slots"].get(state, 0)) for state, look in STATES.items()],
        "rejections": cycle["rejections"],
        "causes": causes.most_common(8),
        "held": [Ad(row) for row in held["items"]],
    }


# -- jobs ----------------------------------------------------------------------------------------------------------


def jobs(asker: Asker, request: Request) -> View:
    """Jobs in the queue, with filters."""
    given = request.query_params
    query = {name: given[name] for name in ("owner", "status", "constraint", "cursor") if given.get(name)}
    page = asker.reply("/jobs", query | {"projection": ",".join(_OF_JOBS), "limit": str(ROWS)})
    return "jobs.html", {
        "active": "jobs",
        "rows": [Ad(row) for row in page["items"]],
        "given": {name: given.get(name, "") for name in ("owner", "status", "constraint")},
        "statuses": _STATUS,
        "counts": asker.reply("/pool")["jobs"],
        "following": _pages(request, "/jobs", page["next_cursor"]),
        "now": time.time(),
    }


def job(asker: Asker, request: Request) -> View:
    """A job with its story and the explanation of its state."""
    name = request.path_params["id"]
    ad = Ad(asker.reply("/jobs/{id}", id=name))
    name = f"{ad['ClusterId']}.{ad['ProcId']}"
    status = int(ad.get("JobStatus", 0))
    is_own = asker.person.name == ad.get("Owner") or asker.person.role.word in ("operator", "administrator")
    return "job.html", {
        "active": "jobs",
        "name": name,
        "ad": ad,
        "status": _STATUS.get(status, "?"),
        "explanation": Ad(asker.reply("/jobs/{id}/explanation", id=name)),
        "story": asker.reply("/jobs/{id}/story", id=name),
        "output": [_output(asker, name, stream) for stream in ("out", "err")] if is_own else [],
        "actions": _ACTIONS.get(JobStatus(status), ()) if is_own and asker.person.role.word != "reader" else (),
        "resources": _resources(ad),
    }


def _output(asker: Asker, name: str, stream: str) -> dict[str, Any]:
    """The end of a job's output, for its page."""
    try:
        found = asker.reply("/jobs/{id}/output", {"stream": stream, "offset": str(-_OUTPUT_BYTES)}, id=name)
    except Problem as problem:
        found = {"missing": problem.detail}
    data = b64decode(found.get("data", ""))
    cut = found.get("offset", 0) > 0
    # A line without its beginning is not useful.
    text = data.partition(b"\n")[2] if cut else data
    return {
        "stream": stream,
        "text": text.decode("utf-8", "replace"),
        "cut": cut,
        "path": found.get("path", ""),
        "missing": found.get("missing", ""),
        "ended": found.get("ended", True),
        "next": found.get("offset", 0) + len(data),
    }


def _resources(ad: dict[str, Any]) -> list[tuple[str, Any, Any, float | None]]:
    """The resources of a job: name, requested, used, and the used fraction."""
    found: list[tuple[str, Any, Any, float | None]] = []
    for title, asked, used in (
        ("CPUs", "RequestCpus", "CpusUsage"),
        ("Memory (MB)", "RequestMemory", "MemoryUsage"),
        ("Disk (KB)", "RequestDisk", "DiskUsage"),
    ):
        wanted, has = ad.get(asked), ad.get(used)
        part = None
        if isinstance(wanted, int | float) and isinstance(has, int | float) and wanted:
            part = min(1.0, has / wanted)
        found.append((title, wanted, has, part))
    return found


# -- machines ------------------------------------------------------------------------------------------------------


def machines(asker: Asker, request: Request) -> View:
    """The slots, machine by machine."""
    wanted, state = request.query_params.get("machine", ""), request.query_params.get("state", "")
    slots = sorted(asker.site.server.feed.slots().values(), key=lambda slot: (slot.machine, slot.name))
    chosen = [slot for slot in slots if wanted.lower() in slot.machine.lower() and (not state or slot.state == state)]
    first = int(found) if (found := request.query_params.get("first", "0")).isdigit() and len(found) < 9 else 0
    return "machines.html", {
        "active": "machines",
        "rows": chosen[first : first + ROWS],
        "count": len(chosen),
        "first": first,
        "machine": wanted,
        "state": state,
        "states": list(STATES),
        "following": f"/machines?{urlencode({'machine': wanted, 'state': state, 'first': first + ROWS})}"
        if len(chosen) > first + ROWS
        else None,
    }


def slot(asker: Asker, request: Request) -> View:
    """A slot: why it is in its state, what would change it, and what happened to it."""
    name = request.path_params["name"]
    explanation = Ad(asker.reply("/slots/{name}/explanation", name=name))
    story = asker.reply("/slots/{name}/story", {"limit": "200"}, name=name)
    return "slot.html", {
        "active": "machines",
        "name": explanation["slot"] or name,
        "explanation": explanation,
        "story": story,
        "timeline": _timeline(asker, request, explanation["slot"] or name),
        "may_operate": asker.person.role.word in ("operator", "administrator"),
    }


#: Hours that a timeline may show, and the distance between its marks, s.
HOURS: Final = {1: 600, 6: 3600, 24: 14_400, 168: 86_400}
#: Width of a timeline, %.
_WIDE: Final = 100


def _timeline(asker: Asker, request: Request, name: str) -> dict[str, Any] | None:
    """The states of a slot over time as a picture: bars, marks, and the time in each state."""
    given = request.query_params.get("hours", "24")
    hours = int(given) if given in map(str, HOURS) else 24
    try:
        found = asker.reply("/slots/{name}/timeline", {"hours": str(hours)}, name=name)
    except Problem:
        return None
    since, now = found["since"], found["now"]
    scale = _WIDE / (now - since)
    bars, spent = [], Counter[str]()
    for stay in found["stays"]:
        what = f"{stay['state']}/{stay['activity']}" + (f", job {stay['job']}" if stay.get("job") else "")
        spent[stay["state"]] += stay["end"] - stay["begin"]
        text = f"{what}: {clock(stay['begin'])} to {clock(stay['end'])} UTC, {duration(stay['end'] - stay['begin'])}"
        at, wide = (stay["begin"] - since) * scale, (stay["end"] - stay["begin"]) * scale
        bars.append((at, max(wide, 0.05), look_of(stay["state"], stay["activity"]), text, stay.get("job", "")))
    step = HOURS[hours]
    first = (int(since) // step + 1) * step
    form = "%m-%d" if step >= 86_400 else "%H:%M"
    marks = [((at - since) * scale, time.strftime(form, time.gmtime(at))) for at in range(first, int(now), step)]
    total = sum(spent.values())
    shares = [(state, look_of(state, ""), seconds / total) for state, seconds in spent.most_common() if total]
    return {"hours": hours, "choices": list(HOURS), "bars": bars, "marks": marks, "shares": shares}


# -- users, decisions, policy --------------------------------------------------------------------------------------


def users(asker: Asker, request: Request) -> View:
    """Priorities and usage."""
    rows = [Ad(row) for row in asker.reply("/users")]
    rows.sort(key=lambda row: float(row["Priority"] or 0))
    users = [row for row in rows if row["IsAccountingGroup"] is not True]
    whole = sum(float(row["WeightedAccumulatedUsage"] or 0) for row in users)
    return "users.html", {"active": "users", "rows": users, "whole": whole}


_OF_DECISIONS: Final = ("user", "machine", "job", "knob", "kinds")


def decisions(asker: Asker, request: Request) -> View:
    """The audit trail."""
    given = request.query_params
    query = {name: given[name] for name in _OF_DECISIONS if given.get(name)}
    page = asker.reply("/audit", query | {"limit": str(ROWS)})
    from roost.model.audit import AuditKind

    return "decisions.html", {
        "active": "decisions",
        "rows": page["records"],
        "given": {name: given.get(name, "") for name in _OF_DECISIONS},
        "kinds": [str(each) for each in AuditKind],
        "counts": Counter(each["kind"] for each in page["records"]).most_common(),
    }


VIEWS: Final[tuple[tuple[str, Callable[[Asker, Request], View]], ...]] = (
    ("/", pool),
    ("/jobs", jobs),
    ("/jobs/{id}", job),
    ("/machines", machines),
    ("/slots/{name}", slot),
    ("/users", users),
    ("/decisions", decisions),
)


def act(asker: Asker, given: dict[str, str]) -> str:
    """Carry out a form; return the path of the page to show next. Raises Problem."""
    action, name = given.get("action", ""), given.get("name", "")
    if action in ("drain", "cancel-drain"):
        method = "POST" if action == "drain" else "DELETE"
        body = {"reason": given.get("reason", "")} if action == "drain" else None
        machine = name.rpartition("@")[2]
        asker.site.called(method, "/machines/{name}/drain", asker.person, {"name": machine}, {}, body)
        return f"/slots/{quote(name)}"
    orders: dict[str, Any] = {
        "jobs": [name],
        "action": action,
        "reason": given.get("reason", "") or f"{action} on the web page",
    }
    reply = asker.site.called("POST", "/jobs/actions", asker.person, {}, {}, orders)
    if reply["refused"]:
        raise Problem(409, "; ".join(f"{job}: {why}" for job, why in reply["refused"].items()))
    return f"/jobs/{quote(name)}"


# -- formatting values ---------------------------------------------------------------------------------------------


def ago(instant: Any) -> str:
    """How long ago an instant was, in the two largest units."""
    return duration(time.time() - instant) if isinstance(instant, int | float) else ""


def duration(seconds: float) -> str:
    """A time in the two largest units, such as 3 h 5 min."""
    left = max(0, round(seconds))
    parts: list[str] = []
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        number, left = divmod(left, size)
        if number or (unit == "s" and not parts):
            parts.append(f"{number} {unit}")
    return " ".join(parts[:2])


def clock(instant: Any) -> str:
    """An instant in UTC, to the second."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(instant)) if isinstance(instant, int | float) else ""


def plain(value: Any) -> str:
    """A value of an ad: its text, or its expression."""
    if value is None:
        return ""
    if isinstance(value, dict) and set(value) == {"expr"}:
        return str(value["expr"])
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def number(value: Any) -> str:
    """A number with the precision that people read."""
    if not isinstance(value, int | float):
        return ""
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:,.2f}"


def marked(explanation: dict[str, Any]) -> list[tuple[str, str]]:
    """An expression in pieces, each with its class: "cause" for the deciding clauses."""
    text, at, pieces = str(explanation["expression"]), 0, []
    spans = sorted(tuple(clause["span"]) for clause in explanation["clauses"] if clause["role"] == "cause")
    for start, end in spans:
        if start < at:
            continue
        pieces += [(text[at:start], ""), (text[start:end], "cause")]
        at = end
    return [(piece, look) for piece, look in (*pieces, (text[at:], "")) if piece]


def without(values: dict[str, Any], names: str) -> dict[str, Any]:
    """A reply without some fields, separated by spaces."""
    return {name: value for name, value in values.items() if name not in names.split()}


def command(ad: Ad) -> str:
    """A job's program and arguments as typed in a shell."""
    try:
        words = split_raw(ad["Arguments"]) if isinstance(ad["Arguments"], str) else split_old(str(ad["Args"] or ""))
    except CommandLineError:
        words = (str(ad["Arguments"]),)
    return shlex.join((str(ad["Cmd"] or ""), *words))


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "marked": marked,
    "without": without,
    "number": number,
    "instant": lambda at: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)),
    "ago": ago,
    "duration": duration,
    "clock": clock,
    "command": command,
    "plain": plain,
    "segment": lambda text: quote(str(text), safe=""),
    "status": lambda number: _STATUS.get(int(number), "?") if isinstance(number, int) else "?",
}
