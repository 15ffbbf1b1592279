"""What can be wrong with a DAG: a stable code, a place, a sentence and a remedy.

Reading continues after a mistake, so that all are reported at once.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from roost.base.diagnostics import CodeDoc, Diagnostic, Diagnostics, Severity, Span
from roost.base.records import dataclass, field
from roost.config.not_text import joined


class DagCode(StrEnum):
    """Stable identifiers."""

    FILE_MISSING = "dag-file-missing"
    NOT_A_DAG = "dag-not-a-dag"
    KEYWORD = "dag-keyword"
    ARGUMENTS = "dag-arguments"
    NODE_NAME = "dag-node-name"
    NO_SUCH_NODE = "dag-no-such-node"
    TWICE = "dag-twice"
    NUMBER = "dag-number"
    VARIABLE = "dag-variable"
    BLOCK = "dag-block"
    SPLICE = "dag-splice"
    PINS = "dag-pins"
    CYCLE = "dag-cycle"
    LIMIT = "dag-limit"
    REJECTED = "dag-rejected"
    EMPTY = "dag-empty"
    FINAL = "dag-final"
    NOT_SUPPORTED = "dag-not-supported"
    DESCRIPTION_TWICE = "dag-description-twice"
    SCRIPT_MACRO = "dag-script-macro"


# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
#: Code to what it means and what to do, where nothing better is known.
CODES: Final[dict[DagCode, CodeDoc]] = {
    DagCode.FILE_MISSING: CodeDoc(Severity.ERROR, "A DAG file, or a file that it refers to, cannot be read.", "Correct the path; it is relative to where the DAG is started, or to DIR."),
    DagCode.NOT_A_DAG: CodeDoc(Severity.ERROR, "The file is not a DAG file: it is a program, a submit description or another file.", "Name a DAG file: a text file with lines such as JOB A a.sub."),
    DagCode.KEYWORD: CodeDoc(
        Severity.ERROR,
        "The first word of a line is not a command of DAG files.",
        "Use a command from docs/reference/dag-files.md, or start a comment with #.",
    ),
    DagCode.ARGUMENTS: CodeDoc(Severity.ERROR, "A command has too few, too many or unknown arguments.", "See the syntax of the command in docs/reference/dag-files.md."),
    DagCode.NODE_NAME: CodeDoc(Severity.ERROR, "A name is not a valid node name.", "Use another name: not PARENT, CHILD or ALL_NODES, and without + or spaces."),
    DagCode.NO_SUCH_NODE: CodeDoc(Severity.ERROR, "A command refers to a node that is not defined.", "Define the node with JOB, or correct its name; upper and lower case differ."),
    DagCode.TWICE: CodeDoc(Severity.ERROR, "Something that can be defined only once is defined twice.", "Remove one of the two."),
    DagCode.NUMBER: CodeDoc(Severity.ERROR, "An argument is not a number, or is outside the allowed range.", "Write a whole number."),
    DagCode.VARIABLE: CodeDoc(Severity.ERROR, "A variable of VARS cannot be parsed.", "Write NAME=VALUE, and quote a value that has blanks; inside quotes, write \\ before a quote or a backslash."),
    DagCode.BLOCK: CodeDoc(Severity.ERROR, "The end of a block was not found.", "End the block with a line of its own."),
    DagCode.SPLICE: CodeDoc(Severity.ERROR, "A splice cannot be inserted.", "A splice inserts the nodes of another file; see docs/reference/dag-files.md."),
    DagCode.PINS: CodeDoc(Severity.ERROR, "The pins of two connected splices do not match.", "Give both splices the same number of pins, numbered from 1 without gaps."),
    DagCode.CYCLE: CodeDoc(Severity.ERROR, "Nodes depend on each other in a cycle.", "Remove one of the edges."),
    DagCode.LIMIT: CodeDoc(Severity.ERROR, "The DAG exceeds a limit on its size.", "Split the DAG, with SUBDAG EXTERNAL."),
    DagCode.REJECTED: CodeDoc(Severity.ERROR, "The file contains a REJECT line.", "Fix the problem that existed when the file was written, then remove the REJECT line."),
    DagCode.EMPTY: CodeDoc(Severity.WARNING, "The DAG has no nodes: its run ends at once, successfully.", "Add a JOB."),
    DagCode.FINAL: CodeDoc(Severity.ERROR, "The FINAL node has parents or children.", "Remove its edges; a FINAL node runs when everything else is over."),
    DagCode.NOT_SUPPORTED: CodeDoc(Severity.ERROR, "HTCondor has this command, but Roost does not, so the run would not do what the file asks for.", "Remove it; see docs/reference/dag-files.md."),
    DagCode.DESCRIPTION_TWICE: CodeDoc(Severity.WARNING, "Two descriptions have the same name; the first takes effect, or that of the outer file if one is in a splice.", "Give one of them another name."),
    DagCode.SCRIPT_MACRO: CodeDoc(Severity.WARNING, "An argument of a script begins with $ but is not a macro; the script gets it unchanged.", "Correct the name, or ignore this warning if the script should get that text."),
}
# fmt: on

#: Most problems kept; later ones are only counted.
PROBLEMS_MAX: Final = 200


class BadDag(Exception):
    """The files cannot be run as they are."""

    def __init__(self, problems: tuple[Diagnostic, ...], dropped: int = 0) -> None:
        super().__init__(joined(problems, dropped))
        self.problems = problems


@dataclass(slots=True)
class Problems(Diagnostics):
    """A bounded list of errors, and one of warnings."""

    kept_max: int = PROBLEMS_MAX
    warnings: Diagnostics = field(default_factory=lambda: Diagnostics(PROBLEMS_MAX))

    def report(self, code: DagCode, message: str, span: Span, remedy: str = "") -> None:
        """Add a problem."""
        found = CODES[code].diagnostic(code, message, span, remedy=remedy or None)
        if found.severity is Severity.ERROR:
            self.add(found)
        else:
            self.warnings.add(found)
