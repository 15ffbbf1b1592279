"""Attributes of a slot's ad: what a machine says about itself and about the job that it runs."""

from __future__ import annotations

from roost.policy.attributes.rows import HOOKS, MANUAL, MATCHING, OWN, Rows
from roost.policy.model import Attribute, Kind, Side, Unit

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
_row = Rows(Side.MACHINE)
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
    _row("Name", Kind.STRING, "Name of the slot: slot1@host.", always=True),
    _row("Machine", Kind.STRING, "Full host name.", always=True),
    _row("MyType", Kind.STRING, "Machine.", always=True),
    _row("TargetType", Kind.STRING, "Job.", always=True),
    _row("MyAddress", Kind.STRING, "Address of the daemon.", always=True),
    _row("StartdIpAddr", Kind.STRING, "Address of the daemon.", always=True, replaced_by="MyAddress"),
    _row("Arch", Kind.STRING, "Processor architecture, for instance X86_64.", always=True),
    _row("OpSys", Kind.STRING, "Operating system, for instance LINUX.", always=True),
    _row("OpSysVer", Kind.INTEGER, "Version of the distribution as a number.", low=0),
    _row("OpSysMajorVer", Kind.INTEGER, "Major version of the distribution.", low=0),
    _row("OpSysAndVer", Kind.STRING, "Distribution with its major version, for instance Debian12."),
    _row("OpSysName", Kind.STRING, "Name of the distribution."),
    _row("OpSysShortName", Kind.STRING, "Short name of the distribution."),
    _row("OpSysLongName", Kind.STRING, "The distribution's own description."),
    _row("UidDomain", Kind.STRING, "Machines of the same domain know the same users.", always=True),
    _row("FileSystemDomain", Kind.STRING, "Machines of the same domain see the same files.", always=True),
    _row("CondorVersion", Kind.STRING, "Version of the software, in the form that clients expect.", always=True),
    _row("CondorPlatform", Kind.STRING, "Platform of the software, in the form that clients expect.", always=True),
    _row("MachineProblem", Kind.STRING, "Why the machine can run no job, and takes none, until an administrator fixes it.", varies=True, when="while there is one", source=OWN),
    _row("HasFileTransfer", Kind.BOOLEAN, "Files of jobs can be moved here.", always=True),
    _row("HasJobDeferral", Kind.BOOLEAN, "Jobs can be started at a given time.", always=True),
    _row("HasReconnect", Kind.BOOLEAN, "A running job survives that its queue loses contact.", always=True),
    _row("HasDocker", Kind.BOOLEAN, "Docker jobs can run here."),
    _row("HasSingularity", Kind.BOOLEAN, "Singularity jobs can run here."),
    _row("HasContainer", Kind.BOOLEAN, "Container jobs can run here."),
    _row("HasVM", Kind.BOOLEAN, "Virtual-machine jobs can run here."),
    _row("HasJava", Kind.BOOLEAN, "Java jobs can run here."),
    _row("HasMPI", Kind.BOOLEAN, "Old MPI-universe jobs could run here.", replaced_by="DedicatedScheduler"),
    _row("JavaVersion", Kind.STRING, "Version of Java.", when="where HasJava is TRUE"),
    _row("DedicatedScheduler", Kind.STRING, "Queue that this machine is dedicated to, for parallel jobs."),
    _row("StarterAbilityList", Kind.STRING_LIST, "What jobs may ask for here.", always=True),
    _row("CheckpointPlatform", Kind.STRING, "Platform on which checkpoints of standard-universe jobs could go on.", replaced_by="OpSysAndVer", source=MANUAL),
    _row("Offline", Kind.BOOLEAN, "The machine is asleep or switched off; the ad stands in for it."),
    _row("IsDesktop", Kind.BOOLEAN, "The machine is a desktop computer. Published by STARTD_ATTRS.", when="where the policy Desktop_Or_Dedicated or the administrator sets it", source=MANUAL),
)

SLOT: tuple[Attribute, ...] = (
    _row("SlotID", Kind.INTEGER, "Number of the slot; a dynamic slot has its parent's.", low=1, always=True),
    _row("DSlotID", Kind.INTEGER, "Number of a dynamic slot under its parent.", low=1, when="dynamic slots"),
    _row("SlotTypeID", Kind.INTEGER, "Number of the slot's type; 0 where no types are configured.", low=0, always=True),
    _row("SlotType", Kind.STRING, "Kind of slot.", choices=("Static", "Partitionable", "Dynamic"), always=True),
    _row("PartitionableSlot", Kind.BOOLEAN, "The slot is divided as jobs ask for it.", when="partitionable slots"),
    _row("DynamicSlot", Kind.BOOLEAN, "The slot was cut from a partitionable one.", when="dynamic slots"),
    _row("ParentSlotId", Kind.INTEGER, "Number of the slot that this one was cut from.", low=1, when="dynamic slots"),
    _row("NumDynamicSlots", Kind.INTEGER, "Slots cut from this one now.", Unit.COUNT, varies=True, when="partitionable slots"),
    _row("TotalSlots", Kind.INTEGER, "Slots of the machine.", Unit.COUNT, always=True, varies=True),
    _row("SlotWeight", Kind.NUMBER, "What the slot costs its user in fair share.", low=0, always=True),
    _row("VirtualMachineID", Kind.INTEGER, "Number of the slot.", low=1, replaced_by="SlotID"),
    _row("TotalVirtualMachines", Kind.INTEGER, "Slots of the machine.", Unit.COUNT, replaced_by="TotalSlots"),
)

SIZE: tuple[Attribute, ...] = (
    _row("Cpus", Kind.INTEGER, "Cores of the slot; what is left, in a partitionable one.", Unit.CORES, always=True),
    _row("Memory", Kind.INTEGER, "Memory of the slot; what is left, in a partitionable one.", Unit.MIB, always=True),
    _row("Disk", Kind.INTEGER, "Scratch space of the slot.", Unit.KIB, always=True, varies=True),
    _row("VirtualMemory", Kind.INTEGER, "Swap space of the slot.", Unit.KIB, always=True, varies=True),
    _row("TotalSlotCpus", Kind.INTEGER, "Cores that the slot was made with.", Unit.CORES, always=True),
    _row("TotalSlotMemory", Kind.INTEGER, "Memory that the slot was made with.", Unit.MIB, always=True),
    _row("TotalSlotMem", Kind.INTEGER, "Memory that the slot was made with.", Unit.MIB, replaced_by="TotalSlotMemory"),
    _row("TotalSlotDisk", Kind.NUMBER, "Scratch space that the slot was made with.", Unit.KIB, always=True),
    _row("TotalCpus", Kind.NUMBER, "Cores of the machine, as configured.", Unit.CORES, always=True),
    _row("TotalMemory", Kind.INTEGER, "Memory of the machine, as configured.", Unit.MIB, always=True),
    _row("TotalDisk", Kind.INTEGER, "Scratch space of the machine.", Unit.KIB, always=True, varies=True),
    _row("TotalVirtualMemory", Kind.INTEGER, "Swap space of the machine.", Unit.KIB, always=True, varies=True),
    _row("DetectedCpus", Kind.INTEGER, "Cores found.", Unit.CORES, always=True),
    _row("DetectedMemory", Kind.INTEGER, "Memory found.", Unit.MIB, always=True),
    _row("MachineResources", Kind.STRING_LIST, "Names of what the machine hands out.", always=True),
    _row("WithinResourceLimits", Kind.BOOLEAN, "What the job asks for fits into the slot.", when="defined for a job"),
    _row("GPUs", Kind.INTEGER, "Graphics processors of the slot.", Unit.COUNT, when="where they are configured"),
    _row("TotalSlotGPUs", Kind.INTEGER, "Graphics processors that the slot was made with.", Unit.COUNT, when="where they are configured"),
    _row("TotalGPUs", Kind.INTEGER, "Graphics processors of the machine, as configured.", Unit.COUNT, when="where they are configured"),
    _row("DetectedGPUs", Kind.ANY, "Graphics processors found.", when="where they are configured"),
    _row("AssignedGPUs", Kind.STRING_LIST, "Identifiers of the slot's graphics processors.", when="where they are configured"),
    _row("OfflineGPUs", Kind.ANY, "Graphics processors not to be used.", when="where they are configured"),
)

STATE: tuple[Attribute, ...] = (
    _row("State", Kind.STRING, "State of the slot.", choices=STATES, always=True, varies=True, source=MANUAL),
    _row("Activity", Kind.STRING, "What the slot does in its state.", choices=ACTIVITIES, always=True, varies=True, source=MANUAL),
    _row("EnteredCurrentState", Kind.INTEGER, "When the slot entered its state.", Unit.INSTANT, always=True, varies=True, source=MANUAL),
    _row("EnteredCurrentActivity", Kind.INTEGER, "When the slot entered its activity, or its state.", Unit.INSTANT, always=True, varies=True, source=MANUAL),
    *(
        _row(
            f"TotalTime{state}{activity}",
            Kind.INTEGER,
            f"Time the slot has spent in {state}/{activity} so far.",
            Unit.SECONDS,
            varies=True,
            when="once it is above 0",
        )
        for state, activity in PAIRS
    ),
    _row("Draining", Kind.BOOLEAN, "The machine is being drained.", varies=True, when="while draining"),
    _row("DrainReason", Kind.STRING, "Why the machine is drained.", when=_DRAINING),
    _row("SlotLeavingReason", Kind.STRING, "Why the slot takes no further job and vanishes once it is free: the machine is laid out anew.", when="while another layout is waited for"),
    _row("DrainingRequestId", Kind.STRING, "Number of the drain request.", when="while draining"),
    _row("LastDrainStartTime", Kind.INTEGER, "When the last drain began.", Unit.INSTANT, when=_DRAINING),
    _row("LastDrainStopTime", Kind.INTEGER, "When the last drain ended.", Unit.INSTANT, when=_DRAINING),
    _row("AcceptedWhileDraining", Kind.BOOLEAN, "The job was taken although the machine is being drained.", when="while draining"),
    _row("DrainTimeSuffices", Kind.BOOLEAN, "The vacate time of the job would be over before the last job has to be gone.", varies=True, when="while draining with a START expression"),
    _row("ExpectedMachineGracefulDrainingCompletion", Kind.INTEGER, "When a graceful drain begun now would be over.", Unit.INSTANT, always=True, varies=True),
    _row("ExpectedMachineQuickDrainingCompletion", Kind.INTEGER, "When a quick drain begun now would be over.", Unit.INSTANT, always=True, varies=True),
    _row("ExpectedMachineGracefulDrainingBadput", Kind.INTEGER, "Core seconds lost by a graceful drain begun now.", Unit.SECONDS, always=True, varies=True),
    _row("ExpectedMachineQuickDrainingBadput", Kind.INTEGER, "Core seconds lost by a quick drain begun now.", Unit.SECONDS, always=True, varies=True),
    _row("TotalMachineDrainingBadput", Kind.INTEGER, "Core seconds lost by drains so far.", Unit.SECONDS, varies=True),
    _row("TotalMachineDrainingUnclaimedTime", Kind.INTEGER, "Core seconds idle by drains so far.", Unit.SECONDS, varies=True),
    _row("RunningCODJob", Kind.BOOLEAN, "A computing-on-demand job has pushed the other one aside."),
)

OWNER: tuple[Attribute, ...] = (
    _row("KeyboardIdle", Kind.INTEGER, "Time since any terminal, keyboard or mouse was used.", Unit.SECONDS, always=True, varies=True, source=MANUAL),
    _row("ConsoleIdle", Kind.INTEGER, "Time since the machine's own keyboard or mouse was used.", Unit.SECONDS, varies=True, when="where it can be found out", source=MANUAL),
    _row("LoadAvg", Kind.REAL, "Load of the slot: the owner's share of it and its own job's.", Unit.LOAD, always=True, varies=True, source=MANUAL),
    _row("CondorLoadAvg", Kind.REAL, "Load made by the slot's own job.", Unit.LOAD, always=True, varies=True, source=MANUAL),
    _row("TotalLoadAvg", Kind.REAL, "Load of the whole machine.", Unit.LOAD, always=True, varies=True, source=MANUAL),
    _row("TotalCondorLoadAvg", Kind.REAL, "Load made by all jobs on the machine.", Unit.LOAD, always=True, varies=True, source=MANUAL),
    _row("CpuBusy", Kind.BOOLEAN, "The expression CpuBusy of the configuration.", varies=True, when="where it is configured", source=MANUAL),
    _row("CpuIsBusy", Kind.BOOLEAN, "Value of CpuBusy when last looked at.", varies=True, when="where CpuBusy is configured", source=MANUAL),
    _row("CpuBusyTime", Kind.INTEGER, "How long CpuBusy has been TRUE; 0 while it is not. (Releases of HTCondor after 8.8 have the time of its last change under this name.)", Unit.SECONDS, varies=True, when="where CpuBusy is configured", source=MANUAL),
    _row("ClockMin", Kind.INTEGER, "Minutes since midnight, local time.", Unit.MINUTES, high=1439, always=True, varies=True, source=MANUAL),
    _row("ClockDay", Kind.INTEGER, "Day of the week, local time: 0 is Sunday, 6 is Saturday.", low=0, high=6, always=True, varies=True, source=MANUAL),
    _row("MyCurrentTime", Kind.INTEGER, "When the ad was made.", Unit.INSTANT, always=True, varies=True),
    _row("LastHeardFrom", Kind.INTEGER, "When the collector last got the ad.", Unit.INSTANT, varies=True, when="ads from the collector"),
    _row("DaemonStartTime", Kind.INTEGER, "When the daemon began.", Unit.INSTANT, always=True),
    _row("UpdateSequenceNumber", Kind.INTEGER, "Updates sent so far.", Unit.COUNT, always=True, varies=True),
    _row("UpdatesTotal", Kind.INTEGER, "Updates that the collector got.", Unit.COUNT, varies=True, when="ads from the collector"),
    _row("Mips", Kind.INTEGER, "Integer speed, from the benchmarks.", low=0, when="after the first benchmarks", source=MANUAL),
    _row("KFlops", Kind.INTEGER, "Floating-point speed, from the benchmarks.", low=0, when="after the first benchmarks", source=MANUAL),
    _row("LastBenchmark", Kind.INTEGER, "When the benchmarks last ended; 0 before the first.", Unit.INSTANT, always=True, source=MANUAL),
)

CLAIM: tuple[Attribute, ...] = (
    _row("ClientMachine", Kind.STRING, "Host of the queue that holds the claim.", when=_CLAIMED),
    _row("RemoteOwner", Kind.STRING, "User whose claim it is; as user@domain.", varies=True, when=_CLAIMED),
    _row("RemoteUser", Kind.STRING, "Name under which the claim is charged; the group's user if there is a group.", varies=True, when=_CLAIMED),
    _row("RemoteScheddName", Kind.STRING, "Queue that holds the claim.", when=_CLAIMED),
    _row("ConcurrencyLimits", Kind.STRING_LIST, "Limits that the job counts against.", when="while claimed, for a job that has some"),
    _row("AccountingGroup", Kind.STRING, "Group and user that the claim is charged to.", when="while claimed, for a job that has one"),
    _row("JobId", Kind.STRING, "Cluster and number of the job.", when=_RUNNING),
    _row("GlobalJobId", Kind.STRING, "Name of the job, unique in the pool.", when=_RUNNING),
    _row("JobStart", Kind.INTEGER, "When the job began on this slot.", Unit.INSTANT, when=_RUNNING, source=MANUAL),
    _row("CurrentRank", Kind.REAL, "RANK for the job that holds the slot.", varies=True, when=_CLAIMED, source=MANUAL),
    _row("TotalJobRunTime", Kind.INTEGER, "How long the job has run, suspensions left out.", Unit.SECONDS, varies=True, when="while a job runs, once it is above 0"),
    _row("TotalJobSuspendTime", Kind.INTEGER, "How long the job has been suspended.", Unit.SECONDS, varies=True, when="while a job runs, once it is above 0"),
    _row("TotalClaimRunTime", Kind.INTEGER, "How long jobs of the claim have run.", Unit.SECONDS, varies=True, when="while claimed, once it is above 0"),
    _row("TotalClaimSuspendTime", Kind.INTEGER, "How long jobs of the claim have been suspended.", Unit.SECONDS, varies=True, when="while claimed, once it is above 0"),
    _row("RetirementTimeRemaining", Kind.INTEGER, "Retirement that the job has left.", Unit.SECONDS, varies=True, when=_CLAIMED),
    _row("ImageSize", Kind.INTEGER, "Largest virtual size of the job so far.", Unit.KIB, varies=True, when=_RUNNING),
    _row("ExecutableSize", Kind.INTEGER, "Size of the program.", Unit.KIB, when=_CLAIMED),
    _row("JobUniverse", Kind.INTEGER, "Universe of the job.", low=1, high=13, when=_CLAIMED),
    _row("NiceUser", Kind.BOOLEAN, "The job runs only where no other job wants to run.", when=_CLAIMED),
    _row("CellTask", Kind.AD, "What the job got of a Grid Engine cell: Instance, Slots, Resources and more.", when=_CLAIMED),
    _row("CellSuspenders", Kind.STRING_LIST, "What of a Grid Engine cell suspends the job: command, calendar, subordination, threshold, slots.", varies=True, when=_SUSPENDED_BY_CELL),
    _row("CellHostLoads", Kind.STRING, "What a Grid Engine cell is told of the machine, load values with commas.", varies=True),
    _row("CellSuspension", Kind.STRING, "The same in sentences.", varies=True, when=_SUSPENDED_BY_CELL),
    _row("CpusUsage", Kind.REAL, "Cores that the job uses.", Unit.CORES, varies=True, when="while a job runs, after the first sample"),
    _row("MemoryUsage", Kind.INTEGER, "Memory that the job uses.", Unit.MIB, varies=True, when="while a job runs, after the first sample"),
    _row("ResidentSetSize", Kind.INTEGER, "Memory of the job that is in RAM.", Unit.KIB, varies=True, when="while a job runs, after the first sample"),
    _row("DiskUsage", Kind.INTEGER, "Scratch space that the job uses.", Unit.KIB, varies=True, when="while a job runs, after the first sample"),
    _row("NumPids", Kind.INTEGER, "Processes of the job.", Unit.COUNT, varies=True, when=_RUNNING),
    _row("LastPeriodicCheckpoint", Kind.INTEGER, "When the job last saved its state, or began.", Unit.INSTANT, varies=True, when=_RUNNING, source=MANUAL),
    _row("PreemptingOwner", Kind.STRING, "User who waits for the slot.", when="while a better claim waits"),
    _row("PreemptingUser", Kind.STRING, "Name under which the waiting claim is charged.", when="while a better claim waits"),
    _row("PreemptingRank", Kind.REAL, "RANK for the job that waits for the slot.", when="while a better claim waits"),
    _row("PreemptingAccountingGroup", Kind.STRING, "Group that the waiting claim is charged to.", when="while a better claim waits"),
    _row("PreemptingConcurrencyLimits", Kind.STRING_LIST, "Limits that the waiting job counts against.", when="while a better claim waits"),
    _row("LastFetchWorkSpawned", Kind.INTEGER, "When the hook that fetches work was last started.", Unit.INSTANT, varies=True, when="slots with that hook", source=HOOKS),
    _row("LastFetchWorkCompleted", Kind.INTEGER, "When the hook that fetches work last ended.", Unit.INSTANT, varies=True, when="slots with that hook", source=HOOKS),
    _row("NextFetchWorkDelay", Kind.INTEGER, "Time until work is fetched next.", Unit.SECONDS, varies=True, when="slots with that hook", source=HOOKS),
    _row("FetchWorkFailures", Kind.INTEGER, "Number of fetched jobs in a row that could not be started.", varies=True, when="after such a job", source=OWN),
    _row("FetchWorkProblem", Kind.STRING, "What was wrong with the last call of the hook that fetches work, or with the job that it brought.", varies=True, when="after such a call", source=OWN),
    _row("FetchWorkPausedUntil", Kind.INTEGER, "End of the pause after them, in which no work is fetched.", Unit.INSTANT, varies=True, when="after such a job", source=OWN),
    _row("StarterJobState", Kind.STRING, "State of the job as its starter sees it.", choices=("Running", "Suspended", "Vacating", "Killing"), varies=True, when=_RUNNING, source=OWN),
    _row("Requirements", Kind.BOOLEAN, "Whether the slot takes a job: START and the limits of its size; FALSE while it cannot be matched.", always=True, varies=True, source=MANUAL),
)

NEGOTIATION: tuple[Attribute, ...] = (
    _row("RemoteUserPrio", Kind.REAL, "Priority of the user who holds the slot; smaller is better.", low=0.5, when=_NEGOTIATING, source=MATCHING),
    _row("RemoteUserResourcesInUse", Kind.REAL, "What that user has in use, by weight.", low=0, when=_NEGOTIATING, source=MATCHING),
    _row("RemoteGroup", Kind.STRING, "Group of that user.", when=_NEGOTIATING, source=MATCHING),
    _row("RemoteGroupQuota", Kind.REAL, "Quota of that group.", low=0, when=_NEGOTIATING, source=MATCHING),
    _row("RemoteGroupResourcesInUse", Kind.REAL, "What that group has in use, by weight.", low=0, when=_NEGOTIATING, source=MATCHING),
    _row("RemoteNegotiatingGroup", Kind.STRING, "Group under which the claim was made.", when=_NEGOTIATING, source=MATCHING),
    _row("RemoteAutoregroup", Kind.BOOLEAN, "That group also competes outside its quota.", when=_NEGOTIATING, source=MATCHING),
)

ATTRIBUTES: tuple[Attribute, ...] = (*IDENTITY, *SLOT, *SIZE, *STATE, *OWNER, *CLAIM, *NEGOTIATION)

_REFLECTED = "of every slot, where STARTD_SLOT_ATTRS names it"
FAMILIES: tuple[Attribute, ...] = (
    _row("slot<N>_<Name>", Kind.ANY, "Attribute <Name> of slot N of the same machine.", varies=True, when=_REFLECTED, source=MANUAL),
    _row("vm<N>_<Name>", Kind.ANY, "Attribute <Name> of slot N of the same machine.", replaced_by="slot<N>_<Name>", source=MANUAL),
    _row("TotalSlot<Name>", Kind.NUMBER, "Amount of the resource <Name> that the slot was made with.", low=0),
    _row("Assigned<Name>", Kind.STRING_LIST, "Identifiers of the resource <Name> that belong to the slot."),
    _row("Consumption<Name>", Kind.NUMBER, "How much of the resource <Name> a job takes.", when="under a consumption policy"),
)
