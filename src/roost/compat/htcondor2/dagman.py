"""`DAGMan`: commands to a running DAG, by hold and release of its job."""

from __future__ import annotations

from typing import Any, NoReturn

from roost.compat.htcondor2.enums import JobAction
from roost.compat.htcondor2.errors import HTCondorException
from roost.compat.htcondor2.schedd import Schedd


class DAGMan:
    """A DAG run."""

    def __init__(self, dag_id: int) -> None:
        self._id = int(dag_id)

    @property
    def dag_id(self) -> int:
        """The cluster of the run."""
        return self._id

    def _act(self, action: JobAction, reason: str | None) -> tuple[bool, str]:
        done = Schedd().act(action, [f"{self._id}.0"], reason)
        ok = done["TotalSuccess"] > 0
        return ok, "" if ok else f"{self._id}.0 was not changed: {done!r}"

    def halt(self, reason: str | None = None, pause: bool | None = None) -> tuple[bool, str]:
        """Hold the run: its nodes leave the queue, and are submitted again after `resume`."""
        return self._act(JobAction.Hold, reason)

    def resume(self) -> tuple[bool, str]:
        """Resume the run."""
        return self._act(JobAction.Release, None)

    def throttle(self, **kwargs: Any) -> NoReturn:
        """Not possible in Roost while a DAG runs."""
        raise HTCondorException("the limits of a DAG are set when it is submitted")
