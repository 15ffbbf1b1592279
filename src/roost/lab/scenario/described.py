"""The jobs that a scenario file describes: by a table, or by a submit description.

A submit description is read as by `condor_submit`; its jobs have the resulting ads, and the table says what no policy
sees. Files that it names are neither read nor written, and none of its commands is run. A description of several jobs
makes one cluster, which is submitted as a whole: `a.0`, `a.1`, ….
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from roost.base.records import dataclass, replace
from roost.classad import ClassAd, ParseError, parse_expression
from roost.classad.values import fold
from roost.config import Config
from roost.lab.inputs.durations import seconds_of
from roost.lab.inputs.submit_files import NO_CELLS, asks_a_cell, clusters_of, warnings_of
from roost.lab.inputs.tables import Table
from roost.lab.inputs.text_file import read_text
from roost.lab.machines import LabError
from roost.lab.scenario.qsub import QsubJob, read_qsub
from roost.lab.scenario.values import OWNER, TRUTHS, Scenario, Submitted

#: Keys that name or contain a submit description.
SOURCES: Final = ("submit", "description", "qsub")
JOB_KEYS: Final = (*TRUTHS, *SOURCES)
#: The description of each job by name, including the jobs of descriptions with several.
Described = Mapping[str, Mapping[str, Any]]
Groups = Mapping[str, tuple[str, ...]]

#: Attributes about files, which do not exist in the lab, and those that the queue sets.
_LEFT_OUT: Final = frozenset(
    (
        *(
            "shouldtransferfiles",
            "whentotransferoutput",
            "iwd",
            "in",
            "out",
            "err",
            "args",
            "userlog",
            "dagmannodeslog",
            "streamin",
            "streamout",
            "streamerr",
        ),
        *("transferin", "transferout", "transfererr", "transferinput", "transferoutput", "transferoutputremaps"),
        *("transferinputsizemb", "transferexecutable", "executablesize", "spooledoutputfiles", "x509userproxy"),
        *("clusterid", "procid", "globaljobid", "qdate", "mytype", "user", "enteredcurrentstatus"),
    )
)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Attributes that make files decide whether a job runs or is held.
_OF_FILES: Final = ("SkipIfDataflow", "MaxTransferInputMB", "MaxTransferOutputMB")
#: Universes that Roost does not run.
_NOT_RUN: Final = {4: "pvm", 8: "mpi", 9: "grid", 11: "parallel", 13: "vm"}
#: Prefix of attributes that scenarios express in other ways.
_BEHAVIOUR: Final = "sim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """The description of a job in a file, from which its jobs are created."""

    #: Attributes of the table, and the behaviour that no policy sees.
    given: Mapping[str, Any]
    truth: Mapping[str, Any]
    #: The text of a submit description, with the name of its file; None for a job without one.
    text: str | None = None
    file: str = ""
    #: Options of `qsub` from which the text was generated; None for a job without them.
    qsub: QsubJob | None = None

    def names(self, job: str, count: int) -> tuple[str, ...]:
        """The names of `count` of its jobs that are submitted together."""
        return names_of(job, count) if self.qsub is None else self.qsub.names(job)

    def jobs(
        self,
        arguments: tuple[str, ...] = (),
        append: tuple[str, ...] = (),
        config: Config | None = None,
        *,
        in_cell: bool = True,
    ) -> list[Mapping[str, Any]]:
        """Its jobs; `arguments` and `append` are lines before and after the description, which is read with `config`,
        for a pool with or without a cell. Raises LabError.
        """
        if self.text is None:
            return [{**self.given, **self.truth}]
        owner = str(self.given.get("Owner", OWNER))
        clusters = clusters_of(self.text, self.file, owner, arguments, append, config=config, in_cell=in_cell)
        if len(clusters) != 1 or not clusters[0]:
            raise LabError(
                f"{self.file}: a description must produce one cluster of jobs; this one produces {len(clusters)}"
            )
        asked = {} if self.qsub is None else self.qsub.attributes
        made: list[Mapping[str, Any]] = [
            {**_attributes(ad, self.file), **asked, **self.given, **self.truth} for ad in clusters[0]
        ]
        codes = set(self.truth.get("exit_code", (0,)))
        if any(codes == {each.get("SuccessCheckpointExitCode")} for each in made):
            raise LabError(
                f"{self.file}: every end of the job would save its state; give it another exit_code to end with"
            )
        return made

    def warnings(self, config: Config) -> tuple[str, ...]:
        """The warnings of `roost submit` about the submit description, and the parts that the lab cannot decide."""
        if self.text is None or self.qsub is not None:
            return ()
        unknown = [name for name in _OF_FILES if any(name in each for each in self.jobs(config=config))]
        more = [f"the lab has no files, so that it runs the job whatever they are ({', '.join(unknown)})"]
        return *warnings_of(self.text, self.file, config), *(more if unknown else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """All jobs of a scenario."""

    templates: Mapping[str, Template]
    #: Name to description, and name to the names of the jobs that are submitted together.
    described: Described
    groups: Groups


def read_jobs(tables: tuple[Table, ...], *, in_cell: bool = False) -> Jobs:
    """The jobs of the tables, where a later one replaces an earlier one of its name, for a pool with or without a cell.
    Raises LabError.
    """
    templates: dict[str, Template] = {}
    described: dict[str, Mapping[str, Any]] = {}
    groups: dict[str, tuple[str, ...]] = {}
    for table in tables:
        jobs = table.child("jobs", "jobs")
        for name in jobs.values:
            job = jobs.child(name, f"job {name!r}")
            templates[name] = _template(job)
            try:
                made = templates[name].jobs(in_cell=in_cell)
            except LabError as error:
                source = next((key for key in SOURCES if key in job), None)
                job.fail(f"the submit description cannot be used: {error}", source)
            for each in made:
                if (universe := each.get("JobUniverse", 5)) in _NOT_RUN:
                    what = f"Roost runs no jobs of the {_NOT_RUN[universe]} universe ({universe}); use 5, vanilla"
                    job.fail(what, "JobUniverse" if "JobUniverse" in job else None)
                if not in_cell and (asked := asks_a_cell(each)):
                    job.fail(NO_CELLS.format(asked), asked if asked in job else None)
            groups[name] = templates[name].names(name, len(made))
            described |= zip(groups[name], made, strict=True)
    return Jobs(templates=templates, described=described, groups=groups)


def configured(scenario: Scenario, config: Config) -> Scenario:
    """A scenario with its submit descriptions read with a configuration. Raises LabError."""
    found: dict[str, Mapping[str, Any]] = {}
    for name, template in scenario.templates.items():
        if template.text is not None:
            try:
                made = template.jobs(config=config, in_cell=scenario.cell is not None)
            except LabError as error:
                raise scenario.refused(f"job {name!r}: the submit description cannot be used: {error}") from None
            names = template.names(name, len(made))
            if not scenario.described.keys() >= set(names):
                what = "the number of jobs that its description produces must not depend on the configuration"
                raise scenario.refused(f"job {name!r}: {what}; write the number after queue")
            found |= zip(names, made, strict=True)
    if not found:
        return scenario

    def read(jobs: tuple[Submitted, ...]) -> tuple[Submitted, ...]:
        return tuple(each._replace(described=found.get(each.name.partition("/")[0], each.described)) for each in jobs)

    described = {**scenario.described, **found}
    return replace(scenario, described=described, jobs=read(scenario.jobs), fetched=read(scenario.fetched))


def names_of(name: str, count: int) -> tuple[str, ...]:
    """The names of `count` jobs that are submitted together."""
    return (name,) if count == 1 else tuple(f"{name}.{proc}" for proc in range(count))


def _template(job: Table) -> Template:
    job.attributes(JOB_KEYS, shared=("memory", "disk"))
    given = {key: _cell(job, key, value) for key, value in job.values.items() if key not in JOB_KEYS}
    for key in given:
        if not _NAME.fullmatch(key):
            job.fail(f"{key!r} is not a valid attribute name; use letters, digits and underscores", key)
    owner = given.get("Owner", OWNER)
    if not isinstance(owner, str) or not owner:
        job.fail(f"Owner must be the name of a user; found {owner!r}", "Owner")
    truth = _truth(job)
    if len(named := [key for key in SOURCES if key in job]) > 1:
        job.fail("a job must be described by exactly one of submit, description and qsub", named[1])
    if "qsub" in job:
        try:
            asked = read_qsub(job.text("qsub", ""), str(job.path[-1]))
        except LabError as error:
            job.fail(str(error), "qsub")
        file = str(Path(job.file).with_name("qsub"))
        return Template(given=given, truth=truth, text=asked.description, file=file, qsub=asked)
    if "description" in job:
        file = str(Path(job.file).with_name("description"))
        return Template(given=given, truth=truth, text=job.text("description", ""), file=file)
    if "submit" not in job:
        return Template(given=given, truth=truth)
    path = Path(job.file).parent / job.text("submit", "")
    try:
        return Template(given=given, truth=truth, text=read_text(path), file=str(path))
    except OSError as error:
        job.fail(f"cannot read the submit description {path}: {error.strerror}", "submit")


def _attributes(ad: ClassAd, file: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ad:
        if fold(name).startswith(_BEHAVIOUR):
            raise LabError(f"{file}: {name} has no meaning in a scenario; describe the job's behaviour in its table")
        if fold(name) not in _LEFT_OUT:
            found[name] = ad[name]
    return found | {"ShouldTransferFiles": "NO"}


def _truth(job: Table) -> dict[str, Any]:
    return {
        "run": job.duration("run", 3600.0),
        "farewell": job.duration("farewell", 5.0),
        "checkpoints": job.truth("checkpoints", False),
        "stubborn": job.truth("stubborn", False),
        "disk": job.whole("disk", 512),
        "exit_code": _exit_codes(job),
        "memory": _memory(job),
    }


def _cell(job: Table, key: str, value: Any) -> Any:
    """The value of an attribute; a string that begins with ``=`` is an expression."""
    if not isinstance(value, str) or not value.startswith("="):
        return value
    try:
        return parse_expression(value[1:])
    except ParseError as error:
        job.fail(f"{value[1:]!r} is not an expression: {error}", key)


def _exit_codes(job: Table) -> tuple[int, ...]:
    """One exit code, or one for each time that the job ends; the last one repeats."""
    value = job.values.get("exit_code", 0)
    codes = value if isinstance(value, list) else [value]
    if not codes or not all(type(code) is int and 0 <= code < 256 for code in codes):
        job.fail(f"exit_code must be a number from 0 to 255, or a list of them; found {value!r}", "exit_code")
    return tuple(codes)


def _memory(job: Table) -> tuple[tuple[float, int], ...]:
    """``[["0s", 1000], ["10m", 2000]]``: sizes in KiB after times of running."""
    value = job.values.get("memory", [])
    points: list[tuple[float, int]] = []
    for each in value if isinstance(value, list) else [value]:
        pair = each if isinstance(each, list) else []
        seconds = seconds_of(pair[0]) if len(pair) == 2 else None
        size = pair[1] if len(pair) == 2 else None
        if seconds is None or isinstance(size, bool) or not isinstance(size, int) or size < 0:
            job.fail('memory must be a list of run times and sizes in KiB: [["0s", 1000], ["10m", 2000]]', "memory")
        if points and seconds <= points[-1][0]:
            job.fail("the times in memory must increase", "memory")
        points.append((seconds, size))
    return tuple(points)
