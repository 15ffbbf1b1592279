"""What a queue can be asked about the Grid Engine cell of its pool: its text, changes of it, and who made them."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias, TypeVar

from roost.model.cell_reservations import AdvanceReservation
from roost.wire.requests.verb import AdData, Asker, Daemon, Request, Verb, question, table
from roost.wire.structs import Between, Count, Struct

_R_co = TypeVar("_R_co", covariant=True)

#: Code of a refusal: the user, or the queue, has as many jobs as the cell allows.
OVER_LIMIT: Final = "cell-job-limit"


class CellFile(Struct):
    """The text of one object, as `roost cell export` writes it."""

    #: As in the directory of a cell, such as ``cqueues/all.q``.
    name: str
    text: str
    #: Number of the change after which the cell is so; the same in all rows.
    revision: int


class ReadCell(Request[list[CellFile]]):
    """The cell of the pool; no rows if it has none."""


class ChangedAttribute(Struct):
    """An attribute before and after a change; empty where it is missing."""

    name: str
    before: str = ""
    after: str = ""


class CellChange(Struct):
    """A change of one object."""

    #: add, modify or delete
    verb: str
    kind: str
    name: str
    attributes: tuple[ChangedAttribute, ...] = ()


class CellChanged(Struct):
    """What a change of the cell did."""

    #: The number of the change; that of the last one if nothing changed.
    revision: int
    changes: tuple[CellChange, ...]


class ChangeCell(Request[CellChanged]):
    """Change the cell: texts of objects, new or changed, and objects that go. All of it happens, or nothing."""

    #: The change that the asker has seen last; where there was another since, nothing happens. 0 means no cell.
    revision: Count
    put: dict[str, str]
    drop: tuple[str, ...] = ()
    #: The last job number of the system that the cell comes from: new jobs get higher ones. 0 for none.
    last_job: Count = 0


class EditLine(Struct):
    """A line that `qconf` prints."""

    text: str
    #: On standard output, not on standard error.
    out: bool = False


class EditedCell(Struct):
    """What became of an edit. Parts of it may have been refused while others happened."""

    #: The number of the change; that of the last one if nothing changed.
    revision: int
    lines: tuple[EditLine, ...] = ()
    #: Exit status of `qconf`.
    status: int = 0
    #: What the cell has since then and pools do not carry out.
    warnings: tuple[str, ...] = ()
    #: Names of hosts that nothing is known of; then nothing happened, and the asker may say which of them it knows.
    unknown_hosts: tuple[str, ...] = ()


class EditCell(Request[EditedCell]):
    """Change the cell as an option of `qconf` does; managers of the cell may, and operators some of it."""

    #: Without its dash, and with a file where there is a form with a file: `Mq` for `-mq` too.
    option: str
    words: tuple[str, ...] = ()
    #: The text of the file, and how messages name it.
    text: str = ""
    file: str = ""
    #: The text comes from an editor.
    edited: bool = False
    #: Where it was typed, for messages.
    host: str = ""
    #: Hosts that the asker knows; None before it was asked for them.
    hosts: tuple[str, ...] | None = None


class CellEntry(Struct):
    """A change that was made."""

    revision: int
    #: Epoch s.
    at: float
    #: Whose it was.
    actor: str
    changes: tuple[CellChange, ...]


class CellLog(Request[list[CellEntry]]):
    """The last changes of the cell, the last first."""

    limit: Annotated[int, Between(1, 1000)] = 20


class HeldTask(Struct):
    """What a job of a queue has of the cell, or was just given."""

    slot: str
    node: str
    claim_id: str
    #: Its machine was asked for the slot, and has not answered.
    asked: bool
    task: AdData


class CellTasks(Request[list[HeldTask]]):
    """What the jobs of a queue have of the cell: a central manager that starts asks before it gives anything away."""


class InstanceState(Struct):
    """A state that a queue instance was given."""

    name: str
    #: d and s; "" where the last was taken away
    letters: str
    #: Epoch s.
    at: float
    #: The user who gave it last.
    actor: str


class InstanceStates(Request[list[InstanceState]]):
    """The states that queue instances were given; instances without a row have their `initial_state`."""


class UsageRow(Struct):
    """What a user has used of the cell, in a project and a department ("" for none)."""

    user: str
    project: str
    department: str
    #: When the recent sums were these, epoch s.
    at: float
    #: ``cpu`` (s), ``mem`` (GiB s) and ``io`` (GiB): sums that decay, and those that don't.
    recent: dict[str, float]
    total: dict[str, float]
    #: One figure for the recent sums, by `usage_weight_list`.
    usage: float


class Usage(Request[list[UsageRow]]):
    """What users have used of the cell until now."""


class UsageForgotten(Struct):
    """What a queue has forgotten."""

    #: Accounts that there were.
    accounts: int


class ClearUsage(Request[UsageForgotten]):
    """Forget what users have used; managers of the cell may."""


class _Accounted(Request[_R_co]):
    """A request about ended runs: all of those for which all fields hold; None and "" mean any."""

    host: str | None = None
    #: Queue instances, with wildcards; empty for any.
    instances: tuple[str, ...] = ()
    group: str | None = None
    owner: str | None = None
    project: str | None = None
    department: str | None = None
    environment: str | None = None
    slots: Count | None = None
    account: str | None = None
    #: First and last instant at which they started, epoch s.
    since: int | None = None
    until: int | None = None
    #: The instants are those of the end.
    by_end: bool = False


#: What runs are summed by.
AccountingKey: TypeAlias = Literal[
    "host", "queue", "group", "owner", "project", "department", "environment", "slots", "account"
]


class AccountingSum(Struct):
    """Figures of all runs that are alike in some fields; those that were not asked for are "" and 0."""

    runs: int
    #: wallclock, utime, stime, cpu, iow (s), mem (GiB s) and io (GiB)
    figures: dict[str, float]
    host: str = ""
    queue: str = ""
    group: str = ""
    owner: str = ""
    project: str = ""
    department: str = ""
    environment: str = ""
    slots: int = 0
    account: str = ""


class AccountingSums(_Accounted[list[AccountingSum]]):
    """What ended runs have used."""

    #: A row for each of the values that they have of these; empty for one row of all.
    by: tuple[AccountingKey, ...] = ()


class AccountingLines(_Accounted[list[str]]):
    """Ended runs, as lines of the accounting file, the first first."""

    #: Of this job; `tasks` of it, empty for all.
    job: Count | None = None
    tasks: tuple[Count, ...] = ()
    #: A name of jobs, with wildcards; "" for any.
    name: str = ""


class AccountingForm(Struct):
    """How `qacct` prints figures."""

    #: With units behind them.
    suffixes: bool


class AskAccountingForm(Request[AccountingForm]):
    """How `qacct` prints figures in this pool."""


#: "already": it was in that state before; "denied": the asker may not do that; "unknown": there is no such instance.
Outcome: TypeAlias = Literal["changed", "already", "denied", "unknown"]


class ChangedInstance(Struct):
    """What became of a queue instance."""

    #: As it was given where that means no instance.
    name: str
    outcome: Outcome


#: What instances are asked to become; "clear" takes away the error state, so that the instance takes jobs again.
InstanceChange: TypeAlias = Literal["disable", "enable", "suspend", "resume", "clear"]


class ChangeInstances(Request[list[ChangedInstance]]):
    """Change the states of queue instances; operators and managers of the cell may, and owners of the instances."""

    action: InstanceChange
    #: Queues, instances and queue domains, with wildcards.
    names: tuple[str, ...]


class Reservations(Request[list[AdvanceReservation]]):
    """The advance reservations that the queue keeps."""


class KeptReservation(Struct):
    """The number that a reservation has got."""

    number: int


class KeepReservation(Request[KeptReservation]):
    """Keep an advance reservation that the central manager has found resources for."""

    reservation: AdvanceReservation
    #: The revision of the cell that they were found by.
    revision: Count


class DeletedReservation(Struct):
    """What became of a reservation that was to be deleted."""

    number: int
    #: "registered": it goes when its jobs have left; "denied": the asker may not do that; "unknown": there is none.
    outcome: Literal["deleted", "registered", "denied", "unknown"]


class DeleteReservations(Request[list[DeletedReservation]]):
    """Delete advance reservations with their jobs; their owners may, and managers and operators of the cell."""

    numbers: tuple[Count, ...] = ()
    #: All reservations of these users, beside the numbers; ``*`` for all users.
    users: tuple[str, ...] = ()
    #: They go at once, whatever their jobs do.
    force: bool = False


class ReservationEvent(Struct):
    """Something that happened to an advance reservation, as the reporting file tells of it."""

    #: Epoch s.
    at: float
    #: created, started, ended, deleted
    event: str
    #: Its letter from then on.
    state: str
    actor: str
    reservation: AdvanceReservation


class ReservationLog(Request[list[ReservationEvent]]):
    """What happened to advance reservations, the first first."""

    #: Of this one; None for all.
    number: Count | None = None
    limit: Annotated[int, Between(1, 10_000)] = 1000


CELL: Final = table(
    Daemon.QUEUE,
    Verb(
        "cell-tasks", CellTasks, Asker.ADMINISTRATOR_OR_CENTRAL,
        "what the jobs of the queue have of the Grid Engine cell", question=True,
    ),
    question("cell", ReadCell, "the Grid Engine cell of the pool"),
    Verb("cell-change", ChangeCell, Asker.ADMINISTRATOR, "change the Grid Engine cell of the pool"),
    Verb("cell-edit", EditCell, Asker.USER, "change one object of the Grid Engine cell, as `qconf` does"),
    question("cell-states", InstanceStates, "the states that queue instances were given"),
    Verb("cell-instances", ChangeInstances, Asker.USER, "disable, enable, suspend, resume and clear queue instances"),
    question("cell-reservations", Reservations, "the advance reservations in the Grid Engine cell"),
    question("cell-reservation-log", ReservationLog, "what happened to advance reservations"),
    Verb(
        "cell-reservation-keep", KeepReservation, Asker.ADMINISTRATOR_OR_CENTRAL,
        "keep an advance reservation that the central manager grants",
    ),
    Verb("cell-reservation-delete", DeleteReservations, Asker.USER, "delete advance reservations"),
    question("cell-usage", Usage, "what users have used of the Grid Engine cell"),
    Verb("cell-clear-usage", ClearUsage, Asker.USER, "forget what users have used of the cell"),
    question("cell-accounting", AccountingSums, "what ended runs in the Grid Engine cell have used"),
    question("cell-accounting-form", AskAccountingForm, "how accounting is printed"),
    question("cell-accounting-lines", AccountingLines, "ended runs in the Grid Engine cell"),
    question("cell-log", CellLog, "who changed the Grid Engine cell, when and how"),
)  # fmt: skip
