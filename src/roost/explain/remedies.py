"""Remedies for a job that does not run, and who can apply them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from roost.base.records import dataclass


class RemedyKind(StrEnum):
    """The kind of a remedy, and who can apply it."""

    #: The job's owner changes the job.
    EDIT = "edit"
    #: The job's owner releases it.
    RELEASE = "release"
    #: The job's owner submits another one.
    RESUBMIT = "resubmit"
    #: No action is needed; the job has to wait.
    WAIT = "wait"
    #: The job's owner reorders own jobs, or an administrator those of several users.
    PRIORITY = "priority"
    #: An administrator raises a limit of a user, a group or a licence.
    LIMIT = "limit"
    #: An administrator changes the pool's policy.
    POLICY = "policy"
    #: The owner of a machine changes its policy.
    OWNER = "owner"
    #: An administrator repairs a machine or slot and reopens it.
    REPAIR = "repair"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One remedy."""

    kind: RemedyKind
    #: One or two sentences.
    text: str
    #: The command that applies it, as arguments; empty if there is none.
    command: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {"kind": str(self.kind), "text": self.text, "command": list(self.command) or None}
