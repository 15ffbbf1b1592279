"""One job on one slot: the starter's own eviction policy, hooks, accounts, updates."""

from __future__ import annotations

from functools import partial

from roost.base.diagnostics import Severity
from roost.config.knob import Knob, KnobScope, KnobType, Members, Reload, Unread, knob

_k = partial(knob, subsystem="STARTER", read_by="starter.configured")


# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
KNOBS: tuple[Knob, ...] = (
    _k("STARTER_EVICT", KnobType.EXPRESSION, "False", "Whether the starter evicts its job, based on its measurements, such as ImageSize (KiB) against Memory (MiB).", read_by="starter.policy_inputs"),
    _k("STARTER_WANT_VACATE", KnobType.EXPRESSION, "True", "Whether the starter's eviction begins with a soft kill; otherwise all processes are killed at once.", read_by="starter.policy_inputs"),
    _k("STARTER_KILL", KnobType.EXPRESSION, "False", "Whether the starter's soft kill turns into a hard one.", read_by="starter.policy_inputs"),
    _k("STARTER_POLLING_INTERVAL", KnobType.INTEGER, "5", "Time between two evaluations of the starter's eviction policy.", unit="s", low=1),
    _k("STARTER_UPDATE_INTERVAL", KnobType.INTEGER, "300", "Time between two reports of what the job uses.", unit="s", low=1),
    _k("STARTER_INITIAL_UPDATE_INTERVAL", KnobType.INTEGER, "8", "Time from the start of the job to the first report.", unit="s", low=0),
    _k("STARTER_JOB_HOOK_KEYWORD", KnobType.STRING, None, "Prefix of hooks for every job, whatever the job says."),
    _k("STARTER_DEFAULT_JOB_HOOK_KEYWORD", KnobType.STRING, None, "Prefix of hooks for jobs that name none."),
    _k("<KEYWORD>_HOOK_PREPARE_JOB", KnobType.PATH, None, "Program run before the job; what it prints changes the job's ad."),
    _k("<KEYWORD>_HOOK_PREPARE_JOB_ARGS", KnobType.STRING, None, "Arguments of that program, separated by blanks; single quotes keep blanks together."),
    _k("<KEYWORD>_HOOK_PREPARE_JOB_TIMEOUT", KnobType.INTEGER, None, "How long that program may take before it is killed and the job is held; unset forever.", unit="s", low=1),
    _k("<KEYWORD>_HOOK_PREPARE_JOB_BEFORE_TRANSFER", KnobType.PATH, None, "Program run before input files are transferred."),
    _k("<KEYWORD>_HOOK_PREPARE_JOB_BEFORE_TRANSFER_TIMEOUT", KnobType.INTEGER, None, "How long that program may take before it is killed and the job is held; unset forever.", unit="s", low=1),
    _k("<KEYWORD>_HOOK_UPDATE_JOB_INFO", KnobType.PATH, None, "Program told regularly how the job is doing."),
    _k("<KEYWORD>_HOOK_UPDATE_JOB_INFO_TIMEOUT", KnobType.INTEGER, None, "How long that program may take; unset until the job ends.", unit="s", low=1),
    _k("<KEYWORD>_HOOK_VACATE_JOB", KnobType.PATH, None, "Program run before the soft signal of a job that must leave."),
    _k("<KEYWORD>_HOOK_VACATE_JOB_TIMEOUT", KnobType.INTEGER, None, "How long that program may take before the job gets its signal; unset for half of the vacate time.", unit="s", low=1),
    _k("<KEYWORD>_HOOK_STARTER_FAILURE", KnobType.PATH, None, "Program told that a job could not be started, and why."),
    _k("<KEYWORD>_HOOK_STARTER_FAILURE_TIMEOUT", KnobType.INTEGER, "30", "How long that program may take.", unit="s", low=1),
    _k("<KEYWORD>_HOOK_JOB_EXIT", KnobType.PATH, None, "Program run when the job has ended."),
    _k("<KEYWORD>_HOOK_JOB_EXIT_TIMEOUT", KnobType.INTEGER, "30", "How long that program may take.", unit="s", low=1),
    _k("STARTER_PROLOG", KnobType.STRING, None, "Program run before each job, `[user@]path arguments`; NONE for none.", scope=KnobScope.SLOT_TYPE),
    _k("STARTER_EPILOG", KnobType.STRING, None, "Program run after each job, `[user@]path arguments`; NONE for none.", scope=KnobScope.SLOT_TYPE),
    _k("STARTER_SCRIPT_USERS", KnobType.LIST, None, "Accounts that prolog and epilog may run as by `user@`, including root only if it is named.", read_by="runtime.node.runs.job_hooks"),
    _k("STARTER_METHOD_TIMEOUT", KnobType.INTEGER, "300", "How long a suspend, resume or terminate method of a queue of a Grid Engine cell, or a command of a checkpointing interface, may take before it is killed.", unit="s", low=1),
    _k("STARTER_RLIMIT_AS", KnobType.EXPRESSION, "0", "Maximum address space of a job's processes; 0 for no limit.", unit="MB", unread=Unread("Address space is not limited: limit memory by CGROUP_MEMORY_LIMIT_POLICY.", Severity.ERROR)),
    _k("JOB_RENICE_INCREMENT", KnobType.EXPRESSION, "0", "Nice value that the job runs with; an expression that gives a number outside the range counts as the nearest end of it.", low=0, high=19, read_by="runtime.node.runs.job_order"),
    _k("JOB_EXECDIR_PERMISSIONS", KnobType.STRING, "user", "Who may look into scratch directories.", words=("user", "group", "world"), read_by="runtime.node.runs.runner"),
    _k("JOB_INHERITS_STARTER_ENVIRONMENT", KnobType.STRING, "False", "Whether, or which, environment variables of the daemon the job gets.", read_by="runtime.node.runs.job_order"),
    _k("STARTER_JOB_ENVIRONMENT", KnobType.STRING, None, "Environment variables that every job gets.", read_by="runtime.node.runs.job_order"),
    _k("STARTER_NUM_THREADS_ENV_VARS", KnobType.LIST, "CUBACORES GOMAXPROCS JULIA_NUM_THREADS MKL_NUM_THREADS NUMEXPR_NUM_THREADS OMP_NUM_THREADS OMP_THREAD_LIMIT OPENBLAS_NUM_THREADS PYTHON_CPU_COUNT ROOT_MAX_THREADS TF_LOOP_PARALLEL_ITERATIONS TF_NUM_THREADS", "Environment variables that are set to the number of cores of the slot, unless the job sets them.", read_by="runtime.node.runs.job_order", members=Members.NAMES),
    _k("ENVIRONMENT_FOR_AssignedGPUs", KnobType.STRING, "GPU_DEVICE_ORDINAL=/(CUDA|OCL)//  CUDA_VISIBLE_DEVICES=/CUDA//", "ENVIRONMENT_FOR_Assigned<NAME> of GPUs.", read_by="starter.unit_environment"),
    _k("ENVIRONMENT_FOR_Assigned<NAME>", KnobType.STRING, None, "Environment variables that list the units of that resource that the job has: names separated by blanks, each optionally with `=/pattern/replacement/` for every unit.", read_by="starter.unit_environment"),
    _k("ENVIRONMENT_VALUE_FOR_UnAssignedGPUs", KnobType.STRING, "10000", "ENVIRONMENT_VALUE_FOR_UnAssigned<NAME> of GPUs.", read_by="starter.unit_environment"),
    _k("ENVIRONMENT_VALUE_FOR_UnAssigned<NAME>", KnobType.STRING, None, "Value of those variables for a job that has no unit, on a machine that has the resource.", read_by="starter.unit_environment"),
    _k("AUTO_SET_NVIDIA_VISIBLE_DEVICES", KnobType.BOOLEAN, "True", "Whether jobs on machines with GPUs have NVIDIA_VISIBLE_DEVICES: the UUIDs of their GPUs, or `none`.", read_by="starter.unit_environment"),
    _k("SLOT<N>_USER", KnobType.STRING, None, "Account that jobs of slot N run under where STARTER_ALLOW_RUNAS_OWNER is FALSE and root runs the pool.", read_by="runtime.node.runs.job_order"),
    _k("DEDICATED_EXECUTE_ACCOUNT_REGEXP", KnobType.STRING, None, "Accounts that run jobs and nothing else, so that all their processes may be killed.", unread=Unread("The processes of a job are tracked without it, and all are killed when it ends.")),
    _k("STARTER_ALLOW_RUNAS_OWNER", KnobType.BOOLEAN, "True", "Whether jobs run under the accounts of their owners where root runs the pool.", read_by="runtime.node.runs.job_order"),
    _k("NOBODY_SLOT_USER", KnobType.STRING, None, "Account of those jobs where SLOT<N>_USER is not set; unset counts as `nobody`.", read_by="runtime.node.runs.job_order"),
    _k("CGROUP_MEMORY_LIMIT_POLICY", KnobType.STRING, "none", "How the memory of a slot limits its job, by control groups: `hard` kills a job that needs more, and puts it on hold; `soft` reclaims pages first from a job that uses more; `custom` goes by CGROUP_HARD_MEMORY_LIMIT_EXPR and CGROUP_SOFT_MEMORY_LIMIT_EXPR; `none` does not limit it.", words=("hard", "soft", "none", "custom"), read_by="runtime.processes.memory_control"),
    _k("CGROUP_HARD_MEMORY_LIMIT_EXPR", KnobType.EXPRESSION, None, "With CGROUP_MEMORY_LIMIT_POLICY = custom, over slot and job: the memory that a job is killed and put on hold at, MB; unset for no limit.", read_by="runtime.processes.memory_control"),
    _k("CGROUP_SOFT_MEMORY_LIMIT_EXPR", KnobType.EXPRESSION, None, "With CGROUP_MEMORY_LIMIT_POLICY = custom, over slot and job: the memory above which a job is slowed down and its pages are reclaimed first, MB; unset for no limit.", read_by="runtime.processes.memory_control"),
    _k("DISABLE_SWAP_FOR_JOB", KnobType.BOOLEAN, "False", "Whether jobs whose memory is limited have no swap space beyond that limit.", read_by="runtime.processes.memory_control"),
    _k("BASE_CGROUP", KnobType.STRING, None, "Control group below which those of jobs are made, a path from the root of the hierarchy; unset for the one that Roost is started in.", reload=Reload.RESTART, read_by="runtime.node.daemon"),
    _k("SINGULARITY", KnobType.PATH, None, "Program that runs jobs of the container universe: apptainer or singularity; unset for the one that PATH has.", read_by="runtime.node.runs.containers"),
    _k("DOCKER", KnobType.PATH, None, "Program that keeps the containers of the docker universe: docker or podman; unset for podman or docker of PATH.", read_by="runtime.node.runs.docker"),
    _k("ENABLE_SSH_TO_JOB", KnobType.EXPRESSION, "True", "Whether a job's owner and administrators may run a shell alongside it with `condor_ssh_to_job`, over the slot (MY) and the job (TARGET).", read_by="runtime.node.runs.shells"),
    _k("MOUNT_UNDER_SCRATCH", KnobType.STRING, None, "Directories of which each job gets its own, empty, in its scratch directory, where root runs the pool: separated by commas, or an expression over slot and job that gives such a list. Jobs in containers see those of the container.", read_by="runtime.processes.isolation"),
    _k("USE_PID_NAMESPACES", KnobType.BOOLEAN, "False", "Whether a job sees no processes but its own, where root runs the pool; not for jobs in containers.", read_by="runtime.processes.isolation"),
    _k("JOB_NO_NEW_PRIVILEGES", KnobType.BOOLEAN, "False", "Whether programs such as sudo and ping give a job no rights that its user does not have (no-new-privileges); not for jobs in containers.", read_by="runtime.processes.isolation"),
    _k("STARTER_UPLOAD_TIMEOUT", KnobType.INTEGER, None, "How long a transfer of output may make no progress.", unit="s", low=1, unread=Unread("The time of output transfers is not limited.")),
)
