"""The module `htcondor2`: HTCondor's second Python bindings over a Roost pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roost.base.late import late
from roost.compat import classad2 as classad  # noqa: F401
from roost.model.compatible import CONDOR_VERSION_NUMBER

if TYPE_CHECKING:
    from roost.compat.htcondor2.absent import *  # noqa: F403
    from roost.compat.htcondor2.collector import *  # noqa: F403
    from roost.compat.htcondor2.dagman import *  # noqa: F403
    from roost.compat.htcondor2.enums import *  # noqa: F403
    from roost.compat.htcondor2.errors import *  # noqa: F403
    from roost.compat.htcondor2.job_event import *  # noqa: F403
    from roost.compat.htcondor2.loose import *  # noqa: F403
    from roost.compat.htcondor2.negotiator import *  # noqa: F403
    from roost.compat.htcondor2.parameters import *  # noqa: F403
    from roost.compat.htcondor2.schedd import *  # noqa: F403
    from roost.compat.htcondor2.security import *  # noqa: F403
    from roost.compat.htcondor2.startd import *  # noqa: F403
    from roost.compat.htcondor2.submit import *  # noqa: F403
    from roost.compat.htcondor2.submit_result import *  # noqa: F403

#: Module to the names that it defines.
HOMES: Final = {
    "absent": ("CredCheck", "Credd", "Placementd"),
    "collector": ("Collector",),
    "dagman": ("DAGMan",),
    "enums": (
        "AdType", "AdTypes", "CommonFilesEventType", "CompletionType", "CredType", "CredTypes", "DaemonCommand",
        "DaemonCommands", "DaemonType", "DaemonTypes", "DrainType", "DrainTypes", "FileTransferEventType",
        "HistorySrc", "JobAction", "JobEventType", "JobStatus", "LogLevel", "QueryOpt", "QueryOpts", "SubmitMethod",
        "SubsystemType", "TransactionFlag", "TransactionFlags", "VacateType",
    ),
    "errors": ("HTCondorException",),
    "job_event": ("JobEvent", "JobEventLog"),
    "loose": (
        "disable_debug", "enable_debug", "enable_log", "log", "param", "ping", "platform", "reload_config",
        "send_alive", "send_command", "set_ready_state", "set_subsystem", "version",
    ),
    "negotiator": ("Negotiator",),
    "parameters": ("RemoteParam",),
    "schedd": ("Schedd",),
    "security": ("SecurityContext",),
    "startd": ("Startd",),
    "submit": ("Submit",),
    "submit_result": ("SubmitResult",),
}  # fmt: skip

__version__: str = CONDOR_VERSION_NUMBER
__all__ = sorted(["classad", *(name for names in HOMES.values() for name in names)])
__getattr__ = late(__name__, HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
