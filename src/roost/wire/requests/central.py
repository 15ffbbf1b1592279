"""What the central manager can be asked: ads, the last matchmaking cycle, the audit trail, users' accounts."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from roost.model.audit import AuditRecord
from roost.model.cell_reservations import AdvanceReservation
from roost.model.cycle_answers import CycleFigures, JobInCell, JobInCycle, SlotInCycle
from roost.wire.requests.verb import (
    JOBS_PATTERN,
    AdData,
    Asker,
    Daemon,
    Request,
    StillToAnswer,
    Verb,
    question,
    table,
    under_way,
)  # fmt: skip
from roost.wire.structs import Between, Count, Matching, OneOf, Struct


def _kinds() -> tuple[object, ...]:
    from roost.model.audit import AuditKind

    return tuple(AuditKind)


def _effects() -> tuple[object, ...]:
    from roost.model.audit import Effect

    return tuple(Effect)


#: Most records of one page of the audit trail.
AUDIT_PAGE_ROWS: Final = 1_000


class Ads(Request[list[AdData]]):
    """Ads of the pool."""

    #: MyType; "" for all.
    kind: str = ""
    #: An expression that is true of the ads; None for all.
    constraint: str | None = None
    #: Only the ads of these names; empty for all.
    names: tuple[str, ...] = ()
    #: Only these attributes; empty for all.
    projection: tuple[str, ...] = ()
    #: Of the projection the values, not the expressions.
    values: bool = False
    #: Of these attributes the value if it is a string, else the expression.
    texts: tuple[str, ...] = ()
    #: At most so many; 0 for all.
    limit: Count = 0

    def _problem(self) -> str:
        alone = [name for name in ("values", "texts") if getattr(self, name) and not self.projection]
        return f"{alone[0]} says how a projection is shown, and there is none" if alone else ""


class Advertised(Struct):
    """How many ads were published, and how many withdrawn."""

    taken: int
    gone: int


class Advertise(Request[Advertised]):
    """Publish ads, which have MyType and Name, or withdraw some."""

    ads: tuple[AdData, ...] = ()
    #: Names of the ads to withdraw, and their MyType; "" for any.
    gone: tuple[str, ...] = ()
    kind: str = ""

    def _problem(self) -> str:
        return "kind is the type of ads to withdraw, and there are none" if self.kind and not self.gone else ""


class AuditPage(Struct):
    """Records of the audit trail."""

    records: list[AuditRecord]
    #: Number of the last, for `AuditTrail.after`.
    last: int
    #: There are more after it.
    more: bool


class AuditTrail(Request[AuditPage]):
    """Decisions on record; what is empty does not matter."""

    #: Epoch s.
    since: float | None = None
    until: float | None = None
    kinds: tuple[Annotated[str, OneOf(_kinds)], ...] = ()
    effects: tuple[Annotated[str, OneOf(_effects)], ...] = ()
    #: The user who ordered it, who owned the job, or who was put at a disadvantage.
    user: str = ""
    #: A machine, or a slot of it.
    machine: str = ""
    job: Annotated[str, Matching(rf"|{JOBS_PATTERN}", "a job (12.0) or a cluster (12)")] = ""
    #: The id of the request that led to it, or that submitted its job.
    request: str = ""
    #: The expression that decided.
    knob: str = ""
    #: The first characters of the digest of the configuration.
    configuration: str = ""
    #: Records after this number only, in their order; None for the newest first.
    after: Count | None = None
    limit: Annotated[int, Between(1, AUDIT_PAGE_ROWS)] = AUDIT_PAGE_ROWS


class Rejected(Struct):
    """Why a request got no slot."""

    text: str
    #: Cause to number of slots.
    causes: dict[str, int]


class LastCycle(Struct):
    """The last matchmaking cycle."""

    #: Cycles since the central manager started; 0 for none yet.
    cycles: int
    #: How long the last one took.
    seconds: float
    figures: CycleFigures
    #: Queue and autocluster, with a space between, to why it got nothing.
    rejections: dict[str, Rejected]


class Cycle(Request[LastCycle]):
    """The last matchmaking cycle."""


class ExplainJob(Request[JobInCycle | JobInCell | None]):
    """What the last cycle made of a job's autocluster; None if the cycle was not asked for it."""

    #: As the queue's `Autocluster` says.
    schedd: str
    submitter: str
    autocluster: int


class ExplainSlot(Request[SlotInCycle | None]):
    """What the last cycle made of a slot; None if it did not see it."""

    slot: str


class HostOffer(Struct):
    """What a host or a queue instance of the cell has of a resource now."""

    name: str
    #: Where it comes from, as `qhost -F` shows it: q, h or g for the instance, the host or the
    #: whole cell; l, f or c for a load value, a configured value or what is left of a consumable.
    source: str
    #: "infinity" for an infinite number.
    value: float | str

    @property
    def amount(self) -> float | str:
        """The value with infinity as a number."""
        return float("inf") if self.value == "infinity" else self.value


class QueueInstance(Struct):
    """A queue instance of the pool's Grid Engine cell, as `qstat -f` lists it."""

    name: str
    #: B for batch, I for interactive, C for checkpointing, P for parallel jobs.
    types: str
    used: int
    total: int
    #: None if its host does not report it.
    load: float | None
    architecture: str
    #: Letters.
    states: str
    #: Why it takes no jobs, a sentence each.
    reasons: tuple[str, ...] = ()
    #: Slots that advance reservations have now.
    reserved: int = 0
    #: ``np_load_avg``; None if its host does not report it.
    load_per_processor: float | None = None
    #: With `details`: what it has, and what has led to its states a, A, c and E: the letter, a blank and the words.
    offers: tuple[HostOffer, ...] = ()
    explained: tuple[str, ...] = ()


class QueueInstances(Request[list[QueueInstance]]):
    """The queue instances of the pool's Grid Engine cell; no rows if the pool has none."""

    details: bool = False


class CellHost(Struct):
    """An execution host of the cell, or ``global``."""

    name: str
    #: Load values as its machine reports them, by complex; empty for one that does not.
    reported: dict[str, str]
    offers: tuple[HostOffer, ...]


class CellHosts(Request[list[CellHost]]):
    """The execution hosts of the pool's Grid Engine cell, ``global`` first; no rows if the pool has none."""


class CellPriority(Struct):
    """The priority of a job in the last scheduling run, and what it is made of, as `qstat -pri` and `-urg` show it."""

    schedd: str
    cluster: int
    #: By the names of `roost.model.cell_priority.Priority`: priority; posix, urgency_share and ticket_share (0 to 1);
    #: resources, waiting and deadline, the sums of the urgency; override, functional and share, the tickets.
    figures: dict[str, float]
    #: Whether what waits of it is left out of the run: its user has as many jobs as `maxujobs` allows.
    user_limit: bool = False


class CellPriorities(Request[list[CellPriority]]):
    """The priorities of the jobs that the last scheduling run of the pool's Grid Engine cell has seen."""


class Reserved(Struct):
    """What became of a request for an advance reservation."""

    #: 0 if none was made.
    number: int
    #: Slots that it has, or would have.
    slots: int = 0
    #: Why there is not enough, a sentence each.
    reasons: tuple[str, ...] = ()


class Reserve(Request[Reserved]):
    """Make an advance reservation in the pool's Grid Engine cell; users of the list arusers may, and managers."""

    #: What is asked for; the number, the owner, the time of submission and the grants are left out of account.
    reservation: AdvanceReservation
    #: Only find out whether there is enough.
    verify: bool = False

    def _problem(self) -> str:
        one = self.reservation
        return "" if one.start < one.end else "the reservation ends before it begins"


class ReservationState(Struct):
    """An advance reservation as it is now."""

    reservation: AdvanceReservation
    #: Its letter.
    state: str
    #: What is wrong with its queue instances, a sentence each.
    messages: tuple[str, ...] = ()


class CellReservations(Request[list[ReservationState]]):
    """The advance reservations in the pool's Grid Engine cell."""


class UnderWay(StillToAnswer):
    """Whether this process of the central manager has a request, and has not answered it: another one never will."""


class Users(Request[list[AdData]]):
    """The accounts of users: priorities, factors, usage."""


class UserChanged(Struct):
    """An account has been changed."""

    user: str
    action: str


UserAction: TypeAlias = Literal["set-factor", "set-priority", "set-bounds", "set-usage", "reset", "delete"]
#: Action to the fields that it takes.
_TAKES: Final = {
    "set-factor": ("value",), "set-priority": ("value",), "set-bounds": ("floor", "ceiling"),
    "set-usage": ("used_s", "began", "last"), "reset": (), "delete": (),
}  # fmt: skip


class ChangeUser(Request[UserChanged]):
    """Change the account of a user, or delete it."""

    action: UserAction
    user: str
    #: The factor, None for the configuration's; or the real priority.
    value: float | None = None
    #: Weights of slots; None for no bound.
    floor: float | None = None
    ceiling: float | None = None
    #: Weight times s, and epoch s; None leaves a figure as it is.
    used_s: float | None = None
    began: float | None = None
    last: float | None = None

    def _problem(self) -> str:
        for name in self._names:
            if name not in ("action", "user", *_TAKES[self.action]) and getattr(self, name) is not None:
                return f"{self.action} does not take {name}"
        return "set-priority needs value" if self.action == "set-priority" and self.value is None else ""


CENTRAL: Final = table(
    Daemon.CENTRAL,
    question("ads", Ads, "ads of the pool"),
    Verb("advertise", Advertise, Asker.USER, "publish ads that are not a daemon's, and withdraw them"),
    question("audit", AuditTrail, "the audit trail"),
    question("cell-hosts", CellHosts, "the execution hosts of the pool's Grid Engine cell"),
    question("cell-priorities", CellPriorities, "the priorities of jobs in the pool's Grid Engine cell"),
    Verb("cell-reserve", Reserve, Asker.USER, "make an advance reservation in the pool's Grid Engine cell"),
    question("cell-reservation-states", CellReservations, "the advance reservations in the pool's Grid Engine cell"),
    question("cycle", Cycle, "the last matchmaking cycle"),
    question("explain-job", ExplainJob, "why a job is not matched"),
    question("explain-slot", ExplainSlot, "why a slot is not matched"),
    question("queue-instances", QueueInstances, "the queue instances of the pool's Grid Engine cell"),
    under_way(UnderWay),
    question("userprio", Users, "priorities and usage of users"),
    Verb(
        "userprio-set", ChangeUser, Asker.ADMINISTRATOR,
        "change the priority, factor, bounds or usage of a user, or delete it",
    ),
)  # fmt: skip
