"""Requests to the central manager: ads, the last matchmaking cycle, the audit trail, users' accounts."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from roost.model.audit import AuditRecord
from roost.model.cell_reservations import AdvanceReservation
from roost.model.cycle_answers import CycleFigures, JobInCell, JobInCycle, SlotInCycle
from roost.wire.requests.verb import (
    JOBS_PATTERN,
    Asker,
    Daemon,
    Request,
    StillToAnswer,
    Verb,
    question,
    table,
    under_way,
)  # fmt: skip
from roost.wire.structs import AdData, Between, Count, Matching, OneOf, Struct


def _kinds() -> tuple[object, ...]:
    from roost.model.audit import AuditKind

    return tuple(AuditKind)


def _effects() -> tuple[object, ...]:
    from roost.model.audit import Effect

    return tuple(Effect)


#: Maximum number of records in one page of the audit trail.
AUDIT_PAGE_ROWS: Final = 1_000


class Ads(Request[list[AdData]]):
    """Ads of the pool."""

    #: MyType; "" for all.
    kind: str = ""
    #: An expression that must be true for the ads; None for all.
    constraint: str | None = None
    #: Only the ads with these names; empty for all.
    names: tuple[str, ...] = ()
    #: Only these attributes; empty for all.
    projection: tuple[str, ...] = ()
    #: Return values rather than expressions for the projection.
    values: bool = False
    #: Return the value of these attributes if it is a string, otherwise the expression.
    texts: tuple[str, ...] = ()
    #: Maximum number of ads; 0 for all.
    limit: Count = 0

    def _problem(self) -> str:
        alone = [name for name in ("values", "texts") if getattr(self, name) and not self.projection]
        return f"{alone[0]} affects how a projection is shown, but none is given" if alone else ""


class Advertised(Struct):
    """Numbers of ads published and withdrawn."""

    taken: int
    gone: int


class Advertise(Request[Advertised]):
    """Publish ads, which must have MyType and Name, or withdraw some."""

    ads: tuple[AdData, ...] = ()
    #: Names of the ads to withdraw, and their MyType; "" for any.
    gone: tuple[str, ...] = ()
    kind: str = ""

    def _problem(self) -> str:
        return "kind is the type of the ads to withdraw, but none are given" if self.kind and not self.gone else ""


class AuditPage(Struct):
    """Records of the audit trail."""

    records: list[AuditRecord]
    #: Number of the last record, for `AuditTrail.after`.
    last: int
    #: Whether more records follow.
    more: bool


class AuditTrail(Request[AuditPage]):
    """Audit records; empty fields match any."""

    #: Epoch s.
    since: float | None = None
    until: float | None = None
    kinds: tuple[Annotated[str, OneOf(_kinds)], ...] = ()
    effects: tuple[Annotated[str, OneOf(_effects)], ...] = ()
    #: The user who ordered it, who owned the job, or who was disadvantaged.
    user: str = ""
    #: A machine, or a slot of it.
    machine: str = ""
    job: Annotated[str, Matching(rf"|{JOBS_PATTERN}", "a job (12.0) or a cluster (12)")] = ""
    #: The id of the request that led to it, or that submitted its job.
    request: str = ""
    #: The deciding expression.
    knob: str = ""
    #: A prefix of the digest of the configuration.
    configuration: str = ""
    #: Only records after this number, in order; None for newest first.
    after: Count | None = None
    limit: Annotated[int, Between(1, AUDIT_PAGE_ROWS)] = AUDIT_PAGE_ROWS


class Rejected(Struct):
    """Why a request got no slot."""

    text: str
    #: Cause to number of slots.
    causes: dict[str, int]


class LastCycle(Struct):
    """The last matchmaking cycle."""

    #: Number of cycles since the central manager started; 0 for none yet.
    cycles: int
    #: Duration of the last cycle.
    seconds: float
    figures: CycleFigures
    #: Queue and autocluster, separated by a space, to the reason why it got nothing.
    rejections: dict[str, Rejected]


class Cycle(Request[LastCycle]):
    """The last matchmaking cycle."""


class ExplainJob(Request[JobInCycle | JobInCell | None]):
    """The last cycle's result for a job's autocluster; None if the cycle had no request for it."""

    #: As in the queue's `Autocluster`.
    schedd: str
    submitter: str
    autocluster: int


class ExplainSlot(Request[SlotInCycle | None]):
    """The last cycle's result for a slot; None if the cycle did not see it."""

    slot: str


class HostOffer(Struct):
    """What a host or a queue instance of the cell currently has of a resource."""

    name: str
    #: The source, as shown by `qhost -F`: q, h or g for the instance, the host or the whole cell; l, f or c for a load
    #: value, a configured value or the rest of a consumable.
    source: str
    #: "infinity" for an infinite number.
    value: float | str

    @property
    def amount(self) -> float | str:
        """The value with infinity as a number."""
        return float("inf") if self.value == "infinity" else self.value


class InstanceStatus(Struct):
    """A queue instance of the pool's Grid Engine cell, as listed by `qstat -f`."""

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
    #: Why it accepts no jobs, one sentence each.
    reasons: tuple[str, ...] = ()
    #: Slots in use by advance reservations.
    reserved: int = 0
    #: ``np_load_avg``; None if its host does not report it.
    load_per_processor: float | None = None
    #: With `details`: its resources, and the causes of its states a, A, c and E: the letter, a space and the text.
    offers: tuple[HostOffer, ...] = ()
    explained: tuple[str, ...] = ()


class QueueInstances(Request[list[InstanceStatus]]):
    """The queue instances of the pool's Grid Engine cell; no rows if the pool has none."""

    details: bool = False


class CellHost(Struct):
    """An execution host of the cell, or ``global``."""

    name: str
    #: Load values reported by its machine, by complex; empty if it reports none.
    reported: dict[str, str]
    offers: tuple[HostOffer, ...]


class CellHosts(Request[list[CellHost]]):
    """The execution hosts of the pool's Grid Engine cell, ``global`` first; no rows if the pool has none."""


class CellPriority(Struct):
    """The priority of a job in the last scheduling run, and its components, as shown by `qstat -pri` and `-urg`."""

    schedd: str
    cluster: int
    #: By the names of `roost.model.cell_priority.Priority`: priority; posix, urgency_share and ticket_share (0 to 1);
    #: resources, waiting and deadline, the sums of the urgency; override, functional and share, the tickets.
    figures: dict[str, float]
    #: Whether its waiting tasks are left out of the run: its user has as many jobs as `maxujobs` allows.
    user_limit: bool = False


class CellPriorities(Request[list[CellPriority]]):
    """The priorities of the jobs in the last scheduling run of the pool's Grid Engine cell."""


class Reserved(Struct):
    """The result of a request for an advance reservation."""

    #: 0 if none was made.
    number: int
    #: Slots that it has, or would have.
    slots: int = 0
    #: Why the resources are insufficient, one sentence each.
    reasons: tuple[str, ...] = ()


class Reserve(Request[Reserved]):
    """Make an advance reservation in the pool's Grid Engine cell; allowed for users of the list arusers, and
    managers.
    """

    #: The request; the number, the owner, the time of submission and the grants are ignored.
    reservation: AdvanceReservation
    #: Only check whether the resources are sufficient.
    verify: bool = False

    def _problem(self) -> str:
        one = self.reservation
        return "" if one.start < one.end else "the reservation ends before it begins"


class ReservationState(Struct):
    """The current state of an advance reservation."""

    reservation: AdvanceReservation
    #: Its letter.
    state: str
    #: Problems of its queue instances, one sentence each.
    messages: tuple[str, ...] = ()


class CellReservations(Request[list[ReservationState]]):
    """The advance reservations in the pool's Grid Engine cell."""


class RunsOfCell(Struct):
    """Whether the scheduling runs of the pool's Grid Engine cell take place."""

    active: bool
    #: Whether the request changed that.
    changed: bool = False


class CellScheduling(Request[RunsOfCell]):
    """Stop the scheduling runs of the pool's Grid Engine cell, or resume them; allowed for managers of the cell and
    administrators.

    Without runs no waiting job starts, and no job is suspended or resumed. They resume when the central manager
    restarts.
    """

    #: None leaves it as it is, which every user may ask for.
    active: bool | None = None


class StopCentral(Request[None]):
    """Stop the central manager's daemon until `roost up` starts it again; allowed for administrators and managers of
    the cell.
    """


class UnderWay(StillToAnswer):
    """Whether this process of the central manager has received a request, and has not answered it: no other process
    will.
    """


class Users(Request[list[AdData]]):
    """The accounts of users: priorities, factors, usage."""


class UserChanged(Struct):
    """An account after its change."""

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
    #: Limits on the weight of slots; None for no limit.
    floor: float | None = None
    ceiling: float | None = None
    #: Weight times s, and epoch s; None leaves a value unchanged.
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
    Verb("advertise", Advertise, Asker.USER, "publish and withdraw ads that no daemon owns"),
    question("audit", AuditTrail, "the audit trail"),
    question("cell-hosts", CellHosts, "the execution hosts of the pool's Grid Engine cell"),
    question("cell-priorities", CellPriorities, "the priorities of jobs in the pool's Grid Engine cell"),
    Verb("cell-reserve", Reserve, Asker.USER, "make an advance reservation in the pool's Grid Engine cell"),
    question("cell-reservation-states", CellReservations, "the advance reservations in the pool's Grid Engine cell"),
    Verb("cell-scheduling", CellScheduling, Asker.USER, "stop and resume the scheduling runs of the pool's cell"),
    question("cycle", Cycle, "the last matchmaking cycle"),
    question("explain-job", ExplainJob, "why a job is not matched"),
    question("explain-slot", ExplainSlot, "why a slot is not matched"),
    question("queue-instances", QueueInstances, "the queue instances of the pool's Grid Engine cell"),
    Verb(
        "stop",
        StopCentral,
        Asker.USER,
        "stop the central manager's daemon; administrators, and managers of the pool's cell",
    ),
    under_way(UnderWay),
    question("userprio", Users, "priorities and usage of users"),
    Verb(
        "userprio-set", ChangeUser, Asker.ADMINISTRATOR,
        "change the priority, factor, bounds or usage of a user, or delete it",
    ),
)  # fmt: skip
