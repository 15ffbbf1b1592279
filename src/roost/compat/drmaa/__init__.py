"""The module `drmaa`: the interface of PyPI's package of that name over a Roost pool.

In a pool with a Grid Engine cell jobs are jobs of `qsub`, with its options in nativeSpecification; in any other pool
they are ordinary jobs, and nativeSpecification holds lines of a submit description.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roost.base.late import late
from roost.compat.drmaa.version import VERSION, __version__  # noqa: F401

if TYPE_CHECKING:
    from roost.compat.drmaa.const import *  # noqa: F403
    from roost.compat.drmaa.errors import *  # noqa: F403
    from roost.compat.drmaa.session import *  # noqa: F403

#: Module to the names that it defines.
HOMES: Final = {
    "const": (
        "ATTR_BUFFER", "BLOCK_EMAIL", "CONTACT_BUFFER", "DEADLINE_TIME", "DRMAA_IMPLEMENTATION_BUFFER",
        "DRM_SYSTEM_BUFFER", "DURATION_HLIMIT", "DURATION_SLIMIT", "ERROR_PATH", "ERROR_STRING_BUFFER",
        "INPUT_PATH", "JOBNAME_BUFFER", "JOB_CATEGORY", "JOB_IDS_SESSION_ALL", "JOB_IDS_SESSION_ANY", "JOB_NAME",
        "JOIN_FILES", "JS_STATE", "JobControlAction", "JobState", "JobSubmissionState", "NATIVE_SPECIFICATION",
        "NO_MORE_ELEMENTS", "OUTPUT_PATH", "PLACEHOLDER_HD", "PLACEHOLDER_INCR", "PLACEHOLDER_WD", "REMOTE_COMMAND",
        "SIGNAL_BUFFER", "START_TIME", "SUBMISSION_STATE_ACTIVE", "SUBMISSION_STATE_HOLD", "TIMEOUT_NO_WAIT",
        "TIMEOUT_WAIT_FOREVER", "TRANSFER_FILES", "V_ARGV", "V_EMAIL", "V_ENV", "WCT_HLIMIT", "WCT_SLIMIT", "WD",
        "control_action_to_string", "job_state", "status_to_string", "string_to_control_action", "submission_state",
    ),
    "errors": (
        "AlreadyActiveSessionException", "AuthorizationException", "ConflictingAttributeValuesException",
        "DefaultContactStringException", "DeniedByDrmException", "DrmCommunicationException", "DrmsExitException",
        "DrmsInitException", "ExitTimeoutException", "HoldInconsistentStateException", "IllegalStateException",
        "InternalException", "InvalidArgumentException", "InvalidAttributeFormatException",
        "InvalidAttributeValueException", "InvalidContactStringException", "InvalidJobException",
        "InvalidJobTemplateException", "NoActiveSessionException", "NoDefaultContactStringSelectedException",
        "OutOfMemoryException", "ReleaseInconsistentStateException", "ResumeInconsistentStateException",
        "SuspendInconsistentStateException", "TryLaterException", "UnsupportedAttributeException",
    ),
    "session": ("JobInfo", "JobTemplate", "Session"),
}  # fmt: skip

__all__ = sorted(["VERSION", "__version__", *(name for names in HOMES.values() for name in names)])
__getattr__ = late(__name__, HOMES)


def __dir__() -> list[str]:
    return __all__
