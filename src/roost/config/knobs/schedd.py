"""The job queue and the commands that fill it: defaults of jobs, limits, policy over jobs, history, event
log."""

from __future__ import annotations

from functools import partial

from roost.config.finding import Severity
from roost.config.knob import Knob, KnobType, Reload, Unread, knob

_k = partial(knob, subsystem="SCHEDD", read_by="schedd.configured")
_submit = partial(knob, subsystem="SUBMIT", reload=Reload.COMMAND, read_by="schedd.submit.submission")

_E = Severity.ERROR
_N = Severity.NOTE

# One row a line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
KNOBS: tuple[Knob, ...] = (
    _k("SCHEDD_NAME", KnobType.STRING, None, "Name of the queue when a host has several.", reload=Reload.RESTART, read_by="runtime.master"),
    _k("SCHEDD_HOST", KnobType.STRING, None, "Queue that commands speak to when they run elsewhere.", reload=Reload.COMMAND, unread=Unread("Daemons find the pool through NATS_SERVERS.", _N)),
    _k("ALIVE_INTERVAL", KnobType.INTEGER, "300", "Longest time between two signs of life for a claim; it falls to a third of the lease of the claim's job, but not below 10 s.", unit="s", low=10),
    _k("SCHEDD_INTERVAL", KnobType.INTEGER, "300", "Time between two updates of the queue's ads; jobs with a deferral_time may be matched that much earlier.", unit="s", low=1),
    _k("SCHEDD_MIN_INTERVAL", KnobType.INTEGER, "5", "Shortest time between two updates of the queue's ads.", unit="s", low=0, unread=Unread("The ads of a queue are updated as it changes, once a second at most.", _N)),
    _k("REQUEST_CLAIM_TIMEOUT", KnobType.INTEGER, "1800", "How long a request waits for a slot whose present job has to leave first; then the job is matched anew.", unit="s", low=1),
    _k("MAX_JOBS_RUNNING", KnobType.INTEGER, "10000", "Most jobs of this queue that run on the pool at a time.", low=0),
    _k("MAX_JOBS_SUBMITTED", KnobType.INTEGER, "2147483647", "Most jobs in the queue.", low=0),
    _k("MAX_JOBS_PER_OWNER", KnobType.INTEGER, "100000", "Most jobs of one user in the queue.", low=0),
    _k("MAX_JOBS_PER_SUBMISSION", KnobType.INTEGER, "1000000", "Most jobs in one submission.", low=0),
    _k("JOB_START_COUNT", KnobType.INTEGER, "1", "Slots that the queue asks for within JOB_START_DELAY; a job that follows another on the same claim starts at once.", low=1),
    _k("JOB_START_DELAY", KnobType.INTEGER, "0", "Time between requests for JOB_START_COUNT slots; 0 for no delay.", unit="s", low=0),
    _k("JOB_STOP_COUNT", KnobType.INTEGER, "1", "Jobs stopped at a time.", low=1, unread=Unread("Jobs are stopped at once.")),
    _k("JOB_STOP_DELAY", KnobType.INTEGER, "0", "Time between stops of such groups.", unit="s", low=0, unread=Unread("Jobs are stopped at once.")),
    _k("PERIODIC_EXPR_INTERVAL", KnobType.INTEGER, "60", "Time between two looks at periodic expressions.", unit="s", low=1),
    _k("MAX_PERIODIC_EXPR_INTERVAL", KnobType.INTEGER, "1200", "Longest time between two looks at periodic expressions in a busy queue.", unit="s", low=1, unread=Unread("Periodic expressions are looked at every PERIODIC_EXPR_INTERVAL.", _N)),
    _k("PERIODIC_EXPR_TIMESLICE", KnobType.REAL, "0.01", "Share of time spent on periodic expressions.", low=0, high=1, unread=Unread("Periodic expressions are looked at every PERIODIC_EXPR_INTERVAL.", _N)),
    _k("SYSTEM_PERIODIC_HOLD", KnobType.EXPRESSION, None, "Condition under which any job goes on hold.", read_by="schedd.job_policy_config"),
    _k("SYSTEM_PERIODIC_HOLD_REASON", KnobType.EXPRESSION, None, "Text of that hold reason.", read_by="schedd.job_policy_config"),
    _k("SYSTEM_PERIODIC_HOLD_SUBCODE", KnobType.EXPRESSION, None, "Number of that hold reason.", read_by="schedd.job_policy_config"),
    _k("SYSTEM_PERIODIC_HOLD_NAMES", KnobType.LIST, None, "Names of further conditions SYSTEM_PERIODIC_HOLD_<NAME>.", read_by="schedd.job_policy_config"),
    _k("SYSTEM_PERIODIC_HOLD_<NAME>", KnobType.EXPRESSION, None, "One of those conditions, or its reason or subcode.", read_by="schedd.job_policy_config"),
    _k("SYSTEM_PERIODIC_RELEASE", KnobType.EXPRESSION, None, "Condition under which any held job is released.", read_by="schedd.job_policy_config"),
    _k("SYSTEM_PERIODIC_RELEASE_NAMES", KnobType.LIST, None, "Names of further conditions SYSTEM_PERIODIC_RELEASE_<NAME>.", read_by="schedd.job_policy_config"),
    _k("SYSTEM_PERIODIC_RELEASE_<NAME>", KnobType.EXPRESSION, None, "One of those conditions.", read_by="schedd.job_policy_config"),
    _k("SYSTEM_PERIODIC_REMOVE", KnobType.EXPRESSION, None, "Condition under which any job is removed.", read_by="schedd.job_policy_config"),
    _k("SYSTEM_PERIODIC_REMOVE_NAMES", KnobType.LIST, None, "Names of further conditions SYSTEM_PERIODIC_REMOVE_<NAME>.", read_by="schedd.job_policy_config"),
    _k("SYSTEM_PERIODIC_REMOVE_<NAME>", KnobType.EXPRESSION, None, "One of those conditions.", read_by="schedd.job_policy_config"),
    _k("SYSTEM_PERIODIC_VACATE", KnobType.EXPRESSION, None, "Condition under which any running job is vacated.", read_by="schedd.job_policy_config"),
    _k("SYSTEM_PERIODIC_VACATE_NAMES", KnobType.LIST, None, "Names of further conditions SYSTEM_PERIODIC_VACATE_<NAME>.", read_by="schedd.job_policy_config"),
    _k("SYSTEM_PERIODIC_VACATE_<NAME>", KnobType.EXPRESSION, None, "One of those conditions.", read_by="schedd.job_policy_config"),
    _k("SYSTEM_MAX_RELEASES", KnobType.INTEGER, None, "A job that was held that often is not released by policy.", low=0, read_by="schedd.job_policy_config"),
    _k("GRACEFULLY_REMOVE_JOBS", KnobType.BOOLEAN, "True", "A removed job is asked to end before it is killed, unless it says itself what it wants.", read_by="schedd.job_policy_config"),
    _k("START_LOCAL_UNIVERSE", KnobType.EXPRESSION, "TotalLocalJobsRunning < 200", "Whether a local-universe job may start."),
    _k("START_SCHEDULER_UNIVERSE", KnobType.EXPRESSION, "TotalSchedulerJobsRunning < 500", "Whether a scheduler-universe job may start."),
    _k("SCHEDD_USE_SLOT_WEIGHT", KnobType.BOOLEAN, "True", "Whether the queue counts slots by weight.", unread=Unread("Queues tell the sum of the cores that their idle jobs ask for.", _N)),
    _k("SCHEDD_ROUND_ATTR_<NAME>", KnobType.STRING, None, "How an attribute is rounded up in the queue, as a percentage or digits.", unread=Unread("Autoclusters are told apart by the attributes that expressions refer to.", _N)),
    _k("SIGNIFICANT_ATTRIBUTES", KnobType.LIST, None, "Attributes that tell autoclusters apart, instead of those found out."),
    _k("ADD_SIGNIFICANT_ATTRIBUTES", KnobType.LIST, None, "Attributes that tell autoclusters apart, beside those found out."),
    _k("SUBMIT_REQUIREMENT_NAMES", KnobType.LIST, None, "Names of conditions that a submission must meet.", read_by="schedd.admission"),
    _k("SUBMIT_REQUIREMENT_<NAME>", KnobType.EXPRESSION, None, "One of those conditions, or its reason.", read_by="schedd.admission"),
    _k("JOB_TRANSFORM_NAMES", KnobType.LIST, None, "Names of changes made to jobs at submission.", read_by="schedd.admission"),
    _k("JOB_TRANSFORM_<NAME>", KnobType.STRING, None, "One of those changes.", read_by="schedd.admission"),
    _k("SCHEDD_CLASSAD_USER_MAP_NAMES", KnobType.LIST, None, "Names of the maps that userMap() knows.", read_by="schedd.user_maps"),
    _k("CLASSAD_USER_MAPFILE_<NAME>", KnobType.PATH, None, "File of one of those maps.", read_by="schedd.user_maps"),
    _k("CLASSAD_USER_MAPDATA_<NAME>", KnobType.STRING, None, "One of those maps, written down here.", read_by="schedd.user_maps"),
    _k("SCHEDD_CRON_JOBLIST", KnobType.LIST, None, "Names of programs run regularly to report attributes of the queue.", unread=Unread("Nothing runs these programs.")),
    _k("SCHEDD_CRON_<NAME>", KnobType.STRING, None, "Settings of those programs: EXECUTABLE, PERIOD, MODE, ARGS, PREFIX and others.", unread=Unread("Nothing runs these programs.")),
    _k("HISTORY", KnobType.PATH, None, "File that gets the ad of each job that leaves the queue, beside the database, for programs that read HTCondor's: $(SPOOL)/history there. Everybody can read it.", reload=Reload.RESTART, read_by="runtime.queue_copies"),
    _k("MAX_HISTORY_LOG", KnobType.INTEGER, "20971520", "Size at which that file is rotated; 0 for never.", unit="B", low=0, reload=Reload.RESTART, read_by="runtime.queue_copies"),
    _k("MAX_HISTORY_ROTATIONS", KnobType.INTEGER, "2", "Number of rotated history files kept.", low=1, reload=Reload.RESTART, read_by="runtime.queue_copies"),
    _k("PER_JOB_HISTORY_DIR", KnobType.PATH, None, "Directory that gets a file history.CLUSTER.PROC with the ad of each job that leaves the queue; whoever reads them removes them.", reload=Reload.RESTART, read_by="runtime.queue_copies"),
    _k("JOB_QUEUE_LOG", KnobType.PATH, None, "File that tells the queue, change by change, to programs that follow HTCondor's: $(SPOOL)/job_queue.log there. Only the queue's own user can read it.", reload=Reload.RESTART, read_by="runtime.queue_copies"),
    _k("MAX_JOB_QUEUE_LOG_ROTATIONS", KnobType.INTEGER, "1", "Number of old such files kept.", low=0, reload=Reload.RESTART, read_by="runtime.queue_copies"),
    _k("QUEUE_CLEAN_INTERVAL", KnobType.INTEGER, "86400", "How long such a file grows before it is made anew; one that grows fast is so earlier.", unit="s", low=1, reload=Reload.RESTART, read_by="runtime.queue_copies"),
    _k("EVENT_LOG", KnobType.PATH, None, "Log of the events of all jobs.", unread=Unread("Events are in the logs of the jobs; roost audit has those of the pool.")),
    _k("EVENT_LOG_MAX_SIZE", KnobType.INTEGER, "1000000", "Size at which the event log is rotated.", unit="B", unread=Unread("Events are in the logs of the jobs; roost audit has those of the pool.")),
    _k("EVENT_LOG_MAX_ROTATIONS", KnobType.INTEGER, "1", "Number of rotated event logs kept.", low=0, unread=Unread("Events are in the logs of the jobs; roost audit has those of the pool.")),
    _k("JOB_DEFAULT_LEASE_DURATION", KnobType.INTEGER, "2400", "How long a job goes on when its queue falls silent.", unit="s", low=0, read_by="schedd.submit.submission"),
    _k("DEFAULT_JOB_MAX_RETRIES", KnobType.INTEGER, "2", "Retries of a job that says when it succeeded but not how often to try.", low=0, read_by="schedd.submit.submission"),
    _k("QUEUE_SUPER_USERS", KnobType.LIST, "root, roost", "Who may change everybody's jobs."),
    _k("IMMUTABLE_JOB_ATTRS", KnobType.LIST, None, "Job attributes that cannot be changed after submission."),
    _k("PROTECTED_JOB_ATTRS", KnobType.LIST, None, "Job attributes that only queue super users may change."),
    _k("USE_NFS", KnobType.BOOLEAN, "False", "Kept for old configurations; nothing depends on it.", unread=Unread("Nothing depends on it.", _N)),
    _k("SECURE_JOB_ATTRS", KnobType.LIST, None, "Job attributes that are not taken from users, and that nobody changes."),
    _submit("SYSTEM_SUBMIT_ATTRS", KnobType.LIST, None, "The same as SUBMIT_ATTRS, for those that the site's configuration sets."),
    _submit("SUBMIT_ATTRS", KnobType.LIST, None, "Names of macros put into every job submitted from here."),
    _submit("SUBMIT_SKIP_FILECHECKS", KnobType.BOOLEAN, "True", "Whether submission does without looking for the job's files."),
    _submit("JOB_DEFAULT_REQUESTCPUS", KnobType.EXPRESSION, "1", "Cores requested for jobs that name none.", unit="cores"),
    _submit("JOB_DEFAULT_REQUESTMEMORY", KnobType.EXPRESSION, "128", "Memory requested for jobs that name none.", unit="MB"),
    _submit("JOB_DEFAULT_REQUESTDISK", KnobType.EXPRESSION, "MAX({1024, (TransferInputSizeMB+1) * 1.25}) * 1024", "Disk space requested for jobs that name none.", unit="KB"),
    _submit("DEFAULT_UNIVERSE", KnobType.STRING, "vanilla", "Universe of jobs that name none.", unread=Unread("Jobs that name no universe are vanilla.")),
    _submit("DEFAULT_RANK", KnobType.EXPRESSION, None, "Rank of jobs that name none."),
    _submit("APPEND_RANK", KnobType.EXPRESSION, None, "Added to the rank of every job."),
    _submit("APPEND_REQUIREMENTS", KnobType.EXPRESSION, None, "Condition added to the requirements of every job."),
    _submit("SUBMIT_DEFAULT_SHOULD_TRANSFER_FILES", KnobType.STRING, "IF_NEEDED", "Whether files are moved for jobs that do not say.", words=("yes", "no", "if_needed", "auto")),
    _submit("INTERACTIVE_SUBMIT_FILE", KnobType.PATH, None, "Submit description used for interactive jobs.", unread=Unread("Condor_submit -interactive takes the description that it is given.")),
    _k("SHADOW_WORKLIFE", KnobType.INTEGER, "3600", "Age at which the process that looks after a job takes no further one.", unit="s", unread=Unread("There is no process for each job beside the queue.", _N)),
    _k("SHADOW_RENICE_INCREMENT", KnobType.INTEGER, "0", "Nice value of processes that look after jobs.", low=0, high=19, unread=Unread("There is no process for each job beside the queue.", _N)),
    _k("MAX_CONCURRENT_UPLOADS", KnobType.INTEGER, "100", "Most jobs whose input the queue sends at a time; 0 for no limit.", low=0, read_by="runtime.schedd_daemon"),
    _k("MAX_CONCURRENT_DOWNLOADS", KnobType.INTEGER, "100", "Most jobs whose output the queue takes at a time; 0 for no limit.", low=0, read_by="runtime.schedd_daemon"),
    _k("MAX_TRANSFER_INPUT_MB", KnobType.EXPRESSION, "-1", "Most input of a job that has no max_transfer_input_mb of its own, evaluated in its ad; counts for jobs submitted from then on; -1 for no limit.", unit="MB"),
    _k("MAX_TRANSFER_OUTPUT_MB", KnobType.EXPRESSION, "-1", "Most output of a job that has no max_transfer_output_mb of its own, evaluated in its ad; counts for jobs submitted from then on; -1 for no limit.", unit="MB"),
    _k("JOB_ROUTER_HOOK_KEYWORD", KnobType.STRING, None, "Prefix of the job router's hooks.", unread=Unread("There is no job router.")),
)
