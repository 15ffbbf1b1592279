"""Advance reservations of a Grid Engine cell: resources for an interval, for the jobs that request the reservation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.base.structs import Count, Struct

#: The highest number; after it, the lowest free one is used.
NUMBER_MAX: Final = 9_999_999
#: The actor that removes jobs of a reservation that is over.
ACTOR: Final = "reservations"
#: The default of `-A`.
ACCOUNT: Final = "sge"


class Granted(Struct):
    """Slots of a queue instance."""

    instance: str
    slots: int


class AdvanceReservation(Struct):
    """An advance reservation as granted. Times are epoch s; the end is exclusive."""

    #: 0 until the queue assigns one.
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
    #: The requests, in the form of the options of `qrsub`: `-l`, `-q`, `-masterq`, `-pe`, `-ckpt`.
    resources: str = ""
    queues: str = ""
    master_queues: str = ""
    parallel: str = ""
    checkpoint: str = ""
    #: Whether queues had to be interactive (`-now y`).
    interactive: bool = False
    #: The parallel environment that it got; "" for none.
    environment: str = ""
    #: Who may use it: users, and user lists as ``@name``; empty for the owner.
    users: tuple[str, ...] = ()
    #: `-he y`: none of its jobs starts while one of its queue instances is in error.
    hard_errors: bool = False
    mail_options: str = ""
    mail_list: str = ""
    #: Whether it has been deleted and disappears as soon as its jobs have left.
    deleted: bool = False
    #: Whether its start time has been reached.
    begun: bool = False

    @property
    def slots(self) -> int:
        """Slots of all instances."""
        return sum(each.slots for each in self.grants)

    @property
    def pairs(self) -> tuple[tuple[str, int], ...]:
        """The grants as pairs of queue instance and slots."""
        return tuple((each.instance, each.slots) for each in self.grants)

    @property
    def duration(self) -> float:
        """How long it lasts, s."""
        return self.end - self.start


def digest_names(reservations: Iterable[AdvanceReservation]) -> dict[str, str]:
    """Names that identify the state of reservations: one for each, with letters for its state."""
    return {f"advance reservation {one.number}": "r" * one.begun + "d" * one.deleted for one in reservations}
