"""The module `htcondor2`: HTCondor's second Python bindings over a Roost pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.base.late import late
from roost.compat import classad2 as classad
from roost.model.compatible import CONDOR_VERSION_NUMBER

if TYPE_CHECKING:
    from roost.compat.htcondor2.absent import CredCheck, Credd, Placementd
    from roost.compat.htcondor2.collector import Collector
    from roost.compat.htcondor2.dagman import DAGMan
    from roost.compat.htcondor2.enums import (
        AdType,
        AdTypes,
        CommonFilesEventType,
        CompletionType,
        CredType,
        CredTypes,
        DaemonCommand,
        DaemonCommands,
        DaemonType,
        DaemonTypes,
        DrainType,
        DrainTypes,
        FileTransferEventType,
        HistorySrc,
        JobAction,
        JobEventType,
        JobStatus,
        LogLevel,
        QueryOpt,
        QueryOpts,
        SubmitMethod,
        SubsystemType,
        TransactionFlag,
        TransactionFlags,
        VacateType,
    )
    from roost.compat.htcondor2.errors import HTCondorException
    from roost.compat.htcondor2.job_event import JobEvent, JobEventLog
    from roost.compat.htcondor2.loose import (
        disable_debug,
        enable_debug,
        enable_log,
        log,
        param,
        ping,
        platform,
        reload_config,
        send_alive,
        send_command,
        set_ready_state,
        set_subsystem,
        version,
    )
    from roost.compat.htcondor2.negotiator import Negotiator
    from roost.compat.htcondor2.parameters import RemoteParam
    from roost.compat.htcondor2.schedd import Schedd
    from roost.compat.htcondor2.security import SecurityContext
    from roost.compat.htcondor2.startd import Startd
    from roost.compat.htcondor2.submit import Submit
    from roost.compat.htcondor2.submit_result import SubmitResult

__getattr__ = late(
    __name__,
    {
        "absent": ("CredCheck", "Credd", "Placementd"),
        "collector": ("Collector",),
        "dagman": ("DAGMan",),
        "enums": (
            "AdType",
            "AdTypes",
            "CommonFilesEventType",
            "CompletionType",
            "CredType",
            "CredTypes",
            "DaemonCommand",
            "DaemonCommands",
            "DaemonType",
            "DaemonTypes",
            "DrainType",
            "DrainTypes",
            "FileTransferEventType",
            "HistorySrc",
            "JobAction",
            "JobEventType",
            "JobStatus",
            "LogLevel",
            "QueryOpt",
            "QueryOpts",
            "SubmitMethod",
            "SubsystemType",
            "TransactionFlag",
            "TransactionFlags",
            "VacateType",
        ),
        "errors": ("HTCondorException",),
        "job_event": ("JobEvent", "JobEventLog"),
        "loose": (
            "disable_debug",
            "enable_debug",
            "enable_log",
            "log",
            "param",
            "ping",
            "platform",
            "reload_config",
            "send_alive",
            "send_command",
            "set_ready_state",
            "set_subsystem",
            "version",
        ),
        "negotiator": ("Negotiator",),
        "parameters": ("RemoteParam",),
        "schedd": ("Schedd",),
        "security": ("SecurityContext",),
        "startd": ("Startd",),
        "submit": ("Submit",),
        "submit_result": ("SubmitResult",),
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__version__: str = CONDOR_VERSION_NUMBER

__all__ = [
    "AdType",
    "AdTypes",
    "Collector",
    "CommonFilesEventType",
    "CompletionType",
    "CredCheck",
    "CredType",
    "CredTypes",
    "Credd",
    "DAGMan",
    "DaemonCommand",
    "DaemonCommands",
    "DaemonType",
    "DaemonTypes",
    "DrainType",
    "DrainTypes",
    "FileTransferEventType",
    "HTCondorException",
    "HistorySrc",
    "JobAction",
    "JobEvent",
    "JobEventLog",
    "JobEventType",
    "JobStatus",
    "LogLevel",
    "Negotiator",
    "Placementd",
    "QueryOpt",
    "QueryOpts",
    "RemoteParam",
    "Schedd",
    "SecurityContext",
    "Startd",
    "Submit",
    "SubmitMethod",
    "SubmitResult",
    "SubsystemType",
    "TransactionFlag",
    "TransactionFlags",
    "VacateType",
    "classad",
    "disable_debug",
    "enable_debug",
    "enable_log",
    "log",
    "param",
    "ping",
    "platform",
    "reload_config",
    "send_alive",
    "send_command",
    "set_ready_state",
    "set_subsystem",
    "version",
]
