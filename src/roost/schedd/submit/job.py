"""One job while its ad is built: its commands as text, and the attributes of its ad.

Sections (see `sections`) are functions of a `PlannedJob`. They look up commands by name and put attributes; lookups are
recorded, so that a section whose commands do not differ between jobs runs once for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from roost.base.records import dataclass, field
from roost.classad import UNDEFINED, ClassAd, Expr, FixedWorld, ParseError, Syntax, Value, evaluate, parse_expression
from roost.classad.ad import Cell, cell_of
from roost.classad.syntax import Literal
from roost.config import Definition, Severity, Span
from roost.schedd.submit.diagnostics import Findings, SubmitCode
from roost.schedd.submit.macros import LIVE, JobScope, Macros, Position, SubmitExpander, expander

T = TypeVar("T")

_TRUE: Final = frozenset(("true", "t", "yes", "y"))
_FALSE: Final = frozenset(("false", "f", "no", "n"))
_INTEGER: Final = re.compile(r"[+-]?\d{1,18}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """The pool's configuration for jobs, and who submits where."""

    owner: str
    uid_domain: str
    filesystem_domain: str
    cwd: str
    now: int
    arch: str = "X86_64"
    opsys: str = "LINUX"
    request_cpus: str = "1"
    request_memory: str = "128"
    request_disk: str = "MAX({1024, (TransferInputSizeMB+1) * 1.25}) * 1024"
    lease_s: int = 2400
    retries_max: int = 2
    rank: str = ""
    append_rank: str = ""
    append_requirements: str = ""
    should_transfer: str = "IF_NEEDED"
    #: Messages with files may leave this machine unencrypted: NATS_SERVERS has a server that is not a tls:// one.
    clear_text: bool = False
    #: The accounting group of jobs with nice_user.
    nice_group: str = "nice-user"
    #: The files of the jobs are copied to the queue before they start (-spool).
    spooled: bool = False
    #: Names and expressions put into every ad (SUBMIT_ATTRS).
    attributes: tuple[tuple[str, str], ...] = ()
    #: Environment that jobs may inherit with getenv.
    inherited: Mapping[str, str] = field(default_factory=dict)


class PlannedJob:
    """A job of a cluster, at one position."""

    __slots__ = (
        "_facts",
        "_scope",
        "ad",
        "asked",
        "commands",
        "defaults",
        "definitions",
        "findings",
        "macros",
        "where",
    )

    def __init__(
        self,
        macros: Macros,
        position: Position,
        defaults: Defaults,
        findings: Findings,
        definitions: Mapping[str, Definition] | None = None,
        where: Span = LIVE,
    ) -> None:
        self.macros = macros
        self.defaults = defaults
        self.findings = findings
        #: For the places of problems; empty if the description is no longer available.
        self.definitions = definitions or {}
        #: The queue statement, for problems without another place.
        self.where = where
        self.ad = ClassAd()
        #: Folded names of commands and macros that were looked up.
        self._scope = JobScope(macros=macros, position=position)
        #: Commands that the running section looked up.
        self.asked: set[str] = set()
        #: Commands that any section looked up.
        self.commands: set[str] = set()
        self._facts: dict[str, tuple[Any, frozenset[str]]] = {}

    @property
    def used(self) -> set[str]:
        """Folded names that were looked up, commands and macros alike."""
        return self._scope.used

    @property
    def position(self) -> Position:
        """Which job it is."""
        return self._scope.position

    # -- commands

    def text(self, *names: str) -> str | None:
        """The expanded value of the first of the commands that is given and not empty."""
        for name in names:
            key = name.lower()
            self.asked.add(key)
            self.commands.add(key)
            found = self._scope.find(key)
            if found is None or not found.text:
                continue
            text = found.text
            if "$" in text:
                text = self.expand(text, key)
            text = text.strip()
            if text:
                return text
        return None

    def given(self, *names: str) -> str | None:
        """The first of the commands that is given, as spelled in the list; None for none."""
        return next((name for name in names if self.text(name) is not None), None)

    def expand(self, text: str, name: str) -> str:
        """A text with its references expanded; `name` is the command it belongs to."""
        made: SubmitExpander = expander(self._scope)
        result = made.expand(text, name=name)
        for problem in made.problems:
            self.report(SubmitCode.MACRO, f"{name}: {problem.message}", name)
        return result

    def fact(self, make: Callable[[PlannedJob], T]) -> T:
        """The cached result of a function of the job; the commands it reads count for every caller."""
        key = make.__name__
        known = self._facts.get(key)
        if known is None:
            outer, self.asked = self.asked, set()
            result = make(self)
            known = result, frozenset(self.asked)
            self.asked = outer
            self._facts[key] = known
        self.asked |= known[1]
        return known[0]

    # -- mistakes

    def span(self, name: str | None, offset: int = 0) -> Span:
        """Where a command is written; `offset`: a character position in its value, if that has no macros."""
        definition = None if name is None else self.definitions.get(name.lower())
        if definition is None:
            found = None if name is None else self.macros.defined.get(name.lower())
            return self.where if found is None else found.span
        if not definition.segments or "$" in definition.written or definition.appended:
            return definition.span
        line, column = definition.segments[0][1:]
        for start, at, col in definition.segments:
            if start <= offset:
                line, column = at, col + offset - start
        return Span(definition.span.file, line, column, definition.span.via)

    def report(
        self,
        code: SubmitCode,
        message: str,
        name: str | None = None,
        *,
        offset: int = 0,
        remedy: str | None = None,
        suggestion: str | None = None,
        severity: Severity | None = None,
    ) -> None:
        """Report a problem in a command."""
        span = self.span(name, offset)
        self.findings.report(code, message, span, name=name, remedy=remedy, suggestion=suggestion, severity=severity)

    # -- attributes

    def put(self, attribute: str, cell: Cell) -> None:
        """Set an attribute."""
        self.ad.put(attribute, cell)

    def put_expression(self, attribute: str, text: str, name: str | None) -> Expr | None:
        """Set an attribute to an expression; if it is invalid, report it and return None."""
        expression = self.parsed(attribute, text, name)
        if expression is not None:
            self.ad.put(attribute, cell_of(expression.tree, self.ad, expression=expression))
        return expression

    def parsed(self, attribute: str, text: str, name: str | None) -> Expr | None:
        """The expression in a text; if it is invalid, report it and return None."""
        try:
            return parse_expression(text, Syntax.OLD)
        except ParseError as problem:
            hint = f" ({problem.hint})" if problem.hint else ""
            message = f"{attribute} = {text}: {problem.message}{hint}"
            self.report(SubmitCode.EXPRESSION, message, name, offset=problem.start)
            return None

    def computed(self, text: str) -> Value:
        """The value of a text as a constant expression; UNDEFINED if it is not one."""
        try:
            expression = parse_expression(text, Syntax.OLD)
        except ParseError:
            return UNDEFINED
        if isinstance(expression.tree, Literal):
            # The usual case, for which the evaluator is not even imported.
            return expression.tree.value
        return evaluate(expression, world=FixedWorld(instant=float(self.defaults.now)))

    def truth(self, *names: str) -> bool | None:
        """The boolean value of a command; None if it is not given, or is neither."""
        text = self.text(*names)
        if text is None:
            return None
        word = text.lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        value = self.computed(text)
        if isinstance(value, bool | int | float):
            return bool(value)
        name = self.given(*names)
        self.report(SubmitCode.BOOLEAN, f"{name} = {text} is neither true nor false", name)
        return None

    def integer(self, *names: str) -> int | None:
        """The integer value of a command; None if it is not given, or is not a number."""
        text = self.text(*names)
        if text is None:
            return None
        if _INTEGER.match(text):
            return int(text)
        value = self.computed(text)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**62:
            return int(value)
        name = self.given(*names)
        self.report(SubmitCode.INTEGER, f"{name} = {text} is not a whole number", name)
        return None


def listed(text: str) -> list[str]:
    """The members of a comma-separated list, trimmed; enclosing quotes are ignored."""
    return [member.strip() for member in unquoted(text).split(",") if member.strip()]


def unquoted(text: str) -> str:
    """A text without enclosing double quotes."""
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' and '"' not in text[1:-1] else text
