"""Attributes of the other ads: what a starter knows of its job, submitters, queues, accounting groups."""

from __future__ import annotations

from roost.policy.attributes.rows import MATCHING, STARTER_RFC, Rows
from roost.policy.model import Attribute, Kind, Side, Unit

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
_starter = Rows(Side.STARTER, STARTER_RFC)
STARTER: tuple[Attribute, ...] = (
    _starter("ImageSize", Kind.INTEGER, "Largest virtual size of the job so far.", Unit.KIB, varies=True, when="after the first sample"),
    _starter("ResidentSetSize", Kind.INTEGER, "Largest part of it in RAM.", Unit.KIB, varies=True, when="after the first sample"),
    _starter("RemoteUserCpu", Kind.REAL, "Processor time of the job.", Unit.SECONDS, varies=True, when="after the first sample"),
    _starter("RemoteSysCpu", Kind.REAL, "Processor time of the system for the job.", Unit.SECONDS, varies=True, when="after the first sample"),
    _starter("MemoryUsage", Kind.INTEGER, "Memory that the job uses.", Unit.MIB, varies=True, when="after the first sample"),
    _starter("CpusUsage", Kind.REAL, "Cores that the job uses, the mean of its run.", Unit.CORES, varies=True, when="after the first sample"),
    _starter("JobDuration", Kind.REAL, "Time since the job was started, suspensions included.", Unit.SECONDS, always=True, varies=True),
    _starter("NumPids", Kind.INTEGER, "Processes of the job.", Unit.COUNT, varies=True, when="after the first sample"),
    _starter("DiskUsage", Kind.INTEGER, "Scratch space that the job uses.", Unit.KIB, varies=True, when="after the first sample of the disk"),
    _starter("JobState", Kind.STRING, "State of the job.", choices=("Running", "Suspended", "Vacating", "Killing"), always=True, varies=True),
    _starter("EnteredCurrentState", Kind.INTEGER, "When the job entered that state.", Unit.INSTANT, always=True, varies=True),
    _starter("JobPid", Kind.INTEGER, "Process number of the job.", low=1, always=True),
    _starter("JobStartDate", Kind.INTEGER, "When the job was started.", Unit.INSTANT, always=True),
    _starter("Memory", Kind.INTEGER, "Memory of the slot.", Unit.MIB, when="where a slot started the starter"),
    _starter("Cpus", Kind.INTEGER, "Cores of the slot.", Unit.CORES, when="where a slot started the starter"),
    _starter("SlotTypeID", Kind.INTEGER, "Number of the slot's type.", when="where a slot started the starter"),
    _starter("SlotType", Kind.STRING, "How the slot is divided.", choices=("Static", "Partitionable", "Dynamic"), when="where a slot started the starter"),
    _starter("Name", Kind.STRING, "Name of the slot.", when="where a slot started the starter"),
    _starter("Machine", Kind.STRING, "Host name.", when="where a slot started the starter"),
    _starter("FileSystemDomain", Kind.STRING, "Domain of shared files.", when="where a slot started the starter"),
    _starter("SlotID", Kind.INTEGER, "Number of the slot.", low=1, when="where a slot started the starter"),
)

_submitter = Rows(Side.SUBMITTER)
SUBMITTER: tuple[Attribute, ...] = (
    _submitter("Name", Kind.STRING, "The submitter: user@domain, or group.user@domain.", always=True),
    _submitter("MyType", Kind.STRING, "Submitter.", always=True),
    _submitter("Machine", Kind.STRING, "Host of the queue.", always=True),
    _submitter("ScheddName", Kind.STRING, "Name of the queue.", always=True),
    _submitter("ScheddIpAddr", Kind.STRING, "Address of the queue.", always=True),
    _submitter("SubmitterTag", Kind.STRING, "Pool that the queue belongs to, when it asks elsewhere too."),
    _submitter("RunningJobs", Kind.INTEGER, "Running jobs.", Unit.COUNT, always=True, varies=True),
    _submitter("IdleJobs", Kind.INTEGER, "Idle jobs.", Unit.COUNT, always=True, varies=True),
    _submitter("HeldJobs", Kind.INTEGER, "Held jobs.", Unit.COUNT, always=True, varies=True),
    _submitter("FlockedJobs", Kind.INTEGER, "Jobs that run in other pools.", Unit.COUNT, always=True, varies=True),
    _submitter("WeightedRunningJobs", Kind.REAL, "Running jobs by weight of their slots.", low=0, varies=True),
    _submitter("WeightedIdleJobs", Kind.REAL, "Idle jobs by weight of the slots they need.", low=0, varies=True),
    _submitter("JobPrioArray", Kind.STRING_LIST, "Priorities of the idle jobs."),
    _submitter("LastHeardFrom", Kind.INTEGER, "When the collector last got the ad.", Unit.INSTANT, varies=True),
)

_schedd = Rows(Side.SCHEDD)
SCHEDD: tuple[Attribute, ...] = (
    _schedd("Name", Kind.STRING, "Name of the queue.", always=True),
    _schedd("MyType", Kind.STRING, "Scheduler.", always=True),
    _schedd("Machine", Kind.STRING, "Host of the queue.", always=True),
    _schedd("MyAddress", Kind.STRING, "Address of the queue.", always=True),
    _schedd("CondorVersion", Kind.STRING, "Version of the software, in the form that clients expect.", always=True),
    _schedd("TotalRunningJobs", Kind.INTEGER, "Running jobs.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalIdleJobs", Kind.INTEGER, "Idle jobs.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalHeldJobs", Kind.INTEGER, "Held jobs.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalRemovedJobs", Kind.INTEGER, "Removed jobs that still are in the queue.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalFlockedJobs", Kind.INTEGER, "Jobs that run in other pools.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalJobAds", Kind.INTEGER, "Jobs in the queue.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalLocalJobsRunning", Kind.INTEGER, "Running jobs of the local universe.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalLocalJobsIdle", Kind.INTEGER, "Idle jobs of the local universe.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalSchedulerJobsRunning", Kind.INTEGER, "Running jobs of the scheduler universe.", Unit.COUNT, always=True, varies=True),
    _schedd("TotalSchedulerJobsIdle", Kind.INTEGER, "Idle jobs of the scheduler universe.", Unit.COUNT, always=True, varies=True),
    _schedd("MaxJobsRunning", Kind.INTEGER, "Most jobs that run at a time.", Unit.COUNT, always=True),
    _schedd("NumUsers", Kind.INTEGER, "Users with jobs in the queue.", Unit.COUNT, always=True, varies=True),
    _schedd("DaemonStartTime", Kind.INTEGER, "When the queue's daemon began.", Unit.INSTANT, always=True),
    _schedd("LastHeardFrom", Kind.INTEGER, "When the collector last got the ad.", Unit.INSTANT, varies=True),
)

_group = Rows(Side.NEGOTIATOR, MATCHING)
NEGOTIATOR: tuple[Attribute, ...] = (
    _group("AccountingGroup", Kind.STRING, 'Name of the accounting group; "<none>" for the root.', always=True),
    _group("GroupQuota", Kind.REAL, "Quota of the group, by weight.", low=0, always=True),
    _group("GroupResourcesInUse", Kind.REAL, "What the group has in use, by weight.", low=0, always=True),
    _group("GroupResourcesAllocated", Kind.REAL, "What the group has been given in this cycle.", low=0, always=True),
)

_language = Rows(Side.NONE)
LANGUAGE: tuple[Attribute, ...] = (
    _language("CurrentTime", Kind.INTEGER, "The time now: every ad has it without saying so; time() is the better form.", Unit.INSTANT, always=True, varies=True),
)

ATTRIBUTES: tuple[Attribute, ...] = (*STARTER, *SUBMITTER, *SCHEDD, *NEGOTIATOR, *LANGUAGE)
