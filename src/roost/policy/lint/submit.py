"""A submit description for the rules: its commands, its own attributes, and the expressions among them.

Only what the rules need is read: ``name = value``, ``+Name = value`` (or ``MY.Name = value``) and ``queue``, with
continued lines. Macros of the description are expanded where it defines them; a value with any other reference is not
parsed. Conditionals and the many forms of `queue` are skipped over: submitting is the queue's business.
"""

from __future__ import annotations

import re

from roost.base.records import dataclass, field
from roost.classad.errors import ParseError
from roost.classad.expr import Expr, parse_expression
from roost.classad.lexer import Syntax
from roost.config import Definition, Origin, Span
from roost.config.diagnostics import Diagnostics
from roost.config.limits import DEFAULT_LIMITS
from roost.config.lines import LineReader
from roost.policy.catalogue import USER_POLICIES
from roost.policy.lint.abstract import Abstract
from roost.policy.lint.findings import SourcePlace
from roost.policy.lint.mapping import Mapped, Mapper
from roost.policy.lint.pool import Expression
from roost.policy.lint.scope import FOREIGN, Scope
from roost.policy.model import AdKind, PolicyExpression

_COMMAND = re.compile(r"(\+?[A-Za-z_][\w.]*)\s*=\s*(.*)", re.DOTALL)
_QUEUE = re.compile(r"queue(?:\s+(.*))?\Z", re.IGNORECASE | re.DOTALL)
_BY_COMMAND = {row.submit_command: row for row in USER_POLICIES.values() if row.submit_command is not None}


@dataclass(eq=False, slots=True, kw_only=True)
class Submission:
    """One submit description."""

    file: str
    #: Folded command to its definition; the last one counts.
    commands: dict[str, Definition] = field(default_factory=dict)
    #: Attributes set with ``+Name`` or ``MY.Name``, folded.
    attributes: dict[str, Definition] = field(default_factory=dict)
    #: The arguments of each `queue`, and its line.
    queues: list[tuple[str, int]] = field(default_factory=list)
    expressions: list[Expression] = field(default_factory=list)

    def expression(self, command: str) -> Expression | None:
        """The expression of a command such as ``periodic_remove``."""
        row = _BY_COMMAND.get(command)
        wanted = {command} if row is None else {command, row.name.lower()}
        return next((e for e in self.expressions if e.base in wanted), None)

    def place(self, line: int) -> SourcePlace:
        """A line of the description."""
        return SourcePlace(self.file, line)


def read_submission(text: str, file: str) -> Submission:
    """Read a description; lines that are not understood are skipped."""
    submission = Submission(file=file)
    reader = LineReader(text, file, None, Diagnostics(0), DEFAULT_LIMITS)
    for line in reader:
        queue = _QUEUE.match(line.text)
        if queue is not None:
            submission.queues.append(((queue.group(1) or "").strip(), line.line))
            continue
        match = _COMMAND.match(line.text)
        if match is None:
            continue
        start = match.start(2)
        number, column = line.place(start)
        later = tuple([(o - start, at, col) for o, at, col in line.segments if o > start])
        definition = Definition(
            name=match.group(1),
            text=match.group(2),
            written=match.group(2),
            span=Span(file, line.line, line.segments[0][2]),
            origin=Origin.FILE,
            segments=((0, number, column), *later),
        )
        name = match.group(1).lower()
        own = name[1:] if name.startswith("+") else name[3:] if name.startswith("my.") else None
        (submission.commands if own is None else submission.attributes)[own or name] = definition
    _add_expressions(submission)
    return submission


def _add_expressions(submission: Submission) -> None:
    published = {AdKind.JOB: dict.fromkeys(submission.attributes, _foreign)}
    mapper = Mapper(lambda name: _chain(submission, name), lambda text: text)
    for name, definition in submission.commands.items():
        row = _BY_COMMAND.get(name)
        if row is not None:
            scope = Scope(my=row.my, target=row.target, published=published)
            submission.expressions.append(_expression(name, definition, mapper, scope, row))
    for name, definition in submission.attributes.items():
        scope = Scope(my=AdKind.JOB, target=AdKind.MACHINE, published=published)
        submission.expressions.append(_expression(name, definition, mapper, scope, USER_POLICIES.get(name.upper())))


def _foreign() -> Abstract:
    return FOREIGN


def _chain(submission: Submission, name: str) -> tuple[Definition, ...]:
    found = submission.commands.get(name.lower())
    return () if found is None else (found,)


def _expression(
    name: str, definition: Definition, mapper: Mapper, scope: Scope, row: PolicyExpression | None
) -> Expression:
    mapped: Mapped = mapper.expand(definition)
    expr: Expr | None = None
    problem: ParseError | None = None
    unknown = any(use.undefined for use in mapped.uses) or "$$" in mapped.text
    if mapped.broken is None and mapped.text.strip() and not unknown:
        try:
            expr = parse_expression(mapped.text, Syntax.OLD)
        except ParseError as error:
            problem = error
    return Expression(
        knob=definition.name,
        base=name,
        policy=row,
        attribute=row is None,
        slot_type=None,
        definition=definition,
        mapped=mapped,
        scope=scope,
        expr=expr,
        problem=problem,
    )


__all__ = ["Submission", "read_submission"]
