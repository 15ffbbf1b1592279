"""Features: slot layouts, monitors, defragmentation, and the macros from which policies are built."""

from __future__ import annotations

from roost.config.template import Argument, ArgumentKind, Template, template
from roost.config.templates.cron import EXECUTABLE, PERIOD, cron, cron_hook

_CONVENTION = "convention"
_SLOTS = "dynamic provisioning"
_TYPE = Argument(name="type", meaning="number of the slot type", default="1", kind=ArgumentKind.POSITIVE)

TEMPLATES: tuple[Template, ...] = (
    template(
        "FEATURE",
        "PartitionableSlot",
        "One slot that is cut into dynamic slots to fit each job.",
        _SLOTS,
        """
SLOT_TYPE_$(1:1) = $(2+)
if ! $(2?)
  SLOT_TYPE_$(1:1) = 100%
endif
SLOT_TYPE_$(1:1)_PARTITIONABLE = True
NUM_SLOTS_TYPE_$(1:1) = 1
""",
        _TYPE,
        Argument(name="share", meaning="its share of the machine", default="100%"),
        rest=True,
    ),
    template(
        "FEATURE",
        "StaticSlots",
        "A number of equal slots of fixed size.",
        "multi-core machines",
        """
SLOT_TYPE_$(1:1) = $(3+)
SLOT_TYPE_$(1:1)_PARTITIONABLE = False
NUM_SLOTS_TYPE_$(1:1) = $(2:$(NUM_CPUS))
""",
        _TYPE,
        Argument(name="count", meaning="number of slots", default="$(NUM_CPUS)"),
        Argument(name="share", meaning="share of each; empty divides evenly", default=""),
        rest=True,
    ),
    template(
        "FEATURE",
        "GPUs",
        "Counts graphics processors and hands them to jobs that ask.",
        _CONVENTION,
        """
MACHINE_RESOURCE_INVENTORY_GPUs = $(LIBEXEC)/condor_gpu_discovery $(0) -properties $(GPU_DISCOVERY_EXTRA:)
""",
        Argument(name="arguments", meaning="arguments of the discovery program, before -properties", default=""),
        rest=True,
    ),
    template(
        "FEATURE",
        "Defrag",
        "Drains fragmented machines so that large jobs find room.",
        "defragmentation",
        """
DAEMON_LIST = $(DAEMON_LIST) DEFRAG
DEFRAG_INTERVAL = 3600
DEFRAG_DRAINING_MACHINES_PER_HOUR = $(1:1.0)
DEFRAG_MAX_WHOLE_MACHINES = $(2:20)
DEFRAG_MAX_CONCURRENT_DRAINING = $(3:10)
""",
        Argument(name="per hour", meaning="machines whose draining is begun in an hour", default="1.0"),
        Argument(name="whole", meaning="enough whole machines", default="20"),
        Argument(name="draining", meaning="most machines drained at a time", default="10"),
    ),
    cron("StartdCronPeriodic", "Runs a program regularly and publishes what it prints.", "Periodic"),
    cron("StartdCronContinuous", "Keeps a program running and publishes what it prints.", "WaitForExit"),
    cron("StartdCronOneShot", "Runs a program once and publishes what it prints.", "OneShot"),
    cron_hook("PeriodicCronHook", "StartdCronPeriodic for the daemon that is named first.", "Periodic"),
    cron_hook("ContinuousCronHook", "StartdCronContinuous for the daemon that is named first.", "WaitForExit"),
    cron_hook("OneShotCronHook", "StartdCronOneShot for the daemon that is named first.", "OneShot"),
    template(
        "FEATURE",
        "Monitor",
        "Measures what each job uses of a resource, with a program that runs alongside the jobs.",
        _CONVENTION,
        """
STARTD_CRON_JOBLIST = $(STARTD_CRON_JOBLIST) $(1)_MONITOR
STARTD_CRON_$(1)_MONITOR_MODE = $(2)
STARTD_CRON_$(1)_MONITOR_PERIOD = $(3)
STARTD_CRON_$(1)_MONITOR_EXECUTABLE = $(4)
STARTD_CRON_$(1)_MONITOR_METRICS = $(5+)
""",
        Argument(name="resource", meaning="name of the resource"),
        Argument(name="mode", meaning="Periodic, WaitForExit or OneShot"),
        PERIOD,
        EXECUTABLE,
        Argument(name="metrics", meaning="SUM:Name or PEAK:Name for each number that the program prints", default=""),
        rest=True,
    ),
    template(
        "FEATURE",
        "FetchWork",
        "Fetches work with hooks of the given prefix.",
        "fetch-work hooks",
        """
STARTD_JOB_HOOK_KEYWORD = $(1)
FetchWorkDelay = ifThenElse(State == "Claimed" && Activity == "Idle", 0, $(2:300))
""",
        Argument(name="keyword", meaning="prefix of the hook knobs, as in KEYWORD_HOOK_FETCH_WORK"),
        Argument(name="delay", meaning="seconds between two tries when there was no work", default="300"),
    ),
    template(
        "FEATURE",
        "POLICY_EXPR_FRAGMENTS",
        "Short names for the conditions that policies are made of.",
        "default policy settings",
        """
NonCondorLoadAvg = (LoadAvg - CondorLoadAvg)
BackgroundLoad = 0.3
HighLoad = 0.5
StartIdleTime = 15 * $(MINUTE)
ContinueIdleTime = 5 * $(MINUTE)
MaxSuspendTime = 10 * $(MINUTE)
KeyboardBusy = (KeyboardIdle < $(MINUTE))
ConsoleBusy = (ConsoleIdle < $(MINUTE))
CPUIdle = ($(NonCondorLoadAvg) <= $(BackgroundLoad))
CPUBusy = ($(NonCondorLoadAvg) >= $(HighLoad))
KeyboardNotBusy = ($(KeyboardBusy) == False)
MachineBusy = ($(CPUBusy) || $(KeyboardBusy))
SmallJob = (TARGET.ImageSize < (15 * 1024))
BigJob = (TARGET.ImageSize >= (50 * 1024))
MediumJob = (TARGET.ImageSize >= (15 * 1024) && TARGET.ImageSize < (50 * 1024))
JustCPU = ($(CPUBusy) && ($(KeyboardBusy) == False))
""",
    ),
    template(
        "FEATURE",
        "UWCS_DESKTOP_POLICY_VALUES",
        "The classic desktop expressions under names of their own.",
        "default policy settings",
        """
use FEATURE : POLICY_EXPR_FRAGMENTS
UWCS_START = ( (KeyboardIdle > $(StartIdleTime)) \\
  && ( $(CPUIdle) || (State != "Unclaimed" && State != "Owner") ) )
UWCS_SUSPEND = ( $(KeyboardBusy) || ( (CpuBusyTime > 2 * $(MINUTE)) && ($(ActivationTimer) > 90) ) )
UWCS_CONTINUE = ( $(CPUIdle) && ($(ActivityTimer) > 10) && (KeyboardIdle > $(ContinueIdleTime)) )
UWCS_PREEMPT = ( ((Activity == "Suspended") && ($(ActivityTimer) > $(MaxSuspendTime))) \\
  || (SUSPEND && (WANT_SUSPEND == False)) )
UWCS_WANT_SUSPEND = ( $(SmallJob) || $(KeyboardNotBusy) || $(IsVanilla) ) && ( $(SUSPEND) )
UWCS_WANT_VACATE = ( $(ActivationTimer) > 10 * $(MINUTE) || $(IsVanilla) )
UWCS_KILL = False
UWCS_MAXJOBRETIREMENTTIME = 0
UWCS_MachineMaxVacateTime = 10 * $(MINUTE)
UWCS_PREEMPTION_REQUIREMENTS = ( ((SubmitterGroup =?= RemoteGroup) && ($(StateTimer) > $(HOUR)) \\
  && (RemoteUserPrio > TARGET.SubmitterUserPrio * 1.2)) || (MY.NiceUser =?= True) )
""",
    ),
    template(
        "FEATURE",
        "TESTINGMODE_POLICY_VALUES",
        "Expressions that always run jobs, under names of their own.",
        "default policy settings",
        """
TESTINGMODE_WANT_SUSPEND = False
TESTINGMODE_WANT_VACATE = True
TESTINGMODE_START = True
TESTINGMODE_SUSPEND = False
TESTINGMODE_CONTINUE = True
TESTINGMODE_PREEMPT = False
TESTINGMODE_KILL = False
TESTINGMODE_PERIODIC_CHECKPOINT = False
TESTINGMODE_PREEMPTION_REQUIREMENTS = False
TESTINGMODE_CLAIM_WORKLIFE = 1200
""",
    ),
)
