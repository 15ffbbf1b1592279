"""Requests to a queue about the Grid Engine cell of its pool: its text, its changes, and their authors."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias, TypeVar

from roost.model.cell_reservations import AdvanceReservation
from roost.wire.requests.verb import Asker, Daemon, Request, Verb, question, table
from roost.wire.structs import Between, Count, Struct, TaskData

_R_co = TypeVar("_R_co", covariant=True)

#: Code of a refusal: the user, or the queue, has as many jobs as the cell allows.
OVER_LIMIT: Final = "cell-job-limit"


class CellFile(Struct):
    """The text of one object, as `roost cell export` writes it."""

    #: The path in the directory of a cell, such as ``cqueues/all.q``.
    name: str
    text: str
    #: Number of the last change of the cell; the same in all rows.
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
    """The result of a change of the cell."""

    #: The number of the change; that of the last one if nothing changed.
    revision: int
    changes: tuple[CellChange, ...]


class ChangeCell(Request[CellChanged]):
    """Change the cell: new or changed texts of objects, and deleted objects. All changes are made, or none."""

    #: The last change that the requester has seen; if there was another since, nothing changes. 0 means no cell.
    revision: Count
    put: dict[str, str]
    drop: tuple[str, ...] = ()
    #: The last job number of the system from which the cell was imported: new jobs get higher ones. 0 for none.
    last_job: Count = 0


class EditLine(Struct):
    """A line that `qconf` prints."""

    text: str
    #: Whether it goes to standard output rather than standard error.
    out: bool = False


class EditedCell(Struct):
    """The result of an edit. Parts of it may have been refused while others were made."""

    #: The number of the change; that of the last one if nothing changed.
    revision: int
    lines: tuple[EditLine, ...] = ()
    #: Exit status of `qconf`.
    status: int = 0
    #: Settings of the changed cell that pools do not implement.
    warnings: tuple[str, ...] = ()
    #: Unknown host names; then nothing was changed, and the requester may say which of them it knows.
    unknown_hosts: tuple[str, ...] = ()


class EditCell(Request[EditedCell]):
    """Change the cell as an option of `qconf` does; allowed for managers of the cell, and in part for operators."""

    #: Without its dash, in the form with a file if there is one: `Mq` for `-mq` too.
    option: str
    words: tuple[str, ...] = ()
    #: The text of the file, and its name in messages.
    text: str = ""
    file: str = ""
    #: Whether the text comes from an editor.
    edited: bool = False
    #: Where it was typed, for messages.
    host: str = ""
    #: Hosts that the requester knows; None before it was asked for them.
    hosts: tuple[str, ...] | None = None


class CellEntry(Struct):
    """A change that was made."""

    revision: int
    #: Epoch s.
    at: float
    #: Its author.
    actor: str
    changes: tuple[CellChange, ...]


class CellLog(Request[list[CellEntry]]):
    """The latest changes of the cell, newest first."""

    limit: Annotated[int, Between(1, 1000)] = 20


class HeldTask(Struct):
    """What a job of a queue uses of the cell, or was just granted."""

    slot: str
    node: str
    claim_id: str
    #: The slot was requested from its machine, which has not answered.
    asked: bool
    task: TaskData


class CellTasks(Request[list[HeldTask]]):
    """What the jobs of a queue use of the cell: a starting central manager asks before it assigns anything."""


class InstanceState(Struct):
    """A state that a queue instance was given."""

    name: str
    #: d and s; "" if the last was removed
    letters: str
    #: Epoch s.
    at: float
    #: The user who changed it last.
    actor: str


class InstanceStates(Request[list[InstanceState]]):
    """The states that queue instances were given; instances without a row have their `initial_state`."""


class UsageRow(Struct):
    """A user's usage of the cell, in a project and a department ("" for none)."""

    user: str
    project: str
    department: str
    #: The time for which the recent sums are given, epoch s.
    at: float
    #: ``cpu`` (s), ``mem`` (GiB s) and ``io`` (GiB): sums that decay, and those that do not.
    recent: dict[str, float]
    total: dict[str, float]
    #: The recent sums as one number, weighted by `usage_weight_list`.
    usage: float


class Usage(Request[list[UsageRow]]):
    """The users' usage of the cell until now."""


class UsageForgotten(Struct):
    """The usage that a queue has cleared."""

    #: Number of accounts that existed.
    accounts: int


class ClearUsage(Request[UsageForgotten]):
    """Clear the users' usage; allowed for managers of the cell."""


class _Accounted(Request[_R_co]):
    """A request about finished runs: those for which all fields hold; None and "" mean any."""

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
    #: Earliest and latest start, epoch s.
    since: int | None = None
    until: int | None = None
    #: Use the end instead of the start.
    by_end: bool = False


#: The fields by which runs are summed.
AccountingKey: TypeAlias = Literal[
    "host", "queue", "group", "owner", "project", "department", "environment", "slots", "account"
]


class AccountingSum(Struct):
    """Figures of all runs with the same values in some fields; fields that were not requested are "" and 0."""

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
    """The usage of finished runs."""

    #: One row for each combination of values of these fields; empty for one row in total.
    by: tuple[AccountingKey, ...] = ()


class AccountingLines(_Accounted[list[str]]):
    """Finished runs, as lines of the accounting file, oldest first."""

    #: Only this job; only these `tasks` of it, empty for all.
    job: Count | None = None
    tasks: tuple[Count, ...] = ()
    #: A name of jobs, with wildcards; "" for any.
    name: str = ""


class AccountingForm(Struct):
    """How `qacct` prints figures."""

    #: With units.
    suffixes: bool


class AskAccountingForm(Request[AccountingForm]):
    """How `qacct` prints figures in this pool."""


#: "already": it was in that state before; "denied": the requester is not permitted; "unknown": there is no such
#: instance.
Outcome: TypeAlias = Literal["changed", "already", "denied", "unknown"]


class ChangedInstance(Struct):
    """The result for one queue instance."""

    #: The name as given if it matches no instance.
    name: str
    outcome: Outcome


#: The new state of instances; "clear" clears the error state, so that the instance accepts jobs again.
InstanceChange: TypeAlias = Literal["disable", "enable", "suspend", "resume", "clear"]


class ChangeInstances(Request[list[ChangedInstance]]):
    """Change the states of queue instances; allowed for operators and managers of the cell, and owners of the
    instances.
    """

    action: InstanceChange
    #: Queues, instances and queue domains, with wildcards.
    names: tuple[str, ...]


class Reservations(Request[list[AdvanceReservation]]):
    """The advance reservations that the queue stores."""


class KeptReservation(Struct):
    """The number assigned to a reservation."""

    number: int


class KeepReservation(Request[KeptReservation]):
    """Store an advance reservation for which the central manager has found resources."""

    reservation: AdvanceReservation
    #: The revision of the cell for which they were found.
    revision: Count


class ReportLoads(Request[None]):
    """Write the load reports of hosts to the reporting file of the cell."""

    #: Host to its values, in the form of the file.
    loads: dict[str, str]


class DeletedReservation(Struct):
    """The result of deleting a reservation."""

    number: int
    #: "registered": it is deleted when its jobs have left; "denied": the requester is not permitted; "unknown": there
    #: is none.
    outcome: Literal["deleted", "registered", "denied", "unknown"]


class DeleteReservations(Request[list[DeletedReservation]]):
    """Delete advance reservations with their jobs; allowed for their owners, and managers and operators of the cell."""

    numbers: tuple[Count, ...] = ()
    #: All reservations of these users, besides the numbers; ``*`` for all users.
    users: tuple[str, ...] = ()
    #: Delete them at once, whatever their jobs do.
    force: bool = False


class ReservationEvent(Struct):
    """An event of an advance reservation, as in the reporting file."""

    #: Epoch s.
    at: float
    #: created, started, ended, deleted
    event: str
    #: Its letter from then on.
    state: str
    actor: str
    reservation: AdvanceReservation


class ReservationLog(Request[list[ReservationEvent]]):
    """Events of advance reservations, oldest first."""

    #: Only this one; None for all.
    number: Count | None = None
    limit: Annotated[int, Between(1, 10_000)] = 1000


CELL: Final = table(
    Daemon.QUEUE,
    Verb(
        "cell-tasks", CellTasks, Asker.ADMINISTRATOR_OR_CENTRAL,
        "what the jobs of the queue use of the Grid Engine cell", question=True,
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
        "save an advance reservation that the central manager grants",
    ),
    Verb(
        "cell-report-loads", ReportLoads, Asker.ADMINISTRATOR_OR_CENTRAL,
        "note in the reporting file what hosts report",
    ),
    Verb("cell-reservation-delete", DeleteReservations, Asker.USER, "delete advance reservations"),
    question("cell-usage", Usage, "the users' usage of the Grid Engine cell"),
    Verb("cell-clear-usage", ClearUsage, Asker.USER, "clear the users' usage of the cell"),
    question("cell-accounting", AccountingSums, "usage of finished runs in the Grid Engine cell"),
    question("cell-accounting-form", AskAccountingForm, "how accounting is printed"),
    question("cell-accounting-lines", AccountingLines, "finished runs in the Grid Engine cell"),
    question("cell-log", CellLog, "who changed the Grid Engine cell, when and how"),
)  # fmt: skip
