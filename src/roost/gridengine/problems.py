"""What is wrong with a cell's text, or refused of a change: a code, Grid Engine's words, the place and a remedy."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from roost.config.finding import Diagnostic, Severity, Span


class Code(StrEnum):
    """Stable identifiers of what can be wrong with a cell's text or refused of a change."""

    SYNTAX = "cell-syntax"
    UNKNOWN_KIND = "cell-unknown-kind"
    BAD_NAME = "cell-bad-name"
    MISSING_ATTRIBUTE = "cell-missing-attribute"
    UNKNOWN_ATTRIBUTE = "cell-unknown-attribute"
    REPEATED_ATTRIBUTE = "cell-repeated-attribute"
    BAD_VALUE = "cell-bad-value"
    BAD_OVERRIDE = "cell-bad-override"
    UNKNOWN_REFERENCE = "cell-unknown-reference"
    CIRCULAR = "cell-circular"
    IN_USE = "cell-in-use"
    EXISTS = "cell-exists"
    MISSING_OBJECT = "cell-missing-object"
    BUILT_IN = "cell-built-in"


#: code to what it means, for the reference page
MEANINGS: Final[dict[Code, str]] = {
    Code.SYNTAX: "The text is not in the form of its object.",
    Code.UNKNOWN_KIND: "The text is not an object of a cell, or the name of its file does not say which.",
    Code.BAD_NAME: "The name has characters, or is a word, that names may not have.",
    Code.MISSING_ATTRIBUTE: "An attribute that every object of the kind has is missing.",
    Code.UNKNOWN_ATTRIBUTE: "The kind of object has no attribute of this name.",
    Code.REPEATED_ATTRIBUTE: "An attribute appears more than once.",
    Code.BAD_VALUE: "The value is not of the attribute's type, or outside its range.",
    Code.BAD_OVERRIDE: "The overrides of a queue are not in the form `default,[host=value],[@group=value]`.",
    Code.UNKNOWN_REFERENCE: "The object refers to another one that does not exist.",
    Code.CIRCULAR: "The object refers to itself, directly or through others.",
    Code.IN_USE: "The object cannot be deleted because another one refers to it.",
    Code.EXISTS: "An object of the name exists already.",
    Code.MISSING_OBJECT: "No object of the kind has the name.",
    Code.BUILT_IN: "Grid Engine itself needs the object, so it cannot be deleted or change its type.",
}


class Refused(Exception):
    """A text or a change is refused; ``problems`` says why, and nothing has changed."""

    def __init__(self, problems: Iterable[Diagnostic]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def problem(code: Code, message: str, span: Span, remedy: str, name: str | None = None) -> Diagnostic:
    """Build an error."""
    return Diagnostic(code=code, message=message, span=span, severity=Severity.ERROR, remedy=remedy, name=name)
