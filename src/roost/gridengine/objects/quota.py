"""Resource quota sets: their rules, the filters of a rule, and their text form in braces.

A set has rules; the first one whose filters match a job in a place applies. A filter lists what it includes, and with
`!` what it excludes; in braces each member is counted separately. Grid Engine prints the filters of a rule in a fixed
order, with exclusions after inclusions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from roost.base.diagnostics import Span
from roost.base.records import dataclass
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.objects.text import Entry, logical_lines
from roost.gridengine.objects.values import BOOLEAN, BadValue, bad_name
from roost.gridengine.problems import ProblemCode, Refused, problem

#: the filters in the order in which they are printed
FILTERS: Final = ("users", "projects", "pes", "queues", "hosts")
_KEYWORDS: Final = ("name", *FILTERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a rule applies to, in one dimension."""

    #: names, patterns, and lists or groups with `@`; empty means everything not in `exclude`
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    #: in braces: each member has a separate limit
    expanded: bool = False

    def __str__(self) -> str:
        text = ",".join((*self.include, *(f"!{name}" for name in self.exclude)))
        return f"{{{text}}}" if self.expanded else text


class DynamicLimit(NamedTuple):
    """A limit such as ``$num_proc*2+1``: a sum of weighted complexes and numbers."""

    #: complex, or empty for a number, and weight
    terms: tuple[tuple[str, float], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The complexes of the sum."""
        return tuple(name for name, _ in self.terms if name)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaRule:
    """One ``limit`` of a set."""

    #: empty if the rule has only its number
    name: str = ""
    users: Filter | None = None
    projects: Filter | None = None
    pes: Filter | None = None
    queues: Filter | None = None
    hosts: Filter | None = None
    #: complexes and their limits; a limit that begins with `$` is dynamic
    limits: tuple[Pair, ...] = ()

    def filters(self) -> Iterator[tuple[str, Filter]]:
        """The filters that the rule has, by name."""
        for name in FILTERS:
            found = getattr(self, name)
            if found is not None:
                yield name, found

    def __str__(self) -> str:
        parts = [f"name {self.name}"] if self.name else []
        parts += [f"{name} {found}" for name, found in self.filters()]
        limits = ",".join(f"{name}={text}" for name, text in self.limits) or "NONE"
        return " ".join([*parts, f"to {limits}"])


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaSet:
    """A resource quota set."""

    name: str
    #: as written, with its quotes
    description: str = "NONE"
    enabled: bool = False
    rules: tuple[QuotaRule, ...] = ()

    def label(self, rule: QuotaRule) -> str:
        """How Grid Engine names one of the rules: ``set/name`` or ``set/number``."""
        return f"{self.name}/{rule.name or self.rules.index(rule) + 1}"


_TERM = re.compile(r"([-+]?)(?:(\d+(?:\.\d*)?)\*)?\$?([A-Za-z_][\w.]*)(?:\*(\d+(?:\.\d*)?))?|([-+]?)(\d+(?:\.\d*)?)")


def dynamic_limit(text: str) -> DynamicLimit | None:
    """A limit that begins with `$`, as a sum; None for a plain value or a text that is not a sum."""
    if not text.startswith("$"):
        return None
    terms: list[tuple[str, float]] = []
    position = 0
    while position < len(text):
        found = _TERM.match(text, position)
        if found is None or not found.group() or (position and text[position] not in "+-"):
            return None
        sign, before, name, after, plain_sign, plain = found.groups()
        weight = float(before or after or "1") if name else float(plain)
        terms.append((name or "", -weight if "-" in (sign, plain_sign) else weight))
        position = found.end()
    return DynamicLimit(tuple(terms))


def _problem(
    message: str, span: Span, remedy: str, code: ProblemCode = ProblemCode.SYNTAX, name: str | None = None
) -> Refused:
    return Refused([problem(code, message, span, remedy, name)])


_FORM: Final = "Write limit [name N] [users …] [projects …] [pes …] [queues …] [hosts …] to complex=value[,…]."


def _filter(text: str, hosts: bool, span: Span) -> Filter | None:
    expanded = text.startswith("{") and text.endswith("}")
    bare = re.sub(r"[{}]", "", text)
    if (not expanded and text.count("{") != text.count("}")) or re.search(r"!\{", text):
        raise _problem("no valid expanded list", span, "Write {a,b} without blanks.")
    words = [word.lower() if hosts and not word.startswith(("@", "!@")) else word for word in bare.split(",") if word]
    if not words:
        return None
    include = tuple(dict.fromkeys(word for word in words if not word.startswith("!")))
    exclude = tuple(dict.fromkeys(word[1:] for word in words if word.startswith("!")))
    return Filter(include=include, exclude=exclude, expanded=expanded)


def _limits(text: str) -> tuple[Pair, ...]:
    pairs = [part.partition("=") for part in re.split(r"\s*,\s*", text) if part]
    return tuple(Pair(name.strip(), value.strip()) for name, equals, value in pairs if equals)


def _rule(entry: Entry) -> QuotaRule:
    before, to, limits = f" {entry.text} ".partition(" to ")
    values: dict[str, str | Filter | None] = {}
    words = before.split()
    for position in range(0, len(words), 2):
        keyword = words[position]
        if keyword not in _KEYWORDS:
            if keyword.startswith((",", "=")):
                raise _problem("the line should begin with an attribute name", entry.span, _FORM)
            name = keyword.partition("=")[0]
            raise _problem(f'unknown attribute name "{name}"', entry.span, _FORM, ProblemCode.UNKNOWN_ATTRIBUTE, name)
        if keyword in values:
            message = f'attribute "{keyword}" appears more than once'
            raise _problem(message, entry.span, "Keep one of them.", ProblemCode.REPEATED_ATTRIBUTE, keyword)
        text = words[position + 1] if position + 1 < len(words) else ""
        if not text or (text.startswith("{") and "}" not in text):
            raise _problem("no valid expanded list", entry.span, "Write {a,b} without blanks.")
        values[keyword] = text if keyword == "name" else _filter(text, keyword == "hosts", entry.span)
    if re.search(r"\s=|=\s", limits.strip()):
        raise _problem("the line should begin with an attribute name", entry.span, _FORM)
    extra = re.search(r"[^,\s]\s+([^\s,=]+)", limits.strip())
    if extra:
        raise _problem(f'unknown attribute name "{extra.group(1)}"', entry.span, _FORM, ProblemCode.UNKNOWN_ATTRIBUTE)
    if to and not _limits(limits) and limits.strip() not in ("", "NONE"):
        raise _problem("resource quota set has no rules", entry.span, _FORM)
    hosts = values.get("hosts")
    each_host = isinstance(hosts, Filter) and hosts.expanded
    if not each_host and any(text.startswith("$") for _, text in _limits(limits)):
        message = "dynamic limits are only supported for per host rules"
        raise _problem(message, entry.span, "Write hosts {*} or other hosts in braces.", ProblemCode.BAD_VALUE)
    return QuotaRule(limits=_limits(limits), **values)  # type: ignore[arg-type]


def _set(lines: list[Entry], place: Span) -> QuotaSet:
    name, description, enabled = "", "NONE", False
    rules: list[QuotaRule] = []
    seen: set[str] = set()
    for entry in lines:
        if entry.name != "limit" and (entry.name in seen or rules):
            message = f'unknown attribute name "{entry.name}"'
            raise _problem(message, entry.span, "Write name, description and enabled before the limits.")
        seen.add(entry.name)
        match entry.name:
            case "name":
                name = entry.text
                complaint = bad_name(name)
                if complaint:
                    raise _problem(complaint, entry.span, "Choose another name.", ProblemCode.BAD_NAME, "name")
            case "description":
                description = entry.text
            case "enabled":
                enabled = _enabled(entry)
            case "limit":
                rules.append(_rule(entry))
            case other:
                message = f'unknown attribute name "{other}"'
                raise _problem(
                    message, entry.span, "Write name, description, enabled, limit.", ProblemCode.UNKNOWN_ATTRIBUTE
                )
    if not name:
        raise _problem(
            "resource quota set has no name", place, "Write a line name NAME.", ProblemCode.MISSING_ATTRIBUTE
        )
    if not rules:
        raise _problem("resource quota set has no rules", place, _FORM, ProblemCode.MISSING_ATTRIBUTE)
    return QuotaSet(name=name, description=description, enabled=enabled, rules=tuple(rules))


def _enabled(entry: Entry) -> bool:
    try:
        return BOOLEAN.parse(entry.text)
    except BadValue as bad:
        raise _problem(bad.message, entry.span, bad.remedy, ProblemCode.BAD_VALUE, "enabled") from None


def parse_quota_sets(text: str, file: str) -> tuple[QuotaSet, ...]:
    """Read resource quota sets, each in braces; raise `Refused`."""
    found: list[QuotaSet] = []
    lines: list[Entry] | None = None
    place = Span(file, 1)
    for line, span in logical_lines(text, file):
        if lines is None:
            if line != "{":
                message = 'each value in the attribute value list should begin with "{"'
                raise _problem(message, span, "Write { on a line of its own before each set.")
            lines, place = [], span
        elif line == "}":
            found.append(_set(lines, place))
            lines = None
        else:
            name, _, value = line.partition(" ")
            if not value.strip():
                message = '" " is the only character allowed between the attribute name and the value'
                raise _problem(message, span, f"Write a value after {name}.", ProblemCode.SYNTAX, name)
            lines.append(Entry(name, value.strip(), span))
    if lines is not None:
        message = 'each value in the attribute value list should end with "}"'
        raise _problem(message, place, "Write } on a line of its own after each set.")
    return tuple(found)


def show_quota_set(quotas: QuotaSet) -> str:
    """A set as `qconf -srqs` prints it."""
    pairs = [
        ("name", quotas.name),
        ("description", quotas.description),
        ("enabled", "TRUE" if quotas.enabled else "FALSE"),
        *(("limit", str(rule)) for rule in quotas.rules),
    ]
    return "{\n" + "".join(f"   {name:<13}{text}\n" for name, text in pairs) + "}\n"
