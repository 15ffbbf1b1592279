"""The blocks of the reference page of DAG files, from the tables that read and run them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from roost.base.diagnostics import code_table
from roost.dag.problems import CODES
from roost.dag.scripts import MACROS
from roost.dag.statements import DEFINING, SHAPING
from roost.dag.states import NodeState
from roost.dag.table import ROWS
from roost.tables.pages import diagram, table

#: Command to its form and what it says.
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "JOB": ("JOB name submit-file [DIR directory] [NOOP] [DONE]", "A node. In place of the file: a description's name, or its lines between `{` and `}`, or between `@=word` and `@word`. NODE is another word for it."),
    "SUBDAG": ("SUBDAG EXTERNAL name dag-file [DIR directory] [NOOP] [DONE]", "A node that is a run of another DAG."),
    "SPLICE": ("SPLICE name dag-file [DIR directory]", "All nodes of another file, with the name and a `+` before their own."),
    "INCLUDE": ("INCLUDE file", "The lines of another file, as if they stood here."),
    "FINAL": ("FINAL name submit-file [DIR directory] [NOOP]", "The node that runs last, whatever became of the others; its result is the run's."),
    "PROVISIONER": ("PROVISIONER name submit-file [DIR directory]", "The node whose job must run before any other begins."),
    "SERVICE": ("SERVICE name submit-file [DIR directory]", "A node that runs beside the others, which do not wait for it, and is removed at the end."),
    "SUBMIT_DESCRIPTION": ("SUBMIT-DESCRIPTION name { … }", "A submit description that several nodes may name, before it or after it. Of two with one name the first holds, and that of a file is before those of its splices."),
    "REJECT": ("REJECT", "The file must not be run."),
    "PARENT": ("PARENT name … CHILD name …", "Each child waits for each parent."),
    "WEAK": ("WEAK PARENT name … CHILD name …", "Each child waits until each parent is over, good or not; one that cannot be reached takes its WEAK children with it. PARENT for the same two nodes holds. A rescue file has a failed node as done if all its children are WEAK."),
    "TOLERANCE": ("TOLERANCE name value[%] [FAIL-FAST|WAIT]", "So many of the node's jobs, or percent of them rounded down, may fail; without it none. One more makes the node fail, and has the others removed: with FAIL-FAST, which is the default, and not with WAIT."),
    "SCRIPT": ("SCRIPT [DEFER status seconds] [DEBUG file STDOUT|STDERR|ALL] PRE|POST|HOLD name program [argument …]", "A program that runs on the queue's machine before or after the node's job, or when that goes on hold."),
    "PRE_SKIP": ("PRE_SKIP name status", "A PRE script that ends so makes the node done."),
    "RETRY": ("RETRY name times [UNLESS-EXIT status]", "How often a node that failed is tried again."),
    "ABORT_DAG_ON": ("ABORT-DAG-ON name status [RETURN status]", "A node that ends so ends the run, which returns that status."),
    "VARS": ('VARS name [PREPEND|APPEND] macro=value …', "Macros of the node's submit description; `+Attribute` for an attribute of its jobs. A value with blanks stands in quotes of either kind."),
    "PRIORITY": ("PRIORITY name number", "Which of the nodes that are ready comes first, and the priority of its jobs."),
    "CATEGORY": ("CATEGORY name category", "What MAXJOBS counts; within a splice, one that begins with `+` is the whole DAG's."),
    "MAXJOBS": ("MAXJOBS category number", "How many nodes of a category may be in the queue at once."),
    "CONFIG": ("CONFIG file", "Settings of the run."),
    "SET_JOB_ATTR": ("SET_JOB_ATTR name = expression", "An attribute of the run's own job."),
    "ENV": ("ENV GET name, … or ENV SET name=value;…", "The environment of the run's own job."),
    "DOT": ("DOT file [UPDATE|DONT-UPDATE] [OVERWRITE|DONT-OVERWRITE] [INCLUDE file]", "A picture of the run, for Graphviz."),
    "NODE_STATUS_FILE": ("NODE_STATUS_FILE file [seconds] [ALWAYS-UPDATE]", "A file of ads with the state of every node, written again at most that often."),
    "JOBSTATE_LOG": ("JOBSTATE_LOG file", "A log with a line for everything that happens to a node: `time node event id tag - number`; only ever appended to."),
    "SAVE_POINT_FILE": ("SAVE_POINT_FILE name [file]", "A rescue file of the run as it is when the node begins first; of one ordinary node, not of ALL_NODES."),
    "DONE": ("DONE name", "The node was done before; of rescue files. FINAL, PROVISIONER and SERVICE nodes run all the same."),
    "CONNECT": ("CONNECT splice splice", "The pins of the first are joined to those of the second."),
    "PIN_IN": ("PIN_IN name number", "A node behind a pin of this file when it is a splice that waits."),
    "PIN_OUT": ("PIN_OUT name number", "A node behind a pin of this file when it is a splice that is waited for."),
}  # fmt: skip
# ruff: noqa: E501


def _edges() -> Iterator[tuple[str, str, str]]:
    return ((row.source.name, row.target.name, str(row.number)) for row in ROWS)


def blocks() -> dict[str, dict[str, Iterable[str]]]:
    """Page below docs/ to its blocks: name to lines."""
    transitions = (
        *diagram(_edges(), start=("NOT_READY",), ends=("DONE", "ERROR", "FUTILE")),
        "",
        *table(
            ("number", "from", "to", "when", "does"),
            ((row.number, row.source.name, row.target.name, "; ".join((*row.on, *row.when)), "; ".join(row.entry))
             for row in ROWS),
        ),
    )  # fmt: skip
    return {
        "reference/dag-files.md": {
            "commands": _commands(),
            "words": table(("word", "is replaced by"), ((f"`{name}`", meaning) for name, meaning in MACROS.items())),
            "states": table(("number", "state"), ((int(state), state.name) for state in NodeState)),
            "transitions": transitions,
            "mistakes": code_table(CODES),
        }
    }


def _commands() -> Iterator[str]:
    known = {*DEFINING, *SHAPING, "SPLICE", "INCLUDE"} - {"NODE"}
    assert known == set(COMMANDS), known ^ set(COMMANDS)
    for name, (form, meaning) in COMMANDS.items():
        yield from (f"**{name}**", f": `{form}`  ", f"  {meaning}", "")
