"""What the jobs did against what the pool says they did, by content."""

from __future__ import annotations

import itertools
import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.integration.kit import eventually
from tests.soak.faults import DESTROYING, Faults
from tests.soak.machines import CPUS, Site
from tests.soak.work import Job, Work

#: The end of a run is written a moment before its process ends and before its end is recorded.
_SETTLING_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a job, by its own evidence; `ended` is None if its script did not come to its last line."""

    token: str
    began: float
    ended: float | None


@dataclass(slots=True)
class Evidence:
    """What all jobs wrote."""

    runs: dict[str, list[Run]]
    together: list[str]

    def tokens(self, name: str) -> set[str]:
        """The tokens of the runs of a job that came to their last line."""
        return {run.token for run in self.runs.get(name, ()) if run.ended is not None}


def evidence(path: Path) -> Evidence:
    """Read the evidence."""
    began: dict[str, dict[str, float]] = defaultdict(dict)
    ended: dict[str, dict[str, float]] = defaultdict(dict)
    together = []
    for line in path.read_text().splitlines():
        kind, name, *rest = line.split()
        if kind == "together":
            together.append(name)
        else:
            (began if kind == "begin" else ended)[name][rest[0]] = float(rest[1])
    runs = {
        name: [Run(token=token, began=at, ended=ended[name].get(token)) for token, at in tokens.items()]
        for name, tokens in began.items()
    }
    return Evidence(runs, together)


@dataclass(slots=True)
class Verdict:
    """Everything that is wrong, and the figures."""

    wrong: list[str]
    figures: dict[str, int]


def verify(site: Site, work: Work, faults: Faults) -> Verdict:
    """Compare; the pool must be idle and up."""
    rows = json.loads(site.central("history", "--json", "--long", "--limit", "0"))
    past = {f"{ad['ClusterId']}.{ad['ProcId']}": ad for ad in rows}
    seen = evidence(work.place / "evidence/proof")
    wrong = [f"{times} ends of job {job} in the history" for job, times in _twice(rows)]
    wrong += [f"runs of {name} overlapped" for name in seen.together]
    _name_jobs(work, rows)
    for job in work.jobs.values():
        wrong += _job(work, job, past.get(job.id), seen)
    wrong += _logged(work)
    for dag in work.dags:
        nodes = [node for layer in dag.layers for node in layer]
        for node in nodes:
            wrong += _output(work, node, seen)
        wrong += _order(dag.layers, seen)
        ad = past.get(f"{dag.cluster}.0", {})
        if ad.get("ExitCode") != 0 or ad.get("JobStatus") != 4:
            wrong.append(f"DAG {dag.name} ended with {_summary(ad)}")
        if (dag.place / "x.dag.lock").exists():
            wrong.append(f"DAG {dag.name} left its lock")
    again, unexcused = _again(seen, faults)
    wrong += unexcused
    wrong += _left(site, work)
    figures = {
        "jobs": sum(1 for job in work.jobs.values() if job.id),
        "DAGs": len(work.dags),
        "jobs of DAGs": sum(len(layer) for dag in work.dags for layer in dag.layers),
        "runs": sum(len(runs) for runs in seen.runs.values()),
        "jobs that began more than once": sum(1 for runs in seen.runs.values() if len(runs) > 1),
        "jobs that ran to their end more than once": again,
        "removed": sum(1 for job in work.jobs.values() if job.removed),
        **{f"submissions without an answer, {name}": count for name, count in work.unanswered.items()},
    }
    return Verdict(wrong, figures)


def _twice(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    for job, times in Counter(f"{ad['ClusterId']}.{ad['ProcId']}" for ad in rows).items():
        if times > 1:
            yield job, times


def _name_jobs(work: Work, rows: list[dict[str, Any]]) -> None:
    for ad in rows:
        name = str(ad.get("SoakJob"))
        if name in work.jobs:
            work.jobs[name].id = f"{ad['ClusterId']}.{ad['ProcId']}"


def _summary(ad: dict[str, Any]) -> dict[str, Any]:
    names = ("JobStatus", "ExitCode", "ExitBySignal", "ExitSignal", "HoldReason", "RemoveReason", "NumJobStarts")
    return {name: ad[name] for name in names if name in ad}


def _job(work: Work, job: Job, ad: dict[str, Any] | None, seen: Evidence) -> Iterator[str]:
    if ad is None:
        # A batch whose submission had no answer and was not taken has no job at all.
        if work.acknowledged(job):
            yield f"job {job.name} is lost"
        elif job.name in seen.runs:
            yield f"job {job.name} ran although it is in no record"
        return
    if ad["JobStatus"] == 3 and job.removed:
        return
    if ad.get("ExitBySignal") and job.name in work.killed:
        return
    if ad["JobStatus"] != 4 or ad.get("ExitCode") != job.status:
        yield f"job {job.name} ({job.id}) ended with {_summary(ad)}, not with status {job.status}"
    yield from _output(work, job.name, seen)


def _output(work: Work, name: str, seen: Evidence) -> Iterator[str]:
    said = _read(work.place / "results" / f"out.{name}")
    found = re.fullmatch(rf"output of {name} by (\S+) *\n", said)
    if found is None or found[1] not in seen.tokens(name):
        yield f"the output of {name} is {said.strip()!r}; its runs: {seen.runs.get(name)}"
        return
    result = _read(work.place / "results" / f"result.{name}")
    if result.rstrip() != f"result of {name} by {found[1]} from input of {name}":
        yield f"the result of {name} is {result.strip()!r}, its output is by {found[1]}"
    if _read(work.place / "results" / f"err.{name}"):
        yield f"job {name} complained: {_read(work.place / 'results' / f'err.{name}')!r}"


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        return f"<{error.strerror}>"


def _logged(work: Work) -> Iterator[str]:
    text = "".join((work.place / f"evidence/log.{user}").read_text() for user in ("root", work.user))
    events = [
        (kind, f"{int(cluster)}.{int(proc)}")
        for kind, cluster, proc in re.findall(r"^(\d{3}) \((\d+)\.(\d+)\.\d+\)", text, re.M)
    ]
    if text.count("\n...\n") != len(events):
        yield f"the event log is torn: {len(events)} events, {text.count(chr(10) + '...' + chr(10))} separators"
    submits = Counter(job for kind, job in events if kind == "000")
    ends = Counter(job for kind, job in events if kind in ("005", "009"))
    for job in work.jobs.values():
        if job.id and (submits[job.id], ends[job.id]) != (1, 1):
            yield f"the event log has {submits[job.id]} submissions and {ends[job.id]} ends of {job.name} ({job.id})"


def _order(layers: list[list[str]], seen: Evidence) -> Iterator[str]:
    for above, below in itertools.pairwise(layers):
        ended = [min((run.ended for run in seen.runs.get(node, ()) if run.ended), default=None) for node in above]
        for node in below:
            began = min((run.began for run in seen.runs.get(node, ())), default=None)
            if began is not None and any(end is None or end > began for end in ended):
                yield f"node {node} began before its parents had ended"


def _again(seen: Evidence, faults: Faults) -> tuple[int, list[str]]:
    """How many jobs ran to their end more than once, and those for which no fault accounts."""
    again, unexcused = 0, []
    for name, runs in seen.runs.items():
        ended = sorted((run.ended, run.token) for run in runs if run.ended is not None)
        again += len(ended) > 1
        for (end, token), _ in itertools.pairwise(ended):
            following = min(run.began for run in runs if run.began > end)
            if not _accounted(end, following, token.partition(".")[0], faults):
                unexcused.append(
                    f"{name} ran again at {following:.1f} though it had run to its end at {end:.1f} ({token})"
                )
    return again, unexcused


def _accounted(end: float, following: float, machine: str, faults: Faults) -> bool:
    return any(
        kind in DESTROYING and where in ("", machine) and began - 1.0 <= following and over + _SETTLING_S >= end
        for kind, where, began, over in faults.history
    )


def _left(site: Site, work: Work) -> Iterator[str]:
    """What an idle pool must not have."""

    def free() -> bool:
        slots = json.loads(site.central("status", "--json", "--long"))
        states = {(slot["State"], slot["Activity"]) for slot in slots}
        whole = sum(slot["Cpus"] for slot in slots) == CPUS * len(site.machines)
        return whole and states == {("Unclaimed", "Idle")}

    try:
        eventually(free, within_s=60.0)
    except AssertionError:
        yield f"slots are not free or not whole:\n{site.central('status')}"
    known = {f"{kind}.{name}" for name in _names(work) for kind in ("out", "err", "result")}
    for path in (work.place / "results").iterdir():
        if path.name not in known:
            yield f"left besides the results: {path.name}"
    for machine in site.all:
        for pid, words in machine.processes().items():
            if "job.sh" in words or "condor_exec" in words:
                yield f"process {pid} of {machine.name} is left: {words}"
        for part in ("execute", "jobs", "spool"):
            for path in (machine.home / part).rglob("*"):
                # They mirror what has left the queue and what runs have ended, and stay.
                if (
                    path.is_file()
                    and path.name not in ("history", "epoch_history")
                    and not {".spare", ".partials"} & set(path.parts)
                ):
                    yield f"left on {machine.name}: {path.relative_to(machine.home)}"
        if machine.mistakes():
            yield f"internal errors on {machine.name}: {machine.mistakes()}"


def _names(work: Work) -> Iterator[str]:
    yield from work.jobs
    for dag in work.dags:
        for layer in dag.layers:
            yield from layer


def sound_databases(site: Site) -> Iterator[str]:
    """Check the databases after the end of the pool."""
    for path in sorted((site.central.home / "db").glob("*.sqlite")):
        with sqlite3.connect(path) as connection:
            answer = connection.execute("PRAGMA integrity_check").fetchone()[0]
        connection.close()
        if answer != "ok":
            yield f"{path.name}: {answer}"
