"""The process that runs a DAG."""

from __future__ import annotations

from functools import partial

from roost.base.diagnostics import Severity
from roost.config.knob import Knob, KnobType, Members, Reload, Unread, knob

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
    _k("DAGMAN_MAX_RESCUE_NUM", KnobType.INTEGER, "100", "Highest number of a rescue file; that file is then overwritten.", low=0, high=999, read_by="runtime.workflow.dagman"),
    _k("DAGMAN_ALWAYS_RUN_POST", KnobType.BOOLEAN, "False", "Whether POST scripts run after a failed PRE script."),
    _k("DAGMAN_DEFAULT_APPEND_VARS", KnobType.BOOLEAN, "False", "VARS without PREPEND or APPEND follow the lines of the submit description.", read_by="runtime.workflow.dagman"),
    _k("DAGMAN_SUBMIT_DEPTH_FIRST", KnobType.BOOLEAN, "False", "Nodes that became ready last are submitted first."),
    _k("DAGMAN_RETRY_NODE_FIRST", KnobType.BOOLEAN, "False", "A node that is retried comes before others."),
    _k("DAGMAN_MAX_JOB_HOLDS", KnobType.INTEGER, "100", "How often jobs of a node may be put on hold; with the last of these the node's jobs are removed, and it fails. 0 for any number.", low=0),
    _k("DAGMAN_NODE_JOB_FAILURE_TOLERANCE", KnobType.INTEGER, "0", "Number of jobs of a node without TOLERANCE that may fail.", low=0),
    _k("DAGMAN_PUT_FAILED_JOBS_ON_HOLD", KnobType.BOOLEAN, "False", "A node whose jobs failed and that has no retry left is submitted once more, on hold, unless it has a POST script."),
    _k("DAGMAN_SUBMIT_DELAY", KnobType.INTEGER, "0", "Time between two submissions of nodes.", unit="s", low=0, read_by="runtime.workflow.dagman"),
    _k("DAGMAN_MAX_SUBMITS_PER_INTERVAL", KnobType.INTEGER, "100", "Number of nodes that are submitted before the run checks for events.", low=1, high=1000, read_by="runtime.workflow.dagman"),
    _k("DAGMAN_DEFAULT_PRIORITY", KnobType.INTEGER, "0", "Added to the priority of the jobs of all nodes, where the command line names no priority.", read_by="runtime.workflow.dagman"),
    _k("DAGMAN_INHERIT_ATTRS", KnobType.LIST, None, "Attributes of the run's own job that the jobs of its nodes have, too.", read_by="runtime.workflow.dagman", members=Members.NAMES),
    _k("DAGMAN_INHERIT_ATTRS_PREFIX", KnobType.STRING, None, "Put before the names of these attributes.", read_by="runtime.workflow.dagman"),
    _k("DAGMAN_NODE_RECORD_INFO", KnobType.STRING, None, "RETRY: jobs of nodes have the number of the retry as DAGManNodeRetry.", read_by="runtime.workflow.submitting"),
    _k("DAGMAN_PROHIBIT_MULTI_JOBS", KnobType.BOOLEAN, "False", "A node whose description queues several jobs fails, as in recent versions of HTCondor; older versions ended the whole run.", read_by="runtime.workflow.submitting"),
    _k("DAGMAN_SUPPRESS_JOB_LOGS", KnobType.BOOLEAN, "False", "Jobs of nodes have no event log of their own.", read_by="runtime.workflow.submitting"),
    _k("DAGMAN_SUPPRESS_NOTIFICATION", KnobType.BOOLEAN, "False", "Jobs of nodes have `notification = never`.", read_by="runtime.workflow.submitting"),
    _k("DAGMAN_USER_LOG_SCAN_INTERVAL", KnobType.INTEGER, "5", "Maximum interval between polls of the event log of the nodes; Roost polls more often.", unit="s", low=1, unread=Unread("The log is read as it grows.", _N)),
    _k("DAGMAN_AUTO_RESCUE", KnobType.BOOLEAN, "True", "Whether a run continues from the newest rescue file.", unread=Unread("It does unless the command says otherwise: `condor_submit_dag -autorescue 0`.")),
    _k("DAGMAN_INSERT_SUB_FILE", KnobType.PATH, None, "File of lines for the description of the run.", unread=Unread("Use `condor_submit_dag -insert_sub_file FILE`.")),
    _k("DAGMAN_MANAGER_JOB_APPEND_GETENV", KnobType.LIST, None, "Variables of the environment that the run keeps.", unread=Unread("Use `ENV GET` in the DAG file, or `condor_submit_dag -include_env`.")),
    _k("DAGMAN_ON_EXIT_REMOVE", KnobType.EXPRESSION, "(ExitSignal =?= 11 || (ExitCode =!= UNDEFINED && ExitCode >=0 && ExitCode <= 2))", "When the run's own job leaves the queue.", unread=Unread("It leaves when the run is over.")),
    _k("DAGMAN_CONFIG_FILE", KnobType.PATH, None, "Settings of the run.", unread=Unread("Use CONFIG in the DAG file, or `condor_submit_dag -config FILE`.")),
    _k("DAGMAN_USE_STRICT", KnobType.INTEGER, "1", "Level from which warnings are errors.", unread=Unread("What HTCondor's level 1 refuses is an error; warnings never are. `roost dag check` shows them.", harmless=("0", "1",))),
    _k("DAGMAN_ABORT_DUPLICATES", KnobType.BOOLEAN, "True", "Whether a DAG that runs is not run again at the same time.", unread=Unread("It never is.")),
    _k("DAGMAN_ABORT_ON_SCARY_SUBMIT", KnobType.BOOLEAN, "True", "Whether an unexpected submit event ends the run.", unread=Unread("The queue tells the cluster of each node.", _N)),
    _k("DAGMAN_ALLOW_EVENTS", KnobType.INTEGER, "114", "Which unexpected events are allowed.", unread=Unread("A run ignores duplicate events and events of other jobs.", _N)),
    _k("DAGMAN_ALLOW_ANY_NODE_NAME_CHARACTERS", KnobType.BOOLEAN, "False", "Whether names of nodes may have any character.", unread=Unread("`+` and `.` in names stay reserved for splices.")),
    _k("DAGMAN_CHECK_QUEUE_INTERVAL", KnobType.INTEGER, "28800", "Time without events after which a run queries the queue for its jobs.", unit="s", unread=Unread("The event log is the queue's own, and a restarted run queries the queue.", _N)),
    _k("DAGMAN_QUEUE_UPDATE_INTERVAL", KnobType.INTEGER, "300", "Time between two updates of the run's own job.", unit="s", unread=Unread("It is updated as nodes change, every 2 s at most.", _N)),
    _k("DAGMAN_AGGRESSIVE_SUBMIT", KnobType.BOOLEAN, "False", "Whether nodes are submitted without pause.", unread=Unread("They are; DAGMAN_SUBMIT_DELAY and DAGMAN_MAX_SUBMITS_PER_INTERVAL set the pace.", _N, harmless=("true",))),
    _k("DAGMAN_HOLD_CLAIM_TIME", KnobType.INTEGER, "20", "How long a slot waits for the next job of the run.", unit="s", unread=Unread("A slot without a next job is released at once.", _N, harmless=("0",))),
    _k("DAGMAN_GENERATE_SUBDAG_SUBMITS", KnobType.BOOLEAN, "True", "Whether a run writes the descriptions of nested runs.", unread=Unread("It always does.", _N)),
    _k("DAGMAN_REMOVE_NODE_JOBS", KnobType.BOOLEAN, "True", "Whether a run that is removed removes its jobs itself.", unread=Unread("The run and the queue both do.", _N)),
    _k("DAGMAN_REMOVE_JOBS_AFTER_LIMIT_CHANGE", KnobType.BOOLEAN, "False", "Whether jobs are removed when a limit is lowered.", unread=Unread("Limits of a run do not change while it runs.", _N)),
    _k("DAGMAN_MUNGE_NODE_NAMES", KnobType.BOOLEAN, "True", "Whether names of nodes get the number of their file if there are several.", unread=Unread("They always do.", _N)),
    _k("DAGMAN_CONDOR_SUBMIT_EXE", KnobType.PATH, "$(BIN)/condor_submit", "Program that submits nodes.", unread=Unread("Nodes go to the queue directly.")),
    _k("DAGMAN_CONDOR_RM_EXE", KnobType.PATH, "$(BIN)/condor_rm", "Program that removes jobs.", unread=Unread("The queue is asked directly.")),
    _k("DAGMAN_USE_DIRECT_SUBMIT", KnobType.BOOLEAN, "True", "Whether nodes go to the queue directly.", unread=Unread("They always do.", _N)),
    _k("DAGMAN_PRODUCE_JOB_CREDENTIALS", KnobType.BOOLEAN, "True", "Whether credentials of jobs are produced.", unread=Unread("Jobs use the user's own files.", _N, harmless=("false",))),
    _k("DAGMAN_USE_JOIN_NODES", KnobType.BOOLEAN, "True", "Whether many edges between two sets of nodes go through a further node.", unread=Unread("Edges need no further nodes.", _N, harmless=("false",))),
    _k("DAGMAN_USE_OLD_FILE_PARSER", KnobType.BOOLEAN, "False", "Whether files are read as before version 24.", unread=Unread("There is one reader of DAG files.", _N)),
    _k("DAGMAN_USE_SHARED_PORT", KnobType.BOOLEAN, "False", "Whether the run's command port is shared.", unread=Unread("A run has no port.", _N)),
    _k("DAGMAN_DISABLE_PORT", KnobType.BOOLEAN, "False", "Whether the run opens no command port.", unread=Unread("A run has no port.", _N, harmless=("true",))),
    _k("DAGMAN_COPY_TO_SPOOL", KnobType.BOOLEAN, "False", "Whether the program is copied when a DAG is submitted.", unread=Unread("The program of the installation runs.", _N)),
    _k("DAGMAN_STARTUP_CYCLE_DETECT", KnobType.BOOLEAN, "False", "Whether cycles are checked for before anything runs.", unread=Unread("They always are.", _N, harmless=("true",))),
    _k("DAGMAN_RESET_RETRIES_UPON_RESCUE", KnobType.BOOLEAN, "True", "Whether nodes get all their retries again after a rescue.", unread=Unread("They always do.")),
    _k("DAGMAN_WRITE_PARTIAL_RESCUE", KnobType.BOOLEAN, "True", "Whether rescue files name only what is done.", unread=Unread("They always do.", _N)),
    _k("DAGMAN_RETRY_SUBMIT_FIRST", KnobType.BOOLEAN, "True", "Whether a node that the queue refused is submitted before others.", unread=Unread("It is resubmitted after a pause, alongside the others.", _N)),
    _k("DAGMAN_DEFAULT_NODE_LOG", KnobType.PATH, "@(DAG_DIR)/@(DAG_FILE).nodes.log", "Event log of the jobs of all nodes.", unread=Unread("It is next to the DAG file.")),
    _k("DAGMAN_LOG_ON_NFS_IS_ERROR", KnobType.BOOLEAN, "False", "Whether the event log must not be on NFS.", unread=Unread("It may be anywhere.")),
    _k("DAGMAN_RECORD_MACHINE_ATTRS", KnobType.LIST, None, "Attributes of machines to keep in the ads of jobs.", unread=Unread("Attributes of machines are not kept; read `.machine.ad` in the job.")),
    _k("DAGMAN_METRICS_FILE_VERSION", KnobType.INTEGER, "2", "Version of the metrics file.", unread=Unread("The file counts nodes as jobs, as version 1 does.", harmless=("1",))),
    _k("DAGMAN_REPORT_GRAPH_METRICS", KnobType.BOOLEAN, "False", "Whether the metrics file has the height and width of the graph.", unread=Unread("It has the numbers of nodes and edges.")),
    _k("DAGMAN_DEBUG", KnobType.STRING, None, "Contents of the log of a run.", unread=Unread("The log of a run has one level of detail.", _N)),
    _k("DAGMAN_VERBOSITY", KnobType.INTEGER, "3", "Level of detail of the log of a run.", unread=Unread("The log of a run has one level of detail.", _N)),
    _k("DAGMAN_DEBUG_CACHE_ENABLE", KnobType.BOOLEAN, "False", "Whether lines of the log are buffered.", unread=Unread("Each line is written at once.", _N)),
    _k("DAGMAN_DEBUG_CACHE_SIZE", KnobType.INTEGER, "5242880", "Size of the buffer of the log.", unread=Unread("Each line is written at once.", _N)),
    _k("DAGMAN_PENDING_REPORT_INTERVAL", KnobType.INTEGER, "600", "Time between two reports of nodes that are waited for.", unit="s", unread=Unread("`roost dag status` shows them.", _N)),
    _k("DAGMAN_PRINT_JOB_TABLE_INTERVAL", KnobType.INTEGER, "900", "Time between two tables in the log.", unit="s", unread=Unread("The table is written as nodes change.", _N)),
)
