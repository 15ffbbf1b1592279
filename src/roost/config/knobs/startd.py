"""The execute machine's daemon: polling, time-outs, claims, draining, backfill, benchmarks."""

from __future__ import annotations

from functools import partial

from roost.base.diagnostics import Severity
from roost.config.knob import Knob, KnobType, Members, Reload, Unread, knob

_k = partial(knob, subsystem="STARTD", read_by="startd.configured")

_N = Severity.NOTE

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
KNOBS: tuple[Knob, ...] = (
    _k("STARTD_ENFORCE_DISK_LIMITS", KnobType.BOOLEAN, "False", "Whether a job that uses more disk space than its slot has is put on hold.", unread=Unread("Scratch directories have no quota: evict jobs by PREEMPT, or hold them by SYSTEM_PERIODIC_HOLD, for what DiskUsage says.", Severity.ERROR)),
    _k("STARTD_NAME", KnobType.STRING, None, "Part of slot names before the host name, for several daemons on one host.", reload=Reload.RESTART, read_by="startd.slot_ad.ad"),
    _k("POLLING_INTERVAL", KnobType.INTEGER, "5", "Time between two evaluations of the policy of a claimed slot.", unit="s", low=1, read_by="node.plan"),
    _k("MATCH_TIMEOUT", KnobType.INTEGER, "120", "How long a matched slot waits to be claimed.", unit="s", low=1),
    _k("KILLING_TIMEOUT", KnobType.INTEGER, "30", "How long a hard kill may take before the starter itself is killed.", unit="s", low=1),
    _k("VM_KILLING_TIMEOUT", KnobType.INTEGER, "60", "The same for a virtual machine, if it is longer.", unit="s", low=1),
    _k("MAX_CLAIM_ALIVES_MISSED", KnobType.INTEGER, "6", "Missed keepalives after which machine and queue give up a claim whose job has no lease.", low=1),
    _k("MAX_DRAINING_ACTIVATION_DELAY", KnobType.INTEGER, "20", "A draining machine takes a job only if this time, and then the job's vacate time, remain before the last job must go.", unit="s", low=0),
    _k("DEFAULT_DRAINING_START_EXPR", KnobType.EXPRESSION, "FALSE", "START of the machine while it is drained, unless the drain specifies another."),
    _k("ENABLE_BACKFILL", KnobType.BOOLEAN, "False", "Whether idle slots may do backfill work."),
    _k("BACKFILL_SYSTEM", KnobType.STRING, None, "What does backfill work.", words=("boinc",)),
    _k("BOINC_Executable", KnobType.PATH, None, "Backfill client."),
    _k("BOINC_InitialDir", KnobType.PATH, None, "Directory the backfill client runs in."),
    _k("BOINC_Universe", KnobType.STRING, "vanilla", "Universe of the backfill client."),
    _k("BOINC_Owner", KnobType.STRING, None, "Account of the backfill client."),
    _k("BOINC_Arguments", KnobType.STRING, None, "Arguments of the backfill client.", read_by="runtime.node.backfill"),
    _k("BOINC_Environment", KnobType.STRING, None, "Environment of the backfill client.", read_by="runtime.node.backfill"),
    _k("BOINC_Output", KnobType.PATH, None, "File for the backfill client's output.", read_by="runtime.node.backfill"),
    _k("BOINC_Error", KnobType.PATH, None, "File for the backfill client's error output.", read_by="runtime.node.backfill"),
    _k("STARTD_HISTORY", KnobType.PATH, "$(SPOOL)/startd_history", "Record of the jobs that ran here.", unread=Unread("The record is in log/transitions.jsonl of the state directory.", _N)),
    _k("STARTD_NOCLAIM_SHUTDOWN", KnobType.INTEGER, "0", "Time without any claim after which the daemon ends; 0 for never.", unit="s", low=0, unread=Unread("A daemon ends when roost down or condor_off says so, and not by an expression.")),
    _k("STARTD_HAS_BAD_UTMP", KnobType.BOOLEAN, "False", "Whether the record of logged-in users cannot be trusted, so that all terminals are checked.", read_by="runtime.node.sensors"),
    _k("STARTD_RECOMPUTE_DISK_FREE", KnobType.BOOLEAN, "False", "Whether free disk space is measured at every update.", unread=Unread("Free disk space is measured at every update.", _N)),
    _k("STARTD_LOAD_SENSOR_USER", KnobType.STRING, "nobody", "Account that load sensors of a Grid Engine cell run as where root runs the pool; root only if it is named.", read_by="runtime.node.daemon"),
    _k("STARTD_CRON_JOBLIST", KnobType.LIST, None, "Names of programs whose output goes into the slots' ads.", read_by="node.cron", members=Members.PARTS),
    _k("STARTD_CRON_MAX_JOB_LOAD", KnobType.REAL, "0.1", "Load that all running programs together may cause: no further one starts that would exceed it. One program always may run.", low=0, read_by="node.cron"),
    _k("STARTD_CRON_CONFIG_VAL", KnobType.PATH, None, "Command that reads the configuration, passed to programs in an environment variable of this name.", read_by="node.cron"),
    _k("STARTD_CRON_LOG_NON_ZERO_EXIT", KnobType.BOOLEAN, "False", "Whether the standard error of a failing program is logged.", read_by="node.cron"),
    _k("STARTD_CRON_AUTOPUBLISH", KnobType.STRING, "Never", "When new output is published at once.", words=("never", "always", "if_changed"), read_by="node.cron"),
    _k("STARTD_CRON_<NAME>_EXECUTABLE", KnobType.PATH, None, "Program to run.", read_by="node.cron"),
    _k("STARTD_CRON_<NAME>_ARGS", KnobType.STRING, None, "Arguments of the program.", read_by="node.cron"),
    _k("STARTD_CRON_<NAME>_ENV", KnobType.STRING, None, "Environment of the program, in addition to the daemon's PATH, HOME, LANG and TZ.", read_by="node.cron"),
    _k("STARTD_CRON_<NAME>_CWD", KnobType.PATH, None, "Directory the program runs in; the log directory if unset.", read_by="node.cron"),
    _k("STARTD_CRON_<NAME>_MODE", KnobType.STRING, "Periodic", "When the program runs: every PERIOD, PERIOD after its last end, or once at the start.", words=("periodic", "waitforexit", "oneshot"), read_by="node.cron"),
    _k("STARTD_CRON_<NAME>_PERIOD", KnobType.STRING, None, "Time between runs, with the suffix s, m or h.", read_by="node.cron"),
    _k("STARTD_CRON_<NAME>_PREFIX", KnobType.STRING, None, "Prefix of the attribute names.", read_by="node.cron"),
    _k("STARTD_CRON_<NAME>_KILL", KnobType.BOOLEAN, "False", "Whether a run that has not finished when the next is due is killed; otherwise the next is skipped.", read_by="node.cron"),
    _k("STARTD_CRON_<NAME>_RECONFIG", KnobType.BOOLEAN, "False", "Whether the running program gets SIGHUP when the daemon is reconfigured.", read_by="node.cron"),
    _k("STARTD_CRON_<NAME>_RECONFIG_RERUN", KnobType.BOOLEAN, "False", "Whether the program restarts when the daemon is reconfigured.", read_by="node.cron"),
    _k("STARTD_CRON_<NAME>_JOB_LOAD", KnobType.REAL, "0.01", "Load that the program is assumed to cause.", low=0, read_by="node.cron"),
    _k("STARTD_CRON_<NAME>_CONDITION", KnobType.EXPRESSION, None, "The program starts only while this is TRUE of the machine's ad.", read_by="node.cron"),
    _k("STARTD_CRON_<NAME>_SLOTS", KnobType.LIST, None, "Numbers of the slots that may publish the output; all if unset.", read_by="node.cron"),
    _k("STARTD_CRON_<NAME>_METRICS", KnobType.LIST, None, "SUM:Name or PEAK:Name for each number of a resource monitor to add up while a job runs.", unread=Unread("Values of monitors are published, but not summed for each job.")),
    _k("STARTD_JOB_HOOK_KEYWORD", KnobType.STRING, None, "Prefix of the hooks that fetch work for all slots.", reload=Reload.RESTART),
    _k("SLOT<N>_<N>_JOB_HOOK_KEYWORD", KnobType.STRING, None, "Prefix of the hooks that fetch work for one dynamic slot.", reload=Reload.RESTART),
    _k("SLOT<N>_JOB_HOOK_KEYWORD", KnobType.STRING, None, "Prefix of the hooks that fetch work for slot N.", reload=Reload.RESTART),
    _k("<KEYWORD>_HOOK_FETCH_WORK", KnobType.PATH, None, "Program that prints the ad of a job to run, or nothing."),
    _k("<KEYWORD>_HOOK_FETCH_WORK_TIMEOUT", KnobType.INTEGER, None, "How long that program may take; unset forever.", unit="s", low=1, read_by="runtime.node.fetching"),
    _k("<KEYWORD>_HOOK_REPLY_FETCH", KnobType.PATH, None, "Program told whether fetched work was accepted."),
    _k("<KEYWORD>_HOOK_REPLY_FETCH_TIMEOUT", KnobType.INTEGER, "300", "How long that program may take.", unit="s", low=1, read_by="runtime.node.fetching"),
    _k("<KEYWORD>_HOOK_EVICT_CLAIM", KnobType.PATH, None, "Program told that fetched work was evicted."),
    _k("<KEYWORD>_HOOK_EVICT_CLAIM_TIMEOUT", KnobType.INTEGER, "300", "How long that program may take.", unit="s", low=1, read_by="runtime.node.fetching"),
    _k("ROOSTER_INTERVAL", KnobType.INTEGER, "0", "Time between two checks for sleeping machines to wake; 0 for never.", unit="s", low=0, unread=Unread("Roost does not put machines to sleep or wake them.")),
    _k("HIBERNATE", KnobType.EXPRESSION, '"NONE"', "Sleep state that the machine should be in: NONE, S1 to S5, RAM, DISK, SHUTDOWN.", unread=Unread("Roost does not put machines to sleep or wake them.")),
    _k("HIBERNATE_CHECK_INTERVAL", KnobType.INTEGER, "0", "Time between two evaluations of HIBERNATE; 0 for never.", unit="s", low=0, unread=Unread("Roost does not put machines to sleep or wake them.")),
    _k("BENCHMARKS_JOBLIST", KnobType.LIST, "mips kflops", "Benchmarks that are run.", unread=Unread("Both benchmarks are run always.")),
    _k("USER_JOB_WRAPPER", KnobType.PATH, None, "Program that jobs are started through.", subsystem="STARTER", read_by="runtime.node.runs.job_order"),
)
