"""The process that runs a DAG."""

from __future__ import annotations

from functools import partial

from roost.base.diagnostics import Severity
from roost.config.knob import Knob, KnobType, Reload, Unread, knob

_k = partial(knob, subsystem="DAGMAN", reload=Reload.COMMAND, read_by="dag.configured")

_N = Severity.NOTE

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
KNOBS: tuple[Knob, ...] = (
    _k("DAGMAN_MAX_JOBS_SUBMITTED", KnobType.INTEGER, "0", "Largest number of nodes of a DAG with jobs in the queue; 0 for no limit.", low=0),
    _k("DAGMAN_MAX_JOBS_IDLE", KnobType.INTEGER, "1000", "Largest number of idle jobs of a DAG; 0 for no limit.", low=0),
    _k("DAGMAN_MAX_PRE_SCRIPTS", KnobType.INTEGER, "20", "Largest number of PRE scripts that run at once; 0 for no limit.", low=0),
    _k("DAGMAN_MAX_POST_SCRIPTS", KnobType.INTEGER, "20", "Largest number of POST scripts that run at once; 0 for no limit.", low=0),
    _k("DAGMAN_MAX_HOLD_SCRIPTS", KnobType.INTEGER, "20", "Largest number of HOLD scripts that run at once; 0 for no limit.", low=0),
    _k("DAGMAN_MAX_SUBMIT_ATTEMPTS", KnobType.INTEGER, "6", "Number of attempts to submit a node.", low=1, high=16),
    _k("DAGMAN_MAX_RESCUE_NUM", KnobType.INTEGER, "100", "Highest number of a rescue file; that file is then overwritten.", low=0, high=999, read_by="cli.dagman"),
    _k("DAGMAN_ALWAYS_RUN_POST", KnobType.BOOLEAN, "False", "Whether POST scripts run after a failed PRE script."),
    _k("DAGMAN_DEFAULT_APPEND_VARS", KnobType.BOOLEAN, "False", "VARS without PREPEND or APPEND follow the lines of the submit description.", read_by="cli.dagman"),
    _k("DAGMAN_SUBMIT_DEPTH_FIRST", KnobType.BOOLEAN, "False", "Whether nodes that became ready last are submitted first."),
    _k("DAGMAN_RETRY_NODE_FIRST", KnobType.BOOLEAN, "False", "Whether a node that is retried is submitted before others."),
    _k("DAGMAN_USER_LOG_SCAN_INTERVAL", KnobType.INTEGER, "5", "Longest time between two checks of the nodes' event log; Roost checks more often.", unit="s", low=1, unread=Unread("The log is read as it grows.", _N)),
)
