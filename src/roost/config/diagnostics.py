"""What the configuration room reports: a stable code, a severity, a place, a sentence and a remedy.

Reading a configuration never stops at the first mistake; every stage appends to a `Diagnostics` log and continues with
the most harmless interpretation. The typed accessors of `Config` raise `ConfigError`, which carries one `Diagnostic`.

`CODES` is the catalogue; the reference page of error codes is generated from it, and a test checks that every code
raised is in it.
"""

from __future__ import annotations

from enum import StrEnum

from roost.base import diagnostics as base
from roost.base.diagnostics import CodeDoc, Diagnostic, Severity, Span
from roost.base.records import dataclass


class Code(StrEnum):
    """Stable identifiers of all problems that the configuration room reports."""

    # reading sources
    SOURCE_MISSING = "config-source-missing"
    DIRECTORY_EMPTY = "config-directory-empty"
    SOURCE_TOO_LARGE = "config-source-too-large"
    NOT_TEXT = "config-not-text"
    COMMAND_FAILED = "config-command-failed"
    INCLUDE_DEPTH = "config-include-depth"
    INCLUDE_KEYWORD = "config-include-keyword"
    LIMIT_REACHED = "config-limit-reached"
    # syntax
    ILLEGAL_NAME = "config-illegal-name"
    MISSING_OPERATOR = "config-missing-operator"
    UNTERMINATED_BLOCK = "config-unterminated-block"
    UNBALANCED_IF = "config-unbalanced-if"
    BAD_CONDITION = "config-bad-condition"
    COMPLEX_CONDITION = "config-complex-condition"
    BAD_VERSION = "config-bad-version"
    COLON_ASSIGNMENT = "config-colon-assignment"
    JUNK_BEFORE_OPERATOR = "config-junk-before-operator"
    JUNK_AFTER_KEYWORD = "config-junk-after-keyword"
    BLANK_AFTER_BACKSLASH = "config-blank-after-backslash"
    BACKSLASH_AT_END = "config-backslash-at-end"
    COMMENT_IN_CONTINUATION = "config-comment-in-continuation"
    HASH_IN_VALUE = "config-hash-in-value"
    # templates and messages
    UNKNOWN_CATEGORY = "config-unknown-category"
    UNKNOWN_TEMPLATE = "config-unknown-template"
    TEMPLATE_WITHOUT_EFFECT = "config-template-without-effect"
    TEMPLATE_ARGUMENTS = "config-template-arguments"
    ERROR_STATEMENT = "config-error-statement"
    WARNING_STATEMENT = "config-warning-statement"
    # macros
    MACRO_CYCLE = "config-macro-cycle"
    EXPANSION_LIMIT = "config-expansion-limit"
    FUNCTION_FAILED = "config-function-failed"
    UNDEFINED_MACRO = "config-undefined-macro"
    # values and names
    BAD_INTEGER = "config-bad-integer"
    BAD_REAL = "config-bad-real"
    BAD_BOOLEAN = "config-bad-boolean"
    BAD_EXPRESSION = "config-bad-expression"
    BAD_CHOICE = "config-bad-choice"
    OUT_OF_RANGE = "config-out-of-range"
    MISSING_VALUE = "config-missing-value"
    BAD_PROGRAM = "config-bad-program"
    BAD_MEMBER = "config-bad-member"
    NEAR_MISS = "config-near-miss"
    DEPRECATED_NAME = "config-deprecated-name"
    PRESET_OVERRIDDEN = "config-preset-overridden"
    SLOT_PREFIX_IGNORED = "config-slot-prefix-ignored"
    WITHOUT_EFFECT = "config-without-effect"
    OTHER_DAEMON = "config-other-daemon"
    ACCESS_LIST = "config-access-list"


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
CODES: dict[Code, CodeDoc] = {
    Code.SOURCE_MISSING: CodeDoc(_E, "A file that the configuration needs cannot be read.", "Create the file, correct the path, use `include ifexist`, or set REQUIRE_LOCAL_CONFIG_FILE = False."),
    Code.DIRECTORY_EMPTY: CodeDoc(_W, "The first configuration directory contains no file to read.", "Check the path; names that LOCAL_CONFIG_DIR_EXCLUDE_REGEXP matches, such as hidden files, are not read."),
    Code.SOURCE_TOO_LARGE: CodeDoc(_E, "A source is larger than the limit on one source.", "Check that the path names a configuration file; split a large file with `include`."),
    Code.NOT_TEXT: CodeDoc(_E, "A source is a program or another binary file.", "Check the path."),
    Code.COMMAND_FAILED: CodeDoc(_E, "A command whose output is configuration ended with a non-zero status.", "Run the command by hand; write `include ifexist command` if it may fail."),
    Code.INCLUDE_DEPTH: CodeDoc(_E, "`include` or `use` statements are nested too deeply.", "Look for a file or template that includes itself."),
    Code.INCLUDE_KEYWORD: CodeDoc(_E, "There are unknown keywords between `include` and the colon.", "Write `include [ifexist] [command [into FILE]] : WHAT`."),
    Code.LIMIT_REACHED: CodeDoc(_E, "The configuration exceeds a limit on its size.", "Remove generated or repeated statements."),
    Code.ILLEGAL_NAME: CodeDoc(_E, "A name has characters other than letters, digits, `_`, `.` and `/`.", "Rename it; often a hyphen is the cause, use `_` instead."),
    Code.MISSING_OPERATOR: CodeDoc(
        _E,
        "A line is neither an assignment nor a keyword statement nor a comment.",
        "Write `NAME = value`, or put `#` first; a lost `\\` on the line above also has this effect.",
    ),
    Code.UNTERMINATED_BLOCK: CodeDoc(_E, "The line that ends an `@=` block was not found.", "End the block with a line that contains only `@` and the tag."),
    Code.UNBALANCED_IF: CodeDoc(_E, "`if`, `elif`, `else` and `endif` do not pair up within the source.", "Give each `if` one `endif` in the same file, and at most one `else`, last."),
    Code.BAD_CONDITION: CodeDoc(_E, "The text after `if` or `elif` is not a condition.", "Use true, false, a number, `defined NAME` or `version >= X.Y`, optionally after `!`."),
    Code.COMPLEX_CONDITION: CodeDoc(_E, "Conditions do not support operators such as `&&` and `>`.", "Nest several `if`, or compute a number first: `if $INT(NAME)`."),
    Code.BAD_VERSION: CodeDoc(_E, "A `version` condition lacks an operator or a version of the form X.Y or X.Y.Z.", "For example, write `if version >= 8.2`."),
    Code.COLON_ASSIGNMENT: CodeDoc(_W, "`NAME : value` is an obsolete form of assignment.", "Write `NAME = value`."),
    Code.JUNK_BEFORE_OPERATOR: CodeDoc(_W, "Words between the name and the operator are ignored.", "Remove them; the name is the first word only."),
    Code.JUNK_AFTER_KEYWORD: CodeDoc(_W, "Text after `else` or `endif` is ignored.", "Remove it; for `else if` write `elif`."),
    Code.BLANK_AFTER_BACKSLASH: CodeDoc(_W, "There are blanks after a `\\` at the end of a line.", "Remove the spaces: some parsers would not continue the line."),
    Code.BACKSLASH_AT_END: CodeDoc(_W, "The last line of a source ends with `\\`.", "Remove the backslash."),
    Code.COMMENT_IN_CONTINUATION: CodeDoc(_W, "A comment line is inside a continued line; the line continues after it.", "Move the comment above the statement; if it was the last part, remove the `\\` before it."),
    Code.HASH_IN_VALUE: CodeDoc(
        _W,
        "`#` after other text does not start a comment; it is part of the value.",
        "Put the comment on a line of its own.",
    ),
    Code.UNKNOWN_CATEGORY: CodeDoc(_E, "`use` names a category that does not exist.", "See the template catalogue for the categories."),
    Code.UNKNOWN_TEMPLATE: CodeDoc(_E, "`use` names a template that does not exist in its category.", "See the template catalogue."),
    Code.TEMPLATE_WITHOUT_EFFECT: CodeDoc(_N, "`use` names a template of HTCondor that Roost accepts but that has no effect.", "Keep it if HTCondor reads the same files; otherwise remove it."),
    Code.TEMPLATE_ARGUMENTS: CodeDoc(_E, "A template was used with missing, surplus or unclosed arguments.", "See the template's arguments in the catalogue."),
    Code.ERROR_STATEMENT: CodeDoc(_E, "The configuration itself raised an error with an `error :` statement.", "Follow the message."),
    Code.WARNING_STATEMENT: CodeDoc(_W, "The configuration itself warned with a `warning :` statement.", "Follow the message."),
    Code.MACRO_CYCLE: CodeDoc(_E, "Macros refer to each other in a cycle.", "Break the cycle; only a reference to itself, in its own assignment, means a macro's earlier value."),
    Code.EXPANSION_LIMIT: CodeDoc(_E, "Expanding a value exceeds a limit on length, count or depth.", "Look for macros that double each other's text."),
    Code.FUNCTION_FAILED: CodeDoc(_E, "A function macro such as `$INT()` cannot be evaluated.", "Check the arguments; a name must be a defined macro's, an expression must have the right type."),
    Code.UNDEFINED_MACRO: CodeDoc(_W, "A value refers to a macro that is defined nowhere; it expands to nothing.", "Define the macro, correct the name, or write `$(NAME:)` if it may be empty."),
    Code.BAD_INTEGER: CodeDoc(_E, "The value of a knob is not a whole number.", "Write a number or an expression of constants."),
    Code.BAD_REAL: CodeDoc(_E, "The value of a knob is not a number.", "Write a number or an expression of constants."),
    Code.BAD_BOOLEAN: CodeDoc(_E, "The value of a knob is neither true nor false.", "Write True or False."),
    Code.BAD_EXPRESSION: CodeDoc(_E, "The value of a knob is not a well-formed ClassAd expression.", "Correct the expression; check parentheses and macros that expand to nothing."),
    Code.BAD_CHOICE: CodeDoc(_E, "The value of a knob is not one of the keywords that it allows.", "Use one of the keywords in the knob's description."),
    Code.OUT_OF_RANGE: CodeDoc(_E, "The value of a knob is outside its range.", "Use a value within the range in the knob's description."),
    Code.MISSING_VALUE: CodeDoc(_E, "A required knob without a default is not set.", "Set it."),
    Code.BAD_PROGRAM: CodeDoc(_W, "A program that a daemon is to run cannot be run on the machine of the check; an error where it cannot be run on any.", "Install it and make it executable, or correct the path; ignore this if the configuration is for another machine."),
    Code.BAD_MEMBER: CodeDoc(_E, "A member of a list is not a name of the kind that the knob lists; a warning where another machine may have it.", "Correct the member or remove it."),
    Code.NEAR_MISS: CodeDoc(_W, "A name that nothing reads differs from a known knob by a letter or two; an error where that knob protects or limits something.", "Correct the name, or use the macro somewhere if it is your own."),
    Code.DEPRECATED_NAME: CodeDoc(_W, "The name is obsolete.", "Use the current name; if there is none, remove the line."),
    Code.PRESET_OVERRIDDEN: CodeDoc(_W, "The name is preset at start and cannot be assigned.", "Use another name, or the knob that acts on the detected value."),
    Code.SLOT_PREFIX_IGNORED: CodeDoc(_W, "The knob cannot be set for slots or slot types, so nothing reads the prefixed name; an error where the knob protects or limits something.", "Refer to SlotID in the expression, or use SLOT_TYPE_<N>_ where the knob allows it."),
    Code.WITHOUT_EFFECT: CodeDoc(_W, "Roost accepts the knob, but it has no effect; an error where the knob protects or limits something, a note where nothing is lost.", "Remove the line. If HTCondor reads the same file, put it between `if ! defined ROOST` and `endif`."),
    Code.ACCESS_LIST: CodeDoc(_E, "An entry of ALLOW_<LEVEL> or DENY_<LEVEL> is not a user, so Roost cannot enforce it.", "Name users as `user@domain`, `*@domain` or `*`; block hosts where the message servers run. If HTCondor reads the same file, put the line between `if ! defined ROOST` and `endif`."),
    Code.OTHER_DAEMON: CodeDoc(_W, "The name has the prefix of a daemon that does not read the knob; an error where the knob protects or limits something.", "Use the prefix of the daemon that reads it, or none."),
}
# fmt: on


def diagnostic(
    code: Code,
    message: str,
    span: Span,
    *,
    name: str | None = None,
    suggestion: str | None = None,
    remedy: str | None = None,
    severity: Severity | None = None,
) -> Diagnostic:
    """Build a diagnostic; severity and remedy come from the catalogue unless they are given."""
    if code is Code.DEPRECATED_NAME and suggestion:
        remedy = remedy or f"Write {suggestion}."
    return CODES[code].diagnostic(
        code, message, span, name=name, suggestion=suggestion, remedy=remedy or None, severity=severity
    )


class ConfigError(Exception):
    """A value cannot be read; ``diagnostic`` says which, where it was defined, why, and what to do."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic

    @property
    def code(self) -> Code:
        """The stable code of the problem."""
        return Code(self.diagnostic.code)


@dataclass(slots=True)
class Diagnostics(base.Diagnostics):
    """The list of findings from reading a configuration."""

    def report(
        self,
        code: Code,
        message: str,
        span: Span,
        *,
        name: str | None = None,
        suggestion: str | None = None,
        remedy: str | None = None,
    ) -> None:
        """Append a finding, or count it when the list is full."""
        self.add(diagnostic(code, message, span, name=name, suggestion=suggestion, remedy=remedy))
