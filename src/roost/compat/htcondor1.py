"""The module `htcondor`: HTCondor's first Python bindings over a Roost pool.

Most of it is that of the second bindings. Older features: transactions, whose jobs are removed again on failure,
queries that yield one ad at a time, and errors that are also instances of Python's built-in exceptions. Every name of
the second bindings is here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from typing import Any, Final, NoReturn, Self

from roost.compat import classad1, htcondor2
from roost.compat.classad2 import ClassAd as SecondAd
from roost.compat.htcondor2 import *  # noqa: F403
from roost.compat.htcondor2 import (
    AdType,
    DaemonType,
    HTCondorException,
    JobAction,
    QueryOpt,
    SubmitResult,
    TransactionFlag,
    submitting,
)
from roost.compat.htcondor2.asking import address, connected
from roost.compat.htcondor2.collector import Collector as SecondCollector
from roost.compat.htcondor2.negotiator import Negotiator as SecondNegotiator
from roost.compat.htcondor2.schedd import Schedd as SecondSchedd
from roost.compat.htcondor2.submit import Item
from roost.compat.htcondor2.submit import Submit as SecondSubmit
from roost.model.compatible import CONDOR_VERSION_NUMBER
from roost.schedd.submit import Submission

__version__: str = CONDOR_VERSION_NUMBER
# The second bindings have a module of the same name.
classad = classad1

#: Names of HTCondor's first bindings that are not here, and why.
LEFT_OUT: Final = {
    "BulkQueryIterator": "ask one queue at a time, with `poll` or `Schedd.xquery`",
    "Claim": "claims of machines are the queue's own",
    "EventIterator": "use JobEventLog",
    "JobRouter": "there is no job router",
    "LogReader": "follow the file that JOB_QUEUE_LOG names",
    "QueryIterator": "use Schedd.xquery",
    "TokenRequest": "users are known by their credentials for the message bus",
    "enable_classad_extensions": "the extensions are always there",
}
_OF_SCHEDD: Final = {
    "edit_multiple": "use Schedd.edit with a constraint",
    "query_users": "the queue has no records of users; Schedd.query and Negotiator.getPriorities tell of them",
    "submitMany": "use Schedd.submit with itemdata",
}


def __getattr__(name: str) -> NoReturn:
    why = f": {LEFT_OUT[name]}" if name in LEFT_OUT else ""
    raise AttributeError(f"Roost's module htcondor has no {name}{why}")


class HTCondorIOError(HTCondorException, OSError):
    """The pool or a file cannot be reached."""


class HTCondorLocateError(HTCondorException, OSError):
    """A daemon was not found."""


class HTCondorReplyError(HTCondorException, RuntimeError):
    """A daemon refused."""


class HTCondorValueError(HTCondorException, ValueError):
    """A value is not allowed."""


class HTCondorTypeError(HTCondorException, TypeError):
    """An object has the wrong type."""


class HTCondorEnumError(HTCondorException, NotImplementedError):
    """A constant is not known."""


class HTCondorInternalError(HTCondorException, RuntimeError):
    """An internal error."""


class BlockingMode(IntEnum):
    """Whether a query blocks."""

    Blocking = 0
    NonBlocking = 1


def _first(ad: SecondAd) -> classad.ClassAd:
    """An ad of the first bindings."""
    return classad.ClassAd._of_ad(ad._ad)


class Transaction:
    """Jobs that are submitted together, and removed again if the block ends with an error."""

    def __init__(self, schedd: Schedd) -> None:
        self._schedd = schedd
        self._clusters: list[str] = []
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, at: Any) -> None:
        self._open = False
        if kind is not None and self._clusters:
            self._schedd.act(JobAction.Remove, self._clusters, "the transaction that submitted it failed")

    def _submit(self, submission: Submission) -> SubmitResult:
        if not self._open:
            raise HTCondorInternalError("Job queue attempt without active transaction")
        with self._schedd._pool() as pool:
            taken = submitting.submitted(pool, submission)
        number = taken[0].cluster
        self._clusters += [str(each.cluster) for each in taken]
        ad = submitting.cluster_ad(submission.clusters[0], number)
        return SubmitResult(number, 0, taken[0].jobs, _first(ad))


class Submit(SecondSubmit):
    """A submit description; `queue` submits it in a transaction."""

    def _value_text(self, value: Any) -> str:
        """The text of a value: bytes are decoded, None becomes `undefined`. Raises TypeError."""
        if value is None:
            return "undefined"
        return value.decode() if isinstance(value, bytes) else super()._value_text(value)

    def queue(self, txn: Transaction, count: int = 0, ad_results: list[Any] | None = None) -> int:
        """Submit jobs, and return their cluster."""
        result = self._queued(txn, count, None)
        if ad_results is not None:
            ad_results += list(self.jobs(count=count, clusterid=result.cluster()))
        return result.cluster()

    def queue_with_itemdata(
        self, txn: Transaction, count: int = 1, itemdata: Iterable[Item] | None = None, spool: bool = False
    ) -> SubmitResult:
        """Submit `count` jobs for each item."""
        return self._queued(txn, count, itemdata, spool=spool)

    def _queued(
        self, txn: Transaction, count: int, itemdata: Iterable[Item] | None, *, spool: bool = False
    ) -> SubmitResult:
        items = self._given_items(count, itemdata, None)
        with txn._schedd._pool() as pool:
            found = submitting.plan(self, items, pool, spool=spool)
        return txn._submit(found)


class Schedd(SecondSchedd):
    """A queue."""

    def __init__(self, location_ad: SecondAd | None = None) -> None:
        try:
            super().__init__(location_ad)
        except HTCondorException as error:
            raise HTCondorLocateError(str(error)) from None

    def __getattr__(self, name: str) -> NoReturn:
        why = f": {_OF_SCHEDD[name]}" if name in _OF_SCHEDD else ""
        raise AttributeError(f"Roost's Schedd of the first bindings has no {name}{why}")

    def spool(self, ad_list: list[Any]) -> None:  # type: ignore[override]
        """Copy the files of jobs that were submitted with `spool` to the queue."""
        self._spool(list(dict.fromkeys(int(ad["ClusterId"]) for ad in ad_list)))

    def transaction(self, flags: int = 0, continue_txn: bool = False) -> Transaction:
        """A block in which descriptions are queued."""
        return Transaction(self)

    def query(
        self,
        constraint: Any = "true",
        projection: Iterable[str] | None = None,
        callback: Callable[[classad.ClassAd], Any] | None = None,
        limit: int = -1,
        opts: QueryOpt = QueryOpt.Default,
    ) -> list[Any]:
        """The ads of jobs."""
        ads = [_first(ad) for ad in super().query(constraint, list(projection or ()), None, limit, opts)]
        return ads if callback is None else [made for ad in ads if (made := callback(ad)) is not None]

    def xquery(
        self,
        constraint: Any = None,
        projection: Iterable[str] | None = None,
        limit: int = -1,
        opts: QueryOpt = QueryOpt.Default,
        name: str | None = None,
        requirements: Any = None,
    ) -> Iterator[classad.ClassAd]:
        """The ads of jobs, one at a time."""
        where = "true" if constraint is None else constraint
        return iter(self.query(where if requirements is None else requirements, projection, None, limit, opts))

    def history(  # type: ignore[override]
        self,
        constraint: Any = None,
        projection: Iterable[str] | None = None,
        match: int = -1,
        since: Any = None,
        requirements: Any = None,
    ) -> Iterator[classad.ClassAd]:
        """Jobs that have left the queue, the last first."""
        where = requirements if constraint is None else constraint
        return iter([_first(ad) for ad in super().history(where, list(projection or ()), match, since)])

    def act(self, action: JobAction, job_spec: Any, reason: str | None = None) -> classad.ClassAd:
        """Perform an action on jobs."""
        return _first(super().act(action, job_spec, reason))

    def edit(self, job_spec: Any, attr: str, value: Any, flags: TransactionFlag = TransactionFlag.Default) -> int:
        """Set an attribute of jobs."""
        return super().edit(job_spec, attr, value, flags)

    def submit(  # type: ignore[override]
        self,
        description: Any,
        count: int = 0,
        spool: bool = False,
        ad_results: list[Any] | None = None,
        itemdata: Iterable[Item] | None = None,
    ) -> SubmitResult:
        """Submit jobs."""
        if not isinstance(description, SecondSubmit):
            raise HTCondorTypeError("jobs are submitted as a Submit; raw ads of jobs are not taken")
        result = super().submit(description, count, spool, itemdata)
        ad = result.clusterad()
        if ad_results is not None:
            ad_results += list(description.jobs(count=count, itemdata=itemdata, clusterid=result.cluster()))
        return SubmitResult(result.cluster(), 0, result.num_procs(), None if ad is None else _first(ad))


class Collector(SecondCollector):
    """The ads of a pool."""

    def query(  # type: ignore[override]
        self,
        ad_type: AdType = AdType.Any,
        constraint: Any = True,
        projection: Iterable[str] | None = None,
        statistics: str = "",
    ) -> list[classad.ClassAd]:
        """The ads of a kind for which a constraint is true."""
        return [_first(ad) for ad in super().query(ad_type, constraint, list(projection or ()), statistics)]

    def locate(self, daemon_type: DaemonType, name: str | None = None) -> classad.ClassAd:
        """Where a daemon is."""
        try:
            return _first(super().locate(daemon_type, name))
        except HTCondorException as error:
            raise HTCondorLocateError(str(error)) from None

    def locateAll(self, daemon_type: DaemonType) -> list[classad.ClassAd]:  # type: ignore[override]
        """Where the daemons of a kind are."""
        return [_first(ad) for ad in super().locateAll(daemon_type)]

    def directQuery(
        self, daemon_type: DaemonType, name: str | None = None, projection: Any = (), statistics: str | None = None
    ) -> classad.ClassAd:
        """The ad of a daemon."""
        return _first(super().directQuery(daemon_type, name, list(projection or ()), statistics))


class Negotiator(SecondNegotiator):
    """Users' priorities."""

    def getPriorities(self, rollup: bool = False) -> list[classad.ClassAd]:  # type: ignore[override]
        """An ad for each user."""
        return [_first(ad) for ad in super().getPriorities(rollup)]


class SecMan:
    """This program's identity in the pool."""

    def ping(self, ad: Any = None, command: str = "DC_NOP") -> classad.ClassAd:
        """Contact the pool, and return the identity under which it knows this program."""
        return _first(htcondor2.ping(ad))

    def invalidateAllSessions(self) -> None:
        """No effect: each query has its own connection."""

    def setToken(self, token: Any) -> None:
        """No effect: the pool knows its users by their credentials for its bus."""

    setTag = setPoolPassword = setGSICredential = setConfig = setToken


class Token:
    """A token that a program prefers; has no effect."""

    def __init__(self, contents: str) -> None:
        self.contents = contents


def poll(queries: Iterable[Any], timeout_ms: int = 20000) -> Iterator[Any]:
    """The queries that have completed: all, since each completes when it is created."""
    return iter(queries)


def read_events(file: Any, is_xml: bool = False) -> Iterator[Any]:
    """The events that a log has now."""
    return iter(htcondor2.JobEventLog(file if isinstance(file, str) else file.name).events(stop_after=0))


class LockType(IntEnum):
    """How a file is locked."""

    ReadLock = 0
    WriteLock = 1


def lock(file_obj: Any, lock_type: int) -> Any:
    """A block in which a file is locked."""
    from contextlib import contextmanager

    @contextmanager
    def locked() -> Iterator[Any]:
        import fcntl

        fcntl.lockf(file_obj, fcntl.LOCK_SH if lock_type == LockType.ReadLock else fcntl.LOCK_EX)
        try:
            yield file_obj
        finally:
            fcntl.lockf(file_obj, fcntl.LOCK_UN)

    return locked()


def pool_address() -> str:
    """Host and port of the pool's bus."""
    with connected() as pool:
        return address(pool)


__all__ = sorted(
    {
        *htcondor2.__all__,
        "BlockingMode", "HTCondorEnumError", "HTCondorIOError", "HTCondorInternalError",
        "HTCondorLocateError", "HTCondorReplyError", "HTCondorTypeError", "HTCondorValueError",
        "LockType", "SecMan", "Token", "Transaction",
        "lock", "poll", "read_events",
    }
)  # fmt: skip
