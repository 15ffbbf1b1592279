"""What each daemon can be asked (the `what` of an `Ask`), and who may ask for it: one table a daemon.

A daemon refuses what its table does not have. Orders and reports between daemons are not asked for: the message servers
decide who may send those (`subjects`).

Commands import this module, which therefore imports nothing that takes time.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class Daemon(StrEnum):
    """A daemon that answers; the value is its role."""

    QUEUE = "schedd"
    MACHINE = "node"
    CENTRAL = "central"


class Asker(StrEnum):
    """Who may ask for something; the value is what the manual says."""

    #: Every user whom the message servers admit.
    USER = "every user"
    #: Every user, for what is the user's own; administrators for everything. The queue looks at each job.
    OWNER = "the job's owner, administrators"
    ADMINISTRATOR = "administrators"
    #: Administrators, and the central manager, which drains machines to defragment them.
    ADMINISTRATOR_OR_CENTRAL = "administrators, the central manager"


class Verb(NamedTuple):
    """Something that a daemon can be asked.

    What users may ask for is of HTCondor's level READ if it changes nothing, else of WRITE; the rest, of ADMINISTRATOR.
    """

    asker: Asker
    #: What it does, for the manual.
    about: str
    #: It changes nothing, so it may be asked again when no answer came.
    question: bool = False


def _question(about: str) -> Verb:
    return Verb(Asker.USER, about, question=True)


_QUEUE: Final = {
    "act": Verb(Asker.OWNER, "hold, release, remove, suspend, continue, vacate or edit jobs"),
    "autocluster": _question("which jobs the matchmaker treats as one with a job"),
    "history": _question("jobs that have left the queue"),
    "overview": _question("jobs, or clusters where there are many jobs"),
    "query": _question("jobs and their ads"),
    "submit": Verb(Asker.USER, "submit jobs, which the asker owns"),
    "summary": _question("how many jobs there are in each state"),
}
_MACHINE: Final = {
    "ads": _question("ads of the machine's slots"),
    "cancel-drain": Verb(Asker.ADMINISTRATOR_OR_CENTRAL, "end a drain"),
    "drain": Verb(Asker.ADMINISTRATOR_OR_CENTRAL, "drain the machine"),
    "origins": _question("where the policy of a slot is set"),
    "poll": Verb(Asker.ADMINISTRATOR, "evaluate the policy now"),
    "reopen": Verb(Asker.ADMINISTRATOR, "open slots that a failed prolog or epilog has closed"),
    "story": _question("what happened to a slot or job"),
    "vacate": Verb(Asker.ADMINISTRATOR, "evict the jobs of slots"),
}
_CENTRAL: Final = {
    "ads": _question("ads of the pool"),
    "advertise": Verb(Asker.USER, "publish ads that are not a daemon's, and withdraw them"),
    "audit": _question("the audit trail"),
    "cycle": _question("the last matchmaking cycle"),
    "explain-job": _question("why a job is not matched"),
    "explain-slot": _question("why a slot is not matched"),
    "userprio": _question("priorities and usage of users"),
    "userprio-set": Verb(Asker.ADMINISTRATOR, "change the priority, factor, bounds or usage of a user, or delete it"),
}
#: All tables: daemon, then verb.
VERBS: Final = {Daemon.QUEUE: _QUEUE, Daemon.MACHINE: _MACHINE, Daemon.CENTRAL: _CENTRAL}
#: Names of all questions.
QUESTIONS: Final = frozenset(name for table in VERBS.values() for name, verb in table.items() if verb.question)
