"""The enumerations of `htcondor2`; names and numbers are HTCondor's."""

from enum import IntEnum, IntFlag


class AdType(IntEnum):
    """Kinds of ads of daemons."""

    Startd = 0
    Schedd = 1
    Master = 2
    StartdPrivate = 5
    Submitter = 6
    Collector = 7
    License = 8
    Any = 10
    Negotiator = 13
    HAD = 14
    Generic = 15
    Credd = 16
    Grid = 19
    Placementd = 20
    Defrag = 22
    Accounting = 23
    Slot = 24
    StartDaemon = 25


class CommonFilesEventType(IntEnum):
    """The content of an event about files shared by jobs."""

    TransferQueued = 1
    TransferStarted = 2
    TransferFinished = 3
    WaitStarted = 4
    WaitFinished = 5


class CompletionType(IntEnum):
    """What a machine does when it is drained."""

    Nothing = 0
    Resume = 1
    Exit = 2
    Restart = 3
    Reconfig = 4


class CredType(IntEnum):
    """Kinds of credentials."""

    Password = 36
    Kerberos = 32
    OAuth = 40


class DaemonCommand(IntEnum):
    """Commands of `send_command`."""

    DaemonOn = 469
    DaemonOff = 467
    DaemonOffFast = 468
    DaemonOffPeaceful = 469
    DaemonsOn = 483
    DaemonsOff = 454
    DaemonsOffFast = 461
    DaemonsOffPeaceful = 484
    OffFast = 60006
    OffForce = 60042
    OffGraceful = 60005
    OffPeaceful = 60015
    Reconfig = 60004
    Restart = 453
    RestartPeaceful = 485
    SetForceShutdown = 60041
    SetPeacefulShutdown = 60016


class DaemonType(IntEnum):
    """Kinds of daemons."""

    none = 0
    Any = 1
    Master = 2
    Schedd = 3
    Startd = 4
    Collector = 5
    Negotiator = 6
    Credd = 13
    Placementd = 15
    HAD = 17
    Generic = 18


class DrainType(IntEnum):
    """How fast a machine is drained."""

    Graceful = 0
    Quick = 10
    Fast = 20


class FileTransferEventType(IntEnum):
    """The content of an event about a file transfer."""

    IN_QUEUED = 1
    IN_STARTED = 2
    IN_FINISHED = 3
    OUT_QUEUED = 4
    OUT_STARTED = 5
    OUT_FINISHED = 6


class HistorySrc(IntEnum):
    """The source of a history."""

    ScheddJob = 0
    StartdJob = 1
    JobEpoch = 2
    Daemon = 3


class JobAction(IntEnum):
    """An action on jobs."""

    Hold = 1
    Release = 2
    Remove = 3
    RemoveX = 4
    Vacate = 5
    VacateFast = 6
    Suspend = 8
    Continue = 9


class JobEventType(IntEnum):
    """Kinds of events in an event log."""

    SUBMIT = 0
    EXECUTE = 1
    EXECUTABLE_ERROR = 2
    CHECKPOINTED = 3
    JOB_EVICTED = 4
    JOB_TERMINATED = 5
    IMAGE_SIZE = 6
    SHADOW_EXCEPTION = 7
    GENERIC = 8
    JOB_ABORTED = 9
    JOB_SUSPENDED = 10
    JOB_UNSUSPENDED = 11
    JOB_HELD = 12
    JOB_RELEASED = 13
    NODE_EXECUTE = 14
    NODE_TERMINATED = 15
    POST_SCRIPT_TERMINATED = 16
    GLOBUS_SUBMIT = 17
    GLOBUS_SUBMIT_FAILED = 18
    GLOBUS_RESOURCE_UP = 19
    GLOBUS_RESOURCE_DOWN = 20
    REMOTE_ERROR = 21
    JOB_DISCONNECTED = 22
    JOB_RECONNECTED = 23
    JOB_RECONNECT_FAILED = 24
    GRID_RESOURCE_UP = 25
    GRID_RESOURCE_DOWN = 26
    GRID_SUBMIT = 27
    JOB_AD_INFORMATION = 28
    JOB_STATUS_UNKNOWN = 29
    JOB_STATUS_KNOWN = 30
    JOB_STAGE_IN = 31
    JOB_STAGE_OUT = 32
    ATTRIBUTE_UPDATE = 33
    PRESKIP = 34
    CLUSTER_SUBMIT = 35
    CLUSTER_REMOVE = 36
    FACTORY_PAUSED = 37
    FACTORY_RESUMED = 38
    NONE = 39
    FILE_TRANSFER = 40
    RESERVE_SPACE = 41
    RELEASE_SPACE = 42
    FILE_COMPLETE = 43
    FILE_USED = 44
    FILE_REMOVED = 45
    DATAFLOW_JOB_SKIPPED = 46
    COMMON_FILES = 47
    EP_STARTUP = 100
    EP_READY = 101
    EP_RECONFIG = 102
    EP_SHUTDOWN = 103
    EP_REQUEST_CLAIM = 104
    EP_RELEASE_CLAIM = 105
    EP_ACTIVATE_CLAIM = 106
    EP_DEACTIVATE_CLAIM = 107
    EP_VACATE_CLAIM = 108
    EP_DRAIN = 109
    EP_RESOURCE_BREAK = 110
    EP_RESOURCE_MEND = 111


class JobStatus(IntEnum):
    """The state of a job."""

    IDLE = 1
    RUNNING = 2
    REMOVED = 3
    COMPLETED = 4
    HELD = 5
    TRANSFERRING_OUTPUT = 6
    SUSPENDED = 7


class LogLevel(IntEnum):
    """The category of a log line."""

    Always = 0
    Error = 1
    Status = 2
    Job = 4
    Machine = 5
    Config = 6
    Protocol = 7
    Priv = 8
    DaemonCore = 9
    Verbose = 10
    Security = 11
    Network = 14
    Hostname = 22
    Audit = 24
    Terse = 0
    FullDebug = 1024
    SubSecond = 67108864
    Timestamp = 134217728
    PID = 268435456
    NoHeader = 2147483648


class QueryOpt(IntFlag):
    """Options of a queue query."""

    Default = 0
    AutoCluster = 1
    GroupBy = 2
    DefaultMyJobsOnly = 4
    SummaryOnly = 8
    IncludeClusterAd = 16
    IncludeJobsetAds = 32


class SubmitMethod(IntEnum):
    """The tool by which a job was submitted."""

    CondorSubmit = 0
    DAGMan = 1
    PythonBindings = 2
    HTCondorJobSubmit = 3
    HTCondorDagSubmit = 4
    HTCondorJobSetSubmit = 5
    UserSet = 100
    MinReserved = 0
    MaxReserved = 100


class SubsystemType(IntEnum):
    """The daemon as which a program reads the configuration."""

    Master = 1
    Collector = 2
    Negotiator = 3
    Schedd = 4
    Shadow = 5
    Startd = 6
    Starter = 7
    GAHP = 8
    Dagman = 9
    SharedPort = 10
    Daemon = 11
    Tool = 12
    Submit = 13
    Job = 14
    Auto = 15


class TransactionFlag(IntFlag):
    """How a change of a job is made."""

    Default = 0
    NonDurable = 1
    SetDirty = 4
    ShouldLog = 8


class VacateType(IntEnum):
    """How a job is vacated."""

    Graceful = 0
    Fast = 1


# Names of the first bindings.
AdTypes = AdType
CredTypes = CredType
DaemonCommands = DaemonCommand
DaemonTypes = DaemonType
DrainTypes = DrainType
QueryOpts = QueryOpt
TransactionFlags = TransactionFlag
