"""The session: its jobs, control of them, and waiting for them to end.

All jobs of a session have its name in the attribute DrmaaSession, and the session keeps a record of them
(`record.Record`): another program that begins a session with the same contact string continues with them. Calls are
thread-safe. Waiting polls the pool at growing intervals, and tolerates a queue that is down for a while.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeVar

from roost.base.records import dataclass
from roost.compat.drmaa.core import attributes as at
from roost.compat.drmaa.core.codes import Code, DrmaaError
from roost.compat.drmaa.core.endings import SHOWN, Ending, ending_of
from roost.compat.drmaa.core.pool import Connections, SessionPool
from roost.compat.drmaa.core.record import Record
from roost.compat.drmaa.core.states import SHOWN as STATE_SHOWN
from roost.compat.drmaa.core.states import Known, State, state_of
from roost.explain.cell_tasks import array_of
from roost.model.cell_requests import HELD, JOB_SUSPENDERS, PREDECESSORS, SUSPENDERS, TASKS, JobSuspender
from roost.runtime.home import Home
from roost.runtime.identity import host_name
from roost.schedd.status import JobStatus
from roost.wire.requests import central, queue
from roost.wire.requests.cell import CellLog

T = TypeVar("T")

#: Attribute of a job: the session that it was submitted in.
SESSION: Final = "DrmaaSession"
ANY: Final = "DRMAA_JOB_IDS_SESSION_ANY"
ALL: Final = "DRMAA_JOB_IDS_SESSION_ALL"
FOREVER: Final = -1
#: First and longest pause between two queries, s; it grows with the time that a query takes.
_FIRST_S: Final = 0.03
_LONGEST_S: Final = 1.0
_SHARE: Final = 5
#: How long waiting tolerates a pool that does not answer, s.
OUTAGE_S: Final = 600.0
#: Most jobs named in one request.
TOGETHER: Final = 1000
#: More jobs of one cluster are queried by its number.
_APART_MAX: Final = 10
_CONTACT: Final = re.compile(r"session=([A-Za-z0-9_.-]{1,128})\Z")
_ID: Final = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?\Z")

Operation = Literal["suspend", "resume", "hold", "release", "terminate"]
_ACTIONS: Final[Mapping[Operation, queue.Action]] = {
    "suspend": "suspend",
    "resume": "continue",
    "hold": "hold",
    "release": "release",
    "terminate": "remove",
}
_WRONG: Final = {
    "suspend": Code.SUSPEND_INCONSISTENT_STATE,
    "resume": Code.RESUME_INCONSISTENT_STATE,
    "hold": Code.HOLD_INCONSISTENT_STATE,
    "release": Code.RELEASE_INCONSISTENT_STATE,
    "terminate": Code.INVALID_JOB,
}
#: Operations that succeed without effect if the job is already in the requested state.
_LENIENT: Final = ("hold", "release", "terminate")
_SAID: Final = {
    Code.SUSPEND_INCONSISTENT_STATE: "it does not run",
    Code.RESUME_INCONSISTENT_STATE: "it is not suspended",
    Code.HOLD_INCONSISTENT_STATE: "only jobs that wait can be put on hold",
    Code.RELEASE_INCONSISTENT_STATE: "it is not on hold",
}


@dataclass(slots=True)
class SessionJob:
    """A job that was not reaped yet."""

    #: Its id in DRMAA, and in the queue.
    id: str
    job: str
    ended: Ending | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Cluster and number in it."""
        cluster, _, proc = self.job.partition(".")
        return int(cluster), int(proc)


@dataclass(frozen=True, slots=True)
class Waited:
    """A job that was waited for."""

    id: str
    ending: Ending


class ActiveSession:
    """An active session."""

    def __init__(self, contact: str | None = None, warn: Callable[[str], None] | None = None) -> None:
        """Begin a session, or continue the one that `contact` names. Raises DrmaaError.

        `warn` gets each warning once, about what has no effect.
        """
        self._warn = warn or (lambda text: None)
        self._warned: set[str] = set()
        self._lock = threading.RLock()
        self._building = threading.Lock()
        self._ended = threading.Event()
        #: Jobs of the queue that the session has suspended.
        self._suspended: set[str] = set()
        self._connections = Connections(Home.find(None), self.warn)
        self.name = _name(contact)
        with self._connections.pool() as pool:
            self.user = pool.user
            self.has_cell = bool(pool.ask(CellLog(limit=1)))
            self._record = Record.of(str(pool.contact["pool"]), self.name)
            self._jobs = {job: SessionJob(name, job) for job, name in self._record.jobs.items()}
            if contact and self._record.is_cut:
                self._find_lost(pool)
        self._by_id = {each.id: each for each in self._jobs.values()}

    @property
    def contact(self) -> str:
        """The contact string by which another program continues the session."""
        return f"session={self.name}"

    def close(self) -> None:
        """End the session; its jobs continue, and calls that wait in other threads fail."""
        self._ended.set()
        self._connections.close()

    def warn(self, text: str) -> None:
        """Issue a warning once."""
        if text not in self._warned:
            self._warned.add(text)
            self._warn(text)

    def _find_lost(self, pool: SessionPool) -> None:
        """Find the jobs of a submission during which a program died."""
        constraint, shown = f'{SESSION} == "{self.name}" && Owner == "{self.user}"', ("ClusterId", "ProcId", TASKS)
        rows = [
            *pool.ask(queue.Query(owners=(self.user,), constraint=constraint, projection=shown)),
            *pool.ask(queue.History(constraint=constraint, projection=shown)),
        ]
        new = []
        for row in sorted(rows, key=lambda row: (row["ClusterId"], row["ProcId"])):
            job = f"{row['ClusterId']}.{row['ProcId']}"
            if job not in self._jobs and job not in self._record.reaped:
                self._jobs[job] = SessionJob(self._id_of(row), job)
                new.append((job, self._jobs[job].id))
        if new:
            self._record.submitted(new)
        else:
            self._record.nothing()

    def _id_of(self, row: Mapping[str, Any]) -> str:
        cluster, proc = int(row["ClusterId"]), int(row["ProcId"])
        if not self.has_cell:
            return f"{cluster}.{proc}"
        found = array_of(row)
        return f"{cluster}.{found[0] + proc * found[2]}" if found else f"{cluster}"

    # -- submitting ------------------------------------------------------------------------------------------------

    def check(self, name: str, value: str | Sequence[str]) -> None:
        """Raise DrmaaError for an attribute or a value of a template that is not possible."""
        at.check(name, value, has_cell=self.has_cell)

    def run_job(self, template: at.Template, directory: str = "") -> str:
        """Submit a job; its id. `directory`: the current directory of the program. Raises DrmaaError."""
        return self._submit(template, None, directory)[0]

    def run_bulk(self, template: at.Template, begin: int, end: int, step: int, directory: str = "") -> list[str]:
        """Submit jobs with numbers from `begin` to `end`; their ids. Raises DrmaaError."""
        return self._submit(template, at.bulk_range(begin, end, step), directory)

    def _submit(self, template: at.Template, tasks: tuple[int, int, int] | None, directory: str) -> list[str]:
        at.check_whole(template, is_bulk=tasks is not None)
        with self._connections.pool() as pool:
            with self._building:
                if directory and directory != os.getcwd():  # noqa: PTH109
                    os.chdir(directory)
                if self.has_cell:
                    from roost.compat.drmaa.core.cell_jobs import plan as plan_of
                else:
                    from roost.compat.drmaa.core.plain_jobs import plan as plan_of
                plan = plan_of(template, tasks, pool, self.warn)
            plan.common[SESSION] = self.name
            with self._lock:
                self._record.begin()
                try:
                    (taken,) = pool.ask(queue.Submit(clusters=(plan.to_data(),)))
                except pool.refused_class:
                    self._record.nothing()
                    raise
                array = array_of({TASKS: taken.tasks or None})
                jobs = [self._job(taken.cluster, proc, array) for proc in range(taken.jobs)]
                self._record.submitted((each.job, each.id) for each in jobs)
                self._jobs |= {each.job: each for each in jobs}
                self._by_id |= {each.id: each for each in jobs}
        for text in taken.warnings:
            self.warn(text)
        return [each.id for each in jobs]

    def _job(self, cluster: int, proc: int, tasks: tuple[int, int, int] | None) -> SessionJob:
        job = f"{cluster}.{proc}"
        if not self.has_cell:
            return SessionJob(job, job)
        return SessionJob(f"{cluster}.{tasks[0] + proc * tasks[2]}" if tasks else f"{cluster}", job)

    # -- queries ---------------------------------------------------------------------------------------------------

    def state(self, id_: str) -> State:
        """The state of a job. Raises DrmaaError."""
        known, job = self._found(id_)
        if known is not None and known.ended is not None:
            return State.FAILED if known.ended.was_aborted else State.DONE
        with self._connections.pool() as pool:
            rows = pool.ask(queue.Query(jobs=(job,), projection=STATE_SHOWN))
            rows = [row for row in rows if row.get("JobStatus") != JobStatus.COMPLETED]
            if rows:
                return state_of(rows[0], self._beside(pool, rows[0]))
        if known is None:
            raise _unknown(id_)
        self._look([known])
        if known.ended is None:
            raise _unknown(id_)
        return State.FAILED if known.ended.was_aborted else State.DONE

    def _beside(self, pool: SessionPool, row: Mapping[str, Any]) -> Known:
        """What the job's ad does not say: whether it waits for other jobs, and who suspended it.

        The slot's ad says who. Until it does, a job that the session has suspended is suspended by the session.
        """
        numbers = tuple(word for word in str(row.get(PREDECESSORS) or "").split(",") if word)
        waits = bool(numbers) and bool(pool.ask(queue.Query(jobs=numbers, projection=("ClusterId",), limit=1)))
        by_user = by_system = False
        if row.get("JobStatus") == JobStatus.SUSPENDED:
            names = (str(row.get("RemoteHost", "")),)
            shown = ("Name", SUSPENDERS, JOB_SUSPENDERS)
            ads = pool.ask(central.Ads(kind="Machine", names=names, projection=shown, values=True))
            own = {cause for ad in ads for cause in str(ad.get(JOB_SUSPENDERS) or "").split(",") if cause}
            by_system = JobSuspender.POLICY in own or any(ad.get(SUSPENDERS) for ad in ads)
            by_session = f"{row['ClusterId']}.{row['ProcId']}" in self._suspended
            by_user = JobSuspender.COMMAND in own if own or by_system else by_session
            by_system = by_system or not by_user
        return Known(now=time.time(), has_cell=self.has_cell, waits=waits, by_user=by_user, by_system=by_system)

    def _found(self, id_: str) -> tuple[SessionJob | None, str]:
        """The job of the session, if it is one, and its id in the queue. Raises DrmaaError."""
        with self._lock:
            known = self._by_id.get(id_)
        if known is not None:
            return known, known.job
        found = _ID.match(id_)
        if found is None:
            raise DrmaaError(Code.INVALID_ARGUMENT, f"{id_!r} is not the id of a job")
        cluster, task = found.groups()
        with self._connections.pool() as pool:
            rows = pool.ask(queue.Query(jobs=(cluster,), projection=("ClusterId", "ProcId", TASKS)))
        for row in rows:
            job = f"{row['ClusterId']}.{row['ProcId']}"
            if id_ in (self._id_of(row), None if task is not None else cluster):
                return None, job if task is not None or len(rows) == 1 else cluster
        raise _unknown(id_)

    def _look(self, jobs: Iterable[SessionJob]) -> None:
        """Check which jobs have ended. Raises DrmaaError."""
        looked = [each for each in jobs if each.ended is None]
        if not looked:
            return
        with self._connections.pool() as pool:
            statuses: dict[tuple[int, int], int] = {}
            for names in _named(looked):
                for row in pool.ask(queue.Query(jobs=names, projection=("ClusterId", "ProcId", "JobStatus"))):
                    statuses[int(row["ClusterId"]), int(row["ProcId"])] = int(row["JobStatus"])
            stay = [each for each in looked if statuses.get(each.place) == JobStatus.COMPLETED]
            gone = [each for each in looked if each.place not in statuses]
            rows: list[Mapping[str, Any]] = []
            for names in _named(stay):
                rows += pool.ask(queue.Query(jobs=names, projection=SHOWN))
            for names in _named(gone):
                rows += pool.ask(queue.History(jobs=names, projection=SHOWN))
        endings = {(int(row["ClusterId"]), int(row["ProcId"])): row for row in rows}
        for each in (*stay, *gone):
            end = endings.get(each.place)
            # The history may have dropped the job.
            each.ended = Ending(was_aborted=True) if end is None else ending_of(end)

    # -- waiting ---------------------------------------------------------------------------------------------------

    def wait(self, id_: str, timeout_s: float = FOREVER, *, wants_usage: bool = True) -> Waited:
        """Wait until a job, or any (`ANY`), has ended, and reap it.

        Raises DrmaaError, with `wants_usage` also for a job without usage, which is reaped.
        """
        if id_ == ALL:
            raise DrmaaError(Code.INVALID_ARGUMENT, f"{ALL} cannot be waited for: use synchronize")

        def ended() -> SessionJob | None:
            with self._lock:
                if id_ != ANY and id_ not in self._by_id:
                    raise self._not_ours(id_)
                jobs = list(self._by_id.values()) if id_ == ANY else [self._by_id[id_]]
                if not jobs:
                    raise DrmaaError(Code.INVALID_JOB, "the session has no job that was not waited for")
            self._look_in_order(jobs)
            with self._lock:
                done = next((each for each in jobs if each.ended is not None and each.id in self._by_id), None)
                if done is not None:
                    self._reap([done])
                return done

        job = self._until(ended, timeout_s)
        assert job.ended is not None
        if wants_usage and not job.ended.usage:
            text = f"job {job.id} was removed before it ran" if job.ended.was_aborted else ""
            raise DrmaaError(Code.NO_RUSAGE, text)
        return Waited(job.id, job.ended)

    def _look_in_order(self, jobs: list[SessionJob]) -> None:
        """Check for ended jobs, unless there is one already."""
        if not any(each.ended is not None for each in jobs):
            self._look(jobs)

    def _not_ours(self, id_: str) -> DrmaaError:
        if _ID.match(id_) is None:
            return DrmaaError(Code.INVALID_ARGUMENT, f"{id_!r} is not the id of a job")
        return _unknown(id_)

    def synchronize(self, ids: Sequence[str], timeout_s: float = FOREVER, *, dispose: bool = False) -> None:
        """Wait until jobs have ended, and reap them if `dispose`. Raises DrmaaError.

        Jobs that were reaped have ended. Jobs of other sessions are waited for, and not reaped.
        """
        jobs = self._synchronized(ids)

        def all_ended() -> bool:
            left = [each for each in jobs if each.ended is None]
            self._look(left)
            return all(each.ended is not None for each in jobs)

        if jobs:
            self._until(all_ended, timeout_s)
        if dispose:
            with self._lock:
                self._reap([each for each in jobs if self._by_id.get(each.id) is each])

    def _synchronized(self, ids: Sequence[str]) -> list[SessionJob]:
        with self._lock:
            if ALL in ids:
                return list(self._by_id.values())
            found = {id_: self._by_id[id_] for id_ in ids if id_ in self._by_id}
        for id_ in ids:
            if id_ in found:
                continue
            try:
                _, job = self._found(id_)
            except DrmaaError as error:
                if error.code is not Code.INVALID_JOB or not self._has_been(id_):
                    raise
            else:
                names = [job] if "." in job else self._of_cluster(job)
                found |= {name: SessionJob(id_, name) for name in names}
        return list(found.values())

    def _of_cluster(self, cluster: str) -> list[str]:
        with self._connections.pool() as pool:
            rows = pool.ask(queue.Query(jobs=(cluster,), projection=("ClusterId", "ProcId")))
        return [f"{row['ClusterId']}.{row['ProcId']}" for row in rows]

    def _has_been(self, id_: str) -> bool:
        """Whether a job with that id existed."""
        with self._connections.pool() as pool:
            rows = pool.ask(
                queue.History(jobs=(id_.partition(".")[0],), projection=("ClusterId", "ProcId", TASKS))
            )  # fmt: skip
        return any(id_ in (self._id_of(row), str(row["ClusterId"])) for row in rows)

    def _reap(self, jobs: Sequence[SessionJob]) -> None:
        if not jobs:
            return
        for each in jobs:
            del self._by_id[each.id], self._jobs[each.job]
            self._suspended.discard(each.job)
        self._record.reap([each.job for each in jobs])

    def _until(self, look: Callable[[], T | None], timeout_s: float) -> T:
        """Poll until `look` returns a result. Raises DrmaaError."""
        if timeout_s < 0 and timeout_s != FOREVER:
            raise DrmaaError(Code.INVALID_ARGUMENT, f"a timeout is -1, 0 or a number of seconds, not {timeout_s:g}")
        until = None if timeout_s == FOREVER else time.monotonic() + timeout_s
        pause_s, away_since = _FIRST_S, None
        while True:
            if self._ended.is_set():
                raise DrmaaError(Code.NO_ACTIVE_SESSION, "the session was ended")
            began = time.monotonic()
            try:
                found = look()
                away_since = None
            except DrmaaError as error:
                if error.code is not Code.DRM_COMMUNICATION_FAILURE:
                    raise
                away_since = away_since or began
                if began - away_since > OUTAGE_S:
                    raise
                found = None
            if found:
                return found
            now = time.monotonic()
            if until is not None and now >= until:
                raise DrmaaError(Code.EXIT_TIMEOUT)
            rest_s = max(pause_s, (now - began) * _SHARE)
            self._ended.wait(rest_s if until is None else min(rest_s, until - now))
            pause_s = min(_LONGEST_S, pause_s * 1.3)

    # -- control ---------------------------------------------------------------------------------------------------

    def control(self, id_: str, operation: Operation) -> None:
        """Suspend, resume, hold, release or terminate a job, or all of the session (`ALL`). Raises DrmaaError."""
        if id_ != ALL:
            known, job = self._found(id_)
            if known is not None and known.ended is not None:
                raise DrmaaError(Code.INVALID_JOB, f"job {id_} has ended")
            self._act(operation, {job: id_})
            return
        with self._lock:
            jobs = {each.job: each.id for each in self._by_id.values() if each.ended is None}
        names = list(jobs)
        problem: DrmaaError | None = None
        for first in range(0, len(names), TOGETHER):
            try:
                self._act(operation, {job: jobs[job] for job in names[first : first + TOGETHER]}, all_=True)
            except DrmaaError as error:
                problem = problem or error
        if problem is not None:
            raise problem

    def _act(self, operation: Operation, jobs: Mapping[str, str], *, all_: bool = False) -> None:
        attributes = {HELD: "u"} if operation in ("hold", "release") else None
        request = queue.Act(
            action=_ACTIONS[operation], jobs=tuple(jobs), reason=f"via DRMAA by user {self.user}", attributes=attributes
        )
        with self._connections.pool() as pool:
            refused = pool.ask(request).refused
        done = {job for job in jobs if job not in refused}
        if operation == "suspend":
            self._suspended |= done
        elif operation == "resume":
            self._suspended -= done
        for job, why in refused.items():
            id_ = jobs.get(job) or jobs.get(job.partition(".")[0]) or job
            if why == "permission-denied":
                raise DrmaaError(Code.AUTH_FAILURE, f"job {id_} is not yours")
            if why == "not-found":
                if all_:
                    continue
                raise DrmaaError(Code.INVALID_JOB, f"job {id_} has left the queue")
            if operation == "release" or (why == "already-done" and operation in _LENIENT):
                # It is already in the requested state.
                continue
            code = _WRONG[operation]
            raise DrmaaError(code, f"job {id_}: {_SAID.get(code, why)}")


def _name(contact: str | None) -> str:
    """The session that a contact string names; a new one if there is none. Raises DrmaaError."""
    if not contact:
        return f"{host_name().partition('.')[0]}.{os.getpid()}.{time.time_ns()}"
    found = _CONTACT.match(contact)
    if found is None:
        raise DrmaaError(
            Code.INVALID_CONTACT_STRING,
            f"{contact!r} is not of the form session=NAME, with a NAME of letters, digits, '_', '.' and '-'",
        )
    return found[1]


def _unknown(id_: str) -> DrmaaError:
    return DrmaaError(Code.INVALID_JOB, f"there is no job {id_}, or it was waited for already")


def _named(jobs: Sequence[SessionJob]) -> list[tuple[str, ...]]:
    """Names of jobs for requests; a cluster stands for its jobs if they are many."""
    by_cluster: dict[int, list[str]] = {}
    for each in jobs:
        by_cluster.setdefault(each.place[0], []).append(each.job)
    names = [
        name
        for cluster, some in by_cluster.items()
        for name in (some if len(some) <= _APART_MAX else [str(cluster)])
    ]  # fmt: skip
    return [tuple(names[first : first + TOGETHER]) for first in range(0, len(names), TOGETHER)]
