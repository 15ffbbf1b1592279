"""Jobs, slots, users, decisions and the rest, as resources."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Annotated, Any, Final

from roost.api.calls import Call, Row
from roost.api.people import WebRole
from roost.api.problems import Problem
from roost.classad import ParseError, parse_expression
from roost.config import MemoryHost
from roost.explain.job import explain_job
from roost.explain.slot import explain_slot
from roost.explain.timeline import Stay, stays
from roost.runtime.asking.job import job_question
from roost.runtime.asking.output import OutputReader
from roost.runtime.asking.slot import slot_question
from roost.runtime.asking.story import job_ad, job_happenings, slot_happenings
from roost.wire.requests import central, machine, queue
from roost.wire.requests.verb import Bytes64, Stream
from roost.wire.structs import Between, Matching, OneOf, Struct

#: Maximum number of rows of a page.
ROWS_MAX: Final = 1_000
#: Maximum length of a text to lint, or of a description to submit, characters.
TEXT_MAX: Final = 1_000_000
#: Number of transitions from which a timeline is made.
_TIMELINE_MAX: Final = 5_000

Limit = Annotated[int, Between(1, ROWS_MAX)]
Text = Annotated[str, Matching(rf"(?s:.{{0,{TEXT_MAX}}})", f"a string of at most {TEXT_MAX} characters")]


# -- pages of rows -------------------------------------------------------------------------------------------------


class Page(Struct):
    """Rows, and the cursor for those that follow."""

    items: list[dict[str, Any]]
    #: None if there are no more.
    next_cursor: str | None = None


def _cursor(*parts: object) -> str:
    return urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def _parts(cursor: str, *kinds: type) -> list[Any]:
    """The contents of a cursor. Raises Problem."""
    try:
        parts = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError:
        parts = None
    if not isinstance(parts, list) or [type(each) for each in parts] != list(kinds):
        raise Problem(422, "the query.cursor: it was not issued by this call", remedy="begin without a cursor")
    return parts


def _both(*constraints: str | None) -> str | None:
    """A constraint that is true if all of these are. Raises Problem."""
    given = [each for each in constraints if each is not None]
    for each in given:
        try:
            parse_expression(each)
        except ParseError as error:
            raise Problem(422, f"the query.constraint: {error}") from None
    return " && ".join(f"({each})" for each in given) or None


# -- the pool ------------------------------------------------------------------------------------------------------


class PoolFigures(Struct):
    """A pool in figures."""

    name: str
    #: State to number.
    jobs: dict[str, int]
    slots: dict[str, int]
    machines: int
    cycles: int
    #: Duration of the last cycle, s.
    cycle_s: float


def pool_figures(call: Call) -> PoolFigures:
    """Slots and jobs by state."""
    totals, cycle = call.pool.ask(queue.Summary()), call.pool.ask(central.Cycle())
    slots = call.server.feed.slots()
    states: dict[str, int] = {}
    for slot in slots.values():
        states[slot.state] = states.get(slot.state, 0) + 1
    return PoolFigures(
        name=str(call.pool.contact["pool"]),
        jobs=totals.jobs,
        slots=states,
        machines=len({slot.machine for slot in slots.values()}),
        cycles=cycle.cycles,
        cycle_s=cycle.seconds,
    )


# -- slots and machines --------------------------------------------------------------------------------------------


class SlotsQuery(Struct):
    """Which slots, and which of their attributes."""

    #: An expression that must be true for the slots.
    constraint: str | None = None
    #: Attributes; empty for whole ads.
    projection: tuple[str, ...] = ()
    limit: Limit = 100
    cursor: str = ""


def slots(call: Call) -> Page:
    """Ads of slots by name."""
    asked: SlotsQuery = call.query
    constraint = _both(asked.constraint)
    names = sorted(call.server.feed.slots())
    if constraint is not None:
        rows = call.pool.ask(central.Ads(kind="Machine", constraint=constraint, projection=("Name",), values=True))
        names = sorted(str(row.get("Name", "")) for row in rows)
    if asked.cursor:
        (after,) = _parts(asked.cursor, str)
        names = [name for name in names if name > after]
    shown = tuple(names[: asked.limit])
    found: list[dict[str, Any]] = []
    if shown:
        projection = tuple(dict.fromkeys(("Name", *asked.projection))) if asked.projection else ()
        found = call.pool.ask(central.Ads(kind="Machine", names=shown, projection=projection))
    return Page(items=found, next_cursor=_cursor(shown[-1]) if len(names) > len(shown) else None)


def slot(call: Call) -> dict[str, Any]:
    """The ad of a slot."""
    name = call.path["name"]
    rows = call.pool.ask(central.Ads(kind="Machine", names=(name,)))
    if not rows:
        raise Problem(404, f"there is no slot {name}")
    return rows[0]


class ForJob(Struct):
    """The job to explain for."""

    job: str | None = None


def slot_explained(call: Call) -> dict[str, Any]:
    """Why a slot is in its state, and what would change it."""
    return explain_slot(slot_question(call.pool, call.path["name"], call.query.job)).data()


class Last(Struct):
    """How many."""

    limit: Annotated[int, Between(1, ROWS_MAX)] = 200


def slot_story(call: Call) -> list[dict[str, Any]]:
    """What happened to a slot or a machine, oldest first."""
    return [each.data() for each in slot_happenings(call.pool, call.path["name"], call.query.limit)]


class Span(Struct):
    """The time span."""

    hours: Annotated[int, Between(1, 24 * 31)] = 24


class Timeline(Struct):
    """The states of a slot over time; `since` and `now` are epoch s."""

    since: float
    now: float
    stays: list[Stay]


def slot_timeline(call: Call) -> Timeline:
    """The states of a slot over time."""
    name, now = call.path["name"], call.server.now()
    since = now - call.query.hours * 3600
    host = name.rpartition("@")[2]
    records = call.pool.ask(machine.Story(slot=name, limit=_TIMELINE_MAX), machine=host)
    return Timeline(since=since, now=now, stays=stays(records, name, since, now))


def drain(call: Call) -> machine.Draining:
    """Drain a machine."""
    asked: machine.Drain = call.body
    return call.pool.ask(asked, machine=call.path["name"])


def cancel_drain(call: Call) -> None:
    """End the drain of a machine."""
    call.pool.ask(machine.CancelDrain(), machine=call.path["name"])


def vacate(call: Call) -> machine.Slots:
    """Evict the jobs of a machine's slots."""
    asked: machine.Vacate = call.body
    return call.pool.ask(asked, machine=call.path["name"])


def reopen(call: Call) -> machine.Slots:
    """Open slots that a failed prolog or epilog has closed."""
    asked: machine.Reopen = call.body
    return call.pool.ask(asked, machine=call.path["name"])


# -- jobs ----------------------------------------------------------------------------------------------------------


class JobsQuery(Struct):
    """Which jobs, and which of their attributes."""

    #: An expression that must be true for the jobs.
    constraint: str | None = None
    owner: tuple[str, ...] = ()
    #: JobStatus as a number.
    status: tuple[str, ...] = ()
    projection: tuple[str, ...] = ()
    limit: Limit = 100
    cursor: str = ""


_ID: Final = ("ClusterId", "ProcId")


def jobs(call: Call) -> Page:
    """Jobs in the queue, by number."""
    asked: JobsQuery = call.query
    after = None
    if asked.cursor:
        cluster, proc = _parts(asked.cursor, int, int)
        after = f"ClusterId > {cluster} || (ClusterId == {cluster} && ProcId > {proc})"
    states = None
    if asked.status:
        if not all(each.isdigit() for each in asked.status):
            raise Problem(422, "the query.status: write JobStatus as a number, such as 1 for idle or 5 for held")
        states = " || ".join(f"JobStatus == {each}" for each in asked.status)
    projection = tuple(dict.fromkeys((*_ID, *asked.projection))) if asked.projection else ()
    found = call.pool.ask(
        queue.Query(
            constraint=_both(asked.constraint, states, after),
            owners=asked.owner,
            projection=projection,
            limit=asked.limit + 1,
        )
    )
    return _page_of_jobs(found, asked.limit)


def _page_of_jobs(found: list[dict[str, Any]], limit: int) -> Page:
    shown = found[:limit]
    more = len(found) > limit
    return Page(items=shown, next_cursor=_cursor(*(int(shown[-1][name]) for name in _ID)) if more else None)


def job(call: Call) -> dict[str, Any]:
    """The ad of a job, in the queue or in the history."""
    return job_ad(call.pool, call.path["id"])[1]


def job_explained(call: Call) -> dict[str, Any]:
    """Why a job waits, runs or is held."""
    return explain_job(job_question(call.pool, call.path["id"])).data()


def job_story(call: Call) -> list[dict[str, Any]]:
    """What happened to a job, oldest first; its event log in the user's files is not read."""
    return [each.data() for each in job_happenings(call.pool, call.path["id"], reads_log=False)]


class OutputQuery(Struct):
    """Which part of a job's output."""

    stream: Stream = "out"
    #: The first byte; if negative, an offset from the end.
    offset: Annotated[int, Between(-(2**62), 2**62)] = 0


class Output(Struct):
    """Part of a job's output, at most 256 KiB."""

    path: str = ""
    #: Current size of the file, and the offset of the first of these bytes.
    size: int = 0
    offset: int = 0
    data: Bytes64 = ""
    #: The job has ended, and prints nothing further.
    ended: bool = False
    #: Why there is no file; "" if there is one.
    missing: str = ""


def job_output(call: Call) -> Output:
    """A job's output, from its machine while it runs, otherwise from its file."""
    asked: OutputQuery = call.query
    name, _ = job_ad(call.pool, call.path["id"])
    reader = OutputReader(call.pool, name, asked.stream)
    ended = reader.is_over
    piece = reader.piece(asked.offset)
    if piece is None:
        return Output(ended=ended, missing=reader.missing)
    return Output(path=piece.path, size=piece.size, offset=piece.offset, data=piece.data, ended=ended)


def act(call: Call) -> queue.ActedUpon:
    """Hold, release, remove, suspend, continue, vacate or edit jobs."""
    asked: queue.Act = call.body
    if not (asked.jobs or asked.owners or asked.constraint):
        raise Problem(
            422,
            "the body: it does not name any jobs",
            remedy="give jobs, owners or constraint; the constraint true selects all jobs",
        )
    return call.pool.ask(asked)


class HistoryQuery(Struct):
    """Which jobs that have left the queue."""

    constraint: str | None = None
    projection: tuple[str, ...] = ()
    limit: Limit = 100


def history(call: Call) -> Page:
    """Jobs that have left the queue, newest first."""
    asked: HistoryQuery = call.query
    rows = call.pool.ask(
        queue.History(constraint=_both(asked.constraint), projection=asked.projection, limit=asked.limit)
    )
    return Page(items=rows)


class Description(Struct):
    """A submit description."""

    text: Text
    #: Directory to which its relative paths refer, on the machine of the queue; absolute.
    directory: Annotated[str, Matching(r"/[^\x00]{0,4000}", "an absolute path")]
    #: Files that are read during submission, such as those of `queue … from`: path to text.
    files: dict[str, Text] | None = None
    #: Assignments that are read before it.
    assignments: tuple[str, ...] = ()


def submit(call: Call) -> list[queue.Submitted]:
    """Submit the jobs of a description. A job's own files are checked when it starts."""
    from roost.api.submitting import plans

    return call.pool.ask(queue.Submit(clusters=plans(call, call.body)))


# -- users, decisions, configuration -------------------------------------------------------------------------------


def users(call: Call) -> list[dict[str, Any]]:
    """Priorities and usage of users."""
    return call.pool.ask(central.Users())


def change_user(call: Call) -> central.UserChanged:
    """Change the priority, factor, bounds or usage of a user, or delete it."""
    asked: central.ChangeUser = call.body
    return call.pool.ask(asked)


def audit(call: Call) -> central.AuditPage:
    """Audit records."""
    asked: central.AuditTrail = call.query
    return call.pool.ask(asked)


def cycle(call: Call) -> central.LastCycle:
    """The last matchmaking cycle."""
    return call.pool.ask(central.Cycle())


class ForDaemon(Struct):
    """The daemon whose configuration is used."""

    daemon: Annotated[str, OneOf(lambda: ("COLLECTOR", "NEGOTIATOR", "SCHEDD", "STARTD", "MASTER"))] = "STARTD"


def knob(call: Call) -> dict[str, Any]:
    """The value of a knob for a daemon, and where it was set."""
    from roost.config import explain

    return explain(call.server.pool_config(call.query.daemon), call.path["name"]).to_json()


class PolicyText(Struct):
    """A configuration as text."""

    text: Text


def lint_policy(call: Call) -> dict[str, Any]:
    """Lint a configuration; nothing in it is executed, and no file is read."""
    from roost.policy.lint import lint_text

    report = lint_text(call.body.text, MemoryHost(), file="policy")
    return {"findings": [finding.to_json() for finding in report.findings], "allowed": report.allowed}


ROWS: Final = (
    Row("GET", "/pool", WebRole.READER, "slots and jobs by state", pool_figures, reply=PoolFigures),
    Row("GET", "/slots", WebRole.READER, "slots by name", slots, query=SlotsQuery, reply=Page),
    Row("GET", "/slots/{name}", WebRole.READER, "the ad of a slot", slot),
    Row("GET", "/slots/{name}/explanation", WebRole.READER, "why a slot is in its state", slot_explained, query=ForJob),
    Row(
        "GET", "/slots/{name}/timeline", WebRole.READER, "the states of a slot over time", slot_timeline, query=Span,
        reply=Timeline,
    ),
    Row("GET", "/slots/{name}/story", WebRole.READER, "what happened to a slot", slot_story, query=Last),
    Row(
        "POST", "/machines/{name}/drain", WebRole.OPERATOR, "drain a machine", drain, body=machine.Drain,
        reply=machine.Draining,
    ),
    Row("DELETE", "/machines/{name}/drain", WebRole.OPERATOR, "end a drain", cancel_drain, status=204),
    Row(
        "POST", "/machines/{name}/vacate", WebRole.OPERATOR, "evict jobs", vacate, body=machine.Vacate,
        reply=machine.Slots,
    ),
    Row(
        "POST", "/machines/{name}/reopen", WebRole.OPERATOR, "open closed slots", reopen, body=machine.Reopen,
        reply=machine.Slots,
    ),
    Row("GET", "/jobs", WebRole.READER, "jobs in the queue, by number", jobs, query=JobsQuery, reply=Page),
    Row(
        "POST", "/jobs", WebRole.USER, "submit the jobs of a description", submit, body=Description,
        reply=list[queue.Submitted], status=201,
    ),
    Row("POST", "/jobs/actions", WebRole.USER, "act on jobs", act, body=queue.Act, reply=queue.ActedUpon),
    Row("GET", "/jobs/{id}", WebRole.READER, "the ad of a job", job),
    Row("GET", "/jobs/{id}/explanation", WebRole.READER, "why a job is where it is", job_explained),
    Row(
        "GET", "/jobs/{id}/output", WebRole.READER, "what a job prints", job_output, query=OutputQuery, reply=Output
    ),
    Row("GET", "/jobs/{id}/story", WebRole.READER, "what happened to a job", job_story),
    Row("GET", "/history", WebRole.READER, "jobs that have left the queue", history, query=HistoryQuery, reply=Page),
    Row("GET", "/users", WebRole.READER, "priorities and usage of users", users),
    Row(
        "POST", "/users/changes", WebRole.ADMINISTRATOR, "change the account of a user", change_user,
        body=central.ChangeUser, reply=central.UserChanged,
    ),
    Row(
        "GET", "/audit", WebRole.READER, "decisions on record", audit, query=central.AuditTrail,
        reply=central.AuditPage,
    ),
    Row("GET", "/cycle", WebRole.READER, "the last matchmaking cycle", cycle, reply=central.LastCycle),
    Row("GET", "/configuration/{name}", WebRole.READER, "a knob's value and origin", knob, query=ForDaemon),
    Row("POST", "/policy/lint", WebRole.READER, "lint a configuration", lint_policy, body=PolicyText),
)  # fmt: skip
