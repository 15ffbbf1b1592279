"""Attributes and keywords that jobs, machines and queues exchange about a Grid Engine cell.

The first attributes are a job's requests to the cell; `roost.gridengine.pool.requests` reads them. The others that
`qsub` sets say what the job is called and how it is run.
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
#: The cell's allocation for a job, an ad in the ads of the job and of its slot; see `roost.gridengine.pool.tasks`.
TASK: Final = "CellTask"

#: In a slot's ad, load values of its host and of the cell from the cell's load sensors, as ``name=value,…``; and the
#: sensors themselves: interval (s), host, and programs.
LOADS: Final = "CellLoads"
#: Load values of the machine itself, in the same form; values of load sensors take precedence.
HOST_LOADS: Final = "CellHostLoads"
GLOBAL_LOADS: Final = "CellGlobalLoads"
LOAD_SENSORS: Final = "CellLoadSensors"

#: `qsub -N`; set for exactly the jobs of `qsub`.
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
#: `-ac`, `-dc` and `-sc`: variables that are stored with the job, ``name=value,name``
CONTEXT: Final = "CellContext"
#: The paths of `-o`, `-e` and `-i`, as given.
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
#: How a user interacts with the job (`Interaction`), and the name of the session for its streams; none for `qsh`, whose
#: program opens a window.
INTERACTIVE: Final = "CellInteractive"
SESSION: Final = "CellSession"
#: Rows and columns of its terminal, ``24x80``; none for a job with pipes.
TERMINAL: Final = "CellTerminal"
#: TRUE: `qrsh -nostdin`.
NO_INPUT: Final = "CellNoInput"
#: The reason for a job that has a slot but cannot start before its machine has confirmed another job.
NEXT_ON_MACHINE: Final = "the run has a slot for it, and its machine starts one job after another: it is next"
#: In an allocation: further jobs of the cluster may start on the same claim while the queue's count of arrivals is
#: this.
FOLLOWS: Final = "Follows"
#: RemoveReason of an immediate job that could not start.
NOT_IMMEDIATE: Final = "the job was to start immediately, and could not be scheduled"
#: The process of an earlier run that was saved by commands of the checkpointing interface; set by the machine.
CHECKPOINTED: Final = "CellCheckpointed"
#: `-notify`, TRUE: the job gets a warning signal before it is suspended or ended.
NOTIFY: Final = "CellNotify"
#: `-r`: y or n
RERUN: Final = "CellRerun"
#: `-a`: not before this instant, epoch s.
NOT_BEFORE: Final = "CellNotBefore"
#: `-binding`: the cores that a job requests; only displayed.
BINDING: Final = "CellBinding"
#: Hosts from which a job was rescheduled, and until when it does not start there again: host and epoch s.
CLEANED: Final = "CellCleaned"
#: `-hold_jid`: the numbers of the jobs that must leave the queue first, separated by commas, and the names given.
PREDECESSORS: Final = "CellPredecessors"
PREDECESSORS_ASKED: Final = "CellPredecessorsAsked"
#: `-R y`, TRUE: the run reserves resources for the job if it cannot start.
RESERVE: Final = "CellReserve"
#: `-js`: the functional share of the job among others; `-ot`: tickets that an operator gave it.
SHARE: Final = "CellShare"
OVERRIDE_TICKETS: Final = "CellOverrideTickets"
#: `-dl`: deadline of the job, epoch s.
DEADLINE: Final = "CellDeadline"
#: `-ar`: the number of the advance reservation that the job uses.
RESERVATION: Final = "CellReservation"
#: Attributes that affect only the order and the reservations of a run.
RANKED: Final = (RESERVE, SHARE, OVERRIDE_TICKETS, DEADLINE)
#: The lists of the users who may give jobs deadlines, and make advance reservations.
DEADLINE_USERS: Final = "deadlineusers"
RESERVATION_USERS: Final = "arusers"
#: `-hold_jid_ad`: the arrays whose tasks must leave the queue first, in the same two forms.
ARRAY_PREDECESSORS: Final = "CellArrayPredecessors"
ARRAY_PREDECESSORS_ASKED: Final = "CellArrayPredecessorsAsked"
#: Holds of a job on hold, some of the letters of `HOLDS`; the job is on hold until none is left.
HELD: Final = "CellHolds"
#: Of the user, of an operator, of the system, which managers set.
HOLDS: Final = "uos"
#: The hold of a task that waits for a task of another array, and all holds.
ARRAY_HOLD: Final = "a"
ALL_HOLDS: Final = HOLDS + ARRAY_HOLD
#: ``CellFailed`` of a job that was killed at a limit of its queue instance.
LIMIT_EXCEEDED: Final = 37
#: In a slot's ad, what suspends its job in the cell: a list of `Suspender`, and the same in sentences.
SUSPENDERS: Final = "CellSuspenders"
SUSPENSION: Final = "CellSuspension"
#: What suspends it besides the cell, in the slot's ad: a list of `JobSuspender`.
JOB_SUSPENDERS: Final = "JobSuspenders"


class InstanceAction(StrEnum):
    """Actions of commands on queue instances."""

    DISABLE = "disable"
    ENABLE = "enable"
    SUSPEND = "suspend"
    RESUME = "resume"
    #: Clear the error state E.
    CLEAR = "clear"


class Interaction(StrEnum):
    """How a user interacts with a job while it runs."""

    #: `qrsh COMMAND`
    COMMAND = "command"
    #: `qlogin`, and `qrsh` without a command: a login shell.
    LOGIN = "login"
    #: `qsh`: a terminal emulator on the user's display.
    WINDOW = "window"


class Suspender(StrEnum):
    """Causes in a cell that suspend a job; it continues when none is left."""

    #: Its queue instance was suspended by command.
    COMMAND = "command"
    #: The calendar of its queue instance.
    CALENDAR = "calendar"
    #: Its queue instance is subordinate to one on the host whose used slots reached the threshold.
    SUBORDINATION = "subordination"
    #: A suspend threshold of its queue instance is exceeded, and the job was chosen.
    THRESHOLD = "threshold"
    #: The host has reached its limit of jobs, and other queues take precedence.
    SLOTS = "slots"


class JobSuspender(StrEnum):
    """What can suspend any job; it goes on when none of these and none of a cell's causes is left."""

    #: `roost suspend`, `condor_suspend` or `qmod -sj`.
    COMMAND = "command"
    #: SUSPEND of its machine's owner.
    POLICY = "policy"


def ranges(asked: Iterable[tuple[int, int]]) -> str:
    """Ranges of slots as Grid Engine prints them: two numbers in a row are not a range."""
    return ",".join(
        f"{low}-{high}" if high > low + 1 else f"{low},{high}" if high > low else f"{low}" for low, high in asked
    )
