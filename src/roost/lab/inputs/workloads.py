"""Jobs of a simulation from files: recorded ones (``.swf``), job ads (``.ads``, ``.ad``, ``.json``), submit files.

A job ad has what policies may see. The actual behaviour of the job, which no policy sees, is in attributes whose names
begin with ``Sim``; they are removed before the ad is used. Submit files set them with a plus sign: ``+SimRunTime =
3600``.

`READERS` has a function for each kind of file, from its text, its name and the configuration to the ads of each
cluster. Jobs of a cluster in a submit file are submitted together if they have the same submit time; each ad of a file
of ads is a separate cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from roost.base.records import replace
from roost.classad import UNDEFINED, ClassAd, Expr, ParseError, evaluate, unparse_value
from roost.classad.forms import parse_ads
from roost.classad.values import ListValue
from roost.config import Config
from roost.lab.inputs.accounting import read_accounting
from roost.lab.inputs.text_file import kind_of, read_text
from roost.lab.machines import LabError
from roost.sim.inputs.swf import Recorded, WorkloadProblem, read_swf
from roost.sim.inputs.workload import Job, Truth, make_job

#: Attribute to what it means.
BEHAVIOUR: Final[Mapping[str, str]] = {
    "SimSubmitTime": "when the job is submitted, s since the beginning (default: 0)",
    "SimRunTime": "how long it runs on a machine that it does not share, s (default: 3600)",
    "SimCheckpoints": "whether it can save its state on a soft kill (default: false)",
    "SimFarewell": "how long it takes to end after a soft kill, s (default: 5)",
    "SimStubborn": "whether it ignores a soft kill (default: false)",
    "SimMemory": "its size over time of running: {{0, 1000}, {600, 2000}}, s and KiB (its ImageSize)",
    "SimExitCode": "its exit status (default: 0)",
}
#: Suffix of Grid Engine's accounting files; a file whose name begins with `accounting` is one, too.
ACCOUNTING: Final = ".accounting"
#: Attributes that differ between otherwise equal jobs.
_OWN: Final = frozenset(("clusterid", "procid", "globaljobid", "qdate", "mytype"))
#: Attributes that usually differ from job to job, and that policies rarely use.
_OF_FILES: Final = ("args", "arguments", "in", "out", "err", "userlog", "iwd", "env", "environment", "transferinput")


def read_jobs(
    path: Path, start: float, asked: str = "", config: Config | None = None, *, in_cell: bool = False
) -> Recorded:
    """The jobs of a file. `asked` is the text of the machines' expressions about jobs, `config` the configuration for
    submit files; `in_cell`: the pool has a cell, of which jobs may make requests.

    Raises LabError with place and remedy, OSError.
    """
    suffix = kind_of(path)
    if suffix == ACCOUNTING or path.name.startswith("accounting"):
        found = read_accounting(read_text(path), start, file=str(path))
        if not found.jobs:
            raise LabError(f"{path}: it contains no job that ran")
        return found
    if suffix != ".swf" and suffix not in READERS:
        known = ", ".join((".swf", ACCOUNTING, *READERS))
        raise LabError(f"{path}: cannot determine the kind of file from its name; the known suffixes are {known}")
    text = read_text(path)
    try:
        recorded = read_swf(text, start, file=str(path)) if suffix == ".swf" else None
    except WorkloadProblem as error:
        raise LabError(str(error)) from None
    if recorded is not None:
        found = recorded
    else:
        reader = READERS[suffix]
        is_submit = reader is _submitted
        clusters = (
            _submitted(text, str(path), config, in_cell=in_cell) if is_submit else reader(text, str(path), config)
        )
        jobs = jobs_of(clusters, start, str(path), asked, together=is_submit)
        found = Recorded(jobs, 0, _warnings(text, str(path), config) if is_submit else ())
    if not found.jobs:
        ran = f"; it records {found.never_ran:,} that never ran" if found.never_ran else ""
        raise LabError(f"{path}: it contains no job{ran}")
    return found


def _ads(text: str, file: str, config: Config | None) -> Iterable[list[ClassAd]]:
    try:
        return [[ad] for ad in parse_ads(text)]
    except ParseError as error:
        raise LabError(f"{file}: {error}") from None


def _submitted(text: str, file: str, config: Config | None, *, in_cell: bool = False) -> Iterable[list[ClassAd]]:
    """The ads that the submit language produces."""
    from roost.lab.inputs.submit_files import clusters_of

    return clusters_of(text, file, config=config, in_cell=in_cell)


def _warnings(text: str, file: str, config: Config | None) -> tuple[str, ...]:
    from roost.lab.inputs.submit_files import warnings_of

    return warnings_of(text, file, config)


READERS: Final[Mapping[str, Callable[[str, str, Config | None], Iterable[list[ClassAd]]]]] = {
    ".ads": _ads,
    ".ad": _ads,
    ".json": _ads,
    ".sub": _submitted,
    ".submit": _submitted,
}


def jobs_of(
    clusters: Iterable[Iterable[ClassAd]], start: float, file: str, asked: str = "", *, together: bool = False
) -> list[Job]:
    """Jobs from the ads of clusters, with their behaviour; `together`: they are submitted together. Raises LabError."""
    jobs: list[Job] = []
    asked = asked.lower()
    submission = file if together else ""
    unseen = frozenset(name for name in _OF_FILES if name not in asked)
    numbered = ((number, proc, ad) for number, ads in enumerate(clusters, 1) for proc, ad in enumerate(ads))
    for number, proc, ad in numbered:
        place = f"{file}: job {len(jobs) + 1}"
        told = {name: ad.eval(name) for name in BEHAVIOUR}
        _check_names(ad, place)
        attributes: dict[str, Any] = {}
        for name in ad:
            if name.lower() not in _OWN and not name.lower().startswith("sim"):
                attributes[name] = ad[name]
        truth = Truth(
            run_s=_seconds(told, "SimRunTime", 3600.0, place),
            checkpoints=_truth(told, "SimCheckpoints", place),
            ignores_soft_kill=_truth(told, "SimStubborn", place),
            memory=_memory(told["SimMemory"], place),
            exit_code=int(_seconds(told, "SimExitCode", 0.0, place)),
            farewell_s=_seconds(told, "SimFarewell", 5.0, place),
        )
        owner = ad.eval("Owner")
        owner = owner if isinstance(owner, str) and owner else "user"
        at = start + _seconds(told, "SimSubmitTime", 0.0, place)
        kind = _kind(owner, attributes, unseen)
        job = make_job(number, owner, at, truth, attributes, kind, proc=proc)
        jobs.append(replace(job, submission=submission) if submission else job)
    return sorted(jobs, key=lambda job: (job.submitted_at, job.ad["ClusterId"], job.ad["ProcId"]))


def _check_names(ad: ClassAd, place: str) -> None:
    known = {name.lower() for name in BEHAVIOUR}
    for name in ad:
        if name.lower().startswith("sim") and name.lower() not in known:
            raise LabError(
                f"{place}: {name} is not a behaviour of a simulated job; the behaviours are {', '.join(BEHAVIOUR)}"
            )


def _seconds(told: Mapping[str, Any], name: str, otherwise: float, place: str) -> float:
    value = told[name]
    if not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value < 1e9:
        return float(value)
    if value is UNDEFINED:
        return otherwise
    raise LabError(f"{place}: {name} must be a number that is not negative; found {value!r}")


def _items(value: object) -> list[Any]:
    """The values of a list; none if it is not a list."""
    if not isinstance(value, ListValue):
        return []
    scope = value.scope or ClassAd()
    return [evaluate(each, scope) if isinstance(each, Expr) else each for each in value.items]


def _memory(value: object, place: str) -> tuple[tuple[float, int], ...]:
    if value is UNDEFINED:
        return ()
    points: list[tuple[float, int]] = []
    for each in _items(value) or [value]:
        pair = _items(each)
        if len(pair) != 2 or any(isinstance(one, bool) or not isinstance(one, int | float) for one in pair):
            raise LabError(
                f"{place}: SimMemory must be a list of times in s and sizes in KiB: {{{{0, 1000}}, {{600, 2000}}}}"
            )
        if pair[1] < 0 or (points and pair[0] <= points[-1][0]):
            raise LabError(f"{place}: the times in SimMemory must increase and its sizes must not be negative")
        points.append((float(pair[0]), int(pair[1])))
    return tuple(points)


def _truth(told: Mapping[str, Any], name: str, place: str) -> bool:
    value = told[name]
    if isinstance(value, bool):
        return value
    if value is UNDEFINED:
        return False
    raise LabError(f"{place}: {name} must be true or false; found {value!r}")


def _kind(owner: str, attributes: Mapping[str, Any], unseen: frozenset[str]) -> str:
    """The kind of a job: jobs of one kind agree in all attributes that an expression might read."""
    own = str(attributes.get("Requirements", "")).lower() + str(attributes.get("Rank", "")).lower()
    ignored = {name for name in unseen if name not in own}
    pairs = ((name.lower(), value) for name, value in sorted(attributes.items()))
    texts = [f"{name}={_text(value)}" for name, value in pairs if name not in ignored]
    return f"{owner}|{'|'.join(texts)}"


def _text(value: Any) -> str:
    return str(value) if isinstance(value, Expr) else unparse_value(value)


def renumbered(files: Iterable[Iterable[Job]]) -> list[Job]:
    """The jobs of several files by submit time, with their clusters renumbered in that order."""
    arriving = sorted(
        ((job, file) for file, jobs in enumerate(files) for job in jobs),
        key=lambda pair: (pair[0].submitted_at, pair[1], pair[0].ad["ClusterId"], pair[0].ad["ProcId"]),
    )
    numbers: dict[tuple[int, int], int] = {}
    found = []
    for job, file in arriving:
        number = numbers.setdefault((file, job.ad["ClusterId"]), len(numbers) + 1)
        name, ad = f"{number}.{job.ad['ProcId']}", job.ad.copy()
        ad["ClusterId"], ad["GlobalJobId"] = number, f"sim#{name}"
        found.append(replace(job, name=name, ad=ad))
    return found
