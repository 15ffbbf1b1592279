"""The messages themselves: frozen structs, each a JSON object with its `type` and the version `v` of the protocol.

Fields that a reader does not know are skipped, so that a newer writer can add some; a message of a higher version than
`VERSION` is refused. Ads are plain JSON here (`ads` turns them into ads and back); times are epoch s, sizes as named.

A sender names what an answer should carry in `reply_to`; it comes back unchanged and has a meaning only for the sender.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from roost.model.cell_accounting import TaskUse
from roost.model.queue_context import QueueContext
from roost.wire.ads import AdData

#: Of the protocol. Raised when an old reader would misunderstand a new message.
VERSION: Final = 1
#: Characters of the id of a request.
REQUEST_ID_MAX: Final = 32


class Message(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type", omit_defaults=True):
    """What all messages have in common."""

    v: int = VERSION


# -- queue to machine ----------------------------------------------------------------------------------------


class RequestClaim(Message, frozen=True, kw_only=True):
    """The queue asks for a slot."""

    slot: str
    claim_id: str
    job_ad: AdData
    schedd: str
    reply_to: str
    client_machine: str = ""
    alive_interval_s: float = 300.0


class ReleaseClaim(Message, frozen=True, kw_only=True):
    """The queue gives a claim back."""

    claim_id: str
    #: The id of the request that led to it, for the log; "" where none did.
    request: str = ""


class KeepAlive(Message, frozen=True, kw_only=True):
    """The queue that holds these claims lives."""

    claim_ids: list[str]
    reply_to: str = ""


class ActivateClaim(Message, frozen=True, kw_only=True):
    """A job is to run on a claim. `run` names the attempt: all later messages about it carry that name."""

    claim_id: str
    job_ad: AdData
    run: str
    #: What the queue instance of a Grid Engine cell gives the job; None in a pool without one.
    context: QueueContext | None = None


class EndJob(Message, frozen=True, kw_only=True):
    """The job of a claim is to end, for the queue wants it: held, removed or put back; the claim stays."""

    claim_id: str
    run: str
    #: "hold", "remove" or "evict".
    ending: str
    code: int
    subcode: int = 0
    text: str = ""
    #: At once, without time for its own end.
    hard: bool = False
    #: As of `ReleaseClaim`.
    request: str = ""


class SuspendJob(Message, frozen=True, kw_only=True):
    """The job of a claim is to stand still until `ContinueJob`."""

    claim_id: str
    #: The run that is meant; "" for whichever there is.
    run: str = ""
    #: As of `ReleaseClaim`.
    request: str = ""


class ContinueJob(Message, frozen=True, kw_only=True):
    """The job of a claim is to go on."""

    claim_id: str
    #: The run that is meant; "" for whichever there is.
    run: str = ""
    #: As of `ReleaseClaim`.
    request: str = ""


class ReportTaken(Message, frozen=True, kw_only=True):
    """What the machine said of the end of these runs is on the queue's disk."""

    runs: list[str]


class Reconnect(Message, frozen=True, kw_only=True):
    """A queue that has started again asks what became of its claims: claim id to run, "" for none."""

    claims: dict[str, str]
    reply_to: str = ""


class Files(Message, frozen=True, kw_only=True):
    """The input of a run, the answer to `AskFiles`; or why there is none."""

    #: The items, as `transfer.pack_items` writes them.
    items: bytes = b""
    #: Names of those at the top that an earlier run has saved, as text (`codec.as_text`).
    saved: list[str] = []
    #: Too many runs get files now: ask again.
    wait: bool = False
    error: str = ""
    #: HoldReasonCode and its subcode.
    code: int = 0
    subcode: int = 0


class FilePart(Message, frozen=True, kw_only=True):
    """A piece of a file, the answer to `GetFile`; or why there is none."""

    data: bytes = b""
    #: The file ends with this piece.
    last: bool = False
    error: str = ""
    code: int = 0
    subcode: int = 0


class FileTaken(Message, frozen=True, kw_only=True):
    """The answer to `PutFile`: from which byte on more is wanted; or why nothing is."""

    offset: int = 0
    #: Too many runs send files now: ask again.
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
    """Whether a job is about to be run."""

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
    """All processes of the job stand still."""

    claim_id: str
    run: str
    at: float
    processes: int = 1


class JobResumed(Message, frozen=True, kw_only=True):
    """They go on."""

    claim_id: str
    run: str
    at: float


class JobMeasured(Message, frozen=True, kw_only=True):
    """What the job uses."""

    claim_id: str
    run: str
    at: float
    attributes: AdData


class JobCheckpointed(Message, frozen=True, kw_only=True):
    """The job's state has been saved."""

    claim_id: str
    run: str
    at: float
    #: How often in this run.
    checkpoints: int
    attributes: AdData


class FileMoved(Message, frozen=True, kw_only=True):
    """A stage of moving files: "input-started", "input-finished", "output-started" or "output-finished"."""

    claim_id: str
    run: str
    at: float
    stage: str


class RunEnded(Message, frozen=True, kw_only=True):
    """How a run ended. Sent again until `ReportTaken` names the run."""

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
    #: The claim takes no other job: the slot is emptied, or the claim has lasted as long as it may.
    closing: bool = False
    #: Bytes of files that the run left, and that it got.
    bytes_sent: int = 0
    bytes_received: int = 0
    #: Of a parallel job with slave tasks, what each of them used.
    tasks: list[TaskUse] = []
    #: The id of the request that ordered the end, for the log; "" where none did.
    request: str = ""


class ClaimGone(Message, frozen=True, kw_only=True):
    """A claim is over."""

    claim_id: str
    reason: str
    #: VacateReasonCode; 0 where no job had to go.
    code: int = 0
    #: The run whose end the machine still reports, so that the queue does not take it for lost; "" for none.
    run: str = ""


class ClaimsKnown(Message, frozen=True, kw_only=True):
    """The answer to `KeepAlive` and `Reconnect`, or word that a claim waits for its slot.

    Claim id to the run that it has now, or whose end has not been taken yet; "" for none.
    """

    reply_to: str
    known: dict[str, str]
    unknown: list[str]
    #: The machine asks for `KeepAlive`: half of the leases of these claims has passed without one.
    renew: bool = False
    #: Claim id to how its run stands (`roost.model.claims.Standing`), where the machine can tell.
    standings: dict[str, str] = {}


class AskFiles(Message, frozen=True, kw_only=True):
    """A machine asks what the input of a run is."""

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
    #: "home" for where the user wants it, "spool" for the next run.
    to: str = "home"
    #: Which transfer of the run it belongs to; each to the spool is kept apart until it is whole.
    transfer: str = ""


class Chirp(Message, frozen=True, kw_only=True):
    """A running job asks its queue for something: a file of its user, an attribute of its ad, a line of its log."""

    run: str
    #: What it asks for and the arguments, a list as JSON, in which names need not be UTF-8.
    asked: bytes
    data: bytes = b""


class Chirped(Message, frozen=True, kw_only=True):
    """The answer to `Chirp`; `errno` is 0 if it was done."""

    value: int = 0
    data: bytes = b""
    numbers: list[int] = []
    errno: int = 0
    text: str = ""


class OutputDone(Message, frozen=True, kw_only=True):
    """All output of a run has been sent; what was sent to the spool takes the place of what was there."""

    run: str
    to: str = "home"
    transfer: str = ""


# -- ads and matches -----------------------------------------------------------------------------------------


class SlotAds(Message, frozen=True, kw_only=True):
    """The ads of a machine's slots. `whole`: slots that are not named are gone.

    What is too large for one message comes in several, of which the last names all slots that are `present`: others
    are gone. A reader that does not know that forgets them when their time is over.
    """

    node: str
    ads: list[AdData]
    #: Name to the id of the claim on offer; only the central manager hears it.
    claim_ids: dict[str, str] = {}
    gone: list[str] = []
    whole: bool = False
    present: list[str] = []


class DaemonAds(Message, frozen=True, kw_only=True):
    """Ads of daemons, submitters or anything else."""

    ads: list[AdData]
    gone: list[str] = []


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Idle jobs of one autocluster that follow each other in their submitter's order."""

    autocluster: int
    ad: AdData
    count: int
    #: The first of them, "12.0".
    job: str
    #: The id of the request that submitted them, for the log.
    request: str = ""


class Demand(Message, frozen=True, kw_only=True):
    """The idle jobs of a queue: what each submitter wants, in order. Replaces what was said before."""

    schedd: str
    #: Submitter to requests.
    submitters: dict[str, list[Request]]
    #: Submitter to attributes of its ad: RunningJobs, IdleJobs, HeldJobs, WeightedRunningJobs.
    ads: dict[str, AdData] = {}
    serial: int = 0
    #: The serial of the last `Matched` that the queue has acted upon.
    heard: int = 0
    #: Claims that were given and not needed.
    declined: list[str] = []
    #: How many slots the queue may ask for now, for all submitters together; None for as many as it has jobs.
    places: int | None = None
    #: Slot to the public part of the id of its claim that has just ended, as jobs came to wait: perhaps those that were
    #: there.
    left: dict[str, str] = {}
    #: Digest of the attributes (`Significant`) that jobs are told apart by.
    apart: str = ""
    #: Revision of the Grid Engine cell that the queue keeps; 0 for none.
    cell: int = 0
    #: Queue instances of that cell that are in the error state, each with the reason.
    errors: dict[str, str] = {}
    #: Digest of the states that queue instances of it were given; "" for none.
    cell_states: str = ""
    #: Changes whenever what users have used of it has changed.
    usage: int = 0


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A further slot of a job that gets several, all or none."""

    slot: str
    node: str
    claim_id: str
    slot_ad: AdData
    #: What it is of the job in a Grid Engine cell.
    task: AdData


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
    #: What the job gets of a Grid Engine cell; empty in a pool without one.
    task: AdData = {}
    #: Further slots of a parallel job.
    parts: list[Part] = []


class Matched(Message, frozen=True, kw_only=True):
    """What a cycle gave to one queue, and why the rest got nothing."""

    matches: list[Match]
    #: Autocluster to why it got no (further) slot.
    rejected: dict[str, str] = {}
    #: Of the matchmaker; the queue says which it has heard.
    serial: int = 0


class Audit(Message, frozen=True, kw_only=True):
    """Decisions for the record (`wire.audit`), sent to the central manager again until it says that it has them."""

    #: Of the sender: a queue and a machine may have the same name.
    role: str
    records: list[Any]
    #: Of the last of them.
    serial: int


class AuditKept(Message, frozen=True, kw_only=True):
    """Decisions that are on record: ``role name`` of a daemon to the serial up to which."""

    kept: dict[str, int]


class SlotsMatched(Message, frozen=True, kw_only=True):
    """Slots of a machine have been given away, and will be claimed."""

    claim_ids: list[str]


class SlotSuspenders(msgspec.Struct, frozen=True, kw_only=True):
    """What suspends the job of a slot."""

    #: PublicClaimId of the claim that this is about.
    claim: str
    #: `roost.model.cell_requests.Suspender` to what to say of it.
    suspenders: dict[str, str]


class SlotsSuspended(Message, frozen=True, kw_only=True):
    """What of the Grid Engine cell suspends the job of each slot; it replaces what was said of the slot before."""

    slots: dict[str, SlotSuspenders]


class HostConfigured(Message, frozen=True, kw_only=True):
    """What the Grid Engine cell configures for a machine."""

    #: Its load sensors, as `roost.model.cell_requests.LOAD_SENSORS` in the ads of its slots; "" for none.
    load_sensors: str


class Significant(Message, frozen=True, kw_only=True):
    """The job attributes that matching depends on, and the pool's policy that is in force."""

    attributes: list[str]
    #: What tells that policy from others, "" for none; None from who does not say it.
    policy: str | None = None


class Hello(Message, frozen=True, kw_only=True):
    """The central manager has started, and knows nothing: say what there is."""

    started_at: float


# -- tasks of parallel jobs ----------------------------------------------------------------------------------


class AskTaskPlace(Message, frozen=True, kw_only=True):
    """The machine of a parallel job's master asks where tasks for a host of the cell are to be started."""

    run: str
    host: str


class TaskPlace(Message, frozen=True, kw_only=True):
    """The answer to `AskTaskPlace`: the machine, and what the job has there; or why nothing is to be started."""

    node: str = ""
    #: The job's claims there.
    claims: list[str] = []
    #: Its queue instances there, and what each of them gives a task.
    queues: list[QueueContext] = []
    #: The claim of which the job itself takes a slot; "" for none of these.
    first: str = ""
    error: str = ""


class OpenTask(Message, frozen=True, kw_only=True):
    """A process of a parallel job wants a task started; it goes to the daemon of its own machine."""

    #: The run of the job, and what only its processes know.
    run: str
    secret: str
    #: The number of the job as the process has it in its environment.
    job: str
    #: Names the task: said again, it is the same task.
    task: str
    host: str
    #: The command with its arguments.
    words: list[str]
    #: Variables that the task gets from the process, and what it is told of that.
    exported: dict[str, str] = {}
    told: dict[str, str] = {}
    #: Where it begins; "" for the directory of the job.
    directory: str = ""
    #: The words are a line for the login shell of the job's user, or a program with its arguments.
    shell: bool = True
    #: It reads what `WriteTask` brings; else nothing.
    stdin: bool = True
    #: It has a terminal with so many rows and columns; 0 for none.
    rows: int = 0
    columns: int = 0


class BeginTask(Message, frozen=True, kw_only=True):
    """The machine of a parallel job's master has a task started on another machine, or its own."""

    run: str
    task: str
    #: As `TaskPlace` has them.
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

    #: Of the job on that host, as accounting names it: "1.node2".
    name: str = ""
    error: str = ""


class ReadTask(Message, frozen=True, kw_only=True):
    """What has a task printed from these bytes on? The answer may take a moment, until there is something to say."""

    task: str
    out: int = 0
    err: int = 0


class TaskPrinted(Message, frozen=True, kw_only=True):
    """The answer to `ReadTask`. `ended`: the task is over, and there is no more than this."""

    out: bytes = b""
    err: bytes = b""
    ended: bool = False
    exit_code: int | None = None
    #: The signal that it died of by itself; one that its job's end has killed has none.
    signal: int | None = None
    #: Why nothing is known of the task.
    error: str = ""


class WriteTask(Message, frozen=True, kw_only=True):
    """Input for a task from a byte on; `last`: there is no more. Said twice, the task has it once."""

    task: str
    offset: int
    data: bytes = b""
    last: bool = False
    #: The size of its terminal; 0 where nothing is said of that.
    rows: int = 0
    columns: int = 0


class TaskTook(Message, frozen=True, kw_only=True):
    """The answer to `WriteTask`: from which byte on more is wanted; `closed`: the last is known; `over`: none is."""

    offset: int
    closed: bool = False
    over: bool = False


class EndTask(Message, frozen=True, kw_only=True):
    """The process that asked for a task is gone: the task is to end."""

    task: str


class EndTasks(Message, frozen=True, kw_only=True):
    """A parallel job is over: its tasks on these claims are to end, and no more are started."""

    run: str
    claims: list[str]


class TasksEnded(Message, frozen=True, kw_only=True):
    """The answer to `EndTasks`: all tasks that there were."""

    tasks: list[TaskUse] = []


class HoldTasks(Message, frozen=True, kw_only=True):
    """The tasks of a job on these claims are to stand still, or to go on; answered by `Answer`."""

    run: str
    claims: list[str]
    still: bool


# -- people and programs -------------------------------------------------------------------------------------


class Ask(Message, frozen=True, kw_only=True):
    """A request of a command: what, and the fields of its struct (`requests`), which `verbs` reads."""

    what: str
    args: dict[str, object] = {}
    #: By which logs name the request; the asker makes it up.
    id: Annotated[str, msgspec.Meta(max_length=REQUEST_ID_MAX)] = ""


class Answer(Message, frozen=True, kw_only=True):
    """A piece of the answer to `Ask`; several with `more` may come before the last."""

    ok: bool = True
    #: Stable word for what went wrong; "" where nothing did.
    code: str = ""
    #: What went wrong; in an answer that is `ok`, a warning to read the data with.
    text: str = ""
    remedy: str = ""
    #: The reply (`requests`), or some of its rows.
    data: object = None
    more: bool = False


#: Everything that travels.
ALL: Final[tuple[type[Message], ...]] = tuple(sorted(Message.__subclasses__(), key=lambda each: each.__name__))
