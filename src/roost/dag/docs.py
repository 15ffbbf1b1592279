"""The blocks of the reference page of DAG files, generated from the tables that parse and run them."""

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

#: Command to its syntax and meaning.
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "JOB": ("JOB name submit-file [DIR directory] [NOOP] [DONE]", "A node. Instead of the file: a description's name, or its lines between `{` and `}`, or between `@=word` and `@word`. NODE is a synonym."),
    "SUBDAG": ("SUBDAG EXTERNAL name dag-file [DIR directory] [NOOP] [DONE]", "A node that is a run of another DAG."),
    "SPLICE": ("SPLICE name dag-file [DIR directory]", "All nodes of another file, their names prefixed with this name and a `+`."),
    "INCLUDE": ("INCLUDE file", "The lines of another file, as if they were written here."),
    "FINAL": ("FINAL name submit-file [DIR directory] [NOOP]", "The node that runs last, regardless of the results of the others; its result is the run's."),
    "PROVISIONER": ("PROVISIONER name submit-file [DIR directory]", "The node whose job must be running before any other starts."),
    "SERVICE": ("SERVICE name submit-file [DIR directory]", "A node that runs alongside the others, which do not wait for it, and is removed at the end."),
    "SUBMIT_DESCRIPTION": ("SUBMIT-DESCRIPTION name { … }", "A submit description that several nodes may refer to, before or after this line. If two have the same name, the first takes effect, and a file's own takes effect before those of its splices."),
    "REJECT": ("REJECT", "Prevents the file from being run."),
    "PARENT": ("PARENT name … CHILD name …", "Each child waits for each parent."),
    "WEAK": ("WEAK PARENT name … CHILD name …", "Each child waits until each parent has ended, successfully or not; if a parent cannot be reached, neither can its WEAK children. PARENT for the same two nodes takes precedence. A rescue file marks a failed node as done if all of its children are WEAK."),
    "TOLERANCE": ("TOLERANCE name value[%] [FAIL-FAST|WAIT]", "How many of the node's jobs may fail, as a number or a percentage rounded down; without it, none. One more failure makes the node fail and, with FAIL-FAST, the default, removes the other jobs; with WAIT, they continue."),
    "SCRIPT": ("SCRIPT [DEFER status seconds] [DEBUG file STDOUT|STDERR|ALL] PRE|POST|HOLD name program [argument …]", "A program that runs on the queue's machine before or after the node's job, or when the job goes on hold."),
    "PRE_SKIP": ("PRE_SKIP name status", "A PRE script with this exit status marks the node as done."),
    "RETRY": ("RETRY name times [UNLESS-EXIT status]", "How often a failed node is retried."),
    "ABORT_DAG_ON": ("ABORT-DAG-ON name status [RETURN status]", "A node with this exit status ends the run, which returns that status."),
    "VARS": ('VARS name [PREPEND|APPEND] macro=value …', "Macros of the node's submit description; `+Attribute` for an attribute of its jobs. A value with spaces must be in single or double quotes."),
    "PRIORITY": ("PRIORITY name number", "The order of nodes that are ready, and the priority of their jobs."),
    "CATEGORY": ("CATEGORY name category", "What MAXJOBS counts; within a splice, one that begins with `+` is the whole DAG's."),
    "MAXJOBS": ("MAXJOBS category number", "How many nodes of a category may be in the queue at once."),
    "CONFIG": ("CONFIG file", "Settings of the run."),
    "SET_JOB_ATTR": ("SET_JOB_ATTR name = expression", "Sets an attribute of the run's own job."),
    "ENV": ("ENV GET name, … or ENV SET name=value;…", "The environment of the run's own job."),
    "DOT": ("DOT file [UPDATE|DONT-UPDATE] [OVERWRITE|DONT-OVERWRITE] [INCLUDE file]", "A graph of the run, for Graphviz."),
    "NODE_STATUS_FILE": ("NODE_STATUS_FILE file [seconds] [ALWAYS-UPDATE]", "A file of ads with the state of every node, and the shortest time between two updates."),
    "JOBSTATE_LOG": ("JOBSTATE_LOG file", "A log with one line for everything that happens to a node: `time node event id tag - number`; only ever appended to."),
    "SAVE_POINT_FILE": ("SAVE_POINT_FILE name [file]", "A rescue file of the run as it is when the node first starts; for one ordinary node, not for ALL_NODES."),
    "DONE": ("DONE name", "Marks the node as done; used in rescue files. FINAL, PROVISIONER and SERVICE nodes run anyway."),
    "CONNECT": ("CONNECT splice splice", "Connects the pins of the first to those of the second."),
    "PIN_IN": ("PIN_IN name number", "A node behind an input pin of this file, for when it is used as a splice that waits."),
    "PIN_OUT": ("PIN_OUT name number", "A node behind an output pin of this file, for when it is used as a splice that others wait for."),
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
