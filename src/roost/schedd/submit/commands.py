"""The table of commands whose value simply becomes an attribute, and the names of all commands.

Other commands are in the sections that handle them.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from roost.base.records import dataclass


class CommandKind(Enum):
    """How the value becomes that of the attribute."""

    #: The text unchanged.
    TEXT = "text"
    #: The text without enclosing double quotes.
    UNQUOTED = "unquoted"
    EXPRESSION = "expression"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    #: A path, made absolute relative to the directory where the job starts.
    PATH = "path"


@dataclass(frozen=True, slots=True)
class Command:
    """One row."""

    name: str
    attribute: str
    kind: CommandKind
    #: Other names of the command, besides that of the attribute.
    others: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names, the first one first."""
        return self.name, *self.others, self.attribute


def _rows(kind: CommandKind, text: str) -> tuple[Command, ...]:
    found = []
    for line in text.split("\n"):
        words = line.split()
        if words:
            found.append(Command(words[0], words[1], kind, tuple(words[2:])))
    return tuple(found)


SIMPLE: Final[tuple[Command, ...]] = (
    *_rows(
        CommandKind.EXPRESSION,
        """
        on_exit_hold_reason        OnExitHoldReason
        on_exit_hold_subcode       OnExitHoldSubCode
        periodic_hold              PeriodicHold
        periodic_hold_reason       PeriodicHoldReason
        periodic_hold_subcode      PeriodicHoldSubCode
        periodic_release           PeriodicRelease
        periodic_release_reason    PeriodicReleaseReason
        periodic_remove            PeriodicRemove
        periodic_remove_reason     PeriodicRemoveReason
        periodic_vacate            PeriodicVacate
        periodic_vacate_reason     PeriodicVacateReason
        periodic_vacate_subcode    PeriodicVacateSubCode
        timer_remove               TimerRemove
        leave_in_queue             LeaveJobInQueue
        allowed_job_duration       AllowedJobDuration
        allowed_execute_duration   AllowedExecuteDuration
        job_max_vacate_time        JobMaxVacateTime
        max_job_retirement_time    MaxJobRetirementTime
        want_graceful_removal      WantGracefulRemoval
        keep_claim_idle            KeepClaimIdle
        next_job_start_delay       NextJobStartDelay
        noop_job                   IsNoopJob
        noop_job_exit_code         NoopJobExitCode
        noop_job_exit_signal       NoopJobExitSignal
        max_transfer_input_mb      MaxTransferInputMB
        max_transfer_output_mb     MaxTransferOutputMB
        stack_size                 StackSize
        job_machine_attrs_history_length  JobMachineAttrsHistoryLength
        """,
    ),
    *_rows(
        CommandKind.TEXT,
        """
        description                JobDescription
        remote_initialdir          RemoteIwd
        notify_user                NotifyUser
        email_attributes           EmailAttributes
        job_machine_attrs          JobMachineAttrs
        job_ad_information_attrs   JobAdInformationAttrs
        ulog_execute_attrs         UserLogExecuteEventAttrs
        submit_event_notes         SubmitEventNotes
        submit_event_user_notes    SubmitEventUserNotes
        dag_node_name              DAGNodeName
        batch_id                   JobBatchId
        primary_unix_group         PrimaryUnixGroup
        transfer_plugins           TransferPlugins
        checkpoint_destination     CheckpointDestination
        starter_debug              JobStarterDebug
        hook_keyword               HookKeyword   hookkeyword
        """,
    ),
    *_rows(
        CommandKind.UNQUOTED,
        """
        cell_resources             CellResources
        cell_soft_resources        CellSoftResources
        cell_queues                CellQueues
        cell_soft_queues           CellSoftQueues
        cell_project               CellProject
        cell_parallel              CellParallel
        cell_master_queues         CellMasterQueues
        batch_name                 JobBatchName  batchname
        transfer_output_remaps     TransferOutputRemaps
        output_destination         OutputDestination
        """,
    ),
    *_rows(
        CommandKind.BOOLEAN,
        """
        preserve_relative_paths    PreserveRelativePaths
        skip_if_dataflow           SkipIfDataflow
        want_io_proxy              WantIOProxy
        run_as_owner               RunAsOwner
        load_profile               LoadProfile
        manifest                   ManifestDesired
        """,
    ),
    *_rows(
        CommandKind.INTEGER,
        """
        core_size                  CoreSize
        kill_sig_timeout           KillSigTimeout
        max_idle                   JobMaterializeMaxIdle    materialize_max_idle
        max_materialize            JobMaterializeLimit
        """,
    ),
    *_rows(
        CommandKind.PATH,
        """
        log                        UserLog
        dagman_log                 DAGManNodesLog
        starter_log                JobStarterLog
        """,
    ),
)

#: Commands that sections read themselves.
_OTHERS: Final = """
    executable universe arguments args environment env getenv shell docker_image container_image
    input stdin output stdout error stderr stream_input stream_output stream_error
    transfer_input transfer_output transfer_error initialdir initial_dir iwd job_iwd
    priority prio rank preferences requirements request_cpus request_memory request_disk request_gpus require_gpus
    gpus_minimum_memory gpus_minimum_capability gpus_maximum_capability gpus_minimum_runtime
    retry_request_memory retry_request_memory_increase retry_request_memory_max
    retry_request_disk retry_request_disk_increase retry_request_disk_max
    image_size disk_usage nice_user accounting_group accounting_group_user concurrency_limits concurrency_limits_expr
    should_transfer_files when_to_transfer_output transfer_executable transfer_input_files transfer_output_files
    transfer_checkpoint_files checkpoint_exit_code encrypt_input_files encrypt_output_files
    dont_encrypt_input_files dont_encrypt_output_files arguments2 environment2
    on_exit_remove on_exit_hold max_retries retry_until success_exit_code
    kill_sig remove_kill_sig rm_kill_sig hold_kill_sig hold job_lease_duration notification
    deferral_time deferral_window deferral_prep_time cron_minute cron_hour cron_day_of_month cron_month
    cron_day_of_week cron_window cron_prep_time
"""
OTHERS: Final[tuple[str, ...]] = tuple(_OTHERS.split())

#: Every name, to find the command that a misspelt one was meant to be.
ALL: Final[frozenset[str]] = frozenset(OTHERS) | frozenset(row.name for row in SIMPLE)

#: Common mistakes for a command.
SYNONYMS: Final[dict[str, str]] = {
    "cmd": "executable",
    "exec": "executable",
    "command": "executable",
    "program": "executable",
    "argument": "arguments",
    "out": "output",
    "err": "error",
    "in": "input",
    "stream_out": "stream_output",
    "stream_err": "stream_error",
    "job_prio": "priority",
    "cpus": "request_cpus",
    "ncpus": "request_cpus",
    "memory": "request_memory",
    "mem": "request_memory",
    "disk": "request_disk",
    "gpus": "request_gpus",
    "log_file": "log",
    "logfile": "log",
    "workdir": "initialdir",
    "working_directory": "initialdir",
    "transfer_files": "transfer_input_files",
    "input_files": "transfer_input_files",
    "output_files": "transfer_output_files",
    "retries": "max_retries",
    "name": "batch_name",
    "job_name": "batch_name",
}
