"""The module `htcondor2.dags`: workflows that programs build layer by layer and write as DAGMan files."""

from roost.compat.dags import exceptions
from roost.compat.dags.dag import DAG, DotConfig, NodeStatusFile
from roost.compat.dags.edges import BaseEdge, Grouper, JoinFactory, JoinNode, ManyToMany, OneToOne, Slicer
from roost.compat.dags.formatter import DEFAULT_SEPARATOR, NodeNameFormatter, SimpleFormatter
from roost.compat.dags.node import BaseNode, DAGAbortCondition, FinalNode, NodeLayer, Nodes, Script, SubDAG
from roost.compat.dags.rescue import find_rescue_file, rescue
from roost.compat.dags.walk_order import WalkOrder
from roost.compat.dags.writer import CONFIG_FILE_NAME, DEFAULT_DAG_FILE_NAME, write_dag
from roost.model.compatible import CONDOR_VERSION_NUMBER

__version__: str = CONDOR_VERSION_NUMBER

__all__ = [
    "CONFIG_FILE_NAME",
    "DAG",
    "DEFAULT_DAG_FILE_NAME",
    "DEFAULT_SEPARATOR",
    "BaseEdge",
    "BaseNode",
    "DAGAbortCondition",
    "DotConfig",
    "FinalNode",
    "Grouper",
    "JoinFactory",
    "JoinNode",
    "ManyToMany",
    "NodeLayer",
    "NodeNameFormatter",
    "NodeStatusFile",
    "Nodes",
    "OneToOne",
    "Script",
    "SimpleFormatter",
    "Slicer",
    "SubDAG",
    "WalkOrder",
    "exceptions",
    "find_rescue_file",
    "rescue",
    "write_dag",
]
