"""Attributes of a slot's ad: the machine's own attributes and those of the job that it runs."""

from __future__ import annotations

from roost.policy.attributes.rows import HOOKS, MANUAL, MATCHING, OWN, AttributeRows
from roost.policy.model import AdKind, Attribute, Unit, ValueKind

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
_row = AttributeRows(AdKind.MACHINE)
_CLAIMED = "while claimed"
_RUNNING = "while a job runs"
_SUSPENDED_BY_CELL = "while a Grid Engine cell suspends the job"
_NEGOTIATING = "during negotiation, for claimed slots"
_DRAINING = "after the first drain"

STATES = ("Owner", "Unclaimed", "Matched", "Claimed", "Preempting", "Backfill", "Drained")
ACTIVITIES = ("Idle", "Busy", "Retiring", "Vacating", "Suspended", "Benchmarking", "Killing")
#: The pairs that a slot can be in.
PAIRS = (
    ("Owner", "Idle"),
    ("Unclaimed", "Idle"),
    ("Unclaimed", "Benchmarking"),
    ("Matched", "Idle"),
    ("Claimed", "Idle"),
    ("Claimed", "Busy"),
    ("Claimed", "Suspended"),
    ("Claimed", "Retiring"),
    ("Preempting", "Vacating"),
    ("Preempting", "Killing"),
    ("Backfill", "Idle"),
    ("Backfill", "Busy"),
    ("Backfill", "Killing"),
    ("Drained", "Retiring"),
    ("Drained", "Idle"),
)

IDENTITY: tuple[Attribute, ...] = (
    _row("Name", ValueKind.STRING, "Name of the slot: slot1@host.", always=True),
    _row("Machine", ValueKind.STRING, "Full host name.", always=True),
    _row("MyType", ValueKind.STRING, "Machine.", always=True),
    _row("TargetType", ValueKind.STRING, "Job.", always=True),
    _row("MyAddress", ValueKind.STRING, "Address of the daemon.", always=True),
    _row("StartdIpAddr", ValueKind.STRING, "Address of the daemon.", always=True, replaced_by="MyAddress"),
    _row("Arch", ValueKind.STRING, "Processor architecture, for instance X86_64.", always=True),
    _row("OpSys", ValueKind.STRING, "Operating system, for instance LINUX.", always=True),
    _row("OpSysVer", ValueKind.INTEGER, "Version of the distribution as a number.", low=0),
    _row("OpSysMajorVer", ValueKind.INTEGER, "Major version of the distribution.", low=0),
    _row("OpSysAndVer", ValueKind.STRING, "Distribution with its major version, for instance Debian12."),
    _row("OpSysName", ValueKind.STRING, "Name of the distribution."),
    _row("OpSysShortName", ValueKind.STRING, "Short name of the distribution."),
    _row("OpSysLongName", ValueKind.STRING, "The distribution's own description."),
    _row("UidDomain", ValueKind.STRING, "Machines of the same domain know the same users.", always=True),
    _row("FileSystemDomain", ValueKind.STRING, "Machines of the same domain see the same files.", always=True),
    _row("CondorVersion", ValueKind.STRING, "Version of the software, in the form that clients expect.", always=True),
    _row("CondorPlatform", ValueKind.STRING, "Platform of the software, in the form that clients expect.", always=True),
    _row("MachineProblem", ValueKind.STRING, "Why the machine cannot run jobs and accepts none until an administrator fixes it.", varies=True, when="while there is one", source=OWN),
    _row("HasFileTransfer", ValueKind.BOOLEAN, "Files of jobs can be transferred here.", always=True),
    _row("HasJobDeferral", ValueKind.BOOLEAN, "Jobs can be started at a given time.", always=True),
    _row("HasReconnect", ValueKind.BOOLEAN, "A running job survives a loss of contact with its queue.", always=True),
    _row("HasDocker", ValueKind.BOOLEAN, "Docker jobs can run here."),
    _row("HasSingularity", ValueKind.BOOLEAN, "Singularity jobs can run here."),
    _row("HasContainer", ValueKind.BOOLEAN, "Container jobs can run here."),
    _row("HasVM", ValueKind.BOOLEAN, "Virtual-machine jobs can run here."),
    _row("HasJava", ValueKind.BOOLEAN, "Java jobs can run here."),
    _row("HasMPI", ValueKind.BOOLEAN, "Old MPI-universe jobs could run here.", replaced_by="DedicatedScheduler"),
    _row("JavaVersion", ValueKind.STRING, "Version of Java.", when="where HasJava is TRUE"),
    _row("DedicatedScheduler", ValueKind.STRING, "Queue that this machine is dedicated to, for parallel jobs."),
    _row("StarterAbilityList", ValueKind.STRING_LIST, "What jobs may request here.", always=True),
    _row("CheckpointPlatform", ValueKind.STRING, "Platform on which checkpoints of standard-universe jobs could resume.", replaced_by="OpSysAndVer", source=MANUAL),
    _row("Offline", ValueKind.BOOLEAN, "The machine is asleep or switched off; the ad stands in for it."),
    _row("IsDesktop", ValueKind.BOOLEAN, "The machine is a desktop computer. Published by STARTD_ATTRS.", when="where the policy Desktop_Or_Dedicated or the administrator sets it", source=MANUAL),
)

SLOT: tuple[Attribute, ...] = (
    _row("SlotID", ValueKind.INTEGER, "Number of the slot; a dynamic slot has its parent's.", low=1, always=True),
    _row("DSlotID", ValueKind.INTEGER, "Number of a dynamic slot under its parent.", low=1, when="dynamic slots"),
    _row("SlotTypeID", ValueKind.INTEGER, "Number of the slot's type; 0 where no types are configured.", low=0, always=True),
    _row("SlotType", ValueKind.STRING, "Kind of slot.", choices=("Static", "Partitionable", "Dynamic"), always=True),
    _row("PartitionableSlot", ValueKind.BOOLEAN, "The slot is divided as jobs request parts of it.", when="partitionable slots"),
    _row("DynamicSlot", ValueKind.BOOLEAN, "The slot was created from a partitionable one.", when="dynamic slots"),
    _row("ParentSlotId", ValueKind.INTEGER, "Number of the partitionable slot that this one was created from.", low=1, when="dynamic slots"),
    _row("NumDynamicSlots", ValueKind.INTEGER, "Number of this slot's current dynamic slots.", Unit.COUNT, varies=True, when="partitionable slots"),
    _row("TotalSlots", ValueKind.INTEGER, "Slots of the machine.", Unit.COUNT, always=True, varies=True),
    _row("SlotWeight", ValueKind.NUMBER, "What the slot costs its user in fair share.", low=0, always=True),
    _row("VirtualMachineID", ValueKind.INTEGER, "Number of the slot.", low=1, replaced_by="SlotID"),
    _row("TotalVirtualMachines", ValueKind.INTEGER, "Slots of the machine.", Unit.COUNT, replaced_by="TotalSlots"),
)

SIZE: tuple[Attribute, ...] = (
    _row("Cpus", ValueKind.INTEGER, "Cores of the slot; what is left, in a partitionable one.", Unit.CORES, always=True),
    _row("Memory", ValueKind.INTEGER, "Memory of the slot; what is left, in a partitionable one.", Unit.MIB, always=True),
    _row("Disk", ValueKind.INTEGER, "Scratch space of the slot.", Unit.KIB, always=True, varies=True),
    _row("VirtualMemory", ValueKind.INTEGER, "Swap space of the slot.", Unit.KIB, always=True, varies=True),
    _row("TotalSlotCpus", ValueKind.INTEGER, "Cores that the slot was created with.", Unit.CORES, always=True),
    _row("TotalSlotMemory", ValueKind.INTEGER, "Memory that the slot was created with.", Unit.MIB, always=True),
    _row("TotalSlotMem", ValueKind.INTEGER, "Memory that the slot was created with.", Unit.MIB, replaced_by="TotalSlotMemory"),
    _row("TotalSlotDisk", ValueKind.NUMBER, "Scratch space that the slot was created with.", Unit.KIB, always=True),
    _row("TotalCpus", ValueKind.NUMBER, "Cores of the machine, as configured.", Unit.CORES, always=True),
    _row("TotalMemory", ValueKind.INTEGER, "Memory of the machine, as configured.", Unit.MIB, always=True),
    _row("TotalDisk", ValueKind.INTEGER, "Scratch space of the machine.", Unit.KIB, always=True, varies=True),
    _row("TotalVirtualMemory", ValueKind.INTEGER, "Swap space of the machine.", Unit.KIB, always=True, varies=True),
    _row("DetectedCpus", ValueKind.INTEGER, "Cores found.", Unit.CORES, always=True),
    _row("DetectedMemory", ValueKind.INTEGER, "Memory found.", Unit.MIB, always=True),
    _row("MachineResources", ValueKind.STRING_LIST, "Names of the machine's resources.", always=True),
    _row("WithinResourceLimits", ValueKind.BOOLEAN, "The job's requests fit into the slot.", when="defined for a job"),
    _row("GPUs", ValueKind.INTEGER, "Graphics processors of the slot.", Unit.COUNT, when="where they are configured"),
    _row("TotalSlotGPUs", ValueKind.INTEGER, "Graphics processors that the slot was created with.", Unit.COUNT, when="where they are configured"),
    _row("TotalGPUs", ValueKind.INTEGER, "Graphics processors of the machine, as configured.", Unit.COUNT, when="where they are configured"),
    _row("DetectedGPUs", ValueKind.ANY, "Graphics processors found.", when="where they are configured"),
    _row("AssignedGPUs", ValueKind.STRING_LIST, "Identifiers of the slot's graphics processors.", when="where they are configured"),
    _row("OfflineGPUs", ValueKind.ANY, "Graphics processors not to be used.", when="where they are configured"),
)

STATE: tuple[Attribute, ...] = (
    _row("State", ValueKind.STRING, "State of the slot.", choices=STATES, always=True, varies=True, source=MANUAL),
    _row("Activity", ValueKind.STRING, "Activity of the slot in its state.", choices=ACTIVITIES, always=True, varies=True, source=MANUAL),
    _row("EnteredCurrentState", ValueKind.INTEGER, "When the slot entered its state.", Unit.INSTANT, always=True, varies=True, source=MANUAL),
    _row("EnteredCurrentActivity", ValueKind.INTEGER, "When the slot entered its activity, or its state.", Unit.INSTANT, always=True, varies=True, source=MANUAL),
    *(
        _row(
            f"TotalTime{state}{activity}",
            ValueKind.INTEGER,
            f"Time the slot has spent in {state}/{activity} so far.",
            Unit.SECONDS,
            varies=True,
            when="once it is above 0",
        )
        for state, activity in PAIRS
    ),
    _row("Draining", ValueKind.BOOLEAN, "The machine is being drained.", varies=True, when="while draining"),
    _row("DrainReason", ValueKind.STRING, "Why the machine is drained.", when=_DRAINING),
    _row("SlotLeavingReason", ValueKind.STRING, "Why the slot accepts no more jobs and is deleted once it is free: the machine is changing its layout.", when="while the machine is changing its layout"),
    _row("DrainingRequestId", ValueKind.STRING, "Number of the drain request.", when="while draining"),
    _row("LastDrainStartTime", ValueKind.INTEGER, "When the last drain began.", Unit.INSTANT, when=_DRAINING),
    _row("LastDrainStopTime", ValueKind.INTEGER, "When the last drain ended.", Unit.INSTANT, when=_DRAINING),
    _row("AcceptedWhileDraining", ValueKind.BOOLEAN, "The job was accepted although the machine is being drained.", when="while draining"),
    _row("DrainTimeSuffices", ValueKind.BOOLEAN, "The vacate time of the job would be over before the last job must be gone.", varies=True, when="while draining with a START expression"),
    _row("ExpectedMachineGracefulDrainingCompletion", ValueKind.INTEGER, "When a graceful drain that began now would be over.", Unit.INSTANT, always=True, varies=True),
    _row("ExpectedMachineQuickDrainingCompletion", ValueKind.INTEGER, "When a quick drain that began now would be over.", Unit.INSTANT, always=True, varies=True),
    _row("ExpectedMachineGracefulDrainingBadput", ValueKind.INTEGER, "Core seconds lost by a graceful drain that began now.", Unit.SECONDS, always=True, varies=True),
    _row("ExpectedMachineQuickDrainingBadput", ValueKind.INTEGER, "Core seconds lost by a quick drain that began now.", Unit.SECONDS, always=True, varies=True),
    _row("TotalMachineDrainingBadput", ValueKind.INTEGER, "Core seconds lost by drains so far.", Unit.SECONDS, varies=True),
    _row("TotalMachineDrainingUnclaimedTime", ValueKind.INTEGER, "Core seconds idle by drains so far.", Unit.SECONDS, varies=True),
    _row("RunningCODJob", ValueKind.BOOLEAN, "A computing-on-demand job has displaced the other one."),
)

OWNER: tuple[Attribute, ...] = (
    _row("KeyboardIdle", ValueKind.INTEGER, "Time since any terminal, keyboard or mouse was used.", Unit.SECONDS, always=True, varies=True, source=MANUAL),
    _row("ConsoleIdle", ValueKind.INTEGER, "Time since the machine's own keyboard or mouse was used.", Unit.SECONDS, varies=True, when="where it can be found out", source=MANUAL),
    _row("LoadAvg", ValueKind.REAL, "Load of the slot: the owner's share of it and its own job's.", Unit.LOAD, always=True, varies=True, source=MANUAL),
    _row("CondorLoadAvg", ValueKind.REAL, "Load made by the slot's own job.", Unit.LOAD, always=True, varies=True, source=MANUAL),
    _row("TotalLoadAvg", ValueKind.REAL, "Load of the whole machine.", Unit.LOAD, always=True, varies=True, source=MANUAL),
    _row("TotalCondorLoadAvg", ValueKind.REAL, "Load made by all jobs on the machine.", Unit.LOAD, always=True, varies=True, source=MANUAL),
    _row("CpuBusy", ValueKind.BOOLEAN, "The expression CpuBusy of the configuration.", varies=True, when="where it is configured", source=MANUAL),
    _row("CpuIsBusy", ValueKind.BOOLEAN, "Value of CpuBusy at the last poll.", varies=True, when="where CpuBusy is configured", source=MANUAL),
    _row("CpuBusyTime", ValueKind.INTEGER, "How long CpuBusy has been TRUE; 0 while it is not. (Releases of HTCondor after 8.8 have the time of its last change under this name.)", Unit.SECONDS, varies=True, when="where CpuBusy is configured", source=MANUAL),
    _row("ClockMin", ValueKind.INTEGER, "Minutes since midnight, local time.", Unit.MINUTES, high=1439, always=True, varies=True, source=MANUAL),
    _row("ClockDay", ValueKind.INTEGER, "Day of the week, local time: 0 is Sunday, 6 is Saturday.", low=0, high=6, always=True, varies=True, source=MANUAL),
    _row("MyCurrentTime", ValueKind.INTEGER, "When the ad was created.", Unit.INSTANT, always=True, varies=True),
    _row("LastHeardFrom", ValueKind.INTEGER, "When the collector last got the ad.", Unit.INSTANT, varies=True, when="ads from the collector"),
    _row("DaemonStartTime", ValueKind.INTEGER, "When the daemon began.", Unit.INSTANT, always=True),
    _row("UpdateSequenceNumber", ValueKind.INTEGER, "Updates sent so far.", Unit.COUNT, always=True, varies=True),
    _row("UpdatesTotal", ValueKind.INTEGER, "Updates that the collector received.", Unit.COUNT, varies=True, when="ads from the collector"),
    _row("Mips", ValueKind.INTEGER, "Integer speed, from the benchmarks.", low=0, when="after the first benchmarks", source=MANUAL),
    _row("KFlops", ValueKind.INTEGER, "Floating-point speed, from the benchmarks.", low=0, when="after the first benchmarks", source=MANUAL),
    _row("LastBenchmark", ValueKind.INTEGER, "When the benchmarks last ended; 0 before the first.", Unit.INSTANT, always=True, source=MANUAL),
)

CLAIM: tuple[Attribute, ...] = (
    _row("ClientMachine", ValueKind.STRING, "Host of the queue that holds the claim.", when=_CLAIMED),
    _row("RemoteOwner", ValueKind.STRING, "User whose claim it is; as user@domain.", varies=True, when=_CLAIMED),
    _row("RemoteUser", ValueKind.STRING, "Name under which the claim is charged; the group's user if there is a group.", varies=True, when=_CLAIMED),
    _row("RemoteScheddName", ValueKind.STRING, "Queue that holds the claim.", when=_CLAIMED),
    _row("ConcurrencyLimits", ValueKind.STRING_LIST, "Limits that the job counts against.", when="while claimed, for a job that has some"),
    _row("AccountingGroup", ValueKind.STRING, "Group and user that the claim is charged to.", when="while claimed, for a job that has one"),
    _row("JobId", ValueKind.STRING, "Cluster and number of the job.", when=_RUNNING),
    _row("GlobalJobId", ValueKind.STRING, "Name of the job, unique in the pool.", when=_RUNNING),
    _row("JobStart", ValueKind.INTEGER, "When the job began on this slot.", Unit.INSTANT, when=_RUNNING, source=MANUAL),
    _row("CurrentRank", ValueKind.REAL, "RANK for the job that uses the slot.", varies=True, when=_CLAIMED, source=MANUAL),
    _row("TotalJobRunTime", ValueKind.INTEGER, "How long the job has run, excluding suspensions.", Unit.SECONDS, varies=True, when="while a job runs, once it is above 0"),
    _row("TotalJobSuspendTime", ValueKind.INTEGER, "How long the job has been suspended.", Unit.SECONDS, varies=True, when="while a job runs, once it is above 0"),
    _row("TotalClaimRunTime", ValueKind.INTEGER, "How long jobs of the claim have run.", Unit.SECONDS, varies=True, when="while claimed, once it is above 0"),
    _row("TotalClaimSuspendTime", ValueKind.INTEGER, "How long jobs of the claim have been suspended.", Unit.SECONDS, varies=True, when="while claimed, once it is above 0"),
    _row("RetirementTimeRemaining", ValueKind.INTEGER, "Remaining retirement of the job.", Unit.SECONDS, varies=True, when=_CLAIMED),
    _row("ImageSize", ValueKind.INTEGER, "Largest virtual size of the job so far.", Unit.KIB, varies=True, when=_RUNNING),
    _row("ExecutableSize", ValueKind.INTEGER, "Size of the program.", Unit.KIB, when=_CLAIMED),
    _row("JobUniverse", ValueKind.INTEGER, "Universe of the job.", low=1, high=13, when=_CLAIMED),
    _row("NiceUser", ValueKind.BOOLEAN, "The job runs only where no other job wants to run.", when=_CLAIMED),
    _row("CellTask", ValueKind.AD, "The allocation of the job in a Grid Engine cell: Instance, Slots, Resources and more.", when=_CLAIMED),
    _row("CellSuspenders", ValueKind.STRING_LIST, "What suspends the job in a Grid Engine cell: command, calendar, subordination, threshold, slots.", varies=True, when=_SUSPENDED_BY_CELL),
    _row("CellHostLoads", ValueKind.STRING, "Load values that the machine reports to a Grid Engine cell, separated by commas.", varies=True),
    _row("CellSuspension", ValueKind.STRING, "The same in sentences.", varies=True, when=_SUSPENDED_BY_CELL),
    _row("JobSuspenders", ValueKind.STRING_LIST, "What suspends the job besides a Grid Engine cell: command, policy.", varies=True, when="while one of these suspends the job"),
    _row("CpusUsage", ValueKind.REAL, "Cores that the job uses.", Unit.CORES, varies=True, when="while a job runs, after the first sample"),
    _row("MemoryUsage", ValueKind.INTEGER, "Memory that the job uses.", Unit.MIB, varies=True, when="while a job runs, after the first sample"),
    _row("ResidentSetSize", ValueKind.INTEGER, "Memory of the job that is in RAM.", Unit.KIB, varies=True, when="while a job runs, after the first sample"),
    _row("DiskUsage", ValueKind.INTEGER, "Scratch space that the job uses.", Unit.KIB, varies=True, when="while a job runs, after the first sample"),
    _row("NumPids", ValueKind.INTEGER, "Processes of the job.", Unit.COUNT, varies=True, when=_RUNNING),
    _row("LastPeriodicCheckpoint", ValueKind.INTEGER, "When the job last saved its state, or began.", Unit.INSTANT, varies=True, when=_RUNNING, source=MANUAL),
    _row("PreemptingOwner", ValueKind.STRING, "User who waits for the slot.", when="while a better claim waits"),
    _row("PreemptingUser", ValueKind.STRING, "Name under which the waiting claim is charged.", when="while a better claim waits"),
    _row("PreemptingRank", ValueKind.REAL, "RANK for the job that waits for the slot.", when="while a better claim waits"),
    _row("PreemptingAccountingGroup", ValueKind.STRING, "Group that the waiting claim is charged to.", when="while a better claim waits"),
    _row("PreemptingConcurrencyLimits", ValueKind.STRING_LIST, "Limits that the waiting job counts against.", when="while a better claim waits"),
    _row("LastFetchWorkSpawned", ValueKind.INTEGER, "When the hook that fetches work was last started.", Unit.INSTANT, varies=True, when="slots with that hook", source=HOOKS),
    _row("LastFetchWorkCompleted", ValueKind.INTEGER, "When the hook that fetches work last ended.", Unit.INSTANT, varies=True, when="slots with that hook", source=HOOKS),
    _row("NextFetchWorkDelay", ValueKind.INTEGER, "Time until work is fetched next.", Unit.SECONDS, varies=True, when="slots with that hook", source=HOOKS),
    _row("FetchWorkFailures", ValueKind.INTEGER, "Number of consecutive fetched jobs that could not be started.", varies=True, when="after such a job", source=OWN),
    _row("FetchWorkProblem", ValueKind.STRING, "The problem with the last call of the hook that fetches work, or with the job that it returned.", varies=True, when="after such a call", source=OWN),
    _row("FetchWorkPausedUntil", ValueKind.INTEGER, "End of the pause after them, in which no work is fetched.", Unit.INSTANT, varies=True, when="after such a job", source=OWN),
    _row("StarterJobState", ValueKind.STRING, "State of the job as its starter sees it.", choices=("Running", "Suspended", "Vacating", "Killing"), varies=True, when=_RUNNING, source=OWN),
    _row("Requirements", ValueKind.BOOLEAN, "Whether the slot accepts a job: START and the limits of its size; FALSE while it cannot be matched.", always=True, varies=True, source=MANUAL),
)

NEGOTIATION: tuple[Attribute, ...] = (
    _row("RemoteUserPrio", ValueKind.REAL, "Priority of the user who holds the slot; smaller is better.", low=0.5, when=_NEGOTIATING, source=MATCHING),
    _row("RemoteUserResourcesInUse", ValueKind.REAL, "What that user has in use, by weight.", low=0, when=_NEGOTIATING, source=MATCHING),
    _row("RemoteGroup", ValueKind.STRING, "Group of that user.", when=_NEGOTIATING, source=MATCHING),
    _row("RemoteGroupQuota", ValueKind.REAL, "Quota of that group.", low=0, when=_NEGOTIATING, source=MATCHING),
    _row("RemoteGroupResourcesInUse", ValueKind.REAL, "What that group has in use, by weight.", low=0, when=_NEGOTIATING, source=MATCHING),
    _row("RemoteNegotiatingGroup", ValueKind.STRING, "Group under which the claim was made.", when=_NEGOTIATING, source=MATCHING),
    _row("RemoteAutoregroup", ValueKind.BOOLEAN, "That group also competes outside its quota.", when=_NEGOTIATING, source=MATCHING),
)

ATTRIBUTES: tuple[Attribute, ...] = (*IDENTITY, *SLOT, *SIZE, *STATE, *OWNER, *CLAIM, *NEGOTIATION)

_REFLECTED = "of every slot, where STARTD_SLOT_ATTRS names it"
FAMILIES: tuple[Attribute, ...] = (
    _row("slot<N>_<Name>", ValueKind.ANY, "Attribute <Name> of slot N of the same machine.", varies=True, when=_REFLECTED, source=MANUAL),
    _row("vm<N>_<Name>", ValueKind.ANY, "Attribute <Name> of slot N of the same machine.", replaced_by="slot<N>_<Name>", source=MANUAL),
    _row("TotalSlot<Name>", ValueKind.NUMBER, "Amount of the resource <Name> that the slot was created with.", low=0),
    _row("Assigned<Name>", ValueKind.STRING_LIST, "Identifiers of the resource <Name> that belong to the slot."),
    _row("Consumption<Name>", ValueKind.NUMBER, "How much of the resource <Name> a job takes.", when="under a consumption policy"),
)
