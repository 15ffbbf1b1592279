"""What users' actions on jobs are called, and in words why one did nothing with a job.

The commands of HTCondor and Grid Engine say the same in the words of those systems.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class ActionWords(NamedTuple):
    """The words for one action."""

    #: Past participle or state for messages, after "are".
    done: str
    #: The state that a job must have.
    needs: str


#: Action of the queue to its words.
ACTION_WORDS: Final[Mapping[str, ActionWords]] = {
    "remove": ActionWords("removed", "still in the queue"),
    "hold": ActionWords("held", "idle or running"),
    "release": ActionWords("released", "on hold and off its machine"),
    "suspend": ActionWords("being suspended", "running"),
    "continue": ActionWords("being continued", "suspended"),
    "vacate": ActionWords("being vacated", "running"),
    "edit": ActionWords("changed", "in the queue"),
}
_WHY: Final = {
    "not-found": "is not in the queue",
    "permission-denied": "belongs to another user",
    "released-too-often": "has reached the number of releases that SYSTEM_MAX_RELEASES allows; only queue "
    "super users may release it again",
    "immutable": "has an attribute among these that cannot be changed after submission: it identifies the job, or is "
    "listed in IMMUTABLE_JOB_ATTRS",
    "protected": "has an attribute among these that only queue super users may change: it belongs to the queue's own "
    "record of the job, or is listed in PROTECTED_JOB_ATTRS",
    "not-a-number": "is unchanged: JobPrio must be a whole number from -2147483647 to 2147483647",
    "bad-name": "is unchanged: attribute names may contain only letters, digits, _ and ., and must not begin with a "
    "digit",
    "not-a-text": "is unchanged: an accounting group must be a quoted string, not an expression",
    "too-large": "is unchanged: its ad would be too large; transfer large data as files",
    "group-too-long": "is unchanged: the name of a group is too long",
    "too-many-groups": "is unchanged: your jobs would use more accounting groups than the queue allows per user",
}


def refusal_words(action: str, code: str) -> str:
    """Why an action on a job was refused, as what to say of the job. `code`: the queue's."""
    words = ACTION_WORDS[action]
    return f"is already {words.done}" if code == "already-done" else _WHY.get(code, f"is not {words.needs}")
