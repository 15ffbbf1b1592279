"""Finds all problems of a configuration at once.

`check` starts from what reading found, then expands every definition in force, reads every known knob as its
type, and looks at names: misspelt, outdated, with a prefix that nothing reads, known but without effect, or
referred to but never defined. Each finding has the place of the definition it is about. Findings are sorted by
place; none is repeated.

Whether a policy makes sense is not checked here: that is the linter's task.
"""

from __future__ import annotations

import re

from roost.base.diagnostics import Diagnostic, Severity, Span
from roost.config.access import problems
from roost.config.diagnostics import Code, ConfigError, diagnostic
from roost.config.expand import Found, circle_message
from roost.config.knob import Knob, KnobScope, KnobType
from roost.config.knobs import (
    ALL,
    BY_NAME,
    ONLY_HTCONDORS,
    PRESETS,
    SUBSYSTEMS,
    find,
    is_lost_on_roost,
    replacement,
    slot_prefixed,
)
from roost.config.lookup import Config, Context
from roost.config.references import plain_references, words_of
from roost.config.subsystems import LEVELS
from roost.config.suggest import near, near_among
from roost.config.table import Definition, Origin
from roost.config.templates import BY_NAME as TEMPLATES_BY_NAME
from roost.config.templates import WITHOUT_EFFECT
from roost.config.transforms import is_for_jobs, is_of_job
from roost.config.unknown import severity_of, unknown_name
from roost.config.values import Reading, problem_of


def _endings() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in ALL:
        before, _, rest = row.name.partition("<")
        ending = rest.partition(">")[2]
        if "<" not in ending and ending.startswith("_") and "<N>" not in row.name and (before or "_HOOK_" in ending):
            found.setdefault(before.lower(), []).append(ending)
    return found


_SLOT_PREFIX = re.compile(r"slot\d+_")
_TYPE_PREFIX = re.compile(r"slot_type_\d+_")
#: knobs that a second daemon reads
_READ_TWICE = frozenset({("KILLING_TIMEOUT", "starter"), ("VM_KILLING_TIMEOUT", "starter")})
#: what can follow that prefix
_OF_TYPE = (*(row.name for row in ALL if row.scope is KnobScope.SLOT_TYPE and not row.is_pattern), "PARTITIONABLE")
#: Families of names with a number.
_NUMBERED = tuple(row.name for row in ALL if row.name.count("<") == 1 and "<N>" in row.name)
#: Prefix of each family of names with a word in them, in lower case, to its suffixes; of those that begin with the
#: word, only hooks.
_MEMBERS = _endings()
#: How the names of families begin whose members are read only if the list names them, in lower case, to that list.
_LISTS = {
    **{
        f"group_{of}": "GROUP_NAMES"
        for of in ("quota_", "quota_dynamic_", "prio_factor_", "accept_surplus_", "autoregroup_")
    },
    **{
        f"system_periodic_{of}_": f"SYSTEM_PERIODIC_{of.upper()}_NAMES"
        for of in ("hold", "release", "remove", "vacate")
    },
    "submit_requirement_": "SUBMIT_REQUIREMENT_NAMES",
    "job_transform_": "JOB_TRANSFORM_NAMES",
}
#: Knobs of HTCondor alone that keep jobs and their files apart from others.
_SHIELDING = frozenset({"encrypt_execute_directory", "singularity_job"})
#: What follows SEC_ in the names of a level's knobs.
_SECURITY = re.compile(rf"(?:{'|'.join(LEVELS)})_(?:authentication|encryption|integrity|negotiation|crypto|session)")
#: Category and name of each template.
_TEMPLATES = WITHOUT_EFFECT | TEMPLATES_BY_NAME.keys()
#: Knobs whose requirement is met if all message servers are reached by TLS.
_BY_TLS = ("SEC_<CONTEXT>_ENCRYPTION", "SEC_<CONTEXT>_INTEGRITY")
#: lists of names of macros that are published
_PUBLISHING = (
    "startd_attrs",
    "startd_exprs",
    "submit_attrs",
    "schedd_attrs",
    "master_attrs",
    "negotiator_attrs",
)


def check(config: Config) -> list[Diagnostic]:
    """All findings about a configuration, sorted by place."""
    found = list(config.log)
    used = _used_names(config)
    in_force = _used_names(config, old=False)
    mentioned = _mentioned(config) | used
    circles: dict[frozenset[str], tuple[tuple[str, ...], Definition]] = {}
    for key, chain in config.chains.items():
        definition = chain[-1]
        findings, met = _value(config, key, definition)
        found.extend(findings)
        for circle in met:
            circles.setdefault(frozenset(circle), (circle, definition))
        found.extend(_name(definition, used, in_force, mentioned))
        found.extend(_undefined(config, key, definition))
        found.extend(_effect(config, key, definition, used))
    found.extend(_circle(config, circle, met_in) for circle, met_in in circles.values())
    unique = dict.fromkeys(found)
    return sorted(unique, key=by_place)


def by_place(one: Diagnostic) -> tuple[str, int, int, str, str]:
    """The key that sorts findings."""
    user = one.span.user
    return user.file, user.line, user.column, one.code, one.message


def _owner(config: Config, key: str) -> Context:
    """The context a definition is written for: that of its prefix or of the daemon that reads it."""
    prefix = key.partition(".")[0]
    if "." in key and prefix in SUBSYSTEMS:
        return config.context(prefix.upper())
    knob = find(key)
    reader = knob.subsystem if knob is not None and knob.subsystem != "ALL" else None
    return config.context(reader)


def _circle(config: Config, circle: tuple[str, ...], met_in: Definition) -> Diagnostic:
    """One finding for all macros of a cycle, at the first of them."""
    order = list(config.chains)
    first = min(
        range(len(circle)), key=lambda at: order.index(circle[at]) if circle[at] in config.chains else len(order)
    )
    circle = circle[first:] + circle[:first]
    definitions = [definition for key in circle if (definition := config.last(key)) is not None]
    begin = definitions[0] if definitions else met_in
    others = ", ".join(f"{one.name} at {one.span.user}" for one in definitions[1:5])
    message = circle_message(circle) + (f"; {others}" if others else "") + (", …" if len(definitions) > 5 else "")
    return diagnostic(Code.MACRO_CYCLE, message, begin.span, name=begin.name)


def _value(config: Config, key: str, definition: Definition) -> tuple[list[Diagnostic], list[tuple[str, ...]]]:
    """Problems of expanding a definition and of reading the result, and cycles of macros found on the way."""
    if is_for_jobs(key):
        return [], []
    context = _owner(config, key)
    expander = config.expander(context)
    text = expander.expand(definition.text, name=definition.name).strip()
    findings = [
        diagnostic(problem.code, f"{definition.name}: {problem.message}", definition.span, name=definition.name)
        for problem in expander.problems
        if not problem.circle
    ]
    circles = [problem.circle for problem in expander.problems if problem.circle]
    knob = find(key)
    if findings or circles or knob is None or not text:
        return findings, circles
    reading = Reading(name=definition.name, text=text, span=definition.span, knob=knob, host=config.host)
    problem = problem_of(reading)
    if problem is not None:
        message = f"{definition.name}: {problem.message}"
        findings.append(diagnostic(problem.code, message, definition.span, name=definition.name))
    return findings, []


def _name(
    definition: Definition, used: frozenset[str], in_force: frozenset[str], mentioned: frozenset[str]
) -> list[Diagnostic]:
    """Problems of the name itself; `in_force` are the names that values other than those of old names refer to."""
    name, span = definition.name, definition.span
    present = replacement(name)
    # A macro that has an old name does what the values that use it do.
    if (present == "" and name.lower() in used) or (present and _protects(present) and name.lower() in in_force):
        return []
    if present and name.lower() in in_force and _is_own(name, present, used):
        return []
    if present is not None and not span.is_template:
        if _protects(present):
            # The existence of a new name must not suggest that the old one protects.
            message, write = f"{name} has no effect: it is an old name of {present}", f"Write {present}."
            return [diagnostic(Code.WITHOUT_EFFECT, message, span, name=name, remedy=write, severity=Severity.ERROR)]
        message = f"{name} is an old name" if present else f"{name} no longer has an effect"
        remedy = None if present else "Remove the line."
        return [diagnostic(Code.DEPRECATED_NAME, message, span, name=name, suggestion=present or None, remedy=remedy)]
    key = name.lower()
    base = key.rpartition(".")[2]
    if key in used or base in used or _SLOT_PREFIX.sub("", base) in used or _TYPE_PREFIX.sub("", base) in used:
        return []
    slotted = slot_prefixed(base)
    if slotted is not None:
        message = f"{name}: {slotted.name} cannot be set for single slots"
        return [diagnostic(Code.SLOT_PREFIX_IGNORED, message, span, name=name, severity=_severity(slotted.name))]
    if find(name) is not None or base in ONLY_HTCONDORS:
        return []
    typed = BY_NAME.get(_TYPE_PREFIX.sub("", base)) if _TYPE_PREFIX.match(base) else None
    if typed is not None and typed.type is not KnobType.MACRO and typed.name not in _OF_TYPE:
        message, remedy = f"{name}: {typed.name} cannot be set for slot types", f"Write {typed.name}."
        severity = _severity(typed.name)
        return [diagnostic(Code.SLOT_PREFIX_IGNORED, message, span, name=name, remedy=remedy, severity=severity)]
    suggestion = near(base) or _near_of_type(name, base) or _near_of_family(base) or _near_of_member(base)
    suggestion = suggestion or _without_prefix(name, base)
    message = f"nothing reads {name}"
    if (base, definition.text.strip().lower()) in _TEMPLATES:
        remedy = f"Write `use {base.upper()} : {definition.text.strip()}`."
        return [diagnostic(Code.NEAR_MISS, message, span, name=name, remedy=remedy)]
    if suggestion is None:
        return unknown_name(definition, base, mentioned)
    severity = _severity(suggestion)
    return [diagnostic(Code.NEAR_MISS, message, span, name=name, suggestion=suggestion, severity=severity)]


def _is_own(name: str, present: str, used: frozenset[str]) -> bool:
    """Whether a macro such as VM1_LOAD is the configuration's own: neither a knob nor an attribute of a slot."""
    plain = _SLOT_PREFIX.sub("", present.lower())
    return name.lower().startswith("vm") and plain not in used and plain not in BY_NAME


def _protects(name: str) -> bool:
    """Whether it is the name of a knob that protects or limits something: a user who relies on it must be told."""
    row = find(name)
    if row is None:
        return False
    said = row.unread is not None and row.unread.severity is Severity.ERROR
    return said or row.read_by == "config.access" or row.name.startswith(("MAX_JOBS_", "SEC_"))


def _severity(name: str) -> Severity | None:
    """An error for a knob that protects or limits something; None for the default of the code."""
    return Severity.ERROR if _protects(name) else None


def _effect(config: Config, key: str, definition: Definition, used: frozenset[str]) -> list[Diagnostic]:
    """Report a knob that requests what Roost does not do, or that has the prefix of a daemon that does not read it."""
    name, span, row = definition.name, definition.span, find(key)
    prefix, dot, _ = key.partition(".")
    base = key.rpartition(".")[2]
    if config.for_htcondor or replacement(name) is not None:
        return []
    if row is None:
        said = base in used or definition.origin is Origin.TEMPLATE
        return [_of_htcondor(definition, base)] if not said and is_lost_on_roost(base, definition.text) else []
    if row.unread is not None:
        # A macro that other values use still works; a knob that protects or limits something does not.
        if base in used and row.unread.severity is not Severity.ERROR:
            return []
        # The user cannot remove a line of a template, and HTCondor's value for it costs nothing.
        if definition.origin is Origin.TEMPLATE and row.unread.severity is Severity.NOTE:
            return []
        text = config.expander(_owner(config, key)).expand(definition.text, name=name)
        if not row.unread.matters(text, row.default) or (row.name in _BY_TLS and _is_by_tls(config)):
            return []
        message = f"{name} has no effect: {row.unread.why.removesuffix('.')}"
        return [diagnostic(Code.WITHOUT_EFFECT, message, span, name=name, severity=row.unread.severity)]
    if base not in used and definition.origin is not Origin.TEMPLATE and (listed_in := _not_listed(config, key, row)):
        message, remedy = f"{name} has no effect: {listed_in} does not list it", f"Add it to {listed_in}."
        return [diagnostic(Code.WITHOUT_EFFECT, message, span, name=name, remedy=remedy)]
    if row.read_by == "config.access":
        return problems(name, config.expander(_owner(config, key)).expand(definition.text, name=name), span)
    reader = row.subsystem.lower()
    if not dot or prefix not in SUBSYSTEMS or reader in ("all", prefix) or (row.name, prefix) in _READ_TWICE:
        return []
    message = f"{name} has no effect: {row.name} is read by {row.subsystem}"
    meant, severity = f"{row.subsystem}.{row.name}", _severity(row.name)
    return [diagnostic(Code.OTHER_DAEMON, message, span, name=name, suggestion=meant, severity=severity)]


def _not_listed(config: Config, key: str, row: Knob) -> str:
    """The list that would have to name the member of a family, in lower case, for it to be read; "" if none has to."""
    prefix, _, rest = key.partition(".")
    # Names of groups have dots, too.
    base = rest if prefix in SUBSYSTEMS else key
    family, _, rest = row.name.lower().partition("<")
    found = _LISTS.get(family) if rest else None
    if found is None:
        return ""
    member = base.removeprefix(family).removesuffix(rest.partition(">")[2])
    try:
        listed = config.get_list(found)
    except ConfigError:
        return ""
    # The row of a shorter name may have been found: SUBMIT_REQUIREMENT_A_REASON, GROUP_QUOTA_DYNAMIC_A.
    member = member.removeprefix("dynamic_")
    known = [each.lower() for each in listed]
    return "" if any(member == each or member.startswith(f"{each}_") for each in known) else found


def _of_htcondor(definition: Definition, base: str) -> Diagnostic:
    name = definition.name
    message = f"{name} has no effect: it is a knob of HTCondor that Roost does not read"
    severity = Severity.ERROR if base in _SHIELDING else severity_of(base)
    return diagnostic(Code.WITHOUT_EFFECT, message, definition.span, name=name, severity=severity)


def _is_by_tls(config: Config) -> bool:
    """Whether all messages of daemons and users go to message servers over TLS."""
    found = config.find("NATS_SERVERS")
    text = "" if found is None else config.expander(config.context()).expand(found.text, name=found.name)
    servers = text.replace(",", " ").split()
    return bool(servers) and all(server.startswith("tls://") for server in servers)


def _near_of_type(name: str, base: str) -> str | None:
    """The name that was probably meant by one for a slot type: candidates are few, so short ones are guessed, too."""
    match = _TYPE_PREFIX.match(base)
    if match is None:
        return None
    meant = near_among(base[match.end() :], _OF_TYPE, length_min=4)
    return None if meant is None else name[: len(name) - len(base) + match.end()] + meant


def _near_of_family(base: str) -> str | None:
    """The name that was probably meant by one with a number in it, such as SLOT_TYPE1_PARTITIONABLE."""
    numbers = re.findall(r"\d+", base)
    if len(numbers) != 1:
        return None
    meant = near_among(base.replace(numbers[0], "<N>"), _NUMBERED)
    return None if meant is None else meant.replace("<N>", numbers[0])


def _near_of_member(base: str) -> str | None:
    """The name that was probably meant by one of a family with a word in it, such as STARTD_CRON_A_KILLS."""
    for before, endings in _MEMBERS.items():
        start = len(before) if base.lower().startswith(before) else None if before else base.lower().find("_hook_")
        if start is None or start < 0:
            continue
        for at in range(len(base) - 1, start - 1, -1):
            meant = near_among(base[at:], endings, length_min=5) if base[at] == "_" else None
            if meant is not None:
                return base[:at] + meant
    return None


def _without_prefix(name: str, base: str) -> str | None:
    """The name of a knob of security that lacks its SEC_."""
    return f"SEC_{name}" if base == name.lower() and _SECURITY.match(base) and find(f"sec_{base}") else None


def _used_names(config: Config, *, old: bool = True) -> frozenset[str]:
    """Names that other values refer to (unless `old`, only those of present names), or that are published in ads."""
    used: set[str] = set()
    for key, chain in config.chains.items():
        for definition in chain:
            if "$" in definition.text and (old or replacement(key) is None):
                used.update(name for name, _ in plain_references(definition.text))
    for name in _PUBLISHING:
        for key in (
            name,
            *(one for one in config.chains if one.endswith(("_" + name, "." + name))),
        ):
            definition_in_force = config.last(key)
            if definition_in_force is not None:
                found = Found(definition_in_force.name, definition_in_force.text, definition_in_force.span)
                members = config.expander(config.context()).expand(found.text, name=found.name)
                used.update(member.lower() for member in members.replace(",", " ").split())
    return frozenset(used)


def _mentioned(config: Config) -> frozenset[str]:
    """Words that may be names of macros, in statements and in values with references or calls."""
    found = set(config.mentioned)
    for chain in config.chains.values():
        for definition in chain:
            if "$" in definition.text:
                found |= words_of(definition.text)
    return frozenset(found)


def _undefined(config: Config, key: str, definition: Definition) -> list[Diagnostic]:
    """References without a default to macros that nothing defines."""
    if "$" not in definition.text:
        return []
    scope = config.scope(_owner(config, key))
    findings = []
    for name, has_default in dict.fromkeys(plain_references(definition.text)):
        if is_of_job(key, definition.text, name):
            continue
        known = has_default or name in PRESETS or scope.find(name) is not None or name in ONLY_HTCONDORS
        if not known and (find(name) is None or find(name) is _MACRO_FAMILY):
            spelling, span = _as_written(definition, name)
            message = f"{definition.name} refers to $({spelling}), which is not defined"
            meant = near(name) or near_among(name, config.names())
            findings.append(diagnostic(Code.UNDEFINED_MACRO, message, span, name=definition.name, suggestion=meant))
    return findings


def _as_written(definition: Definition, name: str) -> tuple[str, Span]:
    """How a definition spells the name of a macro, and where; its beginning if the name is not in its own text."""
    match = re.search(rf"\$\(({re.escape(name)})[:)]", definition.written, re.IGNORECASE)
    if match is None:
        return name, definition.span
    before = [segment for segment in definition.segments if segment[0] <= match.start()]
    if not before:
        return match[1], definition.span
    start, line, column = before[-1]
    return match[1], Span(definition.span.file, line, column + match.start() - start, definition.span.via)


_MACRO_FAMILY = next((row for row in (find("slot1_x"),) if row is not None and row.type is KnobType.STRING), None)
