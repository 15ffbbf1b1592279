"""Workflows: jobs that wait for one another, as DAGMan's files describe them.

`reading` turns files into a plan, `run` is the machine that takes a run of it from event to event, `rescue` and
`status` are the texts that a run leaves. Everything is pure: the caller, who carries the orders out, submits jobs, runs
scripts and writes files.
"""

from roost.dag.plan import Dag, Node, NodeKind, Script, ScriptPoint
from roost.dag.problems import BadDag
from roost.dag.reading import apply_rescue, read_dag

__all__ = [
    "BadDag",
    "Dag",
    "Node",
    "NodeKind",
    "Script",
    "ScriptPoint",
    "apply_rescue",
    "read_dag",
]
