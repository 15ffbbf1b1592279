"""Errors of DAGs that programs build."""


class DAGsException(Exception):
    """Base class of these errors."""


class CannotInvertFormat(DAGsException):
    """A node's name was not made by this formatter."""


class DuplicateNodeName(DAGsException):
    """The DAG already has a node of that name."""


class IncompatibleGrouper(DAGsException):
    """A grouping does not fit the layers on both sides."""


class LayerNameContainsSeparator(DAGsException):
    """The layer's name contains the separator of node names."""


class NoRescueFileFound(DAGsException):
    """There is no rescue file."""


class OneToOneEdgeNeedsSameNumberOfVars(DAGsException):
    """The layers on both sides of a one-to-one edge have different sizes."""


class UnrecognizedWalkOrder(DAGsException):
    """Not a valid walk order."""
