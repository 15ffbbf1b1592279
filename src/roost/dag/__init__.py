"""Workflows: jobs that wait for one another, as DAGMan's files describe them.

`reading` parses files into a plan, `run` is the state machine of a run, and `texts` has the files that a run writes.
Everything is pure: the caller carries the orders out, that is, submits jobs, runs scripts and writes files.
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
