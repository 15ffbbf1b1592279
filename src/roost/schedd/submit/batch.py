"""The jobs of one queue statement: what they have in common beyond the rest of their cluster, and how each differs."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost.base.records import dataclass, field, replace
from roost.classad import Expr, FixedWorld
from roost.classad.ad import Cell
from roost.config import CommandResult, Span
from roost.config.expand import Found
from roost.config.expressions import constant_value, parsed
from roost.config.references import Call, Reference
from roost.schedd.submit.diagnostics import Findings
from roost.schedd.submit.job import Defaults, PlannedJob
from roost.schedd.submit.macros import LIVE_NAMES, JobScope, Macros, Position, expander
from roost.schedd.submit.sections import Result, Section, run, section_named
from roost.schedd.submit.templates import MARKS_MAX, Form, agrees, form_of, form_of_expression, mark

#: The place of problems that are found when the description is no longer available.
PLANNED: Final = Span("<plan>")

#: The words of every job, by number; those of its item follow.
_WORDS: Final = ("process", "procid", "step", "itemindex", "row", "cluster", "clusterid", "jobid")
_ITEMS_FROM: Final = len(_WORDS)
#: Words before this one are whole numbers.
_OTHERS_FROM: Final = _WORDS.index("jobid")


@dataclass(slots=True, kw_only=True)
class PlanHost:
    """The environment of a plan: values that were recorded when the description was read."""

    variables: dict[str, str]
    seed: int
    now: float
    #: The job for which random numbers are drawn: the same job always draws the same numbers.
    job: int = 0
    _drawn: random.Random | None = None

    def at(self, job: int) -> PlanHost:
        """The environment for one job."""
        return PlanHost(variables=self.variables, seed=self.seed, now=self.now, job=job)

    def read_text(self, path: str) -> str | None:
        return None

    def list_directory(self, path: str) -> list[str] | None:
        return None

    def run_command(self, command: str) -> CommandResult:
        return CommandResult(status=127, output="")

    def write_cache(self, path: str, text: str) -> bool:
        return False

    def environment(self) -> Mapping[str, str]:
        return self.variables

    def random_integer(self, low: int, high: int) -> int:
        if self._drawn is None:
            self._drawn = random.Random(f"{self.seed}/{self.job}")
        return self._drawn.randint(low, high)

    def evaluate(self, expression: str) -> object:
        return constant_value(expression, FixedWorld(instant=self.now, source=random.Random(f"{self.seed}/{self.job}")))

    def parse_expression(self, expression: str) -> None:
        parsed(expression)


@dataclass(slots=True, kw_only=True)
class Batch:
    """The jobs of one queue statement."""

    #: Number of jobs for each row.
    per_row: int
    #: Folded names of the variables.
    variables: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    #: Place of each row before the slice; None if it is its place here.
    indices: tuple[int, ...] | None
    #: Number of the first job in its cluster.
    first: int
    macros: Macros
    host: PlanHost
    defaults: Defaults
    #: Names of the sections that differ from job to job.
    sections: tuple[str, ...]
    #: Names of those that differ only from cluster to cluster.
    by_cluster: tuple[str, ...] = ()
    #: Attributes that all these jobs have and others of their cluster lack.
    own: dict[str, Cell] = field(default_factory=dict)
    #: The most frequent values of differing attributes, as in the cluster's ad.
    steady: dict[str, Cell] = field(default_factory=dict)
    #: Attributes that were computed for each job beforehand: one value per job.
    columns: dict[str, list[Any]] = field(default_factory=dict)
    #: Folded names of attributes that the user sets over those of sections.
    overridden: frozenset[str] = frozenset()
    #: The queue statement.
    where: Span = PLANNED
    #: Number of the cluster, once it has one.
    cluster: int = 1
    _forms: tuple[Form, ...] | None = None
    _rest: tuple[Section, ...] = ()
    #: Function calls for which forms have words.
    _calls: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Number of jobs."""
        return self.per_row * len(self.rows)

    @property
    def longest(self) -> tuple[int, int]:
        """Length of the longest item, characters, and the first of its jobs."""
        if not self.variables or not self.rows:
            return 0, 0
        lengths = [sum(map(len, row)) for row in self.rows]
        most = max(lengths)
        return most, lengths.index(most) * self.per_row

    # -- one job

    def position(self, index: int) -> Position:
        """The position of a job."""
        row, step = divmod(index, self.per_row)
        return Position(
            cluster=self.cluster,
            proc=self.first + index,
            step=step,
            item_index=row if self.indices is None else self.indices[row],
            row=self.rows[row],
        )

    def words(self, index: int) -> list[str]:
        """The words of a job, in the order of their numbers."""
        row, step = divmod(index, self.per_row)
        proc, cluster = str(self.first + index), str(self.cluster)
        item = str(row if self.indices is None else self.indices[row])
        return [proc, proc, str(step), item, item, cluster, cluster, f"{cluster}.{proc}", *self.rows[row]]

    def differences(self, index: int, findings: Findings | None = None) -> dict[str, Cell]:
        """The differences of one job; problems go to `findings`."""
        forms = self._forms
        if forms is None:
            forms = self.prepare()
        found: dict[str, Cell] = dict(self.own) if self.own else {}
        rest = self._rest
        if forms:
            words = self.words(index)
            if self._calls:
                words += self._computed(index, self._calls)
            for form in forms:
                if not form.checked or form.fits(words):
                    form.fill(words, found)
                else:
                    rest = (*rest, section_named(form.section))
        if rest:
            self._long_way(index, rest, found, findings)
        for name, column in self.columns.items():
            found[name] = column[index]
        return found

    def _long_way(
        self, index: int, sections: tuple[Section, ...], found: dict[str, Cell], findings: Findings | None
    ) -> None:
        for name, cell in self.cells(index, sections, findings).items():
            if name in self.steady and same(cell, self.steady[name]):
                continue
            found[name] = cell

    def cells(self, index: int, sections: tuple[Section, ...], findings: Findings | None = None) -> dict[str, Cell]:
        """The attributes that sections produce for a job."""
        macros = self.macros_at(index)
        noted = Findings() if findings is None else findings
        job = PlannedJob(macros, self.position(index), self.defaults, noted, where=self.where)
        found: dict[str, Cell] = {}
        for result in run(job, sections):
            found.update(self.in_force(result))
        return found

    def in_force(self, result: Result) -> dict[str, Cell]:
        """A section's attributes, without those that the user overrides."""
        if not self.overridden or result.section.name.startswith("my."):
            return result.cells
        return {name: cell for name, cell in result.cells.items() if name.lower() not in self.overridden}

    def macros_at(self, index: int) -> Macros:
        """The macros as one job sees them, with its own random numbers."""
        made = Macros(
            defined=self.macros.defined,
            variables=self.macros.variables,
            built_in=self.macros.built_in,
            host=self.host.at(self.first + index),
            limits=self.macros.limits,
            cwd=self.macros.cwd,
        )
        made.share(self.macros)
        return made

    # -- the short way

    def prepare(self) -> tuple[Form, ...]:
        """Determine which sections are forms to fill in."""
        forms, rest = [], []
        calls: list[str] = []
        for name in self.sections:
            section = section_named(name)
            known = len(calls)
            form = self._form(section, calls) if self.count else None
            if form is not None and self._agrees(form, section, calls):
                forms.append(self._without_steady(form))
            else:
                rest.append(section)
                del calls[known:]
        self._rest = tuple(rest)
        self._calls = tuple(calls)
        self._forms = tuple(forms)
        return self._forms

    def _form(self, section: Section, calls: list[str]) -> Form | None:
        if len(self.variables) > MARKS_MAX // 2 or len(calls) > MARKS_MAX // 4:
            return None
        marked = _Marked(
            defined=self.macros.defined,
            variables=self.variables,
            built_in=self.macros.built_in,
            host=self.macros.host,
            limits=self.macros.limits,
            cwd=self.macros.cwd,
        )
        object.__setattr__(marked, "calls", calls)
        findings = Findings()
        job = PlannedJob(marked, self.position(0), self.defaults, findings)
        if section.name.startswith("my."):
            found = self.macros.find(section.name, self.position(0))
            text = job.text(section.name)
            if found is None or text is None or "?" in self.macros.varying(section.name):
                return None
            return form_of_expression(section.name, found.name[3:], text, _OTHERS_FROM)
        (result,) = run(job, (section,))
        differing = {name for name in result.asked if self.macros.varying(name)}
        unsure = any("?" in self.macros.varying(name) for name in differing)
        if findings.kept or unsure or not differing <= section.inert:
            return None
        return form_of(section.name, self.in_force(result), _OTHERS_FROM)

    def _without_steady(self, form: Form) -> Form:
        """The form without the values that the cluster's ad has anyway."""
        fixed = tuple(
            (name, cell) for name, cell in form.fixed if name not in self.steady or not same(cell, self.steady[name])
        )
        return replace(form, fixed=fixed)

    def settle(self) -> dict[str, Cell]:
        """Treat what a form gives to every job alike as common, and return it for the cluster's ad."""
        forms = self.prepare()
        found = {name: cell for form in forms if not form.checked for name, cell in form.fixed}
        self.steady.update(found)
        self._forms = tuple(self._without_steady(form) for form in forms)
        return found

    def _computed(self, index: int, calls: Sequence[str]) -> list[str]:
        """The results of functions of a job's words."""
        made = expander(JobScope(macros=self.macros_at(index), position=self.position(index)))
        return [made.expand(text) for text in calls]

    def _agrees(self, form: Form, section: Section, calls: Sequence[str]) -> bool:
        def words_of(index: int) -> list[str]:
            return self.words(index) + self._computed(index, calls)

        last = self.count - 1
        indices = sorted({0, min(1, last), last // 2, last})
        return agrees(form, words_of, lambda index: self.cells(index, (section,)), indices)


class _Marked(Macros):
    """Macros in which the words of a job, and function results that depend on them, are marks."""

    __slots__ = ("calls",)

    #: Texts of the function calls, in the order of their marks.
    calls: list[str]

    def find(self, name: str, position: Position) -> Found | None:
        if name in self.variables:
            return Found(name, mark(_ITEMS_FROM + self.variables.index(name)), PLANNED)
        if name in ("process", "cluster") or (name in LIVE_NAMES and name not in self.defined):
            return Found(name, mark(_WORDS.index(name)), PLANNED)
        return super().find(name, position)

    def stand_in(self, piece: Reference | Call) -> str | None:
        """A mark for a call, or a reference with a default, whose result differs between jobs."""
        if not any(self.varying(name) for name in self.names_in(piece.text, set())):
            return None
        if piece.text not in self.calls:
            self.calls.append(piece.text)
        return mark(_ITEMS_FROM + len(self.variables) + self.calls.index(piece.text))


def same(one: Cell, other: Cell) -> bool:
    """Whether two cells have the same content."""
    if isinstance(one, Expr) or isinstance(other, Expr):
        return one is other or one == other
    return type(one) is type(other) and one == other
