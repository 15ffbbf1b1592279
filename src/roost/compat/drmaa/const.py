"""Constants of DRMAA: attributes, states, keywords, buffer sizes."""

from __future__ import annotations

import locale
from typing import Final

from roost.compat.drmaa.version import __version__

__all__ = [
    "ATTR_BUFFER", "BLOCK_EMAIL", "CONTACT_BUFFER", "DEADLINE_TIME", "DRMAA_IMPLEMENTATION_BUFFER",
    "DRM_SYSTEM_BUFFER", "DURATION_HLIMIT", "DURATION_SLIMIT", "ENCODING", "ERROR_PATH", "ERROR_STRING_BUFFER",
    "INPUT_PATH", "JOBNAME_BUFFER", "JOB_CATEGORY", "JOB_IDS_SESSION_ALL", "JOB_IDS_SESSION_ANY", "JOB_NAME",
    "JOIN_FILES", "JS_STATE", "NATIVE_SPECIFICATION", "NO_MORE_ELEMENTS", "OUTPUT_PATH", "PLACEHOLDER_HD",
    "PLACEHOLDER_INCR", "PLACEHOLDER_WD", "REMOTE_COMMAND", "SIGNAL_BUFFER", "START_TIME", "SUBMISSION_STATE_ACTIVE",
    "SUBMISSION_STATE_HOLD", "TIMEOUT_NO_WAIT", "TIMEOUT_WAIT_FOREVER", "TRANSFER_FILES", "V_ARGV", "V_EMAIL",
    "V_ENV", "WCT_HLIMIT", "WCT_SLIMIT", "WD", "JobControlAction", "JobState", "JobSubmissionState", "__version__",
    "control_action_to_string", "job_state", "status_to_string", "string_to_control_action", "submission_state",
]  # fmt: skip

ENCODING: Final = locale.getpreferredencoding(False)

ATTR_BUFFER: Final = 1024
CONTACT_BUFFER: Final = 1024
DRM_SYSTEM_BUFFER: Final = 1024
DRMAA_IMPLEMENTATION_BUFFER: Final = 1024
ERROR_STRING_BUFFER: Final = 1024
JOBNAME_BUFFER: Final = 1024
SIGNAL_BUFFER: Final = 32

TIMEOUT_WAIT_FOREVER: Final = -1
TIMEOUT_NO_WAIT: Final = 0

JOB_IDS_SESSION_ANY: Final = b"DRMAA_JOB_IDS_SESSION_ANY"
JOB_IDS_SESSION_ALL: Final = b"DRMAA_JOB_IDS_SESSION_ALL"

SUBMISSION_STATE_ACTIVE: Final = "drmaa_active"
SUBMISSION_STATE_HOLD: Final = "drmaa_hold"

PLACEHOLDER_INCR: Final = b"$drmaa_incr_ph$"
PLACEHOLDER_HD: Final = b"$drmaa_hd_ph$"
PLACEHOLDER_WD: Final = b"$drmaa_wd_ph$"

REMOTE_COMMAND: Final = b"drmaa_remote_command"
JS_STATE: Final = b"drmaa_js_state"
WD: Final = b"drmaa_wd"
JOB_CATEGORY: Final = b"drmaa_job_category"
NATIVE_SPECIFICATION: Final = b"drmaa_native_specification"
BLOCK_EMAIL: Final = b"drmaa_block_email"
START_TIME: Final = b"drmaa_start_time"
JOB_NAME: Final = b"drmaa_job_name"
INPUT_PATH: Final = b"drmaa_input_path"
OUTPUT_PATH: Final = b"drmaa_output_path"
ERROR_PATH: Final = b"drmaa_error_path"
JOIN_FILES: Final = b"drmaa_join_files"
TRANSFER_FILES: Final = b"drmaa_transfer_files"
DEADLINE_TIME: Final = b"drmaa_deadline_time"
WCT_HLIMIT: Final = b"drmaa_wct_hlimit"
WCT_SLIMIT: Final = b"drmaa_wct_slimit"
DURATION_HLIMIT: Final = b"drmaa_duration_hlimit"
DURATION_SLIMIT: Final = b"drmaa_duration_slimit"
V_ARGV: Final = b"drmaa_v_argv"
V_ENV: Final = b"drmaa_v_env"
V_EMAIL: Final = b"drmaa_v_email"

NO_MORE_ELEMENTS: Final = 25


class JobState:
    """The state of a job."""

    UNDETERMINED = "undetermined"
    QUEUED_ACTIVE = "queued_active"
    SYSTEM_ON_HOLD = "system_on_hold"
    USER_ON_HOLD = "user_on_hold"
    USER_SYSTEM_ON_HOLD = "user_system_on_hold"
    RUNNING = "running"
    SYSTEM_SUSPENDED = "system_suspended"
    USER_SUSPENDED = "user_suspended"
    USER_SYSTEM_SUSPENDED = "user_system_suspended"
    DONE = "done"
    FAILED = "failed"


class JobControlAction:
    """An action on a job."""

    SUSPEND = "suspend"
    RESUME = "resume"
    HOLD = "hold"
    RELEASE = "release"
    TERMINATE = "terminate"


class JobSubmissionState:
    """The state of a job at submission."""

    HOLD_STATE = SUBMISSION_STATE_HOLD
    ACTIVE_STATE = SUBMISSION_STATE_ACTIVE


_JOB_CONTROL: Final = (
    JobControlAction.SUSPEND,
    JobControlAction.RESUME,
    JobControlAction.HOLD,
    JobControlAction.RELEASE,
    JobControlAction.TERMINATE,
)
_JOB_PS: Final = {
    0x00: JobState.UNDETERMINED,
    0x10: JobState.QUEUED_ACTIVE,
    0x11: JobState.SYSTEM_ON_HOLD,
    0x12: JobState.USER_ON_HOLD,
    0x13: JobState.USER_SYSTEM_ON_HOLD,
    0x20: JobState.RUNNING,
    0x21: JobState.SYSTEM_SUSPENDED,
    0x22: JobState.USER_SUSPENDED,
    0x23: JobState.USER_SYSTEM_SUSPENDED,
    0x30: JobState.DONE,
    0x40: JobState.FAILED,
}
_SUBMISSION_STATE: Final = (JobSubmissionState.HOLD_STATE, JobSubmissionState.ACTIVE_STATE)


def job_state(code: int) -> str:
    """The name of a state by number. Raises KeyError."""
    return _JOB_PS[code]


def status_to_string(status: int) -> str:
    """The name of a state by number. Raises KeyError."""
    return _JOB_PS[status]


def string_to_control_action(operation: str) -> int:
    """The number of an operation. Raises ValueError."""
    return _JOB_CONTROL.index(operation)


def control_action_to_string(code: int) -> str:
    """The name of an operation by number. Raises IndexError."""
    return _JOB_CONTROL[code]


def submission_state(code: int) -> str:
    """The name of a state at submission by number. Raises IndexError."""
    return _SUBMISSION_STATE[code]
