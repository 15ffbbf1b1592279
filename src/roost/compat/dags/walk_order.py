"""The order in which a DAG is traversed."""

import enum


class WalkOrder(str, enum.Enum):  # noqa: UP042  (programs see what str() gives)
    """Depth first or breadth first."""

    DEPTH_FIRST = "DEPTH"
    BREADTH_FIRST = "BREADTH"
