"""The numbers in a job's ad for a hold and for the end of a run.

They are HTCondor's: HoldReasonCode and VacateReasonCode. Ads, logs and commands show the numbers; the names are for the
code only.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class HoldCode(IntEnum):
    """HoldReasonCode."""

    UNSPECIFIED = 0
    USER_REQUEST = 1
    JOB_POLICY = 3
    CORRUPTED_CREDENTIAL = 4
    JOB_POLICY_UNDEFINED = 5
    #: The subcode is the system's error number.
    FAILED_TO_CREATE_PROCESS = 6
    UNABLE_TO_OPEN_OUTPUT = 7
    UNABLE_TO_OPEN_INPUT = 8
    UNABLE_TO_OPEN_OUTPUT_STREAM = 9
    UNABLE_TO_OPEN_INPUT_STREAM = 10
    INVALID_TRANSFER_ACK = 11
    TRANSFER_OUTPUT_ERROR = 12
    TRANSFER_INPUT_ERROR = 13
    IWD_ERROR = 14
    SUBMITTED_ON_HOLD = 15
    SPOOLING_INPUT = 16
    JOB_SHADOW_MISMATCH = 17
    INVALID_TRANSFER_GO_AHEAD = 18
    HOOK_PREPARE_JOB_FAILURE = 19
    MISSED_DEFERRED_EXECUTION_TIME = 20
    #: WANT_HOLD of the machine; the subcode is its WANT_HOLD_SUBCODE.
    STARTD_HELD_JOB = 21
    UNABLE_TO_INIT_USER_LOG = 22
    FAILED_TO_ACCESS_USER_ACCOUNT = 23
    NO_COMPATIBLE_SHADOW = 24
    INVALID_CRON_SETTINGS = 25
    SYSTEM_POLICY = 26
    SYSTEM_POLICY_UNDEFINED = 27
    MAX_TRANSFER_INPUT_SIZE_EXCEEDED = 32
    MAX_TRANSFER_OUTPUT_SIZE_EXCEEDED = 33
    #: Subcode 102 is memory, 104 disk.
    JOB_OUT_OF_RESOURCES = 34
    INVALID_DOCKER_IMAGE = 35
    FAILED_TO_CHECKPOINT = 36
    PRE_SCRIPT_FAILED = 43
    POST_SCRIPT_FAILED = 44
    SINGULARITY_TEST_FAILED = 45
    JOB_DURATION_EXCEEDED = 46
    JOB_EXECUTE_EXCEEDED = 47
    HOOK_SHADOW_PREPARE_JOB_FAILURE = 48
    CANNOT_SWITCH_PRIMARY_GROUP = 49

    @property
    def label(self) -> str:
        """The name under which HTCondor counts holds, such as UserRequest."""
        return "".join(word.capitalize() for word in self.name.split("_"))


class VacateCode(IntEnum):
    """VacateReasonCode."""

    JOB_POLICY = 1000
    SYSTEM_POLICY = 1001
    SHADOW_EXCEPTION = 1002
    JOB_NOT_STARTED = 1003
    USER_VACATE_JOB = 1004
    JOB_SHOULD_REQUEUE = 1005
    FAILED_TO_ACTIVATE_CLAIM = 1006
    STARTER_ERROR = 1007
    RECONNECT_FAILED = 1008
    CLAIM_DEACTIVATED = 1009
    STARTD_VACATE_COMMAND = 1010
    STARTD_PREEMPT_EXPRESSION = 1011
    STARTD_EXCEPTION = 1012
    STARTD_SHUTDOWN = 1013
    STARTD_DRAINING = 1014
    STARTD_COALESCE = 1015
    STARTD_HIBERNATE = 1016
    STARTD_RELEASE_COMMAND = 1017
    STARTD_PREEMPTING_CLAIM_RANK = 1018
    STARTD_PREEMPTING_CLAIM_USER_PRIO = 1019
    VM_ERROR = 1020
    CONTAINER_ERROR = 1021
    SCHEDD_VACATE = 1022
    JOB_REMOVED = 1023
    SCRATCH_DIR_ERROR = 1024
    SUCCESSFUL_CHECKPOINT = 1025
    ACTIVATION_REFUSED = 1026
    STARTD_REHOMING = 1037


#: Codes from this one up say why a run ended without the job being put on hold.
VACATE_CODES_FROM: Final = 1000
#: A hold with a subcode of at most this is an eviction nevertheless.
VACATE_SUBCODES_TO: Final = -1000

#: Codes of machines that evicted a job for its use of resources; the subcode says which.
RESOURCE_CODES: Final = frozenset((HoldCode.STARTD_HELD_JOB, HoldCode.JOB_OUT_OF_RESOURCES))
SUBCODE_MEMORY: Final = 102
SUBCODE_DISK: Final = 104
