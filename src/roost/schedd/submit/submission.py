"""Reading a submit description: text in, plans of clusters out, with all problems.

    >>> found = read_submission("executable = /bin/sleep\\narguments = $(Process)\\nqueue 3\\n", "x.sub",
    ...                         SubmitContext(host=MemorySubmitHost(files={"/bin/sleep": ""}), now=0, owner="me",
    ...                                       uid_domain="here"))
    >>> [plan.differences(2) for plan in found.clusters]
    [{'Args': '2'}]

Consecutive queue statements make one cluster as long as the executable stays the same. With errors there are no
clusters: a description must not be submitted in part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from roost.base.records import dataclass, replace
from roost.classad.ad import Cell
from roost.classad.forms import Form, format_ad
from roost.config import Code, Config, ConfigError, Definition, Diagnostic, Origin, Severity, Span
from roost.config.expressions import ExpressionProblem
from roost.config.not_text import nature
from roost.schedd.submit import foreign
from roost.schedd.submit.batch import Batch, PlanHost
from roost.schedd.submit.commands import ALL
from roost.schedd.submit.diagnostics import Findings, SubmitCode
from roost.schedd.submit.host import LanguageHost, SubmitHost
from roost.schedd.submit.job import Defaults, PlannedJob
from roost.schedd.submit.macros import PLATFORM, Position
from roost.schedd.submit.plan import ClusterPlan, fill, merged
from roost.schedd.submit.planning import Planned, Planner
from roost.schedd.submit.program import inherited_by
from roost.schedd.submit.queue_statement import QueueItems, read_queue
from roost.schedd.submit.script import QueuePoint, Script
from roost.schedd.submit.suggest import near

_SUBSYSTEM = "SUBMIT"
_QUEUE = re.compile(r"\s*queue\b(?!\s*=)", re.IGNORECASE)
_VARIABLE = re.compile(r"\$ENV\(\s*(\w+)")
#: The prefix of a name that macros complete.
_PUT_TOGETHER = re.compile(r"\$\(([\w.]*)\$")
_COMPUTED_NAME = re.compile(r"\$ENV\([^):]*\$")
#: If these have errors, it is unknown which lines would have had an effect.
_PROSE_CODES = frozenset((Code.MISSING_OPERATOR, Code.JUNK_BEFORE_OPERATOR, Code.COLON_ASSIGNMENT))
_QUEUE_CODES = frozenset((SubmitCode.QUEUE, SubmitCode.ITEMS, SubmitCode.LIMIT_REACHED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """The result of reading a description."""

    file: str
    #: Empty if there are errors.
    clusters: tuple[ClusterPlan, ...]
    findings: tuple[Diagnostic, ...]
    #: Number of findings beyond those that are kept.
    dropped: int = 0

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The findings that prevent submission."""
        return tuple(one for one in self.findings if one.severity is Severity.ERROR)

    @property
    def count(self) -> int:
        """Number of jobs."""
        return sum(plan.count for plan in self.clusters)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitContext:
    """Where, when and for whom a description is read."""

    host: SubmitHost
    #: Epoch s.
    now: float
    owner: str
    uid_domain: str
    #: Source of defaults and site policy.
    config: Config | None = None
    #: False: files need not exist.
    look_at_files: bool = True
    #: The jobs wait until their files are copied to the queue (-spool).
    spooled: bool = False


def read_submission(
    text: str,
    file: str,
    context: SubmitContext,
    *,
    arguments: tuple[str, ...] = (),
    append: tuple[str, ...] = (),
    queue: str | None = None,
    items: QueueItems | None = None,
) -> Submission:
    """Read a description.

    `arguments` are ``name=value`` words of the command line, which count as lines before the file; `append` are lines
    that precede every queue statement; `queue` are the arguments of ``queue`` for a description without such a
    statement; `items` are the items of the queue statement, overriding those in the description: programs may supply
    their own.
    """
    return _Reader(text, file, context, arguments, append, queue, items).submission()


@dataclass(slots=True)
class _Reader:
    text: str
    file: str
    context: SubmitContext
    arguments: tuple[str, ...]
    append: tuple[str, ...]
    queue: str | None
    given: QueueItems | None

    def submission(self) -> Submission:
        findings = Findings()
        binary = nature(self.text)
        if binary:
            return self._no_description(findings, binary)
        language = LanguageHost(host=self.context.host, now=self.context.now)
        built_in = self._built_in()
        script = Script(host=language, subsystem=_SUBSYSTEM, built_in=built_in)
        if self.arguments:
            script.source("\n".join(self.arguments), "<command line>", Origin.RUNTIME)
        script.source(self.text, self.file, Origin.FILE)
        self._points(script, findings)
        findings.take(script.log)
        plan_host = PlanHost(
            variables=dict(language.host.environment()),
            seed=self.context.host.random_integer(0, 2**31 - 1),
            now=float(self.context.now),
        )
        planner = Planner(
            host=self.context.host,
            plan_host=plan_host,
            defaults=self._defaults(findings),
            built_in=built_in,
            findings=findings,
            looks=self.context.look_at_files,
            strict=self._knob("SUBMIT_SKIP_FILECHECKS", "True").lower() in ("false", "f", "no", "n", "0"),
        )
        clusters, used = self._clusters(script, planner, language, findings)
        if not any(one.code in _QUEUE_CODES for one in findings.errors):
            self._unused(script, used, findings)
        if self._reads_like_another_file(findings):
            return self._no_description(Findings(), "a script" if self.text.startswith("#!") else "")
        for plan in clusters:
            _forget_environment(plan)
        return Submission(
            file=self.file,
            clusters=() if findings.errors else tuple(clusters),
            findings=tuple(sorted(findings, key=lambda one: _place(one, script.sources))),
            dropped=findings.dropped,
        )

    def _no_description(self, findings: Findings, kind: str) -> Submission:
        """Report a single problem instead of one per line."""
        message = (
            f"{self.file} is {kind}, not a submit description" if kind else f"{self.file} is not a submit description"
        )
        program = "PROGRAM" if self.file.startswith("<") else self.file
        to_run = f"To run it, submit a description with the lines `executable = {program}` and `queue`."
        findings.report(SubmitCode.NOT_A_DESCRIPTION, message, Span(self.file), remedy=to_run if kind else None)
        return Submission(file=self.file, clusters=(), findings=tuple(findings))

    def _reads_like_another_file(self, findings: Findings) -> bool:
        """Whether lines are not statements, and no line says what to run or how many jobs to queue."""
        codes = findings.codes
        return not codes.isdisjoint(_PROSE_CODES) and {SubmitCode.NO_EXECUTABLE, SubmitCode.NO_QUEUE} <= codes

    def _points(self, script: Script, findings: Findings) -> None:
        """Find the queue statements: those of the command line, or an implied one."""
        given = [line for line in self.append if _QUEUE.match(line)]
        if self.queue is not None:
            given.append(f"queue {self.queue}")
        if given and script.points:
            message = "both the command line and the description have a queue statement"
            findings.report(SubmitCode.QUEUE, message, script.points[0].span, remedy="Remove one of them.")
        elif given:
            script.source("\n".join(given), "<command line>", Origin.RUNTIME)
        elif not script.points:
            findings.report(SubmitCode.NO_QUEUE, "the description has no queue statement", Span(self.file))
            script.source("queue", f"<end of {self.file}>", Origin.FILE)
        others = tuple(line for line in self.append if not _QUEUE.match(line))
        if others:
            script.append(others)

    def _clusters(
        self, script: Script, planner: Planner, language: LanguageHost, findings: Findings
    ) -> tuple[list[ClusterPlan], set[str]]:
        used = set(script.asked)
        clusters: list[list[Planned]] = []
        first = 0
        for point in script.points:
            items = self._items(script, point, language, findings, used)
            if items is None:
                continue
            if clusters and not _same_program(clusters[-1][0], point):
                clusters.append([])
                first = 0
            planned = planner.plan(point.defined, items, first, point.span)
            used |= planned.used
            if clusters:
                clusters[-1].append(planned)
            else:
                clusters.append([planned])
            first += items.jobs
        plans = [_cluster(group) for group in clusters if group]
        return [plan for plan in plans if plan.count], used

    def _items(
        self, script: Script, point: QueuePoint, language: LanguageHost, findings: Findings, used: set[str]
    ) -> QueueItems | None:
        """The items of a queue statement, with the macros in force there."""
        if self.given is not None:
            return self.given
        reader = Script(host=language, subsystem=_SUBSYSTEM, built_in=script.built_in)
        for definition in point.defined.values():
            reader.table.add(definition)
        items = read_queue(
            point.arguments,
            point.item_lines,
            point.span,
            expand=lambda text: reader.expand(text, point.span),
            host=language,
            findings=findings,
        )
        findings.take(reader.log)
        used |= reader.asked
        return items

    def _unused(self, script: Script, used: set[str], findings: Findings) -> None:
        chains = script.table.chains
        texts = (chain[-1].text for key, chain in chains.items() if key in used or key.startswith("my."))
        prefixes = tuple({prefix.lower() for text in texts for prefix in _PUT_TOGETHER.findall(text)})
        for key, chain in chains.items():
            if key in used or key.startswith(("my.", *prefixes)):
                continue
            definition = chain[-1]
            if _is_foreign(definition, findings):
                continue
            message, remedy = f"the line `{definition.name} = {definition.written}` has no effect", None
            if key in ALL:
                remedy = "Another line overrides it, or a line that it depends on is missing."
            findings.report(
                SubmitCode.UNUSED,
                message,
                definition.span,
                name=definition.name,
                remedy=remedy,
                suggestion=None if remedy else near(definition.name),
            )

    # -- built-in names and defaults

    def _built_in(self) -> dict[str, str]:
        year, month, day = self.context.host.local_date(self.context.now)
        found = {
            "submit_file": self.file,
            "submit_time": str(int(self.context.now)),
            "year": f"{year}",
            "month": f"{month:02}",
            "day": f"{day:02}",
            **PLATFORM,
        }
        for name in ("arch", "opsys", "opsysver", "opsysandver", "opsysmajorver", "spool"):
            value = self._knob(name.upper())
            if value:
                found[name] = value
        return found

    def _knob(self, name: str, default: str = "") -> str:
        if self.context.config is None:
            return default
        try:
            return self.context.config.get(name, subsys=_SUBSYSTEM) or default
        except ConfigError:
            return default

    def _defaults(self, findings: Findings) -> Defaults:
        plain = Defaults(owner="", uid_domain="", filesystem_domain="", cwd="", now=0)
        built_in, servers = self._built_in(), self._knob("NATS_SERVERS").replace(",", " ").split()
        return Defaults(
            owner=self.context.owner,
            uid_domain=self.context.uid_domain,
            filesystem_domain=self._knob("FILESYSTEM_DOMAIN", self.context.uid_domain),
            cwd=self.context.host.cwd,
            now=int(self.context.now),
            arch=built_in["arch"],
            opsys=built_in["opsys"],
            request_cpus=self._knob("JOB_DEFAULT_REQUESTCPUS", plain.request_cpus),
            request_memory=self._knob("JOB_DEFAULT_REQUESTMEMORY", plain.request_memory),
            request_disk=self._knob("JOB_DEFAULT_REQUESTDISK", plain.request_disk),
            lease_s=self._number("JOB_DEFAULT_LEASE_DURATION", plain.lease_s, findings),
            retries_max=self._number("DEFAULT_JOB_MAX_RETRIES", plain.retries_max, findings),
            rank=self._knob("DEFAULT_RANK"),
            append_rank=self._knob("APPEND_RANK"),
            append_requirements=self._knob("APPEND_REQUIREMENTS"),
            should_transfer=self._knob("SUBMIT_DEFAULT_SHOULD_TRANSFER_FILES", plain.should_transfer),
            clear_text=any(not each.startswith(("tls://", "wss://")) for each in servers),
            nice_group=self._knob("NICE_USER_ACCOUNTING_GROUP_NAME", plain.nice_group),
            spooled=self.context.spooled,
            attributes=tuple(self._attributes()),
            inherited=dict(self.context.host.environment()),
        )

    def _number(self, knob: str, default: int, findings: Findings) -> int:
        if self.context.config is None:
            return default
        try:
            return self.context.config.get_int(knob, default, subsys=_SUBSYSTEM)
        except (ConfigError, ExpressionProblem) as problem:
            findings.report(SubmitCode.INTEGER, f"{knob} of the configuration: {problem}", Span("<configuration>"))
            return default

    def _attributes(self) -> Iterator[tuple[str, str]]:
        """SUBMIT_ATTRS: names of macros whose values go into every ad."""
        names = f"{self._knob('SYSTEM_SUBMIT_ATTRS')} {self._knob('SUBMIT_ATTRS')}".replace(",", " ").split()
        for name in names:
            text = self._knob(name.lstrip("+"))
            if text:
                yield name.lstrip("+"), text


def _is_foreign(definition: Definition, findings: Findings) -> bool:
    """Whether a line is a command of HTCondor that Roost does not act on; if so, it is refused or warned about."""
    name, key = definition.name, definition.name.lower()
    refused = foreign.refusal(key, definition.text)
    if refused is not None:
        message = f"{name} = {definition.written} is not supported: {refused[0]}"
        findings.report(SubmitCode.UNSUPPORTED, message, definition.span, name=name, remedy=refused[1])
        return True
    reason = foreign.without_effect(key)
    if reason is not None:
        message = f"{name} = {definition.written} has no effect here: {reason}"
        findings.report(SubmitCode.NO_EFFECT, message, definition.span, name=name, remedy="Remove the line.")
    return reason is not None


def _place(finding: Diagnostic, sources: list[str]) -> tuple[int, int, int]:
    """Sort findings in the reading order of the description."""
    span = finding.span
    number = sources.index(span.file) if span.file in sources else len(sources)
    return number, span.line, span.column


def _same_program(planned: Planned, point: QueuePoint) -> bool:
    """Whether a queue statement runs the same program as the cluster."""
    names = ("executable", "cmd", "shell", "docker_image", "container_image", "universe")
    before = planned.batch.macros.defined

    def text_of(found: Mapping[str, object], name: str) -> str:
        return getattr(found.get(name), "text", "")

    return all(text_of(before, name) == text_of(point.defined, name) for name in names)


def _cluster(group: list[Planned]) -> ClusterPlan:
    common, batches = merged([(planned.batch, planned.constants) for planned in group])
    return ClusterPlan(
        common=common,
        batches=batches,
        max_materialize=_whole(group[0].constants, "JobMaterializeLimit"),
        max_idle=_whole(group[0].constants, "JobMaterializeMaxIdle"),
    )


def _whole(constants: Mapping[str, Cell], name: str) -> int | None:
    value = constants.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _forget_environment(plan: ClusterPlan) -> None:
    """Keep only the environment variables that jobs still refer to: the rest may be confidential."""
    for batch in plan.batches:
        _trim(batch)


def _trim(batch: Batch) -> None:
    sections = (*batch.sections, *batch.by_cluster)
    texts = [found.text for found in batch.macros.defined.values() if "$ENV(" in found.text] if sections else []
    if not any(_COMPUTED_NAME.search(text) for text in texts):
        wanted = {name for text in texts for name in _VARIABLE.findall(text)}
        batch.host.variables = {name: text for name, text in batch.host.variables.items() if name in wanted}
    inherited: Mapping[str, str] = {}
    if "environment" in sections:
        inherited = batch.defaults.inherited
        if not batch.macros.varying("getenv"):
            inherited = inherited_by(PlannedJob(batch.macros, Position(), batch.defaults, Findings()))
    batch.defaults = replace(batch.defaults, inherited=inherited)


def listing(submission: Submission, *, schedd: str = "submit", cluster: int = 1) -> Iterator[str]:
    """The ads that would be queued, in old form, one text per job, with numbers from `cluster` on."""
    for number, plan in enumerate(submission.clusters, cluster):
        bound = plan.for_cluster(number)
        for proc, ad in enumerate(bound.ads()):
            fill(ad, number, proc, schedd=schedd)
            yield format_ad(ad, Form.OLD)


__all__ = ["ClusterPlan", "Submission", "SubmitContext", "listing", "read_submission"]
