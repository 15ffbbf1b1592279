"""From a queue statement to a batch: which sections are common, which differ, and the sizes of files on the machine."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Final

from roost.base.records import dataclass, replace
from roost.classad.ad import Cell
from roost.config import Definition, Diagnostic, Severity, Span
from roost.config.expand import Found
from roost.config.limits import DEFAULT_LIMITS
from roost.schedd.submit import without_effect
from roost.schedd.submit.advice import advise
from roost.schedd.submit.batch import Batch, PlanHost
from roost.schedd.submit.diagnostics import Findings, SubmitCode
from roost.schedd.submit.files import directory_of, moving_of
from roost.schedd.submit.host import FileKind, SubmitHost
from roost.schedd.submit.job import Defaults, PlannedJob
from roost.schedd.submit.macros import CLUSTER_NAMES, Macros, Position
from roost.schedd.submit.program import executable_of, transfers_executable
from roost.schedd.submit.queue_statement import QueueItems
from roost.schedd.submit.requests import size_in
from roost.schedd.submit.sections import SECTIONS, custom, custom_keys, run

#: Maximum number of jobs whose own files are checked; beyond that the first job stands for the rest.
SIZED_MAX: Final = 10_000
#: Maximum number of jobs whose attributes are computed when the description is read.
TRIED_MAX: Final = 2_000
#: Attributes that all jobs of a cluster have in common, once it has its number.
_SHARED: Final = CLUSTER_NAMES - {"jobid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A batch, the attributes that all its jobs have, and the names that were used."""

    batch: Batch
    constants: dict[str, Cell]
    used: frozenset[str]


@dataclass(slots=True, kw_only=True)
class Planner:
    """Makes the batches of one description."""

    host: SubmitHost
    plan_host: PlanHost
    defaults: Defaults
    built_in: Mapping[str, str]
    findings: Findings
    #: Whether files are checked.
    looks: bool = True
    #: Whether a missing input file is an error (SUBMIT_SKIP_FILECHECKS false), not a warning.
    strict: bool = False

    def plan(self, defined: Mapping[str, Definition], items: QueueItems, first: int, where: Span) -> Planned:
        """The batch of one queue statement."""
        macros = Macros(
            defined={key: Found(one.name, one.text, one.span) for key, one in defined.items()},
            variables=tuple(name.lower() for name in items.variables),
            built_in=self.built_in,
            host=self.plan_host,
            limits=DEFAULT_LIMITS,
            cwd=self.host.cwd,
        )
        batch = Batch(
            per_row=items.count,
            variables=macros.variables,
            rows=items.rows,
            indices=items.indices,
            first=first,
            macros=macros,
            host=self.plan_host,
            defaults=self.defaults,
            sections=(),
            where=where,
        )
        keys = custom_keys(macros)
        batch.overridden = frozenset(key.removeprefix("my.") for key in keys)
        job = PlannedJob(self._at(batch, 0), self._position(batch), self.defaults, self.findings, defined, batch.where)
        constants = self._sort(batch, job, keys)
        advise(job)
        without_effect.tell(job)
        if batch.sections:
            constants.update(batch.settle())
        used = set(job.used)
        self._try(batch, defined)
        if self.looks:
            self._sizes(batch, constants, defined, used)
        return Planned(batch=batch, constants=constants, used=frozenset(used))

    def _at(self, batch: Batch, index: int) -> Macros:
        return batch.macros_at(index)

    @staticmethod
    def _position(batch: Batch) -> Position:
        """The position of the first job, or of a hypothetical first job if there is none."""
        return batch.position(0) if batch.count else Position(row=tuple("" for _ in batch.variables))

    def _sort(self, batch: Batch, job: PlannedJob, keys: list[str]) -> dict[str, Cell]:
        """Run everything for the first job, and separate what is common to all jobs from what differs."""
        constants: dict[str, Cell] = {}
        differing, by_cluster = [], []
        for result in run(job, (*SECTIONS, *(custom(key) for key in keys))):
            name = result.section.name
            cells = batch.in_force(result)
            depends = frozenset[str]().union(*(batch.macros.varying(asked) for asked in result.asked))
            if batch.count > 1 and not depends <= _SHARED:
                differing.append(name)
                if result.section.steady:
                    constants.update(cells)
                    batch.steady.update(cells)
                continue
            if depends & CLUSTER_NAMES:
                by_cluster.append(name)
            constants.update(cells)
        batch.sections, batch.by_cluster = tuple(differing), tuple(by_cluster)
        return constants

    def _try(self, batch: Batch, defined: Mapping[str, Definition]) -> None:
        """Compute the attributes of jobs with other items to report their problems now, each kind once."""
        if not batch.sections or batch.count < 2:
            return
        rows = min(len(batch.rows), TRIED_MAX)
        indices = {row * batch.per_row for row in range(rows)} | {batch.count - 1, batch.longest[1]}
        told = {(one.code, one.name) for one in self.findings}
        wrong: dict[tuple[str, str | None], tuple[Diagnostic, int, int]] = {}
        for index in sorted(indices - {0}):
            found = Findings()
            batch.differences(index, found)
            for one in found:
                key = one.code, one.name
                if key in told:
                    continue
                first, number, count = wrong.get(key, (one, index, 0))
                wrong[key] = first, number, count + 1
        for first, number, count in wrong.values():
            definition = defined.get((first.name or "").lower())
            more = f", and {count - 1} more" if count > 1 else ""
            message = f"{first.message} (job {batch.first + number} of the cluster{more})"
            self.findings.add(replace(first, span=definition.span if definition else first.span, message=message))

    # -- files

    def _sizes(
        self, batch: Batch, constants: dict[str, Cell], defined: Mapping[str, Definition], used: set[str]
    ) -> None:
        """ExecutableSize and the like, and warnings about missing files."""
        looker = _Looker(self.host, {}, Severity.ERROR if self.strict else Severity.WARNING)
        job = PlannedJob(self._at(batch, 0), self._position(batch), self.defaults, self.findings, defined, batch.where)
        job.asked = set()
        first = looker.sizes(job)
        used |= job.used
        depends = frozenset[str]().union(*(batch.macros.varying(asked) for asked in job.asked))
        if batch.count < 2 or not depends - CLUSTER_NAMES or batch.count > SIZED_MAX:
            constants.update(_over(first, batch.overridden))
            return
        rows = [first]
        for index in range(1, batch.count):
            other = PlannedJob(
                self._at(batch, index), batch.position(index), self.defaults, self.findings, defined, batch.where
            )
            rows.append(looker.sizes(other))
        for name in sorted({name for row in rows for name in row}):
            if name.lower() in batch.overridden:
                continue
            values = [row.get(name) for row in rows]
            if all(value == values[0] for value in values):
                constants[name] = values[0]  # type: ignore[assignment]
            else:
                batch.columns[name] = [0 if value is None else value for value in values]


def _over(cells: Mapping[str, int], overridden: frozenset[str]) -> dict[str, Cell]:
    return {name: cell for name, cell in cells.items() if name.lower() not in overridden}


@dataclass(frozen=True, slots=True)
class _Looker:
    """Checks the files of jobs, each file once."""

    host: SubmitHost
    #: Path to size; None for a file that does not exist.
    known: dict[str, int | None]
    #: The severity of a missing input file.
    severity: Severity

    def _size(self, path: str) -> int | None:
        if path not in self.known:
            self.known[path] = self.host.size_of(path)
        return self.known[path]

    def sizes(self, job: PlannedJob) -> dict[str, int]:
        """ExecutableSize, ImageSize, DiskUsage (KiB) and TransferInputSizeMB; missing files are reported."""
        directory = job.fact(directory_of)
        if "$$(" not in directory and self.host.kind_of(directory) is not FileKind.DIRECTORY:
            name = job.given("initialdir", "initial_dir", "iwd", "job_iwd")
            job.report(SubmitCode.NO_SUCH_DIRECTORY, f"no such directory: {directory}", name)
        program = self._program(job)
        inputs = sum(self._input(job, path) for path in self._inputs(job, directory))
        found = {"ExecutableSize": _kib(program)}
        image, disk = job.text("image_size", "ImageSize"), job.text("disk_usage", "DiskUsage")
        found["ImageSize"] = _kib(program) if image is None else self._said(job, "image_size", image)
        if disk is None:
            found["DiskUsage"] = _kib(program + inputs)
            found["TransferInputSizeMB"] = -(-(program + inputs) // 2**20)
        else:
            found["DiskUsage"] = self._said(job, "disk_usage", disk)
        return found

    def _said(self, job: PlannedJob, command: str, text: str) -> int:
        size = size_in(text, 1)
        if size is None or size < 0:
            job.report(SubmitCode.SIZE, f"{command} = {text} is not a valid size", command)
        return size or 0

    def _program(self, job: PlannedJob) -> int:
        findings, job.findings = job.findings, Findings()
        path = job.fact(executable_of)
        job.findings = findings
        if path is None or "$$(" in path or "://" in path:
            return 0
        size = self._size(path) if path.startswith("/") else None
        if size is None and job.fact(transfers_executable):
            name = job.given("executable", "Cmd")
            remedy = self._elsewhere(job)
            job.report(SubmitCode.EXECUTABLE_MISSING, f"the program {path} does not exist", name, remedy=remedy)
        elif size is not None and self.host.kind_of(path) is FileKind.DIRECTORY:
            job.report(SubmitCode.EXECUTABLE_MISSING, f"{path} is a directory", "executable",
                       remedy="Name a file in that directory.")  # fmt: skip
        return size or 0

    def _elsewhere(self, job: PlannedJob) -> str | None:
        """The remedy if the program is next to the description; None otherwise."""
        directory = posixpath.dirname(job.where.file)
        beside = posixpath.join(job.defaults.cwd, directory, job.text("executable", "Cmd") or "")
        if not directory or self._size(beside) is None:
            return None
        return (
            "It is next to the description, but paths are relative to the directory that you submit from: "
            f"`cd {directory}` first."
        )

    def _inputs(self, job: PlannedJob, directory: str) -> list[tuple[str, str]]:
        """Command and path of every input file of the job."""
        findings, job.findings = job.findings, Findings()
        moves = job.fact(moving_of)
        job.findings = findings
        found = [("transfer_input_files", one) for one in moves.inputs]
        standard = job.text("input", "stdin")
        if standard is not None and standard != "/dev/null" and job.truth("transfer_input", "TransferIn") is not False:
            found.append(("input", standard))
        return [
            (command, posixpath.join(directory, path))
            for command, path in found
            if "://" not in path and "$$(" not in path
        ]

    def _input(self, job: PlannedJob, named: tuple[str, str]) -> int:
        command, path = named
        size = self._size(path)
        if size is None:
            job.report(SubmitCode.FILE_MISSING, f"{path} does not exist", command, severity=self.severity)
        return size or 0


def _kib(size: int) -> int:
    return -(-size // 1024)
