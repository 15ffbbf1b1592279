"""The messages themselves: frozen structs, each a JSON object with its `type` and the version `v` of the protocol.

Unknown fields are skipped, so a newer writer can add some; a message of a higher version than `VERSION` is refused. Ads
are plain JSON here (`ads` converts them into ads and back); times are epoch s, and the names of sizes say their units.

A sender puts an identifier for the answer in `reply_to`; it is echoed unchanged and has a meaning only for the sender.
"""

from __future__ import annotations

from typing import Annotated, Final, get_args

import msgspec

from roost.model.cell_accounting import TaskUse
from roost.model.queue_context import QueueContext
from roost.wire.structs import AdData, AuditData, TaskData

#: The protocol version. It is raised when an old reader would misunderstand a new message.
VERSION: Final = 1
#: Maximum length of a request id, characters.
REQUEST_ID_MAX: Final = 32


class Message(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type", omit_defaults=True):
    """The common part of all messages."""

    v: int = VERSION


# -- queue to machine ----------------------------------------------------------------------------------------


class RequestClaim(Message, frozen=True, kw_only=True):
    """The queue requests a slot."""

    slot: str
    claim_id: str
    job_ad: AdData
    schedd: str
    reply_to: str
    client_machine: str = ""
    alive_interval_s: float = 300.0


class ReleaseClaim(Message, frozen=True, kw_only=True):
    """The queue releases a claim."""

    claim_id: str
    #: The id of the request that led to it, for the log; "" for none.
    request: str = ""


class KeepAlive(Message, frozen=True, kw_only=True):
    """The queue that holds these claims is alive."""

    claim_ids: list[str]
    reply_to: str = ""


class ActivateClaim(Message, frozen=True, kw_only=True):
    """A job must run on a claim. `run` names the attempt: all later messages about it carry that name."""

    claim_id: str
    job_ad: AdData
    run: str
    #: The settings of the job's Grid Engine queue instance; None in a pool without a cell.
    context: QueueContext | None = None


class EndJob(Message, frozen=True, kw_only=True):
    """The job of a claim must end because the queue wants it held, removed or requeued; the claim stays."""

    claim_id: str
    run: str
    #: "hold", "remove" or "evict".
    ending: str
    code: int
    subcode: int = 0
    text: str = ""
    #: At once, without time to end by itself.
    hard: bool = False
    #: As in `ReleaseClaim`.
    request: str = ""


class SuspendJob(Message, frozen=True, kw_only=True):
    """The job of a claim must be suspended until `ContinueJob`."""

    claim_id: str
    #: The run to suspend; "" for the current one.
    run: str = ""
    #: As in `ReleaseClaim`.
    request: str = ""


class ContinueJob(Message, frozen=True, kw_only=True):
    """The job of a claim must continue."""

    claim_id: str
    #: The run to continue; "" for the current one.
    run: str = ""
    #: As in `ReleaseClaim`.
    request: str = ""


class ReportTaken(Message, frozen=True, kw_only=True):
    """The queue has stored the machine's reports of the ends of these runs."""

    runs: list[str]


class Reconnect(Message, frozen=True, kw_only=True):
    """A restarted queue asks for the state of its claims: claim id to run, "" for none."""

    claims: dict[str, str]
    reply_to: str = ""


class Files(Message, frozen=True, kw_only=True):
    """The input of a run, in answer to `AskFiles`; or why there is none."""

    #: The items, as `transfer.pack_items` writes them.
    items: bytes = b""
    #: Names of top-level items that an earlier run has saved, as text (`codec.as_text`).
    saved: list[str] = []
    #: Too many runs are getting files now: ask again.
    wait: bool = False
    error: str = ""
    #: HoldReasonCode and its subcode.
    code: int = 0
    subcode: int = 0


class FilePart(Message, frozen=True, kw_only=True):
    """A piece of a file, in answer to `GetFile`; or why there is none."""

    data: bytes = b""
    #: The file ends with this piece.
    last: bool = False
    error: str = ""
    code: int = 0
    subcode: int = 0


class FileTaken(Message, frozen=True, kw_only=True):
    """The answer to `PutFile`: the byte from which on more is wanted; or why nothing is."""

    offset: int = 0
    #: Too many runs are sending files now: ask again.
    wait: bool = False
    error: str = ""
    code: int = 0
    subcode: int = 0


# -- machine to queue ----------------------------------------------------------------------------------------


class ClaimAnswered(Message, frozen=True, kw_only=True):
    """Whether a slot has been claimed. `slot` and `claim_id` may be those of a slot cut for the request."""

    asked_id: str
    reply_to: str
    accepted: bool
    refusal: str = ""
    claim_id: str = ""
    slot: str = ""
    slot_ad: AdData | None = None


class ActivationAnswered(Message, frozen=True, kw_only=True):
    """Whether a job will be run."""

    claim_id: str
    run: str
    accepted: bool
    refusal: str = ""


class JobBegan(Message, frozen=True, kw_only=True):
    """The job's program runs."""

    claim_id: str
    run: str
    at: float
    pid: int = 0
    slot: str = ""


class JobSuspended(Message, frozen=True, kw_only=True):
    """All processes of the job are suspended."""

    claim_id: str
    run: str
    at: float
    processes: int = 1


class JobResumed(Message, frozen=True, kw_only=True):
    """All processes of the job continue."""

    claim_id: str
    run: str
    at: float


class JobMeasured(Message, frozen=True, kw_only=True):
    """The usage of the job."""

    claim_id: str
    run: str
    at: float
    attributes: AdData


class JobCheckpointed(Message, frozen=True, kw_only=True):
    """The job's checkpoint has been saved."""

    claim_id: str
    run: str
    at: float
    #: Number of checkpoints in this run.
    checkpoints: int
    attributes: AdData


class FileMoved(Message, frozen=True, kw_only=True):
    """A stage of moving files: "input-" or "output-" with "queued", "started" or "finished"."""

    claim_id: str
    run: str
    at: float
    stage: str


class RunEnded(Message, frozen=True, kw_only=True):
    """A run has ended. Repeated until `ReportTaken` names the run."""

    claim_id: str
    run: str
    at: float
    #: "exit", "evict", "hold" or "remove".
    ending: str
    started: bool
    code: int = 0
    subcode: int = 0
    text: str = ""
    exit_code: int | None = None
    exit_signal: int | None = None
    core_dumped: bool = False
    output: str = "none"
    checkpoints: int = 0
    slot: str = ""
    attributes: AdData = {}
    #: The claim accepts no other job: the slot is being emptied, or the claim has reached its maximum lifetime.
    closing: bool = False
    #: Bytes of files that the run sent and received.
    bytes_sent: int = 0
    bytes_received: int = 0
    #: For a parallel job with slave tasks, the usage of each of them.
    tasks: list[TaskUse] = []
    #: The id of the request that ordered the end, for the log; "" for none.
    request: str = ""


class ClaimGone(Message, frozen=True, kw_only=True):
    """A claim is over."""

    claim_id: str
    reason: str
    #: VacateReasonCode; 0 if no job had to leave.
    code: int = 0
    #: The run whose end the machine is still reporting, so that the queue does not consider it lost; "" for none.
    run: str = ""


class ClaimsKnown(Message, frozen=True, kw_only=True):
    """The answer to `KeepAlive` and `Reconnect`, or a notice that a claim waits for its slot.

    Claim id to its current run, or the run whose end has not been acknowledged yet; "" for none.
    """

    reply_to: str
    known: dict[str, str]
    unknown: list[str]
    #: The machine asks for `KeepAlive`: half of the lease time of these claims has passed without one.
    renew: bool = False
    #: Claim id to the state of its run (`roost.model.claims.RunStanding`), if the machine knows it.
    standings: dict[str, str] = {}


class AskFiles(Message, frozen=True, kw_only=True):
    """A machine asks for the list of a run's input files."""

    run: str


class GetFile(Message, frozen=True, kw_only=True):
    """A machine asks for a piece of an input file of a run."""

    run: str
    name: str
    offset: int
    size: int
    #: The item, as `transfer.pack_items` writes one: its name need not be UTF-8. Earlier versions left it out.
    item: bytes = b""


class PutFile(Message, frozen=True, kw_only=True):
    """A machine sends a piece of an output file of a run; without `begun` it asks from where on the file is wanted."""

    run: str
    #: The item, as `transfer.pack_items` writes one.
    item: bytes
    offset: int = 0
    data: bytes = b""
    last: bool = False
    begun: bool = False
    #: "home" for the place where the user wants it, "spool" for the next run.
    to: str = "home"
    #: Number of the transfer within the run; each transfer to the spool is kept separate until it is complete.
    transfer: str = ""


class Chirp(Message, frozen=True, kw_only=True):
    """A running job makes a request to its queue: for a file of its user, an attribute of its ad, a line of its log."""

    run: str
    #: The request and its arguments, a list as JSON, in which names need not be UTF-8.
    asked: bytes
    data: bytes = b""


class Chirped(Message, frozen=True, kw_only=True):
    """The answer to `Chirp`; `errno` is 0 for success."""

    value: int = 0
    data: bytes = b""
    numbers: list[int] = []
    errno: int = 0
    text: str = ""


class OutputDone(Message, frozen=True, kw_only=True):
    """All output of a run has been sent; what was sent to the spool replaces the earlier content."""

    run: str
    to: str = "home"
    transfer: str = ""


# -- ads and matches -----------------------------------------------------------------------------------------


class SlotAds(Message, frozen=True, kw_only=True):
    """The ads of a machine's slots. `whole`: slots that are not named are gone.

    Ads that are too large for one message are sent in several, the last of which names all slots that are `present`:
    others are gone. A reader that does not know this field forgets them when they expire.

    `leaves`: the slots are gone because their daemon stops, and the jobs on them continue.
    """

    node: str
    ads: list[AdData]
    #: Name to the id of the claim on offer; only the central manager receives it.
    claim_ids: dict[str, str] = {}
    gone: list[str] = []
    whole: bool = False
    present: list[str] = []
    leaves: bool = False


class DaemonAds(Message, frozen=True, kw_only=True):
    """Ads of daemons, submitters or anything else."""

    ads: list[AdData]
    gone: list[str] = []


class ResourceRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Consecutive idle jobs of one autocluster, in their submitter's order."""

    autocluster: int
    ad: AdData
    count: int
    #: The first of them, "12.0".
    job: str
    #: The id of the request that submitted them, for the log.
    request: str = ""


class Demand(Message, frozen=True, kw_only=True):
    """The idle jobs of a queue: the requests of each submitter, in order. Replaces the previous demand."""

    schedd: str
    #: Submitter to requests.
    submitters: dict[str, list[ResourceRequest]]
    #: Submitter to attributes of its ad: RunningJobs, IdleJobs, HeldJobs, WeightedRunningJobs.
    ads: dict[str, AdData] = {}
    serial: int = 0
    #: The serial of the last `Matched` that the queue has processed.
    heard: int = 0
    #: Claims that were assigned and not needed.
    declined: list[str] = []
    #: How many slots the queue may request now, for all submitters together; None for as many as it has jobs.
    places: int | None = None
    #: Counter of jobs becoming idle; None if not all idle jobs are included here.
    arrivals: int | None = None
    #: Slot to the public part of the id of its claim that has just ended while jobs became idle, perhaps its own jobs.
    left: dict[str, str] = {}
    #: Digest of the attributes (`Significant`) by which jobs are distinguished.
    apart: str = ""
    #: Revision of the queue's Grid Engine cell; 0 for none.
    cell: int = 0
    #: Queue instances of that cell that are in the error state, each with the reason.
    errors: dict[str, str] = {}
    #: Digest of the states that queue instances of the cell were given; "" for none.
    cell_states: str = ""
    #: Changes whenever the users' usage of the cell has changed.
    usage: int = 0


def _check_task(task: TaskData) -> None:
    """Raises ValueError, which msgspec reports with the place of the value."""
    if problem := get_args(TaskData)[1].problem(task):
        raise ValueError(f"the task is {problem}")


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An additional slot of a job that gets several, all or none."""

    slot: str
    node: str
    claim_id: str
    slot_ad: AdData
    #: What it is granted in a Grid Engine cell.
    task: TaskData

    def __post_init__(self) -> None:
        _check_task(self.task)


class Match(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A slot for a job of an autocluster."""

    submitter: str
    autocluster: int
    slot: str
    node: str
    claim_id: str
    slot_ad: AdData
    #: "none", "rank" or "prio".
    preempts: str = "none"
    #: What the job is granted in a Grid Engine cell; empty in a pool without one.
    task: TaskData = {}
    #: Additional slots of a parallel job.
    parts: list[Part] = []

    def __post_init__(self) -> None:
        if self.task:
            _check_task(self.task)


class Matched(Message, frozen=True, kw_only=True):
    """The slots that a cycle assigned to one queue, and why the other requests got none."""

    matches: list[Match]
    #: Autocluster to the reason why it got no (further) slot.
    rejected: dict[str, str] = {}
    #: Serial of the negotiator; the queue reports which it has received.
    serial: int = 0


class Audit(Message, frozen=True, kw_only=True):
    """Audit records (`wire.audit`), sent to the central manager repeatedly until it confirms them."""

    #: Role of the sender: a queue and a machine may have the same name.
    role: str
    records: list[AuditData]
    #: Serial of the last of them.
    serial: int


class AuditKept(Message, frozen=True, kw_only=True):
    """Stored audit records: ``role name`` of a daemon to the serial of its last one."""

    kept: dict[str, int]


class SlotsMatched(Message, frozen=True, kw_only=True):
    """Slots of a machine have been assigned, and will be claimed."""

    claim_ids: list[str]


class SlotSuspenders(msgspec.Struct, frozen=True, kw_only=True):
    """What suspends the job of a slot."""

    #: PublicClaimId of the claim concerned.
    claim: str
    #: `roost.model.cell_requests.Suspender` to its description.
    suspenders: dict[str, str]


class SlotsSuspended(Message, frozen=True, kw_only=True):
    """What in the Grid Engine cell suspends the job of each slot; replaces the previous message about the slot."""

    slots: dict[str, SlotSuspenders]


class HostConfigured(Message, frozen=True, kw_only=True):
    """The Grid Engine cell's settings for a machine."""

    #: Its load sensors, as `roost.model.cell_requests.LOAD_SENSORS` in the ads of its slots; "" for none.
    load_sensors: str


class Significant(Message, frozen=True, kw_only=True):
    """The job attributes on which matching depends, and the pool policy in force."""

    attributes: list[str]
    #: Identifier of that policy, "" for none; None from a sender that does not report it.
    policy: str | None = None


class Hello(Message, frozen=True, kw_only=True):
    """The central manager has started without any state: send yours."""

    started_at: float


# -- tasks of parallel jobs ----------------------------------------------------------------------------------


class AskTaskPlace(Message, frozen=True, kw_only=True):
    """The machine of a parallel job's master asks where to start tasks for a host of the cell."""

    run: str
    host: str


class TaskPlace(Message, frozen=True, kw_only=True):
    """The answer to `AskTaskPlace`: the machine, and the job's resources there; or why nothing may be started."""

    node: str = ""
    #: The job's claims there.
    claims: list[str] = []
    #: Its queue instances there, and the settings of each for tasks.
    queues: list[QueueContext] = []
    #: The claim of which the job itself uses a slot; "" if it is none of these.
    first: str = ""
    error: str = ""


class OpenTask(Message, frozen=True, kw_only=True):
    """A process of a parallel job wants to start a task; sent to the daemon of its own machine."""

    #: The run of the job, and a secret that only its processes know.
    run: str
    secret: str
    #: The number of the job in the environment of the process.
    job: str
    #: Identifies the task: a repeated message refers to the same task.
    task: str
    #: The connection only provides input to the task, which does not end with it.
    feeds: bool = False
    host: str
    #: The command with its arguments.
    words: list[str]
    #: Variables that the process passes to the task, and those that describe the task.
    exported: dict[str, str] = {}
    told: dict[str, str] = {}
    #: Its working directory; "" for the directory of the job.
    directory: str = ""
    #: Whether the words are a line for the login shell of the job's user, or a program with its arguments.
    shell: bool = True
    #: Whether it reads input from `WriteTask`; otherwise it has none.
    stdin: bool = True
    #: Rows and columns of its terminal; 0 for no terminal.
    rows: int = 0
    columns: int = 0


class BeginTask(Message, frozen=True, kw_only=True):
    """The machine of a parallel job's master starts a task on another machine, or its own."""

    run: str
    task: str
    #: As in `TaskPlace`.
    claims: list[str]
    queues: list[QueueContext]
    first: str = ""
    words: list[str]
    exported: dict[str, str] = {}
    told: dict[str, str] = {}
    directory: str = ""
    shell: bool = True
    stdin: bool = True
    rows: int = 0
    columns: int = 0


class TaskBegun(Message, frozen=True, kw_only=True):
    """The answer to `OpenTask` and `BeginTask`."""

    #: Number of the task on that host, as accounting names it: "1.node2".
    name: str = ""
    error: str = ""


class ReadTask(Message, frozen=True, kw_only=True):
    """Ask for a task's output from these bytes on. The answer may be delayed until there is output."""

    task: str
    out: int = 0
    err: int = 0


class TaskPrinted(Message, frozen=True, kw_only=True):
    """The answer to `ReadTask`. `ended`: the task is over, and there is no more output."""

    out: bytes = b""
    err: bytes = b""
    ended: bool = False
    exit_code: int | None = None
    #: The signal that it died of by itself; none if it was killed at its job's end.
    signal: int | None = None
    #: Why nothing is known of the task.
    error: str = ""


class WriteTask(Message, frozen=True, kw_only=True):
    """Input for a task from a byte on; `last`: there is no more. A repeated message has no further effect."""

    task: str
    offset: int
    data: bytes = b""
    last: bool = False
    #: The size of its terminal; 0 if not given.
    rows: int = 0
    columns: int = 0


class TaskTook(Message, frozen=True, kw_only=True):
    """The answer to `WriteTask`: the byte from which on more is wanted; `closed`: the end was received; `over`: no more
    is wanted.
    """

    offset: int
    closed: bool = False
    over: bool = False


class EndTask(Message, frozen=True, kw_only=True):
    """The process that started a task is gone: the task must end."""

    task: str


class EndTasks(Message, frozen=True, kw_only=True):
    """A parallel job is over: its tasks on these claims must end, and no more are started."""

    run: str
    claims: list[str]


class TasksEnded(Message, frozen=True, kw_only=True):
    """The answer to `EndTasks`: all tasks that existed."""

    tasks: list[TaskUse] = []


class HoldTasks(Message, frozen=True, kw_only=True):
    """The tasks of a job on these claims must be suspended or resumed; answered by `Answer`."""

    run: str
    claims: list[str]
    still: bool


# -- people and programs -------------------------------------------------------------------------------------


class Ask(Message, frozen=True, kw_only=True):
    """A request of a command: the verb, and the fields of its struct (`requests`), which `verbs` reads."""

    what: str
    args: dict[str, object] = {}
    #: Request id used in logs; chosen by the requester.
    id: Annotated[str, msgspec.Meta(max_length=REQUEST_ID_MAX)] = ""


class Answer(Message, frozen=True, kw_only=True):
    """A piece of the answer to `Ask`; several with `more` may come before the last."""

    ok: bool = True
    #: Stable code of the error; "" for none.
    code: str = ""
    #: The error message; if the answer is `ok`, a warning about the data.
    text: str = ""
    remedy: str = ""
    #: The reply (`requests`), or some of its rows.
    data: object = None
    more: bool = False


#: All message types.
ALL: Final[tuple[type[Message], ...]] = tuple(sorted(Message.__subclasses__(), key=lambda each: each.__name__))
