"""A finding about a text in the configuration language, or in that of submission: where, how bad, what, and a remedy.

It formats nothing beyond one line of text: the command line does the rest.
"""

from __future__ import annotations

from enum import StrEnum

from roost.base.records import dataclass

#: how the names of templates begin that are given as sources
_TEMPLATES = ("ROLE:", "POLICY:", "FEATURE:", "SECURITY:")


def is_template_name(source: str) -> bool:
    """Whether a source is a template and not a file or a command."""
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
        """The place in what the user wrote: for a line of a template, the statement that used it."""
        span = self
        while span.via is not None and span.is_template:
            span = span.via
        return span

    def behind(self) -> str:
        """How the text came to be read: the line of the template that holds it, and what included the user's file."""
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

    ERROR = "error"
    WARNING = "warning"
    #: worth knowing, nothing to fix
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One finding about a configuration or another text that is written in its language."""

    #: a stable identifier, which its language has in a catalogue
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
