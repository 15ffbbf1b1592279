"""``condor_q``: the jobs in the queue, as batches, one by one, or as the user says."""

from __future__ import annotations

import sys
import time
from typing import Any, Final, NamedTuple

from roost.cli.condor.asking import PLACE_OPTIONS, Place
from roost.cli.condor.choosing import Choice, clusters, is_meant, job_id, owner
from roost.cli.condor.errors import ToolError
from roost.cli.condor.options import Given, Option, given, number
from roost.cli.condor.printing.chosen import OUTPUT_OPTIONS, Output, Wanted, rows_of_file
from roost.cli.condor.printing.columns import lines
from roost.cli.condor.printing.rows import Row, needed
from roost.cli.pool import Pool, Refused
from roost.wire.requests import queue

OPTIONS: Final = (
    *OUTPUT_OPTIONS,
    Option("constraint", "jobs for which this is true", takes="EXPR", least=1),
    Option("allusers", "jobs of all users", least=2),
    Option("all", "the same", least=3),
    Option("submitter", "jobs of this user", takes="USER", least=3),
    Option("nobatch", "one line per job", least=3),
    Option("batch", "a line for all jobs that belong together", least=1, colon="FORM"),
    Option("run", "running jobs and where they run", least=1),
    Option("hold", "held jobs and why", least=2),
    Option("held", "the same", least=3),
    Option("idle", "waiting jobs and what they ask for", least=2),
    Option("goodput", "how much of their time jobs could keep", least=3),
    Option("io", "jobs whose files are under way", least=2),
    Option("transfer", "the same", least=4),
    Option("dag", "nodes of DAGs under their DAG", least=2),
    Option("totals", "only the totals", least=3),
    Option("limit", "at most N jobs", takes="N", least=3),
    Option("jobs", "jobs of a file of ads, instead of the queue's", takes="FILE", least=3),
    Option("job", "the same", takes="FILE", least=3),
    Option("userlog", "jobs of an event log, instead of the queue's", takes="FILE", least=5),
    Option("analyze", "why jobs do not run", least=3, colon="FORM"),
    Option("better-analyze", "the same", least=3, colon="FORM"),
    Option("wide", "lines as long as they are", least=1, colon="N"),
    Option("cputime", "accepted: the column shows the time that jobs have run", least=2),
    Option("currentrun", "the same", least=2),
    Option("global", "the queues of the whole pool; a Roost pool's commands ask its queue", least=1),
    *PLACE_OPTIONS,
    Option("stream-results", "accepted, without effect", least=2),
    Option("avgqueuetime", "accepted, without effect", least=3),
)
_TABLE_OPTIONS: Final = {
    "run": "RUNNING", "hold": "HELD", "held": "HELD", "idle": "IDLE", "goodput": "GOODPUT", "io": "TRANSFERS",
    "transfer": "TRANSFERS", "dag": "DAG",
}  # fmt: skip
#: Words of the totals, in their order, and the states that count for each.
_TOTALS: Final = {
    "completed": (4,), "removed": (3,), "idle": (1,), "running": (2, 6), "held": (5,), "suspended": (7,),
}  # fmt: skip
_OVERVIEW: Final = {
    "Idle": 1, "Running": 2, "Removed": 3, "Completed": 4, "Held": 5, "TransferringOutput": 6, "Suspended": 7,
}  # fmt: skip
#: JobUniverse of workflows, which are not jobs in the totals.
_SCHEDULER: Final = 7


class Query:
    """What the command line asks for."""

    def __init__(self) -> None:
        self.place = Place()
        self.output = Output()
        self.choice = Choice()
        self.table = ""
        self.limit = 0
        self.file = ""
        self.log = ""
        self.wide = 0
        self.flags: set[str] = set()

    def take(self, option: Given) -> None:
        """Note an argument."""
        if self.place.take(option) or self.output.take(option):
            return
        match option.name:
            case "":
                self._positional(option.value)
            case "constraint":
                self.choice = self.choice.but(option.value)
            case "submitter":
                self.choice = self.choice._replace(owners=(*self.choice.owners, owner(option.value)))
            case "limit":
                self.limit = number(option)
            case "jobs" | "job":
                self.file = option.value
            case "userlog":
                self.log = option.value
            case "wide":
                self.wide = int(option.colon) if (option.colon or "").isdecimal() else -1  # type: ignore[arg-type]
            case _ if option.name in _TABLE_OPTIONS:
                self.table = _TABLE_OPTIONS[option.name]
            case _:
                self.flags.add({"all": "allusers", "analyze": "better-analyze"}.get(option.name, option.name))

    def _positional(self, word: str) -> None:
        job = job_id(word)
        if job is not None:
            self.choice = self.choice._replace(jobs=(*self.choice.jobs, job))
        else:
            self.choice = self.choice._replace(owners=(*self.choice.owners, owner(word)))

    @property
    def only_mine(self) -> bool:
        """Whether only the user's own jobs are listed, since no others were named."""
        return not ({"allusers", "global"} & self.flags or self.choice.jobs or self.choice.owners)

    @property
    def width(self) -> int:
        """Columns of the output; 0 for any."""
        if self.wide:
            return max(0, self.wide)
        from roost.cli.terminal import width

        return width() if sys.stdout.isatty() else 80


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_q``."""
    query = Query()
    for option in given(arguments, OPTIONS):
        query.take(option)
    if query.file or query.log:
        return _offline(query)
    try:
        return query.place.ask(lambda pool: _online(query, pool))
    except Refused as refused:
        raise ToolError(f"Error: {refused}") from None


def _online(query: Query, pool: Pool) -> int:
    choice = query.choice
    if query.only_mine:
        choice = choice._replace(owners=(pool.user,))
    if "better-analyze" in query.flags:
        from roost.cli.condor.analysis import analyze

        return analyze(pool, choice)
    if "totals" in query.flags and query.output.document:
        _summary(query, pool, choice)
    elif query.output.is_own:
        _own(query, pool, choice)
    elif query.table or "nobatch" in query.flags or query.limit:
        _jobs(query, pool, choice)
    else:
        _batches(query, pool, choice)
    return 0


# -- what the user wants to see ------------------------------------------------------------------------------------


def _own(query: Query, pool: Pool, choice: Choice) -> None:
    wanted = query.output.wanted()
    custom = query.output.custom
    if custom is not None and custom.where:
        choice = choice.but(custom.where)
    if query.table:
        choice = _where(query, choice)
    rows = _fetch(pool, choice, wanted, query.limit)
    if custom is not None and custom.title:
        sys.stdout.write(_title(pool))
    query.output.print(rows)
    if custom is not None and custom.summary:
        _tell_totals(pool, query, _counts_of(_fetch(pool, choice, Wanted(["JobStatus", "JobUniverse"]), query.limit)))


def _where(query: Query, choice: Choice) -> Choice:
    where = _table_of(query).where
    return choice if where is None else choice.but(where)


def _fetch(pool: Pool, choice: Choice, wanted: Wanted, limit: int) -> list[Row]:
    return wanted.rows(pool.ask(queue.Query(limit=limit, **wanted.asked(), **choice.asked())))


# -- tables --------------------------------------------------------------------------------------------------------


def _table_of(query: Query) -> Any:
    from roost.cli.condor import queue_tables

    return getattr(queue_tables, query.table or "JOBS")


def _jobs(query: Query, pool: Pool, choice: Choice) -> None:
    table = _table_of(query)
    wanted = Wanted(needed([*table.expressions, "JobStatus", "JobUniverse"]) or [])
    rows = _fetch(pool, _where(query, choice), wanted, query.limit)
    sys.stdout.write(_title(pool))
    if "totals" not in query.flags:
        _print(query, table, rows)
    if table.totals or "totals" in query.flags:
        _tell_totals(pool, query, _counts_of(rows))


def _print(query: Query, table: Any, rows: list[Row]) -> None:
    rows.sort(key=lambda row: (row.whole("ClusterId"), row.whole("ProcId")))
    if query.table == "DAG":
        from roost.cli.condor.queue_dags import under_their_dags

        rows = under_their_dags(rows)
    width = 0 if table.wide else query.width
    mask = table.mask._replace(widest=max(0, width - 1))
    sys.stdout.writelines(line.rstrip() + "\n" if table.wide else line for line in lines(mask, rows))


def _batches(query: Query, pool: Pool, choice: Choice) -> None:
    from roost.cli.condor.queue_batches import batches, table

    found = clusters(pool, choice)
    sys.stdout.write(_title(pool))
    if "totals" not in query.flags:
        partial = choice.constraint is not None or any("." in job for job in choice.jobs)
        mask, rows = table(batches(found, whole=not partial), query.width)
        sys.stdout.writelines(lines(mask, rows))
    _tell_totals(pool, query, _counts_of_clusters(found))


def _title(pool: Pool) -> str:
    at = time.strftime("%m/%d/%y %H:%M:%S")
    return f"\n\n-- Schedd: {pool.contact['schedd']} : <{_address(pool)} @ {at}\n"


def _address(pool: Pool) -> str:
    url = str(pool.contact["urls"][0])
    return f"{url.rpartition('//')[2].rpartition('@')[2]}?..."


# -- totals --------------------------------------------------------------------------------------------------------


class Totals(NamedTuple):
    """How many jobs are in which state."""

    counts: dict[int, int]

    def line(self, whose: str) -> str:
        """The line that tells it."""
        said = [f"{sum(self.counts.get(state, 0) for state in states)} {word}" for word, states in _TOTALS.items()]
        return f"Total for {whose}: {sum(self.counts.values())} jobs; {', '.join(said)}"


def _counts_of(rows: list[Row]) -> Totals:
    counts: dict[int, int] = {}
    for row in rows:
        if row.value("JobUniverse") == _SCHEDULER:
            continue
        status = row.whole("JobStatus")
        counts[status] = counts.get(status, 0) + 1
    return Totals(counts)


def _counts_of_clusters(found: list[dict[str, Any]]) -> Totals:
    jobs = [row for row in found if row.get("JobUniverse") != _SCHEDULER]
    return Totals({status: sum(int(row.get(word, 0)) for row in jobs) for word, status in _OVERVIEW.items()})


def _tell_totals(pool: Pool, query: Query, asked: Totals) -> None:
    said = [asked.line("query")]
    everybody = clusters(pool, Choice())
    if "allusers" not in query.flags:
        mine = [row for row in everybody if row.get("Owner") == pool.user]
        said.append(_counts_of_clusters(mine).line(pool.user))
    said.append(_counts_of_clusters(everybody).line("all users"))
    sys.stdout.write("\n" + " \n".join(said) + "\n\n")


def _summary(query: Query, pool: Pool, choice: Choice) -> None:
    """The totals as an ad: those of the query, of the user, and of all users."""
    everybody = clusters(pool, Choice())
    mine = [row for row in everybody if row.get("Owner") == pool.user]
    ad: dict[str, Any] = {"MyType": "Summary", "MyName": pool.user}
    for prefix, found in (("", clusters(pool, choice)), ("My", mine), ("Allusers", everybody)):
        counts = _counts_of_clusters(found).counts
        ad[f"{prefix}Jobs"] = sum(counts.values())
        for word, states in _TOTALS.items():
            ad[f"{prefix}{word.capitalize()}"] = sum(counts.get(state, 0) for state in states)
    query.output.print([Row(ad)])


# -- without a pool ------------------------------------------------------------------------------------------------


def _offline(query: Query) -> int:
    rows = list(rows_of_file(query.file)) if query.file else _of_log(query.log)
    rows = [row for row in rows if is_meant(row, query.choice)]
    if query.table:
        where = _table_of(query).where
        rows = [row for row in rows if where is None or row.value(where) is True]
    rows = rows[: query.limit or None]
    if query.output.is_own:
        query.output.print(rows)
        return 0
    sys.stdout.write(f"-- Jobs: {query.file or query.log}\n")
    table = _table_of(query)
    if "totals" not in query.flags:
        _print(query, table, rows)
    if table.totals:
        sys.stdout.write(f"\n{_counts_of(rows).line('query')}\n\n")
    return 0


def _of_log(path: str) -> list[Row]:
    """The jobs that an event log tells of, as far as it tells them."""
    from roost.cli.condor.event_jobs import jobs_of_log

    return jobs_of_log(path)
