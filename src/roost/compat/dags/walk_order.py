"""In which order a DAG is walked."""

import enum


class WalkOrder(str, enum.Enum):  # noqa: UP042  (programs see what str() gives)
    """Children before siblings, or after."""

    DEPTH_FIRST = "DEPTH"
    BREADTH_FIRST = "BREADTH"
