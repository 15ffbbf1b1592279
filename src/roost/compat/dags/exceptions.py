"""What can be wrong with a DAG that a program builds."""


class DAGsException(Exception):
    """Any of them."""


class CannotInvertFormat(DAGsException):
    """A node's name was not made by this formatter."""


class DuplicateNodeName(DAGsException):
    """The DAG already has a node of that name."""


class IncompatibleGrouper(DAGsException):
    """A grouping does not fit the layers on both sides."""


class LayerNameContainsSeparator(DAGsException):
    """The names of the layer's nodes could not be told apart from the layer's."""


class NoRescueFileFound(DAGsException):
    """There is no rescue file."""


class OneToOneEdgeNeedsSameNumberOfVars(DAGsException):
    """The layers on both sides of a one-to-one edge have different sizes."""


class UnrecognizedWalkOrder(DAGsException):
    """That is not an order in which a DAG is walked."""
