"""The administrator's rules for jobs at submission: transforms that change them, requirements that they must meet.

`JOB_TRANSFORM_NAMES` names transforms (`transform`), which are applied in that order. Then `SUBMIT_REQUIREMENT_NAMES`
names requirements, each evaluated with the queue's ad as MY and the job's as TARGET (also as ``JOB.`` and ``SCHEDD.``).
The first that is not TRUE refuses the whole submission, or only warns if its ``_IS_WARNING`` is TRUE. Both happen
before anything is stored, so a submission is accepted as a whole or not at all.

The jobs of a cluster are stored as one common ad and their differences. A transform or requirement that names no
differing attribute is applied once, to the common ad; any other is applied job by job, for at most `ONE_BY_ONE_MAX`
jobs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr, ParseError, Syntax, parse_expression
from roost.classad.values import UNDEFINED, fold
from roost.classad.world import WORLD, World
from roost.config import Code, Config, ConfigError, Diagnostic, Host, MemoryHost, Severity
from roost.schedd.admission.limits import NAMES_MAX
from roost.schedd.admission.transform import Transform, TransformError, read_transform
from roost.schedd.jobs.book import GROUP_KEYS, GROUPS, NAME_CHARS_MAX, Cluster, not_plain, submitter_of
from roost.schedd.jobs.owned import COUNTERS, priority

#: Maximum number of jobs of a cluster that are checked one by one.
ONE_BY_ONE_MAX: Final = 10_000
#: Maximum size of a job's ad, characters; a history file accepts no larger one, either.
JOB_CHARS_MAX: Final = 3_000_000
#: Maximum length of a number or a boolean in an ad, characters: integers have 64 bits.
NUMBER_CHARS_MAX: Final = 32
#: Types of cells whose size is estimated without writing them.
_SHORT: Final = frozenset((int, float, bool))
#: Attributes that differ between all jobs and that no rule refers to.
_NUMBERS: Final = frozenset(("procid", "globaljobid"))
#: Attributes that decide under whose name a job competes.
_NAMING: Final = frozenset(map(fold, (*GROUPS, "NiceUser")))
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
#: Attributes that no transform may change, because they say whose job it is.
_KEPT: Final = ("ClusterId", "ProcId", "Owner", "User", "QDate", "GlobalJobId", "SubmitRequestId", *COUNTERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTransform:
    """One of JOB_TRANSFORM_NAMES."""

    name: str
    rules: Transform
    #: Macros of the configuration that its text uses.
    macros: Mapping[str, str] = field(default_factory=dict)
    #: Folded names that it may refer to; None if any.
    about: frozenset[str] | None = None

    @property
    def knob(self) -> str:
        """The knob that defines it."""
        return f"JOB_TRANSFORM_{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One of SUBMIT_REQUIREMENT_NAMES."""

    name: str
    condition: Expr
    #: The expression as written.
    text: str
    reason: Expr | None = None
    is_warning: Expr | None = None

    @property
    def knob(self) -> str:
        """The knob that defines it."""
        return f"SUBMIT_REQUIREMENT_{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The rules of one queue."""

    transforms: tuple[NamedTransform, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    #: The queue's ad.
    schedd: ClassAd = field(default_factory=ClassAd)
    host: Host = field(default_factory=MemoryHost)

    def transform(self, cluster: Cluster, world: World = WORLD) -> None:
        """Transform the jobs of a cluster that is not in the queue yet. Raises NotAdmitted."""
        for each in self.transforms:
            try:
                self._transform(each, cluster, world)
            except TransformError as problem:
                raise NotAdmitted(each.knob, f"{each.knob} cannot be applied: {problem}") from None

    def _transform(self, each: NamedTransform, cluster: Cluster, world: World) -> None:
        varying = _varying(cluster)
        if not varying or (each.about is not None and varying.isdisjoint(each.about)):
            _changed(each, cluster.ad, self.host, world)
            return
        for proc in _procs(cluster, each.knob):
            job = cluster.job(proc)
            whole = _flat(job.ad)
            before = whole.copy()
            if not _changed(each, whole, self.host, world):
                continue
            for name in [*whole, *(name for name in before if name not in whole)]:
                new = whole.cell(fold(name)) if name in whole else UNDEFINED
                if name not in before or new is not before.cell(fold(name)):
                    job.ad.put(name, new)  # type: ignore[arg-type]

    def check(self, cluster: Cluster, world: World = WORLD) -> list[str]:
        """Return the warnings for the user who submits a cluster. Raises NotAdmitted if it is refused."""
        warnings: list[str] = []
        for each in self.requirements:
            apart = not _varying(cluster).isdisjoint(fold(word) for word in _WORD.findall(each.text))
            for proc in _procs(cluster, each.knob) if apart else (0,):
                text = self._refused(each, cluster.ad_of(proc), world)
                if not text:
                    continue
                where = f"{text} (job {proc})" if apart else text
                if each.is_warning is None or self._asked(each.is_warning, cluster.ad_of(proc), world) is not True:
                    raise NotAdmitted(each.knob, where)
                if where not in warnings:
                    warnings.append(where)
        return warnings

    def _refused(self, each: Requirement, ad: ClassAd, world: World) -> str:
        value = self._asked(each.condition, ad, world)
        if value is True or (isinstance(value, int | float) and not isinstance(value, bool) and value != 0):
            return ""
        reason = None if each.reason is None else self._asked(each.reason, ad, world)
        if isinstance(reason, str) and reason:
            return f"{each.knob}: {reason}"
        word = "is false" if value is False or value == 0 else "is neither true nor false"
        return f"{each.knob} {word}: {each.text}"

    def _asked(self, expression: Expr, ad: ClassAd, world: World) -> object:
        mine = self.schedd.copy()
        mine["JOB"], mine["SCHEDD"] = _flat(ad), self.schedd.copy()
        return mine.eval_expr(expression, ad, world)


class NotAdmitted(Exception):
    """A submission is refused; the text says by which rule and why, the remedy what to do."""

    def __init__(self, rule: str, text: str, remedy: str = "") -> None:
        super().__init__(text)
        self.remedy = remedy or f"Change the job so that it meets {rule}, or ask the administrator about it."


def check_groups(cluster: Cluster) -> set[str]:
    """Return the names under which the jobs of a cluster compete, up to NAMES_MAX. Raises NotAdmitted.

    Groups must be plain strings: an expression could yield one group when the job is matched, and another when its
    usage is charged.
    """
    _check_groups(cluster.ad, "")
    if _varying(cluster).isdisjoint(_NAMING):
        return {submitter_of(cluster.ad)}
    found: set[str] = set()
    for proc in range(cluster.count):
        ad = cluster.submitted_ad(proc)
        _check_groups(ad, f" (job {proc})")
        found.add(submitter_of(ad))
        if len(found) > NAMES_MAX:
            break
    return found


def _check_groups(ad: ClassAd, where: str) -> None:
    for name, key in GROUP_KEYS:
        cell = ad.cell(key)
        if isinstance(cell, str) and len(cell) > NAME_CHARS_MAX:
            remedy = "Choose a shorter name for the group."
            raise NotAdmitted(name, f"{name} has {len(cell)} characters{where}; the limit is {NAME_CHARS_MAX}", remedy)
    if name := not_plain(ad):
        remedy = "Write it as a quoted string, or use accounting_group in the submit description."
        raise NotAdmitted(name, f"{name} is not a string{where}", remedy)


def check_size(cluster: Cluster) -> None:
    """Check that the ad of a job fits into messages between daemons, with all that a run adds. Raises NotAdmitted.

    Of a cluster, the first job and the one with the longest item are checked; a later one that is too large is held
    when it starts.
    """
    for proc in sorted({0, 0 if cluster.plan is None else cluster.plan.longest}):
        text = too_large(cluster.submitted_ad(proc))
        if text:
            raise NotAdmitted("a job", f"{text} (job {proc} of the cluster)", "Transfer large data as files.")


def too_large(ad: ClassAd) -> str:
    """Why an ad, with its chained parents, does not fit into messages between daemons; "" if it does."""
    links = [ad]
    while (chained := links[-1].chained) is not None:
        links.append(chained)
    if sum(map(_most, links)) <= JOB_CHARS_MAX:
        return ""
    size = sum(map(size_of, links))
    return f"its ad has {size} characters; the limit is {JOB_CHARS_MAX}" if size > JOB_CHARS_MAX else ""


def check_description(cluster: Cluster) -> None:
    """Check that every job is what its description says, for the same jobs as `check_size`. Raises NotAdmitted."""
    if cluster.plan is None:
        return
    for proc in sorted({0, cluster.plan.longest}):
        text = cluster.plan.mistake(proc)
        if text:
            raise NotAdmitted("a job", f"{text} (job {proc} of the cluster)", "Correct the description.")


def _most(ad: ClassAd) -> int:
    """An upper bound of `size_of`, found without writing numbers: nearly all ads are far from the limit."""
    sizes = [
        len(cell) if cell.__class__ is str else NUMBER_CHARS_MAX if cell.__class__ in _SHORT else len(str(cell))
        for cell in ad.cells.values()
    ]
    return sum(sizes) + sum(map(len, ad.cells))


def size_of(ad: ClassAd) -> int:
    """Size of an ad's own attributes, characters."""
    texts = [cell if cell.__class__ is str else str(cell) for cell in ad.cells.values()]
    return sum(map(len, ad.cells)) + sum(map(len, texts))


def check_priority(cluster: Cluster) -> None:
    """Convert JobPrio to a number, by which jobs are sorted. Raises NotAdmitted."""
    if "JobPrio" not in cluster.ad:
        return
    number = priority(cluster.ad.eval("JobPrio"))
    if number is None:
        remedy = "Set it to a whole number from -2147483647 to 2147483647."
        raise NotAdmitted("JobPrio", f"JobPrio is not a whole number: {cluster.ad.cell('jobprio')}", remedy)
    cluster.ad["JobPrio"] = number


def _varying(cluster: Cluster) -> frozenset[str]:
    return frozenset() if cluster.plan is None else cluster.plan.varying - _NUMBERS


def _procs(cluster: Cluster, knob: str) -> range:
    if cluster.count > ONE_BY_ONE_MAX:
        raise NotAdmitted(
            knob,
            f"{knob} depends on attributes that differ between the {cluster.count} jobs of a cluster, and is "
            f"evaluated for at most {ONE_BY_ONE_MAX} jobs; submit them in several clusters",
        )
    return range(cluster.count)


def _flat(ad: ClassAd) -> ClassAd:
    """An ad merged with its chained parents."""
    found = ClassAd()
    chain: list[ClassAd] = []
    link: ClassAd | None = ad
    while link is not None:
        chain.append(link)
        link = link.chained
    for each in reversed(chain):
        for key, cell in each.cells.items():
            found.put(each.spelling(key), cell)
    return found


def _changed(each: NamedTransform, ad: ClassAd, host: Host, world: World) -> bool:
    kept = {name: ad.cell(fold(name)) for name in _KEPT if name in ad}
    done = each.rules.apply(ad, host, dict(each.macros), world)
    for name, cell in kept.items():
        ad.put(name, cell)  # type: ignore[arg-type]
    return done


# -- the configuration -----------------------------------------------------------------------------------------


def admission(config: Config, *, name: str) -> tuple[Admission, list[Diagnostic]]:
    """The rules of the queue with that name, and the problems of rules that are left out."""
    wrong: list[Diagnostic] = []
    schedd = ClassAd({"MyType": "Scheduler", "Name": name})
    return Admission(
        transforms=tuple(_transforms(config, wrong)),
        requirements=tuple(_requirements(config, wrong)),
        schedd=schedd,
    ), wrong


def _listed(config: Config, knob: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(config.get_list(knob, subsys="SCHEDD"))) if config.get(knob, subsys="SCHEDD") else ()


def _transforms(config: Config, wrong: list[Diagnostic]) -> Iterator[NamedTransform]:
    for name in _listed(config, "JOB_TRANSFORM_NAMES"):
        knob = f"JOB_TRANSFORM_{name}"
        found = config.find(knob, subsys="SCHEDD")
        if found is None or not found.text.strip():
            wrong.append(_wrong_transform(config, knob, "it is listed in JOB_TRANSFORM_NAMES but not set"))
            continue
        if found.text.lstrip().startswith("["):
            remedy = "Write the rules as statements: SET Name value, DEFAULT, COPY, RENAME, DELETE, EVALSET."
            wrong.append(_wrong_transform(config, knob, "transform rules in ClassAd syntax are not supported", remedy))
            continue
        try:
            rules = read_transform(found.text, knob)
        except TransformError as problem:
            wrong.append(_wrong_transform(config, knob, f"{problem}; the transform has no effect"))
            continue
        yield NamedTransform(name=name, rules=rules, macros=_macros(config, found.text, rules), about=_about(rules))


def _wrong_transform(config: Config, knob: str, message: str, remedy: str | None = None) -> Diagnostic:
    remedy = remedy or "Correct it, or remove it from JOB_TRANSFORM_NAMES."
    return config.problem(
        Code.BAD_CHOICE,
        knob,
        message,
        listed_in="JOB_TRANSFORM_NAMES",
        subsys="SCHEDD",
        remedy=remedy,
        severity=Severity.WARNING,
    )


def _macros(config: Config, text: str, rules: Transform) -> dict[str, str]:
    """The configuration macros that a transform uses."""
    own = {rule.name.lower() for rule in rules.rules if rule.kind in ("MACRO", "EVALMACRO")}
    found = {}
    for name in dict.fromkeys(re.findall(r"\$\w*\(([A-Za-z_]\w*)", text)):
        value = None if name.lower() in own else _value(config, name)
        if value is not None:
            found[name] = value
    return found


def _value(config: Config, name: str) -> str | None:
    try:
        return config.get(name, subsys="SCHEDD")
    except ConfigError:
        return None


def _about(rules: Transform) -> frozenset[str] | None:
    """Names that a transform may read or write; None if it has patterns or constructs names."""
    found: set[str] = set()
    if rules.requirements is not None:
        names = rules.requirements.mentioned
        found |= names.plain | names.target | names.my
    for rule in rules.rules:
        if rule.pattern is not None or (rule.kind in ("COPY", "RENAME") and "$" in rule.text):
            return None
        found.add(fold(rule.name))
        found |= {fold(word) for word in _WORD.findall(rule.text)}
    return frozenset(found)


def _requirements(config: Config, wrong: list[Diagnostic]) -> Iterator[Requirement]:
    for name in _listed(config, "SUBMIT_REQUIREMENT_NAMES"):
        knob = f"SUBMIT_REQUIREMENT_{name}"
        condition = _expression(config, knob, wrong)
        if condition is None:
            if _value(config, knob) is None:
                names, message = "SUBMIT_REQUIREMENT_NAMES", "it is listed in SUBMIT_REQUIREMENT_NAMES but not set"
                wrong.append(config.problem(Code.MISSING_VALUE, knob, message, listed_in=names, subsys="SCHEDD"))
            continue
        yield Requirement(
            name=name,
            condition=condition,
            text=(_value(config, knob) or "").strip(),
            reason=_expression(config, f"{knob}_REASON", wrong),
            is_warning=_expression(config, f"{knob}_IS_WARNING", wrong),
        )


def _expression(config: Config, knob: str, wrong: list[Diagnostic]) -> Expr | None:
    text = _value(config, knob)
    if text is None or not text.strip():
        return None
    try:
        return parse_expression(text, Syntax.OLD)
    except ParseError as problem:
        wrong.append(config.problem(Code.BAD_EXPRESSION, knob, str(problem), subsys="SCHEDD"))
        return None
