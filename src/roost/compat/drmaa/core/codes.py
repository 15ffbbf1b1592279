"""Error codes of DRMAA 1.0, and their texts."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Code(IntEnum):
    """DRMAA_ERRNO_…"""

    SUCCESS = 0
    INTERNAL_ERROR = 1
    DRM_COMMUNICATION_FAILURE = 2
    AUTH_FAILURE = 3
    INVALID_ARGUMENT = 4
    NO_ACTIVE_SESSION = 5
    NO_MEMORY = 6
    INVALID_CONTACT_STRING = 7
    DEFAULT_CONTACT_STRING_ERROR = 8
    NO_DEFAULT_CONTACT_STRING_SELECTED = 9
    DRMS_INIT_FAILED = 10
    ALREADY_ACTIVE_SESSION = 11
    DRMS_EXIT_ERROR = 12
    INVALID_ATTRIBUTE_FORMAT = 13
    INVALID_ATTRIBUTE_VALUE = 14
    CONFLICTING_ATTRIBUTE_VALUES = 15
    TRY_LATER = 16
    DENIED_BY_DRM = 17
    INVALID_JOB = 18
    RESUME_INCONSISTENT_STATE = 19
    SUSPEND_INCONSISTENT_STATE = 20
    HOLD_INCONSISTENT_STATE = 21
    RELEASE_INCONSISTENT_STATE = 22
    EXIT_TIMEOUT = 23
    NO_RUSAGE = 24
    NO_MORE_ELEMENTS = 25


#: The texts of drmaa_strerror.
TEXTS: Final = {
    Code.SUCCESS: "the call succeeded",
    Code.INTERNAL_ERROR: "internal error",
    Code.DRM_COMMUNICATION_FAILURE: "the pool does not answer",
    Code.AUTH_FAILURE: "the user may not do that",
    Code.INVALID_ARGUMENT: "an argument is not valid",
    Code.NO_ACTIVE_SESSION: "no session is active",
    Code.NO_MEMORY: "out of memory",
    Code.INVALID_CONTACT_STRING: "the contact string is not valid",
    Code.DEFAULT_CONTACT_STRING_ERROR: "the default contact string cannot be used",
    Code.NO_DEFAULT_CONTACT_STRING_SELECTED: "there is no default contact string",
    Code.DRMS_INIT_FAILED: "the session cannot be started",
    Code.ALREADY_ACTIVE_SESSION: "a session is already active",
    Code.DRMS_EXIT_ERROR: "the session cannot be ended",
    Code.INVALID_ATTRIBUTE_FORMAT: "the value of an attribute has the wrong format",
    Code.INVALID_ATTRIBUTE_VALUE: "the value of an attribute is not valid",
    Code.CONFLICTING_ATTRIBUTE_VALUES: "the values of two attributes contradict each other",
    Code.TRY_LATER: "the pool cannot take the request now: try later",
    Code.DENIED_BY_DRM: "the pool refuses the job",
    Code.INVALID_JOB: "there is no such job",
    Code.RESUME_INCONSISTENT_STATE: "the job is not suspended",
    Code.SUSPEND_INCONSISTENT_STATE: "the job does not run",
    Code.HOLD_INCONSISTENT_STATE: "the job is not waiting",
    Code.RELEASE_INCONSISTENT_STATE: "the job is not on hold",
    Code.EXIT_TIMEOUT: "the time ran out first",
    Code.NO_RUSAGE: "no usage is known of the job",
    Code.NO_MORE_ELEMENTS: "no more elements",
}


class DrmaaError(Exception):
    """A call failed."""

    def __init__(self, code: Code, text: str = "") -> None:
        self.code = code
        self.text = text or TEXTS[code]
        super().__init__(self.text)
