"""The job queue and the commands that fill it: defaults of jobs, limits, policy over jobs, history, event
log."""

from __future__ import annotations

from functools import partial

from roost.config.knob import Knob, KnobType, Reload, knob

_k = partial(knob, subsystem="SCHEDD")
_submit = partial(knob, subsystem="SUBMIT", reload=Reload.COMMAND)

# One row a line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
KNOBS: tuple[Knob, ...] = (
    _k("SCHEDD_NAME", KnobType.STRING, None, "Name of the queue when a host has several.", reload=Reload.RESTART),
    _k("SCHEDD_HOST", KnobType.STRING, None, "Queue that commands speak to when they run elsewhere.", reload=Reload.COMMAND),
    _k("ALIVE_INTERVAL", KnobType.INTEGER, "300", "Longest time between two keep-alives for a claim.", unit="s", low=10),
    _k("SCHEDD_INTERVAL", KnobType.INTEGER, "300", "Time between two updates of the queue's ads.", unit="s", low=1),
    _k("SCHEDD_MIN_INTERVAL", KnobType.INTEGER, "5", "Shortest time between two updates of the queue's ads.", unit="s", low=0),
    _k("REQUEST_CLAIM_TIMEOUT", KnobType.INTEGER, "1800", "How long a claim request may stay unanswered.", unit="s", low=1),
    _k("MAX_JOBS_RUNNING", KnobType.INTEGER, "10000", "Most jobs of this queue that run at a time.", low=0),
    _k("MAX_JOBS_SUBMITTED", KnobType.INTEGER, "2147483647", "Most jobs in the queue.", low=0),
    _k("MAX_JOBS_PER_OWNER", KnobType.INTEGER, "100000", "Most jobs of one user in the queue.", low=0),
    _k("MAX_JOBS_PER_SUBMISSION", KnobType.INTEGER, "1000000", "Most jobs in one submission.", low=0),
    _k("JOB_START_COUNT", KnobType.INTEGER, "1", "Jobs started at a time.", low=1),
    _k("JOB_START_DELAY", KnobType.INTEGER, "0", "Time between starts of such groups.", unit="s", low=0),
    _k("JOB_STOP_COUNT", KnobType.INTEGER, "1", "Jobs stopped at a time.", low=1),
    _k("JOB_STOP_DELAY", KnobType.INTEGER, "0", "Time between stops of such groups.", unit="s", low=0),
    _k("PERIODIC_EXPR_INTERVAL", KnobType.INTEGER, "60", "Time between two looks at periodic expressions.", unit="s", low=1),
    _k("MAX_PERIODIC_EXPR_INTERVAL", KnobType.INTEGER, "1200", "Longest time between two looks at periodic expressions in a busy queue.", unit="s", low=1),
    _k("PERIODIC_EXPR_TIMESLICE", KnobType.REAL, "0.01", "Share of time spent on periodic expressions.", low=0, high=1),
    _k("SYSTEM_PERIODIC_HOLD", KnobType.EXPRESSION, None, "Condition under which any job goes on hold."),
    _k("SYSTEM_PERIODIC_HOLD_REASON", KnobType.EXPRESSION, None, "Text of that hold reason."),
    _k("SYSTEM_PERIODIC_HOLD_SUBCODE", KnobType.EXPRESSION, None, "Number of that hold reason."),
    _k("SYSTEM_PERIODIC_HOLD_NAMES", KnobType.LIST, None, "Names of further conditions SYSTEM_PERIODIC_HOLD_<NAME>."),
    _k("SYSTEM_PERIODIC_HOLD_<NAME>", KnobType.EXPRESSION, None, "One of those conditions, or its reason or subcode."),
    _k("SYSTEM_PERIODIC_RELEASE", KnobType.EXPRESSION, None, "Condition under which any held job is released."),
    _k("SYSTEM_PERIODIC_RELEASE_NAMES", KnobType.LIST, None, "Names of further conditions SYSTEM_PERIODIC_RELEASE_<NAME>."),
    _k("SYSTEM_PERIODIC_RELEASE_<NAME>", KnobType.EXPRESSION, None, "One of those conditions."),
    _k("SYSTEM_PERIODIC_REMOVE", KnobType.EXPRESSION, None, "Condition under which any job is removed."),
    _k("SYSTEM_PERIODIC_REMOVE_NAMES", KnobType.LIST, None, "Names of further conditions SYSTEM_PERIODIC_REMOVE_<NAME>."),
    _k("SYSTEM_PERIODIC_REMOVE_<NAME>", KnobType.EXPRESSION, None, "One of those conditions."),
    _k("SYSTEM_PERIODIC_VACATE", KnobType.EXPRESSION, None, "Condition under which any running job is vacated."),
    _k("START_LOCAL_UNIVERSE", KnobType.EXPRESSION, "TotalLocalJobsRunning < 200", "Whether a local-universe job may start."),
    _k("START_SCHEDULER_UNIVERSE", KnobType.EXPRESSION, "TotalSchedulerJobsRunning < 500", "Whether a scheduler-universe job may start."),
    _k("SCHEDD_USE_SLOT_WEIGHT", KnobType.BOOLEAN, "True", "Whether the queue counts slots by weight."),
    _k("SCHEDD_ROUND_ATTR_<NAME>", KnobType.STRING, None, "How an attribute is rounded up in the queue, as a percentage or digits."),
    _k("SIGNIFICANT_ATTRIBUTES", KnobType.LIST, None, "Attributes that tell autoclusters apart, instead of those found out."),
    _k("ADD_SIGNIFICANT_ATTRIBUTES", KnobType.LIST, None, "Attributes that tell autoclusters apart, beside those found out."),
    _k("SUBMIT_REQUIREMENT_NAMES", KnobType.LIST, None, "Names of conditions that a submission must meet."),
    _k("SUBMIT_REQUIREMENT_<NAME>", KnobType.EXPRESSION, None, "One of those conditions, or its reason."),
    _k("JOB_TRANSFORM_NAMES", KnobType.LIST, None, "Names of changes made to jobs at submission."),
    _k("JOB_TRANSFORM_<NAME>", KnobType.STRING, None, "One of those changes."),
    _k("HISTORY", KnobType.PATH, "$(SPOOL)/history", "Record of jobs that left the queue.", reload=Reload.RESTART),
    _k("MAX_HISTORY_LOG", KnobType.INTEGER, "20971520", "Size at which the history is rotated.", unit="B", low=0),
    _k("MAX_HISTORY_ROTATIONS", KnobType.INTEGER, "2", "Number of rotated history files kept.", low=1),
    _k("EVENT_LOG", KnobType.PATH, None, "Log of the events of all jobs."),
    _k("EVENT_LOG_MAX_SIZE", KnobType.INTEGER, "1000000", "Size at which the event log is rotated.", unit="B"),
    _k("EVENT_LOG_MAX_ROTATIONS", KnobType.INTEGER, "1", "Number of rotated event logs kept.", low=0),
    _k("JOB_DEFAULT_LEASE_DURATION", KnobType.INTEGER, "2400", "How long a job goes on when its queue falls silent.", unit="s", low=0),
    _k("DEFAULT_JOB_MAX_RETRIES", KnobType.INTEGER, "2", "Retries of a job that says when it succeeded but not how often to try.", low=0),
    _k("QUEUE_SUPER_USERS", KnobType.LIST, "root, roost", "Who may change everybody's jobs."),
    _k("IMMUTABLE_JOB_ATTRS", KnobType.LIST, None, "Job attributes that cannot be changed after submission."),
    _k("PROTECTED_JOB_ATTRS", KnobType.LIST, None, "Job attributes that only queue super users may change."),
    _k("USE_NFS", KnobType.BOOLEAN, "False", "Kept for old configurations; nothing depends on it."),
    _submit("SUBMIT_ATTRS", KnobType.LIST, None, "Names of macros put into every job submitted from here."),
    _submit("SUBMIT_SKIP_FILECHECKS", KnobType.BOOLEAN, "True", "Whether submission does without looking for the job's files."),
    _submit("JOB_DEFAULT_REQUESTCPUS", KnobType.EXPRESSION, "1", "Cores requested for jobs that name none.", unit="cores"),
    _submit("JOB_DEFAULT_REQUESTMEMORY", KnobType.EXPRESSION, "128", "Memory requested for jobs that name none.", unit="MB"),
    _submit("JOB_DEFAULT_REQUESTDISK", KnobType.EXPRESSION, "MAX({1024, (TransferInputSizeMB+1) * 1.25}) * 1024", "Disk space requested for jobs that name none.", unit="KB"),
    _submit("DEFAULT_UNIVERSE", KnobType.STRING, "vanilla", "Universe of jobs that name none."),
    _submit("DEFAULT_RANK", KnobType.EXPRESSION, None, "Rank of jobs that name none."),
    _submit("APPEND_RANK", KnobType.EXPRESSION, None, "Added to the rank of every job."),
    _submit("APPEND_REQUIREMENTS", KnobType.EXPRESSION, None, "Condition added to the requirements of every job."),
    _submit("SUBMIT_DEFAULT_SHOULD_TRANSFER_FILES", KnobType.STRING, "IF_NEEDED", "Whether files are moved for jobs that do not say.", words=("yes", "no", "if_needed", "auto")),
    _submit("INTERACTIVE_SUBMIT_FILE", KnobType.PATH, None, "Submit description used for interactive jobs."),
    _k("SHADOW_WORKLIFE", KnobType.INTEGER, "3600", "Age at which the process that looks after a job takes no further one.", unit="s"),
    _k("SHADOW_RENICE_INCREMENT", KnobType.INTEGER, "0", "Nice value of processes that look after jobs.", low=0, high=19),
    _k("MAX_CONCURRENT_UPLOADS", KnobType.INTEGER, "100", "Most jobs whose output is moved at a time; 0 for no limit.", low=0),
    _k("MAX_CONCURRENT_DOWNLOADS", KnobType.INTEGER, "100", "Most jobs whose input is moved at a time; 0 for no limit.", low=0),
    _k("MAX_TRANSFER_INPUT_MB", KnobType.EXPRESSION, "-1", "Most input a job may have; -1 for no limit.", unit="MB"),
    _k("MAX_TRANSFER_OUTPUT_MB", KnobType.EXPRESSION, "-1", "Most output a job may have; -1 for no limit.", unit="MB"),
    _k("JOB_ROUTER_HOOK_KEYWORD", KnobType.STRING, None, "Prefix of the job router's hooks."),
)
