"""Problems of a submit description: a stable code, a severity, a place, a sentence and a remedy.

Reading continues after a problem, so that all of them are reported at once. Problems found by the reader of the
configuration language, which reads the same lines, are included. `CODES` is the catalogue for the documentation.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from roost.base.diagnostics import CodeDoc, Diagnostic, Diagnostics, Severity, Span
from roost.base.records import dataclass, field, replace
from roost.config import Code


class SubmitCode(StrEnum):
    """Stable identifiers of everything that can be wrong."""

    NOT_A_DESCRIPTION = "submit-not-a-description"
    NO_EXECUTABLE = "submit-no-executable"
    EXECUTABLE_MISSING = "submit-executable-missing"
    NO_SUCH_DIRECTORY = "submit-no-such-directory"
    FILE_MISSING = "submit-file-missing"
    UNIVERSE = "submit-universe"
    ARGUMENTS = "submit-arguments"
    ENVIRONMENT = "submit-environment"
    EXPRESSION = "submit-expression"
    INTEGER = "submit-integer"
    BOOLEAN = "submit-boolean"
    SIZE = "submit-size"
    WORD = "submit-word"
    SIGNAL = "submit-signal"
    TRANSFER = "submit-transfer"
    ACCOUNTING = "submit-accounting"
    LIMITS = "submit-limits"
    NAME = "submit-name"
    QUEUE = "submit-queue"
    ITEMS = "submit-items"
    LIMIT_REACHED = "submit-limit-reached"
    MACRO = "submit-macro"
    NO_JOBS = "submit-no-jobs"
    NO_QUEUE = "submit-no-queue"
    UNUSED = "submit-unused"
    OBSOLETE = "submit-obsolete"
    DUPLICATE_ITEM = "submit-duplicate-item"
    CONFLICT = "submit-conflict"
    SUSPICIOUS = "submit-suspicious"
    NO_EFFECT = "submit-no-effect"
    UNSUPPORTED = "submit-unsupported"


_E, _W = Severity.ERROR, Severity.WARNING

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
CODES: Final[dict[SubmitCode, CodeDoc]] = {
    SubmitCode.NOT_A_DESCRIPTION: CodeDoc(_E, "The file is not a submit description: it is a program, a script or another file.", "Submit a description: a text file with lines `executable = PROGRAM` and `queue`."),
    SubmitCode.NO_EXECUTABLE: CodeDoc(_E, "The description does not say what to run.", "Add a line `executable = PROGRAM`, or `shell = COMMAND LINE`."),
    SubmitCode.EXECUTABLE_MISSING: CodeDoc(_E, "The program to run does not exist; its path is relative to where you submit.", "Correct the path, or write `transfer_executable = false` if the program is already on the machines."),
    SubmitCode.NO_SUCH_DIRECTORY: CodeDoc(_E, "The initial directory of the job does not exist.", "Create it, or correct `initialdir`."),
    SubmitCode.FILE_MISSING: CodeDoc(_W, "An input file does not exist now; the job is put on hold if it is still missing when the job starts.", "Create the file, or correct the path; paths are relative to `initialdir`."),
    SubmitCode.UNIVERSE: CodeDoc(_E, "Jobs of this universe cannot be run.", "Leave `universe` out, or use vanilla, container, docker, local or scheduler."),
    SubmitCode.ARGUMENTS: CodeDoc(_E, "The arguments cannot be parsed.", 'Put all of them into double quotes; inside, single quotes keep words together and "" is a double quote.'),
    SubmitCode.ENVIRONMENT: CodeDoc(_E, "The environment cannot be read.", "Write environment = \"NAME=value OTHER='two words'\"."),
    SubmitCode.EXPRESSION: CodeDoc(_E, "A value is not a ClassAd expression.", "Correct it; a string needs double quotes."),
    SubmitCode.INTEGER: CodeDoc(_E, "A value is not a whole number.", "Write a number, or an expression of numbers."),
    SubmitCode.BOOLEAN: CodeDoc(_E, "A value is neither true nor false.", "Write true or false."),
    SubmitCode.SIZE: CodeDoc(_E, "A value is not a valid size.", "Write a number with K, M, G or T, such as 1.5 GB."),
    SubmitCode.WORD: CodeDoc(_E, "A value is not one of the allowed words.", "Use one of the words that the message lists."),
    SubmitCode.SIGNAL: CodeDoc(_E, "A value is not the name of a signal.", "Write a name such as SIGTERM, or a number."),
    SubmitCode.TRANSFER: CodeDoc(_E, "The settings for file transfer contradict each other.", "Remove one of the two."),
    SubmitCode.ACCOUNTING: CodeDoc(_E, "A name of a group or user has characters that are not allowed.", "Use letters, digits, `_`, `.`, `-`, `@`."),
    SubmitCode.LIMITS: CodeDoc(_E, "A concurrency limit is neither a name nor a name with a number.", "Write for instance `concurrency_limits = licence:2`."),
    SubmitCode.NAME: CodeDoc(_E, "A name is not a valid attribute name.", "Use letters, digits and `_`, a letter first."),
    SubmitCode.QUEUE: CodeDoc(_E, "The queue statement cannot be read.", "Write `queue [N] [variables] [in | from | matching] [slice] items`."),
    SubmitCode.ITEMS: CodeDoc(_E, "The items to queue jobs for cannot be read.", "Correct the file or the command."),
    SubmitCode.LIMIT_REACHED: CodeDoc(_E, "The description exceeds a limit.", "Submit in several parts."),
    SubmitCode.MACRO: CodeDoc(_E, "A macro cannot be expanded.", "Correct the reference or its definition."),
    SubmitCode.NO_JOBS: CodeDoc(_W, "A queue statement makes no jobs.", "Check the items or the number."),
    SubmitCode.NO_QUEUE: CodeDoc(_W, "There is no queue statement; one job is queued.", "End the description with `queue`."),
    SubmitCode.UNUSED: CodeDoc(_W, "A line has no effect: it is not a command and nothing refers to it.", "Correct the name, or remove the line."),
    SubmitCode.OBSOLETE: CodeDoc(_W, "There is a better way to say this.", "Use the command that is named."),
    SubmitCode.DUPLICATE_ITEM: CodeDoc(_W, "A file matches several patterns; it is taken once.", "Make the patterns exclude each other."),
    SubmitCode.CONFLICT: CodeDoc(_W, "Two commands contradict each other; one is ignored.", "Remove one of them."),
    SubmitCode.SUSPICIOUS: CodeDoc(_W, "A value is allowed, but probably not intended.", "See the message."),
    SubmitCode.NO_EFFECT: CodeDoc(_W, "The command is accepted and kept in the job's ad, but nothing in a Roost pool acts on it.", "Remove the line, or do without."),
    SubmitCode.UNSUPPORTED: CodeDoc(_E, "HTCondor has the command and Roost does not; without it the job would get something else than was asked for.", "Remove the line, or use what the message names."),
}
# fmt: on


#: Constructs that the configuration language accepts for old files, and this language never accepted.
_WORSE: Final = frozenset((Code.JUNK_BEFORE_OPERATOR, Code.COLON_ASSIGNMENT))

#: Findings kept; later ones are counted.
FINDINGS_MAX: Final = 1000


@dataclass(slots=True)
class Findings(Diagnostics):
    """A bounded list of findings without duplicates.

    The first error is kept however many warnings precede it, since a description with an error is not submitted.
    """

    kept_max: int = FINDINGS_MAX
    codes: set[str] = field(default_factory=set)
    failed: bool = False

    def report(
        self,
        code: SubmitCode,
        message: str,
        span: Span,
        *,
        name: str | None = None,
        remedy: str | None = None,
        suggestion: str | None = None,
        severity: Severity | None = None,
    ) -> None:
        """Add a finding; its severity comes from the catalogue, and so does its remedy unless one is given."""
        self.add(
            CODES[code].diagnostic(
                code, message, span, name=name, suggestion=suggestion, remedy=remedy, severity=severity
            )
        )

    def add(self, one: Diagnostic) -> None:
        """Add a finding."""
        if one in self.kept[-50:]:
            return
        self.codes.add(one.code)
        if one.severity is Severity.ERROR and not self.failed:
            self.failed = True
            self.kept.append(one)
        else:
            Diagnostics.add(self, one)

    def take(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add findings of the reader of the configuration language. Some are more severe in a description."""
        for one in diagnostics:
            self.add(replace(one, severity=Severity.ERROR) if one.code in _WORSE else one)
