"""Executing the lines of a submit description up to each queue statement.

The lines are those of the configuration language, with three differences: ``+Name = expression`` is short for
``MY.Name``; a queue statement is an additional kind of line, which may be followed by lines of items; and ``$(NAME)``
does not see the pool's configuration. At each queue statement the definitions so far are stored as a `QueuePoint`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from roost.base.records import dataclass, field
from roost.config import Definition, Origin, Span
from roost.config.diagnostics import Code
from roost.config.expand import Found
from roost.config.lines import LineReader, LogicalLine
from roost.config.load import Loader
from roost.config.parse import Parser
from roost.config.scope import NameScope
from roost.config.statements import Assign, Operator, Statement, Value

#: ``queue`` as a separate word; ``queue = 3`` is not a queue statement.
_QUEUE: Final = re.compile(r"queue(?=\s|$)(?!\s*=)\s*", re.IGNORECASE)
_OPEN: Final = re.compile(r"\(\s*\Z|\([^()]*\Z")
#: Maximum number of item lines of one queue statement.
ITEM_LINES_MAX: Final = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatement(Assign):
    """A queue statement: its arguments, and the lines of items that follow it."""

    #: None: the parenthesis is closed on the same line, or there is none.
    item_lines: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePoint:
    """The definitions in force at a queue statement."""

    span: Span
    arguments: str
    item_lines: tuple[str, ...] | None
    #: Folded name to definition.
    defined: Mapping[str, Definition]


class _Parser(Parser):
    """Reads a submit description."""

    def statement(self, line: LogicalLine) -> Statement | None:
        match = _QUEUE.match(line.text)
        if match is None:
            return super().statement(line)
        text = line.text[match.end() :].strip()
        return QueueStatement(
            span=self._span(line),
            name="queue",
            operator=Operator.ASSIGN,
            value=Value(text),
            item_lines=self._item_lines(line) if _OPEN.search(text) else None,
        )

    def _item_lines(self, opening: LogicalLine) -> tuple[str, ...]:
        found: list[str] = []
        for line in self.lines:
            if line.text.startswith(")"):
                if line.text[1:].strip():
                    self.log.report(Code.JUNK_AFTER_KEYWORD, "text after the closing parenthesis is ignored",
                                    self._span(line))  # fmt: skip
                return tuple(found)
            if len(found) < ITEM_LINES_MAX:
                found.append(line.text)
            if line.text.endswith(")") and line.text.count(")") > line.text.count("("):
                found[-1] = line.text[:-1].rstrip()
                return tuple(one for one in found if one)
        self.log.report(
            Code.UNTERMINATED_BLOCK,
            "the list of items that begins here is not closed by a line `)`",
            self._span(opening),
            remedy="End the list with a line that contains only `)`.",
        )
        return tuple(found)


@dataclass(slots=True, kw_only=True)
class _Names(NameScope):
    """Names while the description is read; names that exist only in jobs have their value for the first one."""

    built_in: Mapping[str, str]

    def find(self, name: str) -> Found | None:
        definition = self.last(name)
        if definition is not None:
            return Found(definition.name, definition.text, definition.span)
        return self.fallback(name)

    def fallback(self, name: str) -> Found | None:
        if name == "dollar":
            return Found(name, "$", Span("<built in>"))
        text = self.built_in.get(name)
        return None if text is None else Found(name, text, Span("<built in>"))


@dataclass(slots=True, kw_only=True)
class Script(Loader):
    """A submit description while it is executed."""

    built_in: Mapping[str, str]
    points: list[QueuePoint] = field(default_factory=list)
    #: Folded names that the lines themselves looked up, in conditions, paths and the like.
    asked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        Loader.__post_init__(self)
        self.scope = _Names(
            last=self.table.last, detected={}, subsystem="SUBMIT", localname=None, built_in=self.built_in
        )

    def source(self, text: str, file: str, origin: Origin, via: Span | None = None, depth: int = 0) -> None:
        """Read and execute the text of one source."""
        if len(self.sources) >= self.limits.sources_max:
            self._limit(f"more than sources_max = {self.limits.sources_max} sources", via or Span(file))
            return
        if len(text) > self.limits.file_chars_max:
            message = f"{file} is longer than file_chars_max = {self.limits.file_chars_max} characters"
            self.log.report(Code.SOURCE_TOO_LARGE, message, Span(file, via=via))
            return
        self.sources.append(file)
        reader = LineReader(text, file, via, self.log, self.limits)
        self.execute(_Parser(reader, self.log, self.limits).statements(), origin, depth)

    def expand(self, text: str, span: Span) -> str:
        """The text with references expanded according to the current definitions."""
        if "$" in text:
            self.asked |= {name.lower() for name in re.findall(r"\$\(([\w.]+)", text)}
        return Loader.expand(self, text, span)

    def _defined(self, name: str) -> bool:
        self.asked.add(name.lower())
        return Loader._defined(self, name)

    def assign(self, statement: Assign, origin: Origin) -> None:
        """Store a definition; or, for a queue statement, all definitions in force there."""
        if isinstance(statement, QueueStatement):
            self._queued(statement)
            return
        name = self.name_of(statement)
        self.define(f"MY.{name[1:].strip()}" if name.startswith("+") else name, statement, origin)

    def _queued(self, statement: QueueStatement) -> None:
        chains = self.table.chains
        self.points.append(
            QueuePoint(
                span=statement.span,
                arguments=statement.value.text,
                item_lines=statement.item_lines,
                defined={key: chain[-1] for key, chain in chains.items()},
            )
        )

    def append(self, lines: tuple[str, ...]) -> None:
        """Insert lines of the command line before every queue statement, so that they override earlier ones."""
        appended = Script(host=self.host, subsystem="SUBMIT", built_in=self.built_in, limits=self.limits)
        appended.source("\n".join(lines), "<command line>", Origin.RUNTIME)
        self.log.kept.extend(appended.log.kept)
        last = {key: chain[-1] for key, chain in appended.table.chains.items()}
        self.points = [
            QueuePoint(
                span=one.span, arguments=one.arguments, item_lines=one.item_lines, defined={**one.defined, **last}
            )
            for one in self.points
        ]
