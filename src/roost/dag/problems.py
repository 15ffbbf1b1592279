"""What can be wrong with a DAG: a stable code, a place, a sentence and a remedy.

Reading goes on after a mistake, so that all are told at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from roost.base.records import dataclass, field
from roost.config import Span
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


#: Code to remedy, where nothing better is known.
REMEDIES: Final[dict[DagCode, str]] = {
    DagCode.FILE_MISSING: "Correct the path; it is relative to where the DAG is started, or to DIR.",
    DagCode.NOT_A_DAG: "Name a DAG file: a text file with lines such as JOB A a.sub.",
    DagCode.KEYWORD: "Write a command of docs/reference/dag-files.md, or # before a comment.",
    DagCode.ARGUMENTS: "See the form of the command in docs/reference/dag-files.md.",
    DagCode.NODE_NAME: "Use another name: not PARENT, CHILD or ALL_NODES, and without + and blanks.",
    DagCode.NO_SUCH_NODE: "Define the node with JOB, or correct its name; upper and lower case differ.",
    DagCode.TWICE: "Remove one of the two.",
    DagCode.NUMBER: "Write a whole number.",
    DagCode.VARIABLE: 'Write NAME="VALUE"; inside the quotes, write \\" for a quote and \\\\ for a backslash.',
    DagCode.BLOCK: "End the block with a line of its own.",
    DagCode.SPLICE: "Splices are made of the nodes of another file; see docs/reference/dag-files.md.",
    DagCode.PINS: "Give both splices as many pins, numbered from 1 without gaps.",
    DagCode.CYCLE: "Remove one of the edges.",
    DagCode.LIMIT: "Split the DAG, with SUBDAG EXTERNAL.",
    DagCode.REJECTED: "Fix what was wrong when the file was written, then remove the line REJECT.",
    DagCode.EMPTY: "Add a JOB.",
    DagCode.FINAL: "Remove its edges; a FINAL node runs when everything else is over.",
}

#: Problems kept; later ones are counted.
PROBLEMS_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DagProblem:
    """One mistake."""

    code: DagCode
    message: str
    span: Span
    remedy: str

    def __str__(self) -> str:
        return f"{self.span.chain()}: error: {self.message} [{self.code}] {self.remedy}"


class BadDag(Exception):
    """The files cannot be run as they are."""

    def __init__(self, problems: tuple[DagProblem, ...], dropped: int = 0) -> None:
        super().__init__(joined(problems, dropped))
        self.problems = problems


@dataclass(slots=True)
class Problems:
    """A bounded list of mistakes."""

    kept: list[DagProblem] = field(default_factory=list)
    dropped: int = 0

    def report(self, code: DagCode, message: str, span: Span, remedy: str = "") -> None:
        """Add one."""
        if len(self.kept) >= PROBLEMS_MAX:
            self.dropped += 1
            return
        self.kept.append(DagProblem(code=code, message=message, span=span, remedy=remedy or REMEDIES[code]))

    def __iter__(self) -> Iterator[DagProblem]:
        return iter(self.kept)
