"""Users' actions on jobs: ``condor_rm|hold|release|suspend|continue|vacate_job``.

All job ids together are one request with a line of output for each; every cluster, user and constraint is a separate
request, with one line. The exit status is 1 only if no job was acted on at all.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Final, NamedTuple

from roost.cli.condor.asking import PLACE_OPTIONS, DaemonLocation
from roost.cli.condor.choosing import JobSelection, job_id, owner
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Option, given
from roost.cli.pool_connection import Pool, Refused
from roost.wire.requests import queue


class CondorAction(NamedTuple):
    """One of these commands, or a variant of it."""

    queue_action: queue.Action
    #: Past participle of the action.
    done: str
    #: Verb of the action, for failures.
    verb: str
    #: The state in which a job cannot be acted on, and the state after the action.
    wrong: str
    already: str = ""
    #: The JobStatus for which `already` applies.
    already_status: int = 0


CONDOR_ACTIONS: Final = {
    "condor_rm": CondorAction("remove", "marked for removal", "remove", "not in a state to be removed",
                      "already marked for removal", 3),
    "condor_hold": CondorAction("hold", "held", "hold", "not in a state to be held", "already held", 5),
    "condor_release": CondorAction("release", "released", "release", "not held to be released"),
    "condor_suspend": CondorAction("suspend", "suspended", "suspend", "not running to be suspended",
                                     "already suspended", 7),
    "condor_continue": CondorAction("continue", "continued", "continue", "not running to be continued",
                                     "already running", 2),
    "condor_vacate_job": CondorAction("vacate", "vacated", "vacate", "not running to be vacated"),
}  # fmt: skip
_REMOVE_X: Final = CondorAction("remove-x", "removed locally (remote state unknown)", "remove",
                        "not in `X' state to be forcibly removed")  # fmt: skip
_VACATE_FAST: Final = CondorAction("vacate-fast", "fast-vacated", "fast-vacate", "not running to be fast-vacated")
_REMOVED: Final = 3
_HELD: Final = 5

OPTIONS: Final = (
    Option("constraint", "only jobs for which EXPR is true", takes="EXPR", least=1),
    Option("all", "all jobs that you may act on", least=1),
    Option("held", "act only on held jobs; alone, on all held jobs", least=2),
    Option("hold", "the same", least=4),
    *PLACE_OPTIONS,
    Option("reason", "reason, recorded in the job's ad and its event log", takes="TEXT", least=1),
    Option("subcode", "subcode, recorded with the hold reason", takes="N", least=1),
    Option("forcex", "condor_rm: delete jobs that are being removed from the queue at once", least=3),
    Option("fast", "condor_vacate_job: kill at once, without a vacate time", least=3),
    Option("graceful", "accepted; this is always the case", least=1),
    Option("totals", "print the number of jobs acted on instead of their ids", least=1),
    Option("long", "print the result for each job as an ad", least=1),
    Option("addr", "accepted, has no effect", takes="ADDRESS", least=2),
    Option("debug", "accepted, has no effect", least=1),
)


class _Part(NamedTuple):
    """The jobs of one argument, or of all arguments that are job ids."""

    choice: JobSelection
    #: "jobs in cluster 5", in messages; "" for job ids.
    called: str = ""


class _CommandLine:
    """The parsed command line."""

    def __init__(self, name: str, arguments: list[str]) -> None:
        self.place = DaemonLocation()
        self.action = CONDOR_ACTIONS[name]
        self.reason = f"via {name}"
        self.subcode: int | None = None
        self.flags: set[str] = set()
        self._ids: list[str] = []
        self._parts: list[_Part] = []
        for option in given(arguments, OPTIONS):
            if self.place.take(option):
                continue
            if option.name in ("", "constraint", "all"):
                self._chosen(option.name, option.values[0] if option.values else "")
            elif option.name == "reason":
                self.reason = option.value
            elif option.name == "subcode":
                self.subcode = _number(option.value)
            else:
                self.flags.add(option.name)
        if "forcex" in self.flags and name == "condor_rm":
            self.action = _REMOVE_X
            if self.flags & {"held", "hold"}:
                raise UsageError(
                    "-forcex applies to jobs that are being removed and -held to held jobs; give only one of them"
                )
        if "fast" in self.flags and name == "condor_vacate_job":
            self.action = _VACATE_FAST

    def _chosen(self, kind: str, word: str) -> None:
        if kind == "constraint":
            self._parts.append(_Part(JobSelection(constraint=word), f"jobs matching constraint ({word})"))
        elif kind == "all":
            self._parts.append(_Part(JobSelection(), "jobs"))
        elif (job := job_id(word)) is None:
            if not word[:1].isalpha() and not word.startswith("_"):
                raise UsageError(f'Invalid cluster # from "{word}".')
            self._parts.append(_Part(JobSelection(owners=(owner(word),)), f'jobs of user "{word}"'))
        elif "." in job:
            self._ids.append(job)
        else:
            self._parts.append(_Part(JobSelection(jobs=(job,)), f"jobs in cluster {job}"))

    @property
    def status(self) -> int:
        """The JobStatus of the selected jobs; 0 for any."""
        if self.action is _REMOVE_X:
            return _REMOVED
        return _HELD if self.flags & {"held", "hold"} else 0

    @property
    def parts(self) -> list[_Part]:
        """All requests, ids of jobs first."""
        ids = [_Part(JobSelection(jobs=tuple(dict.fromkeys(self._ids))))] if self._ids else []
        found = [*ids, *self._parts]
        if not self.flags & {"held", "hold"}:
            return found
        # The option narrows what else is named: it never adds jobs.
        return [each._replace(called=each.called and f"held {each.called}") for each in found] or [
            _Part(JobSelection(), "held jobs")
        ]


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"Invalid -subcode argument: {text}") from None


def run(name: str, arguments: list[str]) -> int:
    """Run one of them."""
    order = _CommandLine(name, arguments)
    if not order.parts:
        raise UsageError(
            f"You did not specify any jobs\nUsage: {name} [options] [constraints]\n"
            "constraints are job ids (12.0), clusters (12), users, -constraint EXPR, or -all"
        )
    counts: Counter[str] = Counter()
    order.place.ask(lambda pool: [counts.update(_act(order, part, pool)) for part in order.parts])
    if "totals" in order.flags:
        _totals(counts)
    return 0 if counts["ok"] or counts["empty"] else 1


def _act(order: _CommandLine, part: _Part, pool: Pool) -> dict[str, int]:
    """Act on the jobs of a part and print the results; return the number of each result."""
    choice = part.choice
    if order.status and part.called:
        choice = choice.but(f"JobStatus == {order.status}")
    elif order.status:
        choice = _only(pool, choice, order.status)
    none = queue.ActedUpon(counts={}, refused={})
    done = _asked(pool, order, choice) if choice.jobs or part.called else none
    gone = [job for job in part.choice.jobs if job not in choice.jobs]
    counts = Counter(done.counts) + Counter({"bad-status": len(gone)} if gone else {})
    refused = {**done.refused, **dict.fromkeys(gone, "bad-status")}
    if "long" in order.flags:
        _long(order, part, refused, counts)
    elif part.called:
        return dict(counts + Counter(_tell_part(order, part, counts, pool)))
    else:
        _tell_jobs(order, part, refused, pool)
    return dict(counts)


def _asked(pool: Pool, order: _CommandLine, choice: JobSelection) -> queue.ActedUpon:
    attributes = None if order.subcode is None else {"HoldReasonSubCode": order.subcode}
    reason = f"{order.reason} (by user {pool.user})"
    try:
        return pool.ask(
            queue.Act(action=order.action.queue_action, reason=reason, attributes=attributes, **choice.asked())
        )
    except Refused as refused:
        raise ToolError(f"Error: {refused}") from None


def _only(pool: Pool, choice: JobSelection, status: int) -> JobSelection:
    """Those of some jobs that have a status, or do not exist at all."""
    statuses = _statuses(pool, choice.jobs)
    return choice._replace(jobs=tuple(job for job in choice.jobs if statuses.get(job, status) == status))


def _statuses(pool: Pool, jobs: tuple[str, ...]) -> dict[str, int]:
    rows = pool.ask(queue.Query(jobs=jobs, projection=("ClusterId", "ProcId", "JobStatus")))
    return {f"{row['ClusterId']}.{row['ProcId']}": int(row["JobStatus"]) for row in rows}


# -- telling -----------------------------------------------------------------------------------------------------


def _tell_jobs(order: _CommandLine, part: _Part, refused: dict[str, str], pool: Pool) -> None:
    statuses: dict[str, int] = {}
    if order.action.already and "bad-status" in refused.values():
        statuses = _statuses(pool, tuple(refused))
    for job in part.choice.jobs:
        if job not in refused:
            sys.stdout.write(f"Job {job} {order.action.done}\n")
        else:
            sys.stdout.flush()
            sys.stderr.write(f"{_why(order.action, job, refused[job], statuses.get(job, 0))}\n")


def _why(action: CondorAction, job: str, code: str, status: int) -> str:
    match code:
        case "not-found":
            return f"Job {job} not found"
        case "permission-denied":
            return f"Permission denied to {action.verb} job {job}"
        case "released-too-often":
            return f"Job {job} cannot be released again, has reached SYSTEM_PERIODIC_RELEASES limit"
        case "already-done":
            return f"Job {job} {action.already or action.wrong}"
        case _ if status and status == action.already_status:
            return f"Job {job} {action.already}"
    return f"Job {job} {action.wrong}"


def _tell_part(order: _CommandLine, part: _Part, counts: Counter[str], pool: Pool) -> dict[str, int]:
    """Print the result of jobs that are reported together; {"empty": 1} if the queue has no jobs at all."""
    if counts["ok"]:
        if "totals" not in order.flags:
            sys.stdout.write(f"All {part.called} have been {order.action.done}\n")
        return {}
    sys.stdout.flush()
    if not pool.ask(queue.Query(projection=("ClusterId",), limit=1)):
        sys.stderr.write("There are no jobs in the queue\n")
        return {"empty": 1}
    if counts["permission-denied"]:
        sys.stderr.write(f"Permission denied to {order.action.verb} {counts['permission-denied']} job(s)\n")
    sys.stderr.write(f"Couldn't find/{order.action.verb} all {part.called}\n")
    return {}


_COUNTED: Final = {
    "ok": "Succeeded", "failed": "Failed", "not-found": "Not Found", "bad-status": "Bad Status",
    "already-done": "Already Done", "permission-denied": "Permission Denied",
}  # fmt: skip
#: Result to its number in the ads of ``-long``.
_NUMBERS: Final = {"ok": 1, "not-found": 2, "bad-status": 3, "already-done": 4, "permission-denied": 5}


def _totals(counts: Counter[str]) -> None:
    sys.stdout.write(", ".join(f"{counts[code]} {words}" for code, words in _COUNTED.items()) + "\n")


def _long(order: _CommandLine, part: _Part, refused: dict[str, str], counts: Counter[str]) -> None:
    """An ad of results: one line per job if jobs were named, and the sums."""
    lines = [f'JobAction = "{order.action.queue_action}"', f"ActionResult = {1 if counts['ok'] else 0}"]
    for job in part.choice.jobs:
        if "." in job:
            cluster, _, proc = job.partition(".")
            lines.append(f"job_{cluster}_{proc} = {_NUMBERS.get(refused.get(job, 'ok'), 0)}")
    for code, number in _NUMBERS.items():
        lines.append(f"result_total_{number} = {counts[code]}")
    sys.stdout.write("\n".join(lines) + "\n\n")
