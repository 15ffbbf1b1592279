"""Diagnostics for text that users write, such as a configuration, a submit description, a DAG file or a cell.

A diagnostic has a stable code, a place, a severity, a sentence and a remedy. Each language has a catalogue that maps
codes to their severity, meaning and remedy. Reading continues after a mistake and reports to a bounded list. This
module formats only one line of text and the table of a catalogue: the command line does the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TypeVar

from roost.base.records import dataclass, field

_C = TypeVar("_C", bound=str)

#: prefixes of template names that appear as sources
_TEMPLATES = ("ROLE:", "POLICY:", "FEATURE:", "SECURITY:")


def is_template_name(source: str) -> bool:
    """Whether a source is a template rather than a file or a command."""
    return source.startswith(_TEMPLATES)


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a source. ``via`` is the ``include`` or ``use`` statement that brought the source in."""

    file: str
    #: first line is 1; 0 when the source has no lines (compiled-in values, the environment)
    line: int = 0
    #: first column is 1; 0 when unknown
    column: int = 0
    via: Span | None = None

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"

    @property
    def is_template(self) -> bool:
        """Whether the source is a template, which the user cannot edit."""
        return self.via is not None and is_template_name(self.file)

    @property
    def user(self) -> Span:
        """The place in the user's own text: for a line of a template, the statement that used the template."""
        span = self
        while span.via is not None and span.is_template:
            span = span.via
        return span

    def behind(self) -> str:
        """Why the text was read: the line of the template that holds it, and what included the user's file."""
        user = self.user
        notes = [] if user is self else [f"in {self}"]
        outer = user.via
        while outer is not None:
            notes.append(f"included at {outer}")
            outer = outer.via
        return ", ".join(notes)

    def chain(self) -> str:
        """The user's place, and in parentheses what lies behind it."""
        behind = self.behind()
        return f"{self.user} ({behind})" if behind else str(self.user)


class Severity(StrEnum):
    """How bad a diagnostic is; a daemon refuses to start only on errors."""

    #: something does not work, or does the opposite of what it appears to say
    ERROR = "error"
    #: it works in some situations and misleads in others
    WARNING = "warning"
    #: worth knowing; often intended
    NOTE = "note"

    @property
    def level(self) -> int:
        """1 for notes, 2 for warnings, 3 for errors."""
        return {"note": 1, "warning": 2, "error": 3}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One diagnostic for a configuration or another text written in its language."""

    #: a stable identifier from the catalogue of the language
    code: str
    message: str
    span: Span
    severity: Severity
    remedy: str
    #: name of the macro, knob, command or attribute concerned, if there is one
    name: str | None = None
    #: a name that was probably meant
    suggestion: str | None = None

    def __str__(self) -> str:
        return f"{self.span.chain()}: {self.severity}: {self.message} [{self.code}] {self.remedy}"

    def to_json(self) -> dict[str, object]:
        """The diagnostic as a JSON object."""
        return {
            "code": str(self.code),
            "severity": str(self.severity),
            "message": self.message,
            "file": self.span.user.file,
            "line": self.span.user.line,
            "column": self.span.user.column,
            "place": self.span.chain(),
            "template": str(self.span) if self.span.is_template else None,
            "remedy": self.remedy,
            "name": self.name,
            "suggestion": self.suggestion,
        }


@dataclass(frozen=True, slots=True)
class CodeDoc:
    """What a code means and what to do about it."""

    severity: Severity
    meaning: str
    remedy: str

    def diagnostic(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        name: str | None = None,
        suggestion: str | None = None,
        remedy: str | None = None,
        severity: Severity | None = None,
    ) -> Diagnostic:
        """A diagnostic of this code; severity and remedy default to those of the code."""
        meant = f"Did you mean {suggestion}?" if suggestion else self.remedy
        return Diagnostic(
            code=code,
            message=message,
            span=span,
            severity=severity or self.severity,
            remedy=meant if remedy is None else remedy,
            name=name,
            suggestion=suggestion,
        )


@dataclass(slots=True)
class Diagnostics:
    """A bounded list that the stages of reading append to; diagnostics beyond the bound are only counted."""

    kept_max: int
    kept: list[Diagnostic] = field(default_factory=list)
    dropped: int = 0

    def add(self, one: Diagnostic) -> None:
        """Append a diagnostic, or count it when the list is full."""
        if len(self.kept) >= self.kept_max:
            self.dropped += 1
        else:
            self.kept.append(one)

    @property
    def errors(self) -> list[Diagnostic]:
        """The diagnostics that are errors."""
        return [one for one in self.kept if one.severity is Severity.ERROR]

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.kept)


def code_table(codes: Mapping[_C, CodeDoc]) -> Iterator[str]:
    """The lines of a catalogue's table in the manual."""
    yield "| Code | Severity | Meaning | Remedy |"
    yield "|---|---|---|---|"
    for code, doc in codes.items():
        meaning, remedy = (text.replace("|", "\\|") for text in (doc.meaning, doc.remedy))
        yield f"| `{code}` | {doc.severity} | {meaning} | {remedy} |"
