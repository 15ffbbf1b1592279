"""Attributes of the other ads: starter ads, submitters, queues, accounting groups."""

from __future__ import annotations

from roost.policy.attributes.rows import MATCHING, STARTER_RFC, AttributeRows
from roost.policy.model import AdKind, Attribute, Unit, ValueKind

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
_starter = AttributeRows(AdKind.STARTER, STARTER_RFC)
STARTER: tuple[Attribute, ...] = (
    _starter("ImageSize", ValueKind.INTEGER, "Largest virtual size of the job so far.", Unit.KIB, varies=True, when="after the first sample"),
    _starter("ResidentSetSize", ValueKind.INTEGER, "Largest part of it in RAM.", Unit.KIB, varies=True, when="after the first sample"),
    _starter("RemoteUserCpu", ValueKind.REAL, "Processor time of the job.", Unit.SECONDS, varies=True, when="after the first sample"),
    _starter("RemoteSysCpu", ValueKind.REAL, "Processor time of the system for the job.", Unit.SECONDS, varies=True, when="after the first sample"),
    _starter("MemoryUsage", ValueKind.INTEGER, "Memory that the job uses.", Unit.MIB, varies=True, when="after the first sample"),
    _starter("CpusUsage", ValueKind.REAL, "Cores that the job uses, the mean of its run.", Unit.CORES, varies=True, when="after the first sample"),
    _starter("JobDuration", ValueKind.REAL, "Time since the job was started, suspensions included.", Unit.SECONDS, always=True, varies=True),
    _starter("NumPids", ValueKind.INTEGER, "Processes of the job.", Unit.COUNT, varies=True, when="after the first sample"),
    _starter("DiskUsage", ValueKind.INTEGER, "Scratch space that the job uses.", Unit.KIB, varies=True, when="after the first sample of the disk"),
    _starter("JobState", ValueKind.STRING, "State of the job.", choices=("Running", "Suspended", "Vacating", "Killing"), always=True, varies=True),
    _starter("EnteredCurrentState", ValueKind.INTEGER, "When the job entered that state.", Unit.INSTANT, always=True, varies=True),
    _starter("JobPid", ValueKind.INTEGER, "Process number of the job.", low=1, always=True),
    _starter("JobStartDate", ValueKind.INTEGER, "When the job was started.", Unit.INSTANT, always=True),
    _starter("Memory", ValueKind.INTEGER, "Memory of the slot.", Unit.MIB, when="where a slot started the starter"),
    _starter("Cpus", ValueKind.INTEGER, "Cores of the slot.", Unit.CORES, when="where a slot started the starter"),
    _starter("SlotTypeID", ValueKind.INTEGER, "Number of the slot's type.", when="where a slot started the starter"),
    _starter("SlotType", ValueKind.STRING, "How the slot is divided.", choices=("Static", "Partitionable", "Dynamic"), when="where a slot started the starter"),
    _starter("Name", ValueKind.STRING, "Name of the slot.", when="where a slot started the starter"),
    _starter("Machine", ValueKind.STRING, "Host name.", when="where a slot started the starter"),
    _starter("FileSystemDomain", ValueKind.STRING, "Domain of shared files.", when="where a slot started the starter"),
    _starter("SlotID", ValueKind.INTEGER, "Number of the slot.", low=1, when="where a slot started the starter"),
)

_submitter = AttributeRows(AdKind.SUBMITTER)
SUBMITTER: tuple[Attribute, ...] = (
    _submitter("Name", ValueKind.STRING, "The submitter: user@domain, or group.user@domain.", always=True),
    _submitter("MyType", ValueKind.STRING, "Submitter.", always=True),
    _submitter("Machine", ValueKind.STRING, "Host of the queue.", always=True),
    _submitter("ScheddName", ValueKind.STRING, "Name of the queue.", always=True),
    _submitter("ScheddIpAddr", ValueKind.STRING, "Address of the queue.", always=True),
    _submitter("SubmitterTag", ValueKind.STRING, "Pool that the queue belongs to, if it also uses others."),
    _submitter("RunningJobs", ValueKind.INTEGER, "Running jobs.", Unit.COUNT, always=True, varies=True),
    _submitter("IdleJobs", ValueKind.INTEGER, "Idle jobs.", Unit.COUNT, always=True, varies=True),
    _submitter("HeldJobs", ValueKind.INTEGER, "Held jobs.", Unit.COUNT, always=True, varies=True),
    _submitter("FlockedJobs", ValueKind.INTEGER, "Jobs that run in other pools.", Unit.COUNT, always=True, varies=True),
    _submitter("WeightedRunningJobs", ValueKind.REAL, "Running jobs by weight of their slots.", low=0, varies=True),
    _submitter("WeightedIdleJobs", ValueKind.REAL, "Idle jobs by weight of the slots they need.", low=0, varies=True),
    _submitter("JobPrioArray", ValueKind.STRING_LIST, "Priorities of the idle jobs."),
    _submitter("LastHeardFrom", ValueKind.INTEGER, "When the collector last got the ad.", Unit.INSTANT, varies=True),
)

_schedd = AttributeRows(AdKind.SCHEDD)
SCHEDD: tuple[Attribute, ...] = (
    _schedd("Name", ValueKind.STRING, "Name of the queue.", always=True),
    _schedd("MyType", ValueKind.STRING, "Scheduler.", always=True),
    _schedd("Machine", ValueKind.STRING, "Host of the queue.", always=True),
    _schedd("MyAddress", ValueKind.STRING, "Address of the queue.", always=True),
    _schedd("CondorVersion", ValueKind.STRING, "Version of the software, in the form that clients expect.", always=True),
    _schedd("RoostVersion", ValueKind.STRING, "Version of Roost.", always=True),
    _schedd("TotalRunningJobs", ValueKind.INTEGER, "Running jobs.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalIdleJobs", ValueKind.INTEGER, "Idle jobs.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalHeldJobs", ValueKind.INTEGER, "Held jobs.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalRemovedJobs", ValueKind.INTEGER, "Removed jobs that are still in the queue.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalFlockedJobs", ValueKind.INTEGER, "Jobs that run in other pools.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalJobAds", ValueKind.INTEGER, "Jobs in the queue.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalLocalJobsRunning", ValueKind.INTEGER, "Running jobs of the local universe.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalLocalJobsIdle", ValueKind.INTEGER, "Idle jobs of the local universe.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalSchedulerJobsRunning", ValueKind.INTEGER, "Running jobs of the scheduler universe.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalSchedulerJobsIdle", ValueKind.INTEGER, "Idle jobs of the scheduler universe.", Unit.COUNT, always=True, varies=True),
    _schedd("MaxJobsRunning", ValueKind.INTEGER, "Most jobs that run at a time.", Unit.COUNT, always=True),
    _schedd("NumUsers", ValueKind.INTEGER, "Users with jobs in the queue.", Unit.COUNT, always=True, varies=True),
    _schedd("DaemonStartTime", ValueKind.INTEGER, "When the queue's daemon began.", Unit.INSTANT, always=True),
    _schedd("LastHeardFrom", ValueKind.INTEGER, "When the collector last got the ad.", Unit.INSTANT, varies=True),
)

_group = AttributeRows(AdKind.NEGOTIATOR, MATCHING)
NEGOTIATOR: tuple[Attribute, ...] = (
    _group("AccountingGroup", ValueKind.STRING, 'Name of the accounting group; "<none>" for the root.', always=True),
    _group("GroupQuota", ValueKind.REAL, "Quota of the group, by weight.", low=0, always=True),
    _group("GroupResourcesInUse", ValueKind.REAL, "What the group has in use, by weight.", low=0, always=True),
    _group("GroupResourcesAllocated", ValueKind.REAL, "What the group has got in this cycle.", low=0, always=True),
)

_language = AttributeRows(AdKind.NONE)
LANGUAGE: tuple[Attribute, ...] = (
    _language("CurrentTime", ValueKind.INTEGER, "The current time, implicit in every ad; prefer time().", Unit.INSTANT, always=True, varies=True),
)

ATTRIBUTES: tuple[Attribute, ...] = (*STARTER, *SUBMITTER, *SCHEDD, *NEGOTIATOR, *LANGUAGE)
