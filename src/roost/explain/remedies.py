"""What can be done about a job that does not run, and by whom."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from roost.base.records import dataclass


class RemedyKind(StrEnum):
    """Who can do something, and what."""

    #: The job's owner changes the job.
    EDIT = "edit"
    #: The job's owner releases it.
    RELEASE = "release"
    #: The job's owner submits another one.
    RESUBMIT = "resubmit"
    #: Nothing has to be done; time will do.
    WAIT = "wait"
    #: The job's owner orders the jobs of one user, or an administrator those of several.
    PRIORITY = "priority"
    #: A limit of a user, a group or a licence is raised by an administrator.
    LIMIT = "limit"
    #: The pool's policy is changed by an administrator.
    POLICY = "policy"
    #: A machine's policy is its owner's.
    OWNER = "owner"
    #: A machine or slot is repaired, and opened again.
    REPAIR = "repair"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One thing that helps."""

    kind: RemedyKind
    #: A sentence or two.
    text: str
    #: A command that carries it out, word by word; empty where there is none.
    command: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {"kind": str(self.kind), "text": self.text, "command": list(self.command) or None}
