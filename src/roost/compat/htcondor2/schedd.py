"""`Schedd`: the queue of a pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final

from roost.classad import ClassAd as Ad
from roost.classad import ParseError, Syntax, parse_expression
from roost.compat.classad2 import ClassAd, ExprTree
from roost.compat.htcondor2 import submitting
from roost.compat.htcondor2.asking import Pool, connected, home_of, wrapped
from roost.compat.htcondor2.enums import JobAction, QueryOpt, TransactionFlag
from roost.compat.htcondor2.errors import HTCondorException
from roost.compat.htcondor2.job_spec import JobSpec, asked, constraint_text
from roost.compat.htcondor2.submit import Item, Submit
from roost.compat.htcondor2.submit_result import SubmitResult
from roost.runtime.queue.descriptions import config_for_tools
from roost.runtime.queue.history_file import entries_of, epoch_files
from roost.wire.ads import ad_data
from roost.wire.requests import queue

_ACTIONS: Final[dict[JobAction, queue.Action]] = {
    JobAction.Hold: "hold",
    JobAction.Release: "release",
    JobAction.Remove: "remove",
    JobAction.RemoveX: "remove-x",
    JobAction.Vacate: "vacate",
    JobAction.VacateFast: "vacate-fast",
    JobAction.Suspend: "suspend",
    JobAction.Continue: "continue",
}
#: Attribute of an action's result ad to the queue's code for it.
_TOTALS: Final = {
    "TotalError": "failed",
    "TotalSuccess": "ok",
    "TotalNotFound": "not-found",
    "TotalBadStatus": "bad-status",
    "TotalAlreadyDone": "already-done",
    "TotalPermissionDenied": "permission-denied",
}
_STATES: Final = {1: "Idle", 2: "Running", 3: "Removed", 4: "Completed", 5: "Held", 6: "TransferringOutput",
                  7: "Suspended"}  # fmt: skip
_UNSET: Final = object()


class Schedd:
    """A queue: that of the environment's pool, or the one that a location ad names."""

    def __init__(self, location: ClassAd | None = None) -> None:
        self._home = home_of(location)
        with self._pool():
            pass

    def _pool(self) -> Any:
        return connected(self._home)

    # -- submitting --------------------------------------------------------------------------------

    def submit(
        self,
        description: Submit,
        count: int = 0,
        spool: bool = False,
        itemdata: Iterable[Item] | None = _UNSET,  # type: ignore[assignment]
        queue: str | None = None,
    ) -> SubmitResult:
        """Submit jobs: `count` for each item, which come from `itemdata` or the queue statement."""
        if not isinstance(description, Submit):
            raise TypeError("description must be a Submit")
        if count < 0:
            raise ValueError("count must not be negative")
        items = description._given_items(count, None if itemdata is _UNSET else itemdata, queue)
        with self._pool() as pool:
            found = submitting.plan(description, items, pool, spool=spool)
            taken = submitting.submitted(pool, found)
        number, jobs = taken[0].cluster, taken[0].jobs
        return SubmitResult(number, 0, jobs, submitting.cluster_ad(found.clusters[0], number))

    def spool(self, result: SubmitResult) -> None:
        """Copy the files of jobs submitted with `spool` to the queue, which makes the jobs idle."""
        if not isinstance(result, SubmitResult):
            raise TypeError("result must be a SubmitResult")
        self._spool([result.cluster()])

    def _spool(self, clusters: list[int]) -> None:
        from roost.runtime.asking.spooling import SpoolingProblem, send_files

        try:
            with self._pool() as pool:
                sent = send_files(pool, clusters)
        except SpoolingProblem as problem:
            raise HTCondorException(f"Failed to spool job files: {problem}") from None
        if not sent:
            named = ", ".join(map(str, clusters))
            raise HTCondorException(f"Failed to spool job files: no job of cluster {named} waits for its files")

    def retrieve(self, job_spec: JobSpec) -> None:
        """Fetch the output of jobs submitted with `spool`; they stay in the queue."""
        from roost.runtime.asking.spooling import SpoolingProblem, fetch_files

        try:
            with self._pool() as pool:
                fetch_files(pool, asked(job_spec))
        except SpoolingProblem as problem:
            raise HTCondorException(f"Failed to retrieve job files: {problem}") from None

    # -- queries ---------------------------------------------------------------------------------

    def query(
        self,
        constraint: str | ExprTree | bool | int | None = "True",
        projection: list[str] | None = None,
        callback: Callable[[ClassAd], Any] | None = None,
        limit: int = -1,
        opts: QueryOpt = QueryOpt.Default,
    ) -> list[ClassAd]:
        """The ads of jobs, or the result of `callback` for each."""
        opts = QueryOpt(opts)
        if opts & QueryOpt.IncludeClusterAd:
            raise HTCondorException(
                "IncludeClusterAd: Roost's queue gives each job with all that its cluster has, and no cluster ad"
            )
        if opts & QueryOpt.IncludeJobsetAds:
            raise HTCondorException("Roost's queue keeps no job sets: ask for the jobs of a batch, by JobBatchName")
        names = tuple(str(each) for each in projection or ())
        with self._pool() as pool:
            owners = (pool.user,) if opts & QueryOpt.DefaultMyJobsOnly else ()
            text = constraint_text(constraint)
            if opts & QueryOpt.SummaryOnly:
                return [_summary(pool, owners, text)]
            request = queue.Query(owners=owners, constraint=text, projection=names, raw=True, limit=max(0, limit))
            rows = pool.ask(request)
        ads = [wrapped(row) for row in rows]
        if opts & (QueryOpt.GroupBy | QueryOpt.AutoCluster):
            ads = _grouped(ads)
        return ads if callback is None else [made for ad in ads if (made := callback(ad)) is not None]

    def history(
        self,
        constraint: str | ExprTree | None = None,
        projection: list[str] | None = None,
        match: int = -1,
        since: int | str | ExprTree | None = None,
    ) -> list[ClassAd]:
        """Jobs that have left the queue, the last first, up to the one at which `since` is reached."""
        names, limit = [str(each) for each in projection or ()], max(0, match)
        with self._pool() as pool:
            request = queue.History(
                constraint=constraint_text(constraint),
                projection=() if since is not None else tuple(names),
                raw=True,
                limit=0 if since is not None else limit,
            )
            rows = pool.ask(request)
        ads = (wrapped(row) for row in rows)
        return list(ads) if since is None else _chosen(ads, names, limit, since)

    def jobEpochHistory(
        self,
        constraint: str | ExprTree | None = None,
        projection: list[str] | None = None,
        match: int = -1,
        since: int | str | ExprTree | None = None,
        **kwargs: Any,
    ) -> list[ClassAd]:
        """Ended runs of jobs, the last first, from JOB_EPOCH_HISTORY on this machine."""
        if kwargs:
            raise HTCondorException(f"jobEpochHistory takes no {', '.join(kwargs)} in Roost: it has epochs alone")
        config = config_for_tools(self._home, "TOOL")
        path, each = (config.get(f"JOB_EPOCH_HISTORY{more}") or "" if config else "" for more in ("", "_DIR"))
        if not path and not each:
            raise HTCondorException("JOB_EPOCH_HISTORY is not set: no runs are recorded")
        text = constraint_text(constraint)
        wanted = None if text is None else ExprTree(text)
        try:
            ads = (wrapped(ad_data(entry.ad)) for entry in entries_of(epoch_files(path, each)))
            meant = (ad for ad in ads if wanted is None or wanted.eval(ad) is True)
            return _chosen(meant, [str(name) for name in projection or ()], max(0, match), since)
        except OSError as error:
            raise HTCondorException(f"cannot read {error.filename}: {error.strerror}") from None

    def daemonHistory(
        self,
        constraint: str | ExprTree | None = None,
        projection: list[str] | None = None,
        match: int = -1,
        since: ExprTree | None = None,
    ) -> list[ClassAd]:
        """Empty: what a queue did is in the audit (`roost audit`)."""
        return []

    # -- changes -----------------------------------------------------------------------------------

    def act(self, action: JobAction, job_spec: JobSpec, reason: str | None = None) -> ClassAd:
        """Perform an action on jobs, and return an ad that counts the results."""
        try:
            deed = _ACTIONS[JobAction(action)]
        except (KeyError, ValueError):
            raise TypeError("action must be a JobAction") from None
        with self._pool() as pool:
            words = f"{reason or 'via the Python bindings'} (by user {pool.user})"
            counts = pool.ask(queue.Act(action=deed, reason=reason or words, **asked(job_spec))).counts
        totals = {name: counts.get(code, 0) for name, code in _TOTALS.items()}
        return ClassAd({**totals, "TotalJobAds": sum(counts.values()), "TotalChangedAds": counts.get("ok", 0)})

    def edit(
        self,
        job_spec: JobSpec,
        attr: str,
        value: str | ExprTree,
        flags: TransactionFlag = TransactionFlag.Default,
    ) -> int:
        """Set an attribute of jobs to an expression, and return the number of jobs. Raises HTCondorException for
        none."""
        found = self._edit(asked(job_spec), attr, value)
        if not found.counts.get("ok"):
            why = ", ".join(sorted(set(found.refused.values()))) or "no job matched"
            raise HTCondorException(f"Failed to edit {attr}: {why}")
        return found.counts["ok"]

    def _edit(self, spec: queue.ChosenFields, attr: str, value: object) -> queue.ActedUpon:
        ad = Ad()
        try:
            ad[attr] = value._expr if isinstance(value, ExprTree) else parse_expression(str(value), Syntax.OLD)
        except ParseError as error:
            raise HTCondorException(f"Unable to parse the value of {attr}\n{error}") from None
        with self._pool() as pool:
            done: queue.ActedUpon = pool.ask(queue.Act(action="edit", attributes=ad_data(ad), **spec))
            return done

    def reschedule(self) -> None:
        """No effect: the matchmaker is notified of new jobs at once."""

    def export_jobs(self, job_spec: JobSpec, export_dir: str, new_spool_dir: str) -> ClassAd:
        """Not possible in Roost."""
        raise HTCondorException("jobs of Roost cannot be exported to another queue")

    def import_exported_job_results(self, import_dir: str) -> ClassAd:
        """Not possible in Roost."""
        raise HTCondorException("jobs of Roost cannot be exported to another queue")

    unexport_jobs = import_exported_job_results

    def refreshGSIProxy(self, cluster: int, proc: int, proxy_filename: str, lifetime: int = -1) -> int:
        """Not possible in Roost."""
        raise HTCondorException("Roost knows no GSI proxies")


def _summary(pool: Pool, owners: tuple[str, ...], constraint: str | None) -> ClassAd:
    """The number of jobs by state, as the last ad of a query."""
    rows = pool.ask(queue.Query(owners=owners, constraint=constraint, projection=("JobStatus",)))
    counts = dict.fromkeys(_STATES, 0)
    for row in rows:
        counts[row["JobStatus"]] += 1
    states = {word: counts[number] for number, word in _STATES.items()}
    return ClassAd({"MyType": "Summary", "Jobs": len(rows), **states})


def _grouped(ads: list[ClassAd]) -> list[ClassAd]:
    """One ad for each group of equal jobs, with their number and ids."""
    groups: dict[str, tuple[ClassAd, list[ClassAd]]] = {}
    for ad in ads:
        key = repr({name: ad.lookup(name) for name in ad if name.lower() not in ("clusterid", "procid")})
        groups.setdefault(key, (ad, []))[1].append(ad)
    for number, (ad, jobs) in enumerate(groups.values(), 1):
        ad["AutoClusterId"], ad["JobCount"] = number, len(jobs)
    return [ad for ad, _ in groups.values()]


def _chosen(ads: Iterable[ClassAd], names: list[str], limit: int, since: int | str | ExprTree | None) -> list[ClassAd]:
    """The first ads, up to the one at which `since` is reached, with these attributes."""
    kept = islice(ads if since is None else _until(ads, since), limit or None)
    return [_only(ad, names) for ad in kept] if names else list(kept)


def _until(ads: Iterable[ClassAd], since: int | str | ExprTree) -> Iterator[ClassAd]:
    word = str(since)
    job = word if word.replace(".", "", 1).isdecimal() else None
    expression = None if job else ExprTree(word)
    for ad in ads:
        ids = (str(ad.get("ClusterId")), f"{ad.get('ClusterId')}.{ad.get('ProcId')}")
        if job in ids or (expression is not None and expression.eval(ad) is True):
            return
        yield ad


def _only(ad: ClassAd, names: list[str]) -> ClassAd:
    made = ClassAd()
    for name in names:
        if name in ad:
            made[name] = ad.lookup(name)
    return made
