"""Runs the rules: read, run each rule, map places back, drop allowed findings, sort.

`lint` takes the names of files and directories, which are read in that order as one configuration (a directory: its
files by name), and a `Host` to read them with. Commands that a configuration names are never run, and values detected
at start are those of an imaginary machine, so that the result depends only on the files.

Files that end in ``.sub`` or ``.submit`` are submit descriptions and are checked one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from roost.base.diagnostics import Severity
from roost.base.records import dataclass, field, replace
from roost.classad import ClassAd
from roost.config import Code, CommandResult, Config, Host, LoadOptions, load
from roost.config.knobs import find as find_knob
from roost.policy.lint.allow import Allowances, allowances
from roost.policy.lint.findings import Finding, SourcePlace, in_order
from roost.policy.lint.mapping import whole
from roost.policy.lint.pool import Expression, Pool, pool_of
from roost.policy.lint.registry import Hit, Rule, all_rules
from roost.policy.lint.submit import Submission, read_submission
from roost.policy.model import AdKind

#: What the imaginary machine has: values found at start.
MACHINE: Final[Mapping[str, str]] = {
    "HOSTNAME": "machine",
    "FULL_HOSTNAME": "machine.example.org",
    "IP_ADDRESS": "192.0.2.1",
    "IPV4_ADDRESS": "192.0.2.1",
    "IPV6_ADDRESS": "2001:db8::1",
    "TILDE": "/var/lib/condor",
    "DETECTED_CPUS": "16",
    "DETECTED_CORES": "16",
    "DETECTED_PHYSICAL_CPUS": "8",
    "DETECTED_CPUS_LIMIT": "16",
    "DETECTED_MEMORY": "65536",
    "ARCH": "X86_64",
    "OPSYS": "LINUX",
    "OPSYSVER": "1200",
    "OPSYSANDVER": "Debian12",
    "OPSYSMAJORVER": "12",
    "UNAME_ARCH": "x86_64",
    "UNAME_OPSYS": "Linux",
    "PID": "1000",
    "PPID": "1",
    "USERNAME": "condor",
    "REAL_UID": "64",
    "REAL_GID": "64",
    "HOME": "/var/lib/condor",
    "FILESYSTEM_DOMAIN": "example.org",
    "UID_DOMAIN": "example.org",
    # Findings that depend on the values above say so.
    "ASSUMED": "yes",
}
_QUEUE: Final = re.compile(r"^[ \t]*queue\b", re.IGNORECASE | re.MULTILINE)
SUBMIT_SUFFIXES: Final = (".sub", ".submit")
#: Findings of one rule that are kept; a generated file can have one mistake a thousand times.
FINDINGS_PER_RULE_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSelection:
    """The rules to run. Names are codes or prefixes of codes."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def wants(self, code: str) -> bool:
        """Whether findings of a rule are wanted."""
        chosen = not self.select or code.startswith(self.select)
        return chosen and not (bool(self.ignore) and code.startswith(self.ignore))


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of linting."""

    findings: list[Finding]
    #: Names of the sources read.
    sources: tuple[str, ...]
    #: Names that could not be read.
    missing: tuple[str, ...] = ()
    #: Findings not shown because a comment allows them.
    allowed: int = 0
    #: The configuration that was read; None if there were only submit descriptions.
    config: Config | None = None


@dataclass(slots=True)
class _Files:
    """A host that only reads files, and keeps their texts."""

    host: Host
    texts: dict[str, str] = field(default_factory=dict)

    def read_text(self, path: str) -> str | None:
        if path not in self.texts:
            text = self.host.read_text(path)
            if text is None:
                return None
            self.texts[path] = text
        return self.texts[path]

    def list_directory(self, path: str) -> list[str] | None:
        return self.host.list_directory(path)

    def run_command(self, command: str) -> CommandResult:
        return CommandResult(status=0, output="")

    def write_cache(self, path: str, text: str) -> bool:
        return False

    def environment(self) -> Mapping[str, str]:
        return {}

    def random_integer(self, low: int, high: int) -> int:
        return low

    def evaluate(self, expression: str) -> object:
        return self.host.evaluate(expression)

    def parse_expression(self, expression: str) -> None:
        self.host.parse_expression(expression)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """The machine and version for which a configuration is read."""

    #: Values found at start.
    detected: Mapping[str, str] = MACHINE
    #: Version of HTCondor; None for Roost.
    condor_version: tuple[int, int, int] | None = None


#: Values found at start to the attributes of a machine's ad.
_OF_AD: Final = {
    "FULL_HOSTNAME": "Machine",
    "DETECTED_CPUS": "DetectedCpus",
    "DETECTED_CORES": "DetectedCpus",
    "DETECTED_CPUS_LIMIT": "DetectedCpus",
    "DETECTED_MEMORY": "DetectedMemory",
    "ARCH": "Arch",
    "OPSYS": "OpSys",
    "OPSYSVER": "OpSysVer",
    "OPSYSANDVER": "OpSysAndVer",
    "OPSYSMAJORVER": "OpSysMajorVer",
    "FILESYSTEM_DOMAIN": "FileSystemDomain",
    "UID_DOMAIN": "UidDomain",
}


def machine_of(ad: ClassAd) -> dict[str, str]:
    """The values detected at start on the machine of an ad; missing ones are assumed."""
    found = dict(MACHINE)
    for name, attribute in _OF_AD.items():
        value = ad.eval(attribute)
        if isinstance(value, str | int) and not isinstance(value, bool):
            found[name] = str(value)
    found["HOSTNAME"] = found["FULL_HOSTNAME"].partition(".")[0]
    if ad.eval("DetectedPhysicalCpus") is not None and isinstance(ad.eval("DetectedPhysicalCpus"), int):
        found["DETECTED_PHYSICAL_CPUS"] = str(ad.eval("DetectedPhysicalCpus"))
    if isinstance(ad.eval("DetectedCpus"), int) and isinstance(ad.eval("DetectedMemory"), int):
        del found["ASSUMED"]
    return found


def lint(
    host: Host,
    paths: Iterable[str],
    choice: RuleSelection | None = None,
    given: Mapping[AdKind, ClassAd] | None = None,
    reader: Reader | None = None,
) -> Report:
    """Lint the files and directories of `paths`, as one configuration.

    `given` holds an example of a job's or a machine's ad: its attributes count as known, and the situations examined
    begin with its values.
    """
    reader = reader or Reader()
    choice = choice or RuleSelection()
    files = _Files(host)
    named = list(paths)
    submits = [path for path in named if _is_description(path, files.read_text(path))]
    roots = tuple([path for path in named if path not in submits])
    findings: list[Finding] = []
    missing: list[str] = []
    sources: tuple[str, ...] = ()
    config: Config | None = None
    if roots:
        options = LoadOptions(
            roots=roots, detected=reader.detected, environment=False, condor_version=reader.condor_version
        )
        config = load(files, options)
        unread = [d.span.file for d in config.log if d.code is Code.SOURCE_MISSING and d.span.file in roots]
        missing.extend(dict.fromkeys(path for path in unread if path not in config.sources))
        sources = tuple([name for name in config.sources if name in files.texts])
        findings.extend(lint_config(config, choice, given))
    for path in submits:
        text = files.read_text(path)
        if text is None:
            missing.append(path)
            continue
        sources = (*sources, path)
        findings.extend(lint_submission(read_submission(text, path), choice))
    return replace(_report(findings, files.texts, sources, tuple(missing), choice), config=config)


def _is_description(path: str, text: str | None) -> bool:
    """Whether a file is a submit description: by its name, unless it sets knobs and queues nothing."""
    if not path.endswith(SUBMIT_SUFFIXES) or text is None or path.endswith(".sub"):
        return path.endswith(SUBMIT_SUFFIXES)
    assigned = re.findall(r"^[ \t]*([A-Za-z_][\w.]*)[ \t]*=", text, re.MULTILINE)
    return bool(_QUEUE.search(text)) or not any(find_knob(name) for name in assigned)


def lint_text(text: str, host: Host, *, file: str = "<text>", choice: RuleSelection | None = None) -> Report:
    """Lint a configuration given as text."""
    files, choice = _Files(host, {file: text}), choice or RuleSelection()
    config = load(files, LoadOptions(roots=(file,), detected=MACHINE, environment=False, subsystem="TOOL"))
    return _report(lint_config(config, choice), {file: text}, (file,), (), choice)


def _report(
    findings: list[Finding],
    texts: Mapping[str, str],
    sources: tuple[str, ...],
    missing: tuple[str, ...],
    choice: RuleSelection,
) -> Report:
    allowed = allowances(texts)
    kept = [finding for finding in findings if not allowed.cover(finding)]
    dropped = len(findings) - len(kept)
    kept.extend(finding for finding in _idle(allowed, choice))
    return Report(findings=in_order(kept), sources=sources, missing=missing, allowed=dropped)


def _idle(allowed: Allowances, choice: RuleSelection) -> Iterator[Finding]:
    codes = {rule.code for rule in all_rules()}
    for comment in allowed.comments:
        unknown = [code for code in comment.codes if code not in codes]
        if (unknown or not comment.reason) and choice.wants("RST003"):
            what = f"there is no rule {', '.join(unknown)}" if unknown else "the reason is missing"
            yield Finding(
                code="RST003",
                severity=Severity.WARNING,
                message=f"comment allows findings, but {what}",
                place=SourcePlace(comment.file, comment.line),
                remedy="Write `# roost: allow CODE why it is all right here`.",
            )


def lint_config(config: Config, choice: RuleSelection, given: Mapping[AdKind, ClassAd] | None = None) -> list[Finding]:
    """All findings about a configuration, ignoring comments."""
    pool = pool_of(config, given)
    findings: list[Finding] = []
    for rule in all_rules():
        if choice.wants(rule.code):
            try:
                hits = _config_hits(rule, pool)
            except Exception as problem:
                findings.append(_broken(rule, problem, config.sources))
                continue
            findings.extend(_finding(rule, hit, expression) for hit, expression in hits)
    return _causes(findings)


#: Mistakes that make the interaction of the machine's expressions meaningless.
_MISLEADING: Final = frozenset(
    (
        "RST101",
        "RST102",
        "RST106",
        "RST108",
        "RST109",
        "RST114",
        "RST115",
        "RST122",
        "RST202",
        "RST301",
        "RST302",
        "RST303",
        "RST304",
        "RST305",
        "RST306",
        "RST310",
        "RST508",
        "RST520",
    )
)


#: Expressions that together decide when a job starts and leaves. The others apply later and independently.
_DECIDING: Final = frozenset(("start", "is_owner", "want_suspend", "suspend", "continue", "preempt"))


def _causes(findings: list[Finding]) -> list[Finding]:
    """The findings without those about state logic that only follow from a mistake inside an expression."""
    wrong = {
        finding.knob.lower()
        for finding in findings
        if finding.knob is not None and finding.code < "RST400" and finding.severity is not Severity.NOTE
    }
    misled = any(
        finding.code in _MISLEADING and finding.knob is not None and finding.knob.lower() in _DECIDING
        for finding in findings
    )
    return [
        finding
        for finding in findings
        if not finding.code.startswith("RST4")
        or not (misled or (finding.knob is not None and finding.knob.lower() in wrong))
    ]


def _broken(rule: Rule, problem: Exception, sources: tuple[str, ...]) -> Finding:
    """A rule that fails is a bug in the linter: it is reported as such, and the other rules continue."""
    return Finding(
        code="RST000",
        severity=Severity.WARNING,
        message=f"rule {rule.code} failed on this configuration: {type(problem).__name__}: {problem}",
        place=SourcePlace(sources[0] if sources else "<configuration>"),
        remedy="Please report it, with the configuration. Nothing that this rule would find is shown.",
    )


def _config_hits(rule: Rule, pool: Pool) -> list[tuple[Hit, Expression | None]]:
    hits: list[tuple[Hit, Expression | None]] = []
    if rule.expression is not None:
        for expression in pool.expressions:
            hits.extend((hit, hit.expression or expression) for hit in rule.expression(expression))
            if len(hits) >= FINDINGS_PER_RULE_MAX:
                break
    if rule.pool is not None:
        hits.extend((hit, hit.expression) for hit in rule.pool(pool))
    return hits[:FINDINGS_PER_RULE_MAX]


def lint_submission(submission: Submission, choice: RuleSelection) -> list[Finding]:
    """All findings about one submit description, ignoring comments."""
    findings: list[Finding] = []
    for rule in all_rules():
        if not choice.wants(rule.code):
            continue
        if rule.submit is not None:
            findings.extend(_finding(rule, hit, hit.expression) for hit in rule.submit(submission))
        if rule.expression is not None:
            for expression in submission.expressions:
                findings.extend(_finding(rule, hit, expression) for hit in rule.expression(expression))
    return findings


def _finding(rule: Rule, hit: Hit, expression: Expression | None) -> Finding:
    place: SourcePlace | None = hit.place
    through: tuple[str, ...] = ()
    text: str | None = None
    related = list(hit.related)
    if expression is not None and place is None:
        place, through, text = _within(hit, expression)
        value = whole(expression.definition)
        beyond = through or place.file != value.file
        if beyond and (place.file, place.line, place.column) != (value.file, value.line, value.column):
            related.append((f"in the value of {expression.knob}", value))
    assert place is not None, rule.code
    return Finding(
        code=rule.code,
        severity=hit.severity or rule.severity,
        message=hit.message,
        place=place,
        remedy=hit.remedy,
        knob=hit.knob or (expression.knob if expression is not None else None),
        text=text,
        through=through,
        related=tuple(related),
        witness=hit.witness,
        fix=hit.fix,
    )


def _within(hit: Hit, expression: Expression) -> tuple[SourcePlace, tuple[str, ...], str | None]:
    span = hit.span if hit.span is not None else hit.node.span if hit.node is not None else None
    if span is None:
        return whole(expression.definition), (), None
    place, through = expression.mapped.place(*span)
    return place, through, " ".join(expression.mapped.text[span[0] : span[1]].split())


__all__ = ["Reader", "Report", "RuleSelection", "lint", "lint_config", "lint_submission", "lint_text", "machine_of"]
