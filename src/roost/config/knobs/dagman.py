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
    _k("DAGMAN_MAX_JOBS_IDLE", KnobType.INTEGER, "1000", "Largest number of jobs of a DAG that wait for a slot; 0 for no limit.", low=0),
    _k("DAGMAN_MAX_PRE_SCRIPTS", KnobType.INTEGER, "20", "Largest number of PRE scripts that run at once; 0 for no limit.", low=0),
    _k("DAGMAN_MAX_POST_SCRIPTS", KnobType.INTEGER, "20", "Largest number of POST scripts that run at once; 0 for no limit.", low=0),
    _k("DAGMAN_MAX_HOLD_SCRIPTS", KnobType.INTEGER, "20", "Largest number of HOLD scripts that run at once; 0 for no limit.", low=0),
    _k("DAGMAN_MAX_SUBMIT_ATTEMPTS", KnobType.INTEGER, "6", "How often the queue is asked to take a node.", low=1, high=16),
    _k("DAGMAN_MAX_RESCUE_NUM", KnobType.INTEGER, "100", "Number of the last rescue file, which is then written again and again.", low=0, high=999, read_by="cli.dagman"),
    _k("DAGMAN_ALWAYS_RUN_POST", KnobType.BOOLEAN, "False", "POST scripts run after a failed PRE, too."),
    _k("DAGMAN_DEFAULT_APPEND_VARS", KnobType.BOOLEAN, "False", "VARS without PREPEND or APPEND follow the lines of the submit description.", read_by="cli.dagman"),
    _k("DAGMAN_SUBMIT_DEPTH_FIRST", KnobType.BOOLEAN, "False", "Nodes that became ready last are submitted first."),
    _k("DAGMAN_RETRY_NODE_FIRST", KnobType.BOOLEAN, "False", "A node that is tried again comes before others."),
    _k("DAGMAN_USER_LOG_SCAN_INTERVAL", KnobType.INTEGER, "5", "Longest time between two looks at the event log of the nodes; Roost looks more often.", unit="s", low=1, unread=Unread("The log is read as it grows.", _N)),
)
