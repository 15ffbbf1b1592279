"""Rules that change ads: HTCondor's job transforms, applied to one ad after another.

::

    NAME    big
    REQUIREMENTS RequestMemory > 1000
    factor = 2
    SET     BigJob true
    DEFAULT Project "none"
    EVALSET Twice RequestMemory * $(factor)
    COPY    RequestMemory OriginalMemory
    RENAME  /^Old(.*)$/ New\\1
    DELETE  Scratch

Statements are executed in order. ``NAME = TEXT`` is a macro, `EVALMACRO` one whose text is a value of the ad;
``$(MY.Attribute)`` is the current value of an attribute of the ad. Macros and their functions are those of the
configuration, and so are the conditions of ``if``, ``elif``, ``else`` and ``endif``, which are evaluated for each ad
when their line is reached; ``defined MY.Attribute`` is also a condition. An ad for which `REQUIREMENTS` is not true
stays unchanged.

It does not turn one ad into several (``TRANSFORM`` with items).
"""

from __future__ import annotations

import re
from typing import Final

from roost.base.records import dataclass
from roost.classad import ClassAd, Expr, ParseError, Syntax, parse_expression, unparse_value
from roost.classad.unparse import item_node, unparse
from roost.classad.world import WORLD, World
from roost.config import ConfigError, Host, load_text
from roost.config.conditions import ConditionProblem, Facts, decide
from roost.config.load import LANGUAGE_VERSION
from roost.config.patterns import compile_pattern

_STATEMENT: Final = re.compile(
    r"(NAME|REQUIREMENTS|UNIVERSE|SET|DEFAULT|EVALSET|EVALDEFAULT|COPY|RENAME|DELETE|EVALMACRO|TRANSFORM)\b\s*(.*)",
    re.IGNORECASE | re.DOTALL,
)
_BRANCH: Final = re.compile(r"(if|elif|else|endif)\b\s*(.*)", re.IGNORECASE)
_MACRO: Final = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)\s*(.*)", re.DOTALL)
_NAMES: Final = re.compile(r"([A-Za-z_]\w*)\s*(?:=(?!=)\s*)?(.*)", re.DOTALL)
_PATTERN: Final = re.compile(r"/((?:[^/\\]|\\.)*)/(i?)\s*(.*)", re.DOTALL)
_MINE: Final = re.compile(r"\$\w*\(MY\.(\w+)", re.IGNORECASE)
#: Statements that take a name and an expression.
_SETTING: Final = frozenset(("SET", "DEFAULT", "EVALSET", "EVALDEFAULT", "EVALMACRO"))
#: Maximum number of statements of one set of rules.
STATEMENTS_MAX: Final = 10_000
#: Maximum depth of nested conditions.
DEPTH_MAX: Final = 64


class TransformError(ValueError):
    """Rules that cannot be read or executed; the text names the line."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One statement."""

    kind: str
    #: Name of the attribute or macro, or a pattern of names.
    name: str
    text: str
    #: File and line.
    place: str
    pattern: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """Rules that have been read."""

    name: str
    requirements: Expr | None
    rules: tuple[Rule, ...]

    def apply(self, ad: ClassAd, host: Host, macros: dict[str, str] | None = None, world: World = WORLD) -> bool:
        """Change an ad; return whether the rules apply to it. Raises TransformError."""
        if self.requirements is not None and ad.eval_expr(self.requirements, None, world) is not True:
            return False
        changing = _Changing(ad, host, dict(macros or {}), world)
        for rule in self.rules:
            if not changing.passed_over(rule):
                changing.carry_out(rule)
        return True


def read_transform(text: str, origin: str) -> Transform:
    """Read rules. Raises TransformError."""
    name, requirements = "", None
    rules: list[Rule] = []
    branches = _Branches()
    for number, line in _lines(text):
        place = f"{origin}:{number}"
        rule = _rule(line, place)
        if rule.kind == "NAME":
            name = rule.text
        elif rule.kind == "REQUIREMENTS":
            requirements = _expression(rule.text, place)
        elif rule.kind in _BRANCHES:
            branches.follow(rule)
            rules.append(rule)
        elif rule.kind == "TRANSFORM":
            if rule.text not in ("", "1"):
                raise TransformError(
                    f"{place}: TRANSFORM {rule.text}: transforming one ad into several is not supported"
                )
        elif rule.kind == "UNIVERSE":
            rules.append(_universe(rule))
        else:
            rules.append(rule)
        if len(rules) > STATEMENTS_MAX:
            raise TransformError(f"{place}: more than {STATEMENTS_MAX} statements")
    branches.end()
    return Transform(name=name, requirements=requirements, rules=tuple(rules))


#: The statements of conditions, in capitals.
_BRANCHES: Final = frozenset(("IF", "ELIF", "ELSE", "ENDIF"))


def _filled(text: str, found: re.Match[str]) -> str:
    r"""A new name: ``\0`` is the match of the pattern, ``\1`` to ``\9`` are its groups."""

    def part(reference: re.Match[str]) -> str:
        number = int(reference[1])
        return (found[number] or "") if number <= (found.re.groups or 0) else ""

    return re.sub(r"\\(\d)", part, text)


class _Branches:
    """Checks that conditions begin and end where they should."""

    def __init__(self) -> None:
        #: The last statement of each open condition.
        self._open: list[Rule] = []

    def follow(self, rule: Rule) -> None:
        """Process one of these statements. Raises TransformError."""
        if rule.kind == "IF":
            self._open.append(rule)
            if len(self._open) > DEPTH_MAX:
                raise TransformError(f"{rule.place}: conditions nested more than {DEPTH_MAX} deep")
            return
        before = self._open.pop() if self._open else None
        if before is None or (before.kind == "ELSE" and rule.kind != "ENDIF"):
            raise TransformError(f"{rule.place}: {rule.kind.lower()} without a matching if")
        if rule.kind != "ENDIF":
            self._open.append(rule)

    def end(self) -> None:
        """Check that no condition is open at the end. Raises TransformError."""
        if self._open:
            rule = self._open[-1]
            raise TransformError(f"{rule.place}: {rule.kind.lower()}: the endif is missing")


#: Universes of jobs by name.
_UNIVERSES: Final = {
    "standard": 1, "vanilla": 5, "docker": 5, "container": 5, "scheduler": 7, "grid": 9, "java": 10, "parallel": 11,
    "local": 12, "vm": 13,
}  # fmt: skip


def _universe(rule: Rule) -> Rule:
    """The statement that sets the number of a universe."""
    number = _UNIVERSES.get(rule.text.lower(), rule.text)
    if not str(number).isdecimal():
        raise TransformError(f"{rule.place}: UNIVERSE {rule.text}: must be one of {', '.join(_UNIVERSES)}")
    return Rule("SET", "JobUniverse", str(number), rule.place)


def _lines(text: str) -> list[tuple[int, str]]:
    """Statements with the numbers of their first lines; a backslash at the end of a line continues it."""
    found: list[tuple[int, str]] = []
    begun: tuple[int, str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if begun is None and line.lstrip().startswith("#"):
            continue
        first, before = begun or (number, "")
        whole = before + line.strip()
        begun = (first, whole[:-1]) if whole.endswith("\\") else None
        if begun is None and whole:
            found.append((first, whole))
    return [*found, begun] if begun is not None and begun[1] else found


def _rule(line: str, place: str) -> Rule:
    branch = _BRANCH.match(line)
    if branch is not None:
        return Rule(branch[1].upper(), "", branch[2].strip(), place)
    statement = _STATEMENT.match(line)
    macro = _MACRO.match(line)
    if macro is not None and (statement is None or line[statement.end(1) :].lstrip().startswith("=")):
        return Rule("MACRO", macro[1], macro[2].strip(), place)
    if statement is None:
        raise TransformError(f"{place}: {line[:60]}: neither a statement nor NAME = TEXT")
    kind, rest = statement[1].upper(), statement[2].strip()
    if kind in ("NAME", "REQUIREMENTS", "UNIVERSE", "TRANSFORM"):
        return Rule(kind, "", rest, place)
    pattern = _PATTERN.match(rest) if kind in ("COPY", "RENAME", "DELETE") else None
    if pattern is not None:
        return Rule(kind, pattern[1], pattern[3].strip(), place, _compiled(pattern[1], place))
    names = _NAMES.match(rest)
    if names is None or (kind != "DELETE" and not names[2].strip()):
        raise TransformError(f"{place}: {kind} needs {'a name' if kind == 'DELETE' else 'a name and what it becomes'}")
    return Rule(kind, names[1], names[2].strip(), place)


def _compiled(pattern: str, place: str) -> re.Pattern[str]:
    try:
        return compile_pattern(pattern, re.IGNORECASE)
    except re.error as error:
        raise TransformError(f"{place}: /{pattern}/: {error}") from None


def _expression(text: str, place: str) -> Expr:
    try:
        return parse_expression(text, Syntax.OLD)
    except ParseError as error:
        raise TransformError(f"{place}: {error}") from None


class _Changing:
    """An ad during its transformation."""

    def __init__(self, ad: ClassAd, host: Host, macros: dict[str, str], world: World) -> None:
        self._ad = ad
        self._world = world
        self._host = host
        self._macros = macros
        #: For each open condition, whether its statements apply now, and whether one of its branches has applied.
        self._branches: list[tuple[bool, bool]] = []

    def passed_over(self, rule: Rule) -> bool:
        """Whether a statement belongs to a condition, or is skipped by one."""
        if rule.kind not in _BRANCHES:
            return any(not counts for counts, _ in self._branches)
        taken = False
        if rule.kind != "IF":
            _, taken = self._branches.pop()
        if rule.kind != "ENDIF":
            # A condition inside a branch that does not apply is not evaluated: its macros may not exist.
            wanted = not taken and all(counts for counts, _ in self._branches)
            counts = wanted and (rule.kind == "ELSE" or self._met(rule))
            self._branches.append((counts, taken or counts))
        return True

    def _met(self, rule: Rule) -> bool:
        text = self._expanded(rule.text, rule.place)
        facts = Facts(defined=self._defined, template=lambda category, option: False, version=LANGUAGE_VERSION)
        try:
            return decide(text, facts)
        except ConditionProblem as problem:
            raise TransformError(f"{rule.place}: {rule.kind.lower()} {rule.text}: {problem}") from None

    def _defined(self, name: str) -> bool:
        scope, dot, attribute = name.partition(".")
        if dot and scope.lower() == "my":
            return attribute in self._ad
        return any(known.lower() == name.lower() and text for known, text in self._macros.items())

    def carry_out(self, rule: Rule) -> None:
        """Execute a statement."""
        if rule.kind == "MACRO":
            self._macros[rule.name] = rule.text
        elif rule.kind in _SETTING:
            self._set(rule)
        elif rule.pattern is not None:
            for name, found in [(each, found) for each in self._ad if (found := rule.pattern.search(each))]:
                to = "" if rule.kind == "DELETE" else _filled(self._expanded(rule.text, rule.place), found)
                self._move(rule.kind, name, to, rule.place)
        elif rule.name in self._ad:
            self._move(rule.kind, rule.name, self._expanded(rule.text, rule.place), rule.place)

    def _set(self, rule: Rule) -> None:
        if rule.kind in ("DEFAULT", "EVALDEFAULT") and rule.name in self._ad:
            return
        expr = _expression(self._expanded(rule.text, rule.place), rule.place)
        if rule.kind in ("SET", "DEFAULT"):
            self._ad[rule.name] = expr
        elif rule.kind == "EVALMACRO":
            value = self._ad.eval_expr(expr, None, self._world)
            self._macros[rule.name] = value if isinstance(value, str) else unparse_value(value, old=True)
        else:
            self._ad[rule.name] = self._ad.eval_expr(expr, None, self._world)

    def _move(self, kind: str, name: str, to: str, place: str) -> None:
        cell = self._ad[name]
        if kind != "COPY":
            del self._ad[name]
        if kind != "DELETE":
            try:
                self._ad[to] = cell
            except (ValueError, TypeError) as error:
                raise TransformError(f"{place}: {kind} {name} {to}: {error}") from None

    def _expanded(self, text: str, place: str) -> str:
        """A text with its macros expanded."""
        if "$" not in text:
            return text
        known = dict(self._macros)
        for name in {found for each in (text, *known.values()) for found in _MINE.findall(each)}:
            if name in self._ad:
                known[f"MY.{name}"] = self._text(name)
        settings = "".join(f"{name} = {value}\n" for name, value in known.items())
        try:
            return load_text(settings, self._host).expand(text)
        except ConfigError as error:
            raise TransformError(f"{place}: {error}") from None

    def _text(self, name: str) -> str:
        cell = self._ad[name]
        return cell if isinstance(cell, str) else unparse(item_node(cell), old=True)
