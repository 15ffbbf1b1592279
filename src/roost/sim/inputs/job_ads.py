"""Workloads given as job ads, for instance those that a submit file is expanded to.

An ad is what policy sees; how the job really behaves is told beside it, by a `Truth` for each ad. By default it is read
from attributes of the ad that begin with ``Sim``, which are then taken out of it:

| attribute | meaning |
|---|---|
| SimSubmitTime | when it is submitted, s since the beginning (0) |
| SimRunTime | time it needs on a machine of its own, s (3600) |
| SimImageSize | virtual size over time run: ``{ {0, 65536}, {600, 2000000} }``, s and KiB |
| SimCheckpoints | a soft kill lets it save its work |
| SimFarewell | time from a soft kill to its end, s |
| SimIgnoresSoftKill | it goes on as if no soft kill had been sent |
| SimDeath | time from a hard kill to its end, s |
| SimExitCode | its exit code |
| SimExitsToSave | time after which it ends to have its state saved, s; with SuccessCheckpointExitCode of its ad |
| SimInputTime, SimOutputTime | time to move its files, s |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from roost.base.records import replace
from roost.classad import ClassAd, Expr, ListValue, Value, evaluate
from roost.classad.values import fold
from roost.sim.inputs.workload import ENOUGH, Job, Truth

#: Attributes that tell jobs apart and not what they need: jobs that differ in nothing else are of one kind.
_OF_ONE: Final = frozenset(
    fold(name)
    for name in (
        *("ClusterId", "ProcId", "GlobalJobId", "QDate", "JobStatus", "EnteredCurrentStatus"),
        *("Cmd", "Args", "Arguments", "Env", "Environment", "Iwd", "In", "Out", "Err", "UserLog"),
        *("TransferInput", "TransferOutput", "JobSubmitMethod"),
    )
)
_PREFIX: Final = "sim"


class JobAdProblem(Exception):
    """An ad that makes no job, with place and remedy."""


def jobs_of(
    ads: Iterable[ClassAd], start: float, truth_of: Callable[[ClassAd], Truth] | None = None, *, origin: str = "<jobs>"
) -> list[Job]:
    """The jobs of ads, for a run that begins at `start`, epoch s. The ads are not changed. Raises JobAdProblem."""
    jobs: list[Job] = []
    names: set[str] = set()
    for number, given in enumerate(ads, 1):
        place = f"{origin}: job {number}"
        job = _job(given, start, truth_of, number, place)
        if job.name in names:
            raise JobAdProblem(f"{place}: ClusterId and ProcId are those of another job, {job.name}; give it others")
        names.add(job.name)
        jobs.append(job)
    return sorted(jobs, key=lambda job: job.submitted_at)


def _job(given: ClassAd, start: float, truth_of: Callable[[ClassAd], Truth] | None, number: int, place: str) -> Job:
    truth = described(given, place) if truth_of is None else truth_of(given)
    ad = given.copy()
    for name in [name for name in given if fold(name).startswith(_PREFIX)]:
        ad.pop(name, None)
    owner = ad.eval("Owner")
    if not isinstance(owner, str) or not owner:
        raise JobAdProblem(f"{place}: it has no Owner; every job needs one")
    at = start + _number(given, "SimSubmitTime", 0.0, place)
    cluster, proc = _whole(ad, "ClusterId", number, place), _whole(ad, "ProcId", 0, place)
    defaults: dict[str, Any] = {
        "MyType": "Job",
        "ClusterId": cluster,
        "ProcId": proc,
        "GlobalJobId": f"sim#{cluster}.{proc}",
        "User": f"{owner}@sim",
        "QDate": int(at),
        "JobUniverse": 5,
        "ImageSize": 64 * 1024,
        "RequestCpus": 1,
        "RequestMemory": 128,
        "RequestDisk": 1024,
        "NiceUser": False,
    }
    for name, value in defaults.items():
        if name not in ad:
            ad[name] = value
    if "Requirements" not in ad:
        ad.put("Requirements", ENOUGH)
    size = ad.eval("ImageSize")
    if not truth.memory and isinstance(size, int):
        truth = replace(truth, memory=((0.0, size),))
    return Job(
        name=f"{cluster}.{proc}", owner=owner, submitted_at=at, ad=ad, truth=truth, kind=f"{owner}/{kind_of(ad)}"
    )


def kind_of(ad: ClassAd) -> str:
    """What jobs have in common that a matcher need not tell apart."""
    shared = ClassAd({name: ad[name] for name in sorted(ad, key=fold) if fold(name) not in _OF_ONE})
    return str(shared)


def described(ad: ClassAd, place: str = "<job>") -> Truth:
    """The truth about a job as its ad's ``Sim`` attributes have it. Raises JobAdProblem."""
    save = ad.eval("SimExitsToSave")
    code = ad.eval("SuccessCheckpointExitCode")
    return Truth(
        run_s=_number(ad, "SimRunTime", 3600.0, place),
        checkpoints=ad.eval("SimCheckpoints") is True,
        farewell_s=_number(ad, "SimFarewell", 5.0, place),
        ignores_soft_kill=ad.eval("SimIgnoresSoftKill") is True,
        death_s=_number(ad, "SimDeath", 1.0, place),
        exit_code=_whole(ad, "SimExitCode", 0, place),
        memory=_sizes(ad, place),
        exits_to_save_s=float(save) if isinstance(save, int | float) and save > 0 else None,
        save_code=code if isinstance(code, int) else 85,
        input_s=_number(ad, "SimInputTime", 0.0, place),
        output_s=_number(ad, "SimOutputTime", 0.0, place),
    )


def _number(ad: ClassAd, name: str, otherwise: float, place: str) -> float:
    if name not in ad:
        return otherwise
    value = ad.eval(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise JobAdProblem(f"{place}: {name} is not a number of seconds; give one that is not below 0")
    return float(value)


def _whole(ad: ClassAd, name: str, otherwise: int, place: str) -> int:
    if name not in ad:
        return otherwise
    value = ad.eval(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise JobAdProblem(f"{place}: {name} is not a whole number; give one that is not below 0")
    return value


def _sizes(ad: ClassAd, place: str) -> tuple[tuple[float, int], ...]:
    points: list[tuple[float, int]] = []
    for item in _items(ad.eval("SimImageSize"), ad):
        pair = _items(item, ad)
        numbers = [each for each in pair if isinstance(each, int | float) and not isinstance(each, bool)]
        if len(pair) != 2 or len(numbers) != 2 or (points and numbers[0] <= points[-1][0]):
            raise JobAdProblem(
                f"{place}: SimImageSize is a list of pairs of seconds and KiB in the order of time, "
                "for instance { {0, 65536}, {600, 2000000} }"
            )
        points.append((float(numbers[0]), int(numbers[1])))
    return tuple(points)


def _items(value: Value, ad: ClassAd) -> list[Value]:
    if not isinstance(value, ListValue):
        return []
    return [evaluate(each, ad) if isinstance(each, Expr) else each for each in value.items]
