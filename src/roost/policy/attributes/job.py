"""Attributes of a job's ad: what its user asks for, and what has happened to it."""
# One row a line reads best.
# ruff: noqa: E501

from __future__ import annotations

from roost.policy.attributes.rows import HOOKS, MANUAL, MATCHING, STARTER_RFC, Rows
from roost.policy.model import Attribute, Kind, Side, Unit

_row = Rows(Side.JOB)
_REQUESTED = "where the user gives it"
_MEASURED = "after the first sample"
_STARTED = "after the first start"
_RUNNING = "while the job runs"
_ENDED = "after the job has ended by itself"
_HELD = "while held"
_NEGOTIATING = "during negotiation"

IDENTITY: tuple[Attribute, ...] = (
    _row("ClusterId", Kind.INTEGER, "Number of the submission.", low=1, always=True),
    _row("ProcId", Kind.INTEGER, "Number of the job in its submission.", low=0, always=True),
    _row("GlobalJobId", Kind.STRING, "Name of the job, unique in the pool.", always=True),
    _row("SubmitRequestId", Kind.STRING, "Id of the request that submitted the job; the logs of all daemons name it."),
    _row("MyType", Kind.STRING, "Job.", always=True),
    _row("TargetType", Kind.STRING, "Machine.", always=True),
    _row("Owner", Kind.STRING, "Account of the user who submitted the job.", always=True),
    _row("User", Kind.STRING, "The user as user@domain.", always=True),
    _row("Group", Kind.STRING, "Group of the user, where a site adds it to its jobs.", when=_REQUESTED),
    _row("AcctGroup", Kind.STRING, "Accounting group.", when=_REQUESTED),
    _row("AcctGroupUser", Kind.STRING, "User within the accounting group.", when=_REQUESTED),
    _row("AccountingGroup", Kind.STRING, "Accounting group and user: group.user.", when=_REQUESTED),
    _row(
        "JobUniverse",
        Kind.INTEGER,
        "Universe: 5 vanilla, 7 scheduler, 9 grid, 10 java, 11 parallel, 12 local, 13 virtual machine.",
        low=1,
        high=13,
        always=True,
    ),
    _row("QDate", Kind.INTEGER, "When the job was submitted.", Unit.INSTANT, always=True),
    _row("JobBatchName", Kind.STRING, "Name given to the submission.", when=_REQUESTED),
    _row("JobDescription", Kind.STRING, "Words given to the job.", when=_REQUESTED),
    _row("UserLog", Kind.STRING, "Event log of the user.", when=_REQUESTED),
    _row("FileSystemDomain", Kind.STRING, "Machines of the same domain see the job's files.", always=True),
    _row("UidDomain", Kind.STRING, "Machines of the same domain know the user."),
)

REQUESTS: tuple[Attribute, ...] = (
    _row("Cmd", Kind.STRING, "Program of the job.", always=True),
    _row("Args", Kind.STRING, "Arguments in the old form.", when=_REQUESTED),
    _row("Arguments", Kind.STRING, "Arguments."),
    _row("Environment", Kind.STRING, "Environment."),
    _row("Env", Kind.STRING, "Environment in the old form.", replaced_by="Environment"),
    _row("Iwd", Kind.STRING, "Directory that relative paths start from.", always=True),
    _row("In", Kind.STRING, "Standard input.", always=True),
    _row("Out", Kind.STRING, "Standard output.", always=True),
    _row("Err", Kind.STRING, "Standard error.", always=True),
    _row("RequestCpus", Kind.NUMBER, "Cores asked for.", Unit.CORES, always=True),
    _row("RequestMemory", Kind.NUMBER, "Memory asked for.", Unit.MIB, always=True),
    _row("RequestDisk", Kind.NUMBER, "Scratch space asked for.", Unit.KIB, always=True),
    _row("RequestGPUs", Kind.NUMBER, "Graphics processors asked for.", Unit.COUNT, when=_REQUESTED),
    _row("Requirements", Kind.BOOLEAN, "Which machines the job takes.", always=True),
    _row("Rank", Kind.NUMBER, "How much the job likes a machine.", always=True),
    _row("JobPrio", Kind.INTEGER, "Priority among the user's own jobs; larger is better.", always=True),
    _row("NiceUser", Kind.BOOLEAN, "Run only where no other job wants to run."),
    _row("ConcurrencyLimits", Kind.STRING_LIST, "Limits that the job counts against.", when=_REQUESTED),
    _row(
        "ShouldTransferFiles", Kind.STRING, "Whether files are moved.", choices=("YES", "NO", "IF_NEEDED"), always=True
    ),
    _row(
        "WhenToTransferOutput",
        Kind.STRING,
        "When output is moved.",
        choices=("ON_EXIT", "ON_EXIT_OR_EVICT", "ON_SUCCESS"),
    ),
    _row("TransferInput", Kind.STRING_LIST, "Files moved to the machine.", when=_REQUESTED),
    _row("TransferOutput", Kind.STRING_LIST, "Files moved back.", when=_REQUESTED),
    _row("TransferInputSizeMB", Kind.INTEGER, "Size of those files.", Unit.MIB),
    _row("TransferExecutable", Kind.BOOLEAN, "Whether the program is moved to the machine."),
    _row("KillSig", Kind.ANY, "Signal of the soft kill: name or number.", when=_REQUESTED, source=STARTER_RFC),
    _row("CheckpointSig", Kind.ANY, "Signal on which the job saves its state; without it, KillSig.", when=_REQUESTED),
    _row(
        "WantCheckpointSignal",
        Kind.BOOLEAN,
        "The job saves its state on CheckpointSig and goes on.",
        when=_REQUESTED,
    ),
    _row("RemoveKillSig", Kind.ANY, "Signal of the soft kill when removed.", when=_REQUESTED),
    _row("HoldKillSig", Kind.ANY, "Signal of the soft kill when held.", when=_REQUESTED),
    _row(
        "KillSigTimeout", Kind.INTEGER, "Time between soft and hard kill.", Unit.SECONDS, replaced_by="JobMaxVacateTime"
    ),
    _row(
        "JobMaxVacateTime",
        Kind.INTEGER,
        "Time between soft and hard kill that the job wants.",
        Unit.SECONDS,
        when=_REQUESTED,
    ),
    _row(
        "MaxJobRetirementTime",
        Kind.INTEGER,
        "Retirement that the job wants at most.",
        Unit.SECONDS,
        low=-1,
        when=_REQUESTED,
    ),
    _row("JobLeaseDuration", Kind.INTEGER, "How long the job goes on when its queue falls silent.", Unit.SECONDS),
    _row("WantGracefulRemoval", Kind.BOOLEAN, "A removed job gets a soft kill first.", when=_REQUESTED),
    _row("WantCheckpoint", Kind.BOOLEAN, "The job saves its state when asked.", when=_REQUESTED),
    _row(
        "WantRemoteIO",
        Kind.BOOLEAN,
        "Old: the job reads its files over the network.",
        when=_REQUESTED,
        replaced_by="ShouldTransferFiles",
    ),
    _row("WantDocker", Kind.BOOLEAN, "The job runs in a Docker container.", when=_REQUESTED),
    _row("WantContainer", Kind.BOOLEAN, "The job runs in a container.", when=_REQUESTED),
    _row("InteractiveJob", Kind.BOOLEAN, "A user works with the job directly.", when="interactive jobs", source=MANUAL),
    _row(
        "IsSuspendableJob",
        Kind.BOOLEAN,
        "The user agrees that the job is suspended for others; a name invented for the suspendable-slots policy.",
        when=_REQUESTED,
        source=MANUAL,
    ),
    _row("IsNoopJob", Kind.BOOLEAN, "The job does nothing and ends at once.", when=_REQUESTED),
    _row("HookKeyword", Kind.STRING, "Prefix of the job's hooks.", when=_REQUESTED, source=HOOKS),
    _row("KeepClaimIdle", Kind.INTEGER, "How long the claim is kept after the job.", Unit.SECONDS, when=_REQUESTED),
    _row(
        "NextJobStartDelay",
        Kind.INTEGER,
        "Pause before the next job of the queue starts.",
        Unit.SECONDS,
        when=_REQUESTED,
    ),
    _row("AllowedJobDuration", Kind.INTEGER, "Longest time from start to end.", Unit.SECONDS, when=_REQUESTED),
    _row("AllowedExecuteDuration", Kind.INTEGER, "Longest time of execution.", Unit.SECONDS, when=_REQUESTED),
    _row("DeferralTime", Kind.INTEGER, "When to start.", Unit.INSTANT, when=_REQUESTED),
    _row("DeferralWindow", Kind.INTEGER, "How much later the job may still start.", Unit.SECONDS, when=_REQUESTED),
    _row(
        "DeferralPrepTime", Kind.INTEGER, "How much earlier the job may take its slot.", Unit.SECONDS, when=_REQUESTED
    ),
    _row("CronMinute", Kind.STRING, "Minutes at which the job starts, 0 to 59, as in a crontab.", when=_REQUESTED),
    _row("CronHour", Kind.STRING, "Hours, 0 to 23.", when=_REQUESTED),
    _row("CronDayOfMonth", Kind.STRING, "Days of the month, 1 to 31.", when=_REQUESTED),
    _row("CronMonth", Kind.STRING, "Months, 1 to 12.", when=_REQUESTED),
    _row("CronDayOfWeek", Kind.STRING, "Days of the week, 0 to 7.", when=_REQUESTED),
    _row("ScheddInterval", Kind.INTEGER, "SCHEDD_INTERVAL of the queue.", Unit.SECONDS, when=_REQUESTED),
    _row("TimerRemove", Kind.INTEGER, "When to remove the job.", Unit.INSTANT, when=_REQUESTED),
    _row(
        "LeaveJobInQueue", Kind.BOOLEAN, "A job that has ended, or was removed, stays in the queue while this is true."
    ),
    _row("JobMaxRetries", Kind.INTEGER, "How often a failed job is tried again.", Unit.COUNT, when=_REQUESTED),
    _row("JobSuccessExitCode", Kind.INTEGER, "Exit code of success.", when=_REQUESTED),
    _row(
        "SuccessCheckpointExitCode", Kind.INTEGER, "Exit code that says: state saved, start me again.", when=_REQUESTED
    ),
    _row("OnExitRemove", Kind.BOOLEAN, "Whether an ended job leaves the queue.", when=_REQUESTED),
    _row("OnExitHold", Kind.BOOLEAN, "Whether an ended job goes on hold.", when=_REQUESTED),
    _row("PeriodicHold", Kind.BOOLEAN, "Whether the job goes on hold now.", when=_REQUESTED),
    _row("PeriodicRelease", Kind.BOOLEAN, "Whether the held job is released now.", when=_REQUESTED),
    _row("PeriodicRemove", Kind.BOOLEAN, "Whether the job is removed now.", when=_REQUESTED),
    _row("PeriodicVacate", Kind.BOOLEAN, "Whether the running job is vacated now.", when=_REQUESTED),
    _row("MinHosts", Kind.INTEGER, "Slots needed at least.", Unit.COUNT, always=True),
    _row("MaxHosts", Kind.INTEGER, "Slots used at most.", Unit.COUNT, always=True),
    _row("CurrentHosts", Kind.INTEGER, "Slots used now.", Unit.COUNT, always=True, varies=True),
    _row("JobNotification", Kind.INTEGER, "Mail: 0 never, 1 always, 2 at the end, 3 on error.", low=0, high=3),
)

LIFE: tuple[Attribute, ...] = (
    _row(
        "JobStatus",
        Kind.INTEGER,
        "1 idle, 2 running, 3 removed, 4 completed, 5 held, 6 moving output, 7 suspended.",
        low=1,
        high=7,
        always=True,
        varies=True,
    ),
    _row("LastJobStatus", Kind.INTEGER, "The status before.", low=0, high=7, varies=True),
    _row("EnteredCurrentStatus", Kind.INTEGER, "When the job got its status.", Unit.INSTANT, always=True, varies=True),
    _row(
        "JobState",
        Kind.STRING,
        "State of the job at its starter.",
        choices=("Deferred", "Running", "Suspended", "Vacating", "Killing"),
        varies=True,
        when=_RUNNING,
        source=STARTER_RFC,
    ),
    _row("JobStartDate", Kind.INTEGER, "When the job first started.", Unit.INSTANT, when=_STARTED),
    _row("JobCurrentStartDate", Kind.INTEGER, "When the current run began.", Unit.INSTANT, when=_STARTED),
    _row(
        "JobCurrentStartExecutingDate",
        Kind.INTEGER,
        "When the program of the current run began.",
        Unit.INSTANT,
        when=_STARTED,
    ),
    _row(
        "JobLastStartDate",
        Kind.INTEGER,
        "When the run before the current one began.",
        Unit.INSTANT,
        when="after the second start",
    ),
    _row("ShadowBday", Kind.INTEGER, "When the current run was begun by the queue.", Unit.INSTANT, when=_STARTED),
    _row("LastMatchTime", Kind.INTEGER, "When the job was last matched.", Unit.INSTANT, when=_STARTED),
    _row("NumJobStarts", Kind.INTEGER, "Times the program was started.", Unit.COUNT, always=True, varies=True),
    _row(
        "NumRestarts",
        Kind.INTEGER,
        "Times a standard-universe job was restarted.",
        Unit.COUNT,
        replaced_by="NumJobStarts",
    ),
    _row("JobRunCount", Kind.INTEGER, "Times the job was begun.", Unit.COUNT, always=True, varies=True),
    _row("NumShadowStarts", Kind.INTEGER, "Times the job was begun.", Unit.COUNT, always=True, varies=True),
    _row("NumJobCompletions", Kind.INTEGER, "Times the program ended by itself.", Unit.COUNT, always=True, varies=True),
    _row("NumJobMatches", Kind.INTEGER, "Times the job was matched.", Unit.COUNT),
    _row("NumVacates", Kind.INTEGER, "Times the job was evicted.", Unit.COUNT),
    _row("NumHolds", Kind.INTEGER, "Times the job was held.", Unit.COUNT),
    _row("NumSystemHolds", Kind.INTEGER, "Times the job was held, but not by its user.", Unit.COUNT),
    _row("NumCkpts", Kind.INTEGER, "Times the state was saved.", Unit.COUNT),
    _row("NumCkptsThisRun", Kind.INTEGER, "Times the state was saved in the current run.", Unit.COUNT),
    _row("LastCkptTime", Kind.INTEGER, "When the state was last saved.", Unit.INSTANT),
    _row(
        "LastCheckpointPlatform",
        Kind.STRING,
        "Platform of the last standard-universe checkpoint.",
        replaced_by="OpSysAndVer",
        source=MANUAL,
    ),
    _row("TotalSuspensions", Kind.INTEGER, "Times the job was suspended.", Unit.COUNT, always=True, varies=True),
    _row("LastSuspensionTime", Kind.INTEGER, "When the job was last suspended.", Unit.INSTANT, varies=True),
    _row(
        "CumulativeSuspensionTime",
        Kind.INTEGER,
        "How long the job has been suspended in all.",
        Unit.SECONDS,
        always=True,
        varies=True,
    ),
    _row("CommittedTime", Kind.INTEGER, "Run time whose work was saved.", Unit.SECONDS),
    _row(
        "RemoteWallClockTime",
        Kind.REAL,
        "Run time of all runs that have ended; it does not grow while the job runs.",
        Unit.SECONDS,
        always=True,
    ),
    _row("RemoteHost", Kind.STRING, "Slot of the job.", varies=True, when=_RUNNING),
    _row("LastRemoteHost", Kind.STRING, "Slot of the last run.", when=_STARTED),
    _row("StartdIpAddr", Kind.STRING, "Address of the job's machine.", when=_RUNNING),
    _row("LastVacateTime", Kind.INTEGER, "When the job was last evicted.", Unit.INSTANT, when="after an eviction"),
    _row("VacateReason", Kind.STRING, "Why the job was last evicted.", when="after an eviction"),
    _row(
        "VacateReasonCode", Kind.INTEGER, "Why the job was last evicted, as a number.", low=0, when="after an eviction"
    ),
    _row("VacateReasonSubCode", Kind.INTEGER, "Details of that number.", when="after an eviction"),
    _row("HoldReason", Kind.STRING, "Why the job is held.", when=_HELD),
    _row(
        "HoldReasonCode",
        Kind.INTEGER,
        "Why the job is held, as a number: 1 by its user, 3 by its own policy, 21 by the machine, 26 by the system's policy.",
        low=0,
        when=_HELD,
    ),
    _row("HoldReasonSubCode", Kind.INTEGER, "Details of that number.", when=_HELD),
    _row("LastHoldReason", Kind.STRING, "Why the job was last held.", when="after a release"),
    _row("LastHoldReasonCode", Kind.INTEGER, "Why the job was last held, as a number.", low=0, when="after a release"),
    _row("LastHoldReasonSubCode", Kind.INTEGER, "Details of that number.", when="after a release"),
    _row("ReleaseReason", Kind.STRING, "Why the job was last released.", when="after a release"),
    _row("RemoveReason", Kind.STRING, "Why the job was removed.", when="removed jobs"),
    _row("CompletionDate", Kind.INTEGER, "When the job ended; 0 before.", Unit.INSTANT),
    _row("ExitBySignal", Kind.BOOLEAN, "A signal ended the program.", always=True),
    _row("ExitCode", Kind.INTEGER, "Exit code.", when="after the job has ended by itself, not by a signal"),
    _row("ExitSignal", Kind.INTEGER, "Signal that ended the program.", low=1, when="after a signal has ended the job"),
    _row("ExitStatus", Kind.INTEGER, "Exit status as the queue keeps it."),
    _row("JobCoreDumped", Kind.BOOLEAN, "The program left a core file.", when=_ENDED),
    _row("SpooledOutputFiles", Kind.STRING_LIST, "Output kept by the queue."),
)

USAGE: tuple[Attribute, ...] = (
    _row(
        "ImageSize",
        Kind.INTEGER,
        "Largest virtual size so far; in the queue rounded up by up to a quarter. At first the size of the program.",
        Unit.KIB,
        always=True,
        varies=True,
    ),
    _row("ExecutableSize", Kind.INTEGER, "Size of the program.", Unit.KIB),
    _row("ResidentSetSize", Kind.INTEGER, "Largest part of it in RAM.", Unit.KIB, varies=True, when=_MEASURED),
    _row(
        "ProportionalSetSizeKb",
        Kind.INTEGER,
        "The same with shared parts divided.",
        Unit.KIB,
        varies=True,
        when=_MEASURED,
    ),
    _row("MemoryUsage", Kind.INTEGER, "Memory used.", Unit.MIB, varies=True, when=_MEASURED),
    _row(
        "DiskUsage",
        Kind.INTEGER,
        "Scratch space used; at first the size of program and input.",
        Unit.KIB,
        always=True,
        varies=True,
    ),
    _row("CpusUsage", Kind.REAL, "Cores used.", Unit.CORES, varies=True, when=_MEASURED),
    _row("RemoteUserCpu", Kind.REAL, "Processor time of the program.", Unit.SECONDS, varies=True, always=True),
    _row(
        "RemoteSysCpu",
        Kind.REAL,
        "Processor time of the system for the program.",
        Unit.SECONDS,
        varies=True,
        always=True,
    ),
    _row("NumPids", Kind.INTEGER, "Processes.", Unit.COUNT, varies=True, when=_RUNNING),
    _row("BytesSent", Kind.REAL, "Bytes sent back so far.", Unit.BYTES),
    _row("BytesRecvd", Kind.REAL, "Bytes sent to machines so far.", Unit.BYTES),
)

NEGOTIATION: tuple[Attribute, ...] = (
    _row(
        "SubmitterUserPrio",
        Kind.REAL,
        "Priority of the job's user; smaller is better.",
        low=0.5,
        when=_NEGOTIATING,
        source=MATCHING,
    ),
    _row(
        "SubmittorPrio",
        Kind.REAL,
        "Priority of the job's user.",
        low=0.5,
        when=_NEGOTIATING,
        replaced_by="SubmitterUserPrio",
        source=MATCHING,
    ),
    _row(
        "SubmitterUserResourcesInUse",
        Kind.REAL,
        "What that user has in use, by weight.",
        low=0,
        when=_NEGOTIATING,
        source=MATCHING,
    ),
    _row("SubmitterGroup", Kind.STRING, "Group of that user.", when=_NEGOTIATING, source=MATCHING),
    _row("SubmitterGroupQuota", Kind.REAL, "Quota of that group.", low=0, when=_NEGOTIATING, source=MATCHING),
    _row(
        "SubmitterGroupResourcesInUse",
        Kind.REAL,
        "What that group has in use, by weight.",
        low=0,
        when=_NEGOTIATING,
        source=MATCHING,
    ),
    _row(
        "SubmitterNegotiatingGroup",
        Kind.STRING,
        "Group under which the job negotiates.",
        when=_NEGOTIATING,
        source=MATCHING,
    ),
    _row(
        "SubmitterAutoregroup",
        Kind.BOOLEAN,
        "That group also competes outside its quota.",
        when=_NEGOTIATING,
        source=MATCHING,
    ),
    _row("AutoClusterId", Kind.INTEGER, "Jobs with the same number are the same to the matchmaker.", low=0),
    _row("AutoClusterAttrs", Kind.STRING_LIST, "Attributes that tell such groups apart."),
)

ATTRIBUTES: tuple[Attribute, ...] = (*IDENTITY, *REQUESTS, *LIFE, *USAGE, *NEGOTIATION)

FAMILIES: tuple[Attribute, ...] = (
    _row("Request<Name>", Kind.NUMBER, "How much of the resource <Name> is asked for.", low=0, when=_REQUESTED),
    _row(
        "Periodic<Name>Reason", Kind.STRING, "Text of the reason for what a periodic expression does.", when=_REQUESTED
    ),
    _row(
        "Periodic<Name>SubCode",
        Kind.INTEGER,
        "Number of the reason for what a periodic expression does.",
        when=_REQUESTED,
    ),
)
