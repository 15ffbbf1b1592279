"""What jobs, machines and queues say to each other about a Grid Engine cell: attributes of ads, and words.

By the first attributes a job asks the cell for something; `roost.gridengine.pool.requests` reads them. Those that
`qsub` gives a job beside them say what the job is called and how it is run.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

RESOURCES: Final = "CellResources"
SOFT_RESOURCES: Final = "CellSoftResources"
QUEUES: Final = "CellQueues"
SOFT_QUEUES: Final = "CellSoftQueues"
PROJECT: Final = "CellProject"
PARALLEL: Final = "CellParallel"
MASTER_QUEUES: Final = "CellMasterQueues"
CHECKPOINT: Final = "CellCheckpoint"
#: `-c`: some of the letters n, s, m and x, or a time.
CHECKPOINT_WHEN: Final = "CellCheckpointWhen"
#: All of them.
ASKED: Final = (
    RESOURCES, SOFT_RESOURCES, QUEUES, SOFT_QUEUES, PROJECT, PARALLEL, MASTER_QUEUES, CHECKPOINT, CHECKPOINT_WHEN,
)  # fmt: skip
#: Lists of paths, some of which may be for one host alone (`roost.model.path_lists`).
PATHS: Final = ("CellOutputPaths", "CellErrorPaths", "CellInputPaths", "CellShell")
#: What a job got of the cell, an ad, in the job's ad and in that of its slot; see `roost.gridengine.pool.tasks`.
TASK: Final = "CellTask"

#: In the ad of a slot, what load sensors of the cell say of its host and of the cell, as ``name=value,…``; and which
#: these are: the time between two questions (s), the host, and the programs.
LOADS: Final = "CellLoads"
#: What a machine reports of itself, in the same form; what load sensors say goes before it.
HOST_LOADS: Final = "CellHostLoads"
GLOBAL_LOADS: Final = "CellGlobalLoads"
LOAD_SENSORS: Final = "CellLoadSensors"

#: `qsub -N`; each job of `qsub` has it, and no other job.
NAME: Final = "CellJobName"
#: The text of the script, as it was when the job was submitted; none with `-b y`.
SCRIPT: Final = "CellScript"
#: `-S`
SHELL: Final = "CellShell"
#: `-b y -shell n`: the command is executed without a shell.
DIRECT: Final = "CellDirect"
#: Tasks of an array as `-t` names them, ``1-10:3``; none for a job without tasks.
TASKS: Final = "CellTasks"
#: The number of the task, an integer.
TASK_NUMBER: Final = "CellTaskNumber"
#: `-A`
ACCOUNT: Final = "CellAccount"
#: `-ac`, `-dc` and `-sc`: variables that are noted with the job, ``name=value,name``
CONTEXT: Final = "CellContext"
#: Where `-o`, `-e` and `-i` lead, as they were given.
OUTPUT_PATHS: Final = "CellOutputPaths"
ERROR_PATHS: Final = "CellErrorPaths"
INPUT_PATHS: Final = "CellInputPaths"
#: `-j y`
MERGES: Final = "CellMerges"
#: `-cwd` or `-wd` was given.
DIRECTORY: Final = "CellDirectory"
#: `-M`
MAIL_LIST: Final = "CellMailList"
#: `-now y`, TRUE: the first run that cannot start all tasks of the job removes it.
IMMEDIATE: Final = "CellImmediate"
#: How a user works with the job (`Interaction`), and the name of the session that its streams go to; none for `qsh`,
#: whose program makes a window.
INTERACTIVE: Final = "CellInteractive"
SESSION: Final = "CellSession"
#: Rows and columns of its terminal, ``24x80``; none for a job with pipes.
TERMINAL: Final = "CellTerminal"
#: TRUE: `qrsh -nostdin`.
NO_INPUT: Final = "CellNoInput"
#: What a run says of a job that it has a slot for, and that cannot begin before its machine has confirmed another one.
NEXT_ON_MACHINE: Final = "the run has a slot for it, and its machine starts one job after another: it is next"
#: RemoveReason of an immediate job that could not start.
NOT_IMMEDIATE: Final = "the job was to start immediately, and could not be scheduled"
#: The process of an earlier run that commands of the checkpointing interface have saved; the machine says so.
CHECKPOINTED: Final = "CellCheckpointed"
#: `-notify`, TRUE: the job is warned by a signal before it is suspended or ended.
NOTIFY: Final = "CellNotify"
#: `-r`: y or n
RERUN: Final = "CellRerun"
#: `-a`: not before this instant, epoch s.
NOT_BEFORE: Final = "CellNotBefore"
#: `-hold_jid`: the numbers of the jobs that have to leave first, separated by commas, and the words that named them.
PREDECESSORS: Final = "CellPredecessors"
PREDECESSORS_ASKED: Final = "CellPredecessorsAsked"
#: `-R y`, TRUE: the run keeps what the job needs where it cannot start.
RESERVE: Final = "CellReserve"
#: `-js`: the functional share of the job among others; `-ot`: tickets that an operator gave it.
SHARE: Final = "CellShare"
OVERRIDE_TICKETS: Final = "CellOverrideTickets"
#: `-dl`: when the job has to run at the latest, epoch s.
DEADLINE: Final = "CellDeadline"
#: `-ar`: the number of the advance reservation that the job uses.
RESERVATION: Final = "CellReservation"
#: What only the order and the bookings of a run depend on.
RANKED: Final = (RESERVE, SHARE, OVERRIDE_TICKETS, DEADLINE)
#: The lists of the users who may give jobs deadlines, and make advance reservations.
DEADLINE_USERS: Final = "deadlineusers"
RESERVATION_USERS: Final = "arusers"
#: `-hold_jid_ad`: the arrays whose tasks have to leave first, in the same two forms.
ARRAY_PREDECESSORS: Final = "CellArrayPredecessors"
ARRAY_PREDECESSORS_ASKED: Final = "CellArrayPredecessorsAsked"
#: Holds of a job on hold, some of the letters of `HOLDS`; the job is on hold until none is left.
HELD: Final = "CellHolds"
#: Of the user, of an operator, of the system, which managers set.
HOLDS: Final = "uos"
#: That of a task that waits for one of another array, and all of them.
ARRAY_HOLD: Final = "a"
ALL_HOLDS: Final = HOLDS + ARRAY_HOLD
#: ``CellFailed`` of a job that was killed at a limit of its queue instance.
LIMIT_EXCEEDED: Final = 37
#: What of the cell suspends the job of a slot, in the slot's ad: a list of `Suspender`, and the same in sentences.
SUSPENDERS: Final = "CellSuspenders"
SUSPENSION: Final = "CellSuspension"


class InstanceAction(StrEnum):
    """What commands do to queue instances."""

    DISABLE = "disable"
    ENABLE = "enable"
    SUSPEND = "suspend"
    RESUME = "resume"
    #: Take away the error state E.
    CLEAR = "clear"


class Interaction(StrEnum):
    """How a user works with a job while it runs."""

    #: `qrsh COMMAND`
    COMMAND = "command"
    #: `qlogin`, and `qrsh` without a command: a login shell.
    LOGIN = "login"
    #: `qsh`: a terminal emulator on the user's display.
    WINDOW = "window"


class Suspender(StrEnum):
    """What of a cell can suspend a job; it goes on when none of them is left."""

    #: Its queue instance was suspended by command.
    COMMAND = "command"
    #: The calendar of its queue instance.
    CALENDAR = "calendar"
    #: Another queue instance of the host has so many slots in use that its own is suspended.
    SUBORDINATION = "subordination"
    #: A suspend threshold of its queue instance is exceeded, and it is the job's turn.
    THRESHOLD = "threshold"
    #: The host runs as many jobs as it may, and those of other queues go first.
    SLOTS = "slots"


def ranges(asked: Iterable[tuple[int, int]]) -> str:
    """Ranges of slots as Grid Engine prints them: two numbers in a row are not a range."""
    return ",".join(
        f"{low}-{high}" if high > low + 1 else f"{low},{high}" if high > low else f"{low}" for low, high in asked
    )
