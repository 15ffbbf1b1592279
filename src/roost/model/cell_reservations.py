"""Advance reservations of a Grid Engine cell: resources for a time, for the jobs that ask for the reservation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.base.structs import Count, Struct

#: The highest number; after it the lowest one that is free comes.
NUMBER_MAX: Final = 9_999_999
#: In whose name jobs of a reservation that is over are removed.
ACTOR: Final = "reservations"
#: `-A` where none is given.
ACCOUNT: Final = "sge"


class Granted(Struct):
    """Slots of a queue instance."""

    instance: str
    slots: int


class AdvanceReservation(Struct):
    """An advance reservation as it was granted. Times are epoch s, the end is not included."""

    #: 0 until the queue has given it one.
    number: Count
    #: Without its domain.
    owner: str
    submitted: float
    start: float
    end: float
    #: Queue instances with slots, that of the master first.
    grants: tuple[Granted, ...] = ()
    name: str = ""
    group: str = ""
    account: str = ACCOUNT
    #: What was asked for, in the form of the options of `qrsub`: `-l`, `-q`, `-masterq`, `-pe`, `-ckpt`.
    resources: str = ""
    queues: str = ""
    master_queues: str = ""
    parallel: str = ""
    checkpoint: str = ""
    #: Queues had to be interactive (`-now y`).
    interactive: bool = False
    #: The parallel environment that it got; "" for none.
    environment: str = ""
    #: Who may use it: users, and user lists as ``@name``; empty for the owner.
    users: tuple[str, ...] = ()
    #: `-he y`: no job of it starts while one of its queue instances is in trouble.
    hard_errors: bool = False
    mail_options: str = ""
    mail_list: str = ""
    #: It has been deleted, and goes as soon as its jobs have left.
    deleted: bool = False
    #: Its time has come.
    begun: bool = False

    @property
    def slots(self) -> int:
        """Slots of all instances."""
        return sum(each.slots for each in self.grants)

    @property
    def pairs(self) -> tuple[tuple[str, int], ...]:
        """What is granted, as pairs of queue instance and slots."""
        return tuple((each.instance, each.slots) for each in self.grants)

    @property
    def duration(self) -> float:
        """How long it lasts, s."""
        return self.end - self.start


def digest_names(reservations: Iterable[AdvanceReservation]) -> dict[str, str]:
    """What tells reservations from others: a name for each, with letters for what happened to it."""
    return {f"advance reservation {one.number}": "r" * one.begun + "d" * one.deleted for one in reservations}
