"""``condor_q``: the jobs in the queue, as batches, one by one, or in the user's format."""

from __future__ import annotations

import sys
import time
from typing import Any, Final, NamedTuple

from roost.cli.condor.asking import PLACE_OPTIONS, DaemonLocation
from roost.cli.condor.choosing import JobSelection, clusters, is_meant, job_id, owner
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Given, Option, given, number
from roost.cli.condor.printing.chosen import OUTPUT_OPTIONS, Output, Projection, rows_of_file
from roost.cli.condor.printing.columns import lines
from roost.cli.condor.printing.rows import AdRow, needed
from roost.cli.pool_connection import Pool, Refused
from roost.wire.requests import queue

OPTIONS: Final = (
    *OUTPUT_OPTIONS,
    Option("constraint", "only jobs for which EXPR is true", takes="EXPR", least=1),
    Option("allusers", "show jobs of all users", least=2),
    Option("all", "the same", least=3),
    Option("submitter", "show jobs of this user", takes="USER", least=3),
    Option("nobatch", "show one line per job", least=3),
    Option("batch", "show one line per batch of jobs", least=1, colon="FORM"),
    Option("run", "show running jobs and where they run", least=1),
    Option("hold", "show held jobs and their hold reasons", least=2),
    Option("held", "the same", least=3),
    Option("idle", "show idle jobs and what they request", least=2),
    Option("goodput", "show the jobs' goodput: the share of their run time that was not lost", least=3),
    Option("io", "show jobs that are transferring files", least=2),
    Option("transfer", "the same", least=4),
    Option("dag", "show the nodes of each DAG under it", least=2),
    Option("factory", "show the clusters whose jobs enter the queue a few at a time", least=3),
    Option("totals", "show only the totals", least=3),
    Option("limit", "show at most N jobs", takes="N", least=3),
    Option("jobs", "read jobs from a file of ads instead of the queue", takes="FILE", least=3),
    Option("job", "the same", takes="FILE", least=3),
    Option("userlog", "read jobs from an event log instead of the queue", takes="FILE", least=5),
    Option("analyze", "explain why jobs are not running", least=3, colon="FORM"),
    Option("better-analyze", "the same", least=3, colon="FORM"),
    Option("wide", "do not truncate lines", least=1, colon="N"),
    Option("cputime", "accepted; the column always shows the jobs' run time", least=2),
    Option("currentrun", "the same", least=2),
    Option("global", "query all queues of the pool; in Roost, the pool's own queue", least=1),
    *PLACE_OPTIONS,
    Option("stream-results", "accepted, has no effect", least=2),
    Option("avgqueuetime", "accepted, has no effect", least=3),
)
_TABLE_OPTIONS: Final = {
    "run": "RUNNING", "hold": "HELD", "held": "HELD", "idle": "IDLE", "goodput": "GOODPUT", "io": "TRANSFERS",
    "transfer": "TRANSFERS", "dag": "DAG",
}  # fmt: skip
#: Words of the totals, in order, and the states that each counts.
_TOTALS: Final = {
    "completed": (4,), "removed": (3,), "idle": (1,), "running": (2, 6), "held": (5,), "suspended": (7,),
}  # fmt: skip
_OVERVIEW: Final = {
    "Idle": 1, "Running": 2, "Removed": 3, "Completed": 4, "Held": 5, "TransferringOutput": 6, "Suspended": 7,
}  # fmt: skip
#: JobUniverse of workflows, which do not count as jobs in the totals.
_SCHEDULER: Final = 7


class QueueQuery:
    """The parsed command line."""

    def __init__(self) -> None:
        self.place = DaemonLocation()
        self.output = Output()
        self.choice = JobSelection()
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
        """Whether only the user's own jobs are listed, because no others were named."""
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
    query = QueueQuery()
    for option in given(arguments, OPTIONS):
        query.take(option)
    if query.file or query.log:
        if "factory" in query.flags:
            raise UsageError("-factory asks the queue; it cannot be combined with -jobs or -userlog")
        return _offline(query)
    try:
        return query.place.ask(lambda pool: _online(query, pool))
    except Refused as refused:
        raise ToolError(f"Error: {refused}") from None


def _online(query: QueueQuery, pool: Pool) -> int:
    choice = query.choice
    if query.only_mine:
        choice = choice._replace(owners=(pool.user,))
    if "factory" in query.flags:
        _factories(query, pool, choice)
        return 0
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


def _own(query: QueueQuery, pool: Pool, choice: JobSelection) -> None:
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
        _tell_totals(
            pool, query, _counts_of(_fetch(pool, choice, Projection(["JobStatus", "JobUniverse"]), query.limit))
        )


def _where(query: QueueQuery, choice: JobSelection) -> JobSelection:
    where = _table_of(query).where
    return choice if where is None else choice.but(where)


def _fetch(pool: Pool, choice: JobSelection, wanted: Projection, limit: int) -> list[AdRow]:
    return wanted.rows(pool.ask(queue.Query(limit=limit, **wanted.asked(), **choice.asked())))


# -- tables --------------------------------------------------------------------------------------------------------


def _table_of(query: QueueQuery) -> Any:
    from roost.cli.condor import queue_tables

    return getattr(queue_tables, query.table or "JOBS")


def _jobs(query: QueueQuery, pool: Pool, choice: JobSelection) -> None:
    table = _table_of(query)
    wanted = Projection(needed([*table.expressions, "JobStatus", "JobUniverse"]) or [])
    rows = _fetch(pool, _where(query, choice), wanted, query.limit)
    sys.stdout.write(_title(pool))
    if "totals" not in query.flags:
        _print(query, table, rows)
    if table.totals or "totals" in query.flags:
        _tell_totals(pool, query, _counts_of(rows))


def _factories(query: QueueQuery, pool: Pool, choice: JobSelection) -> None:
    """The clusters whose jobs are made one after another, in a table of their own."""
    from roost.cli.condor.queue_tables import FACTORY

    if query.table or query.flags & {"totals", "nobatch", "better-analyze"}:
        raise UsageError("-factory shows clusters; it cannot be combined with options that show or count jobs")
    own = query.output.is_own
    wanted = query.output.wanted() if own else Projection(needed(FACTORY.expressions) or [])
    asked = queue.Query(limit=query.limit, factories=True, **wanted.asked(), **choice.asked())
    rows = wanted.rows(pool.ask(asked))
    if own:
        query.output.print(rows)
        return
    sys.stdout.write(_title(pool))
    rows.sort(key=lambda row: row.whole("ClusterId"))
    sys.stdout.writelines(line.rstrip() + "\n" for line in lines(FACTORY.mask._replace(widest=0), rows))
    sys.stdout.write("\n")


def _print(query: QueueQuery, table: Any, rows: list[AdRow]) -> None:
    rows.sort(key=lambda row: (row.whole("ClusterId"), row.whole("ProcId")))
    if query.table == "DAG":
        from roost.cli.condor.queue_dags import under_their_dags

        rows = under_their_dags(rows)
    width = 0 if table.wide else query.width
    mask = table.mask._replace(widest=max(0, width - 1))
    sys.stdout.writelines(line.rstrip() + "\n" if table.wide else line for line in lines(mask, rows))


def _batches(query: QueueQuery, pool: Pool, choice: JobSelection) -> None:
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
    """Number of jobs by state."""

    counts: dict[int, int]

    def line(self, whose: str) -> str:
        """The line of totals."""
        said = [f"{sum(self.counts.get(state, 0) for state in states)} {word}" for word, states in _TOTALS.items()]
        return f"Total for {whose}: {sum(self.counts.values())} jobs; {', '.join(said)}"


def _counts_of(rows: list[AdRow]) -> Totals:
    counts: dict[int, int] = {}
    for row in rows:
        if row.value("JobUniverse") == _SCHEDULER:
            continue
        status = row.whole("JobStatus")
        counts[status] = counts.get(status, 0) + 1
    return Totals(counts)


def _counts_of_clusters(found: list[queue.ClusterRow]) -> Totals:
    jobs = [row for row in found if row.attributes.get("JobUniverse") != _SCHEDULER]
    return Totals({status: sum(row.counts.get(word, 0) for row in jobs) for word, status in _OVERVIEW.items()})


def _tell_totals(pool: Pool, query: QueueQuery, asked: Totals) -> None:
    said = [asked.line("query")]
    everybody = clusters(pool, JobSelection())
    if "allusers" not in query.flags:
        mine = [row for row in everybody if row.owner == pool.user]
        said.append(_counts_of_clusters(mine).line(pool.user))
    said.append(_counts_of_clusters(everybody).line("all users"))
    sys.stdout.write("\n" + " \n".join(said) + "\n\n")


def _summary(query: QueueQuery, pool: Pool, choice: JobSelection) -> None:
    """The totals as an ad: of the query, of the user, and of all users."""
    everybody = clusters(pool, JobSelection())
    mine = [row for row in everybody if row.owner == pool.user]
    ad: dict[str, Any] = {"MyType": "Summary", "MyName": pool.user}
    for prefix, found in (("", clusters(pool, choice)), ("My", mine), ("Allusers", everybody)):
        counts = _counts_of_clusters(found).counts
        ad[f"{prefix}Jobs"] = sum(counts.values())
        for word, states in _TOTALS.items():
            ad[f"{prefix}{word.capitalize()}"] = sum(counts.get(state, 0) for state in states)
    query.output.print([AdRow(ad)])


# -- without a pool ------------------------------------------------------------------------------------------------


def _offline(query: QueueQuery) -> int:
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


def _of_log(path: str) -> list[AdRow]:
    """The jobs in an event log, as far as it has their data."""
    from roost.cli.condor.event_jobs import jobs_of_log

    return jobs_of_log(path)
