"""What the linter reports: a code, a severity, a sentence, a place in the configuration text, a remedy, an edit.

Places are those of the text as written, not of the expanded expression: a finding inside a macro names the line of the
macro, and the knobs through which it was reached. Findings are plain data; the command prints them, and `edits` applies
their edits.
"""

from __future__ import annotations

from roost.base.diagnostics import Severity
from roost.base.records import dataclass


@dataclass(frozen=True, slots=True, order=True)
class SourcePlace:
    """A place in a source text."""

    file: str
    #: First line is 1; 0 when the source has no lines.
    line: int = 0
    #: First column is 1; 0 when unknown.
    column: int = 0
    #: Length from the column on, characters; 0 when unknown.
    length: int = 0
    #: Where the source was included (an `include` or `use` statement); empty if it was read directly.
    via: str = ""
    #: The line of a template, if the place is the statement that uses it; empty otherwise.
    template: str = ""

    def __str__(self) -> str:
        text = self.file
        if self.line:
            text += f":{self.line}"
        if self.line and self.column:
            text += f":{self.column}"
        return f"{text} (used at {self.via})" if self.via else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Replace `old` at a place by `new`."""

    file: str
    line: int
    column: int
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A change that keeps the meaning of a text that did what it said, and corrects one that did not."""

    title: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a rule found."""

    code: str
    severity: Severity
    message: str
    place: SourcePlace
    remedy: str
    #: The knob, attribute or macro concerned; None if it is about a line.
    knob: str | None = None
    #: The sub-expression concerned, expanded; None if there is none.
    text: str | None = None
    #: Macros through which the place was reached from the knob, outermost first.
    through: tuple[str, ...] = ()
    #: Related places, each with a description.
    related: tuple[tuple[str, SourcePlace], ...] = ()
    #: An example situation: attributes and values.
    witness: tuple[tuple[str, str], ...] = ()
    fix: Fix | None = None

    @property
    def key(self) -> tuple[str, SourcePlace, str]:
        """The identity of a finding: the rule, the place, and the text if the place is not exact."""
        return self.code, self.place, "" if self.place.column else self.message

    def to_json(self) -> dict[str, object]:
        """The finding as a JSON object."""
        return {
            "code": self.code,
            "severity": str(self.severity),
            "message": self.message,
            "file": self.place.file,
            "line": self.place.line,
            "column": self.place.column,
            "length": self.place.length,
            "place": str(self.place),
            "template": self.place.template or None,
            "remedy": self.remedy,
            "knob": self.knob,
            "text": self.text,
            "through": list(self.through),
            "related": [{"why": why, "place": str(place)} for why, place in self.related],
            "witness": dict(self.witness),
            "fix": None
            if self.fix is None
            else {
                "title": self.fix.title,
                "edits": [
                    {"file": e.file, "line": e.line, "column": e.column, "old": e.old, "new": e.new}
                    for e in self.fix.edits
                ],
            },
        }


def in_order(findings: list[Finding]) -> list[Finding]:
    """The findings without repetition, by place, then code."""
    first: dict[tuple[str, SourcePlace, str], Finding] = {}
    for finding in findings:
        first.setdefault(finding.key, finding)
    return sorted(first.values(), key=lambda one: (one.place, one.code, one.message))
