"""Problems of a cell's text, and refusals of changes: a code, Grid Engine's message, the place and a remedy."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from roost.base.diagnostics import CodeDoc, Diagnostic, Severity, Span


class ProblemCode(StrEnum):
    """Stable identifiers of problems of a cell's text and refusals of changes."""

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


# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
#: code to its meaning and default remedy
CODES: Final[dict[ProblemCode, CodeDoc]] = {
    ProblemCode.SYNTAX: CodeDoc(Severity.ERROR, "The text is not in the form of its object.", "Write the object as `qconf` prints it, one attribute and its value on a line."),
    ProblemCode.UNKNOWN_KIND: CodeDoc(Severity.ERROR, "The text is not an object of a cell, or the name of its file does not say which.", "Name the file after the kind of object; see the table of kinds."),
    ProblemCode.BAD_NAME: CodeDoc(Severity.ERROR, "The name has characters, or is a word, that names may not have.", "Use another name; the message says what is wrong with this one."),
    ProblemCode.MISSING_ATTRIBUTE: CodeDoc(Severity.ERROR, "An attribute that every object of the kind has is missing.", "Add the attribute; the tables of kinds have its default."),
    ProblemCode.UNKNOWN_ATTRIBUTE: CodeDoc(Severity.ERROR, "The kind of object has no attribute of this name.", "Correct the name, or remove the line."),
    ProblemCode.REPEATED_ATTRIBUTE: CodeDoc(Severity.ERROR, "An attribute appears more than once.", "Remove all but one."),
    ProblemCode.BAD_VALUE: CodeDoc(Severity.ERROR, "The value is not of the attribute's type, or outside its range.", "Write a value of the attribute's type; the tables of kinds have the types."),
    ProblemCode.BAD_OVERRIDE: CodeDoc(Severity.ERROR, "The overrides of a queue are not in the form `default,[host=value],[@group=value]`.", "Write the default first, then each override in brackets."),
    ProblemCode.UNKNOWN_REFERENCE: CodeDoc(Severity.ERROR, "The object refers to another one that does not exist.", "Add the other object first, or correct its name."),
    ProblemCode.CIRCULAR: CodeDoc(Severity.ERROR, "The object refers to itself, directly or through others.", "Remove one of the references."),
    ProblemCode.IN_USE: CodeDoc(Severity.ERROR, "The object cannot be deleted because another one refers to it.", "Take the reference out first."),
    ProblemCode.EXISTS: CodeDoc(Severity.ERROR, "An object of the name exists already.", "Modify the object, or use another name."),
    ProblemCode.MISSING_OBJECT: CodeDoc(Severity.ERROR, "No object of the kind has the name.", "List the names with `qconf`, and correct this one."),
    ProblemCode.BUILT_IN: CodeDoc(Severity.ERROR, "Grid Engine itself needs the object, so it cannot be deleted or change its type.", "Leave the object as it is, or add one of your own."),
}
# fmt: on


class Refused(Exception):
    """A text or a change is refused; ``problems`` says why, and nothing has changed."""

    def __init__(self, problems: Iterable[Diagnostic]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def problem(code: ProblemCode, message: str, span: Span, remedy: str, name: str | None = None) -> Diagnostic:
    """Build an error."""
    return CODES[code].diagnostic(code, message, span, remedy=remedy, name=name)
