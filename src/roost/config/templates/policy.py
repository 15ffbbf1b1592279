"""Policies under the names used by configurations for HTCondor."""

from __future__ import annotations

from roost.base.records import replace
from roost.config.template import Argument, ArgumentKind, Template, template
from roost.config.templates.hours import BEGIN, END, FIRST, LAST

_DEFAULT = "default policy settings"
_HOURS = "time of day policy"
_LIMITS = "convention"
_SECONDS = Argument(name="seconds", meaning="longest run time", kind=ArgumentKind.SECONDS)

_ALWAYS = """
WANT_SUSPEND = False
WANT_VACATE = True
SUSPEND = False
CONTINUE = True
PREEMPT = False
START = True
KILL = False
"""

_DESKTOP = """
use FEATURE : UWCS_DESKTOP_POLICY_VALUES
START = $(UWCS_START)
SUSPEND = $(UWCS_SUSPEND)
CONTINUE = $(UWCS_CONTINUE)
PREEMPT = $(UWCS_PREEMPT)
WANT_SUSPEND = $(UWCS_WANT_SUSPEND)
WANT_VACATE = $(UWCS_WANT_VACATE)
KILL = $(UWCS_KILL)
MAXJOBRETIREMENTTIME = $(UWCS_MAXJOBRETIREMENTTIME)
MachineMaxVacateTime = $(UWCS_MachineMaxVacateTime)
IS_OWNER = (START =?= False)
CpuBusy = $(CPUBusy)
CLAIM_WORKLIFE =
SLOTS_CONNECTED_TO_KEYBOARD = 1000000
SLOTS_CONNECTED_TO_CONSOLE = 1000000
"""

_PREEMPT_IF = """
PREEMPT = ($($(1))) || ($(PREEMPT:False))
MAXJOBRETIREMENTTIME = ifThenElse($($(1)), -1, $(MAXJOBRETIREMENTTIME:0))
WANT_SUSPEND = (($($(1))) =!= True) && ($(WANT_SUSPEND:False))
"""

_RUNTIME = '((JobState =?= "Running") && ((time() - JobCurrentStartDate) > ($(1))))'
_CPUS = "(CpusUsage =!= UNDEFINED && CpusUsage > Cpus + 0.8)"
_MEMORY = "(JobUniverse != 13 && MemoryUsage =!= UNDEFINED && MemoryUsage > Memory)"
_DISK = "(JobUniverse != 13 && DiskUsage =!= UNDEFINED && DiskUsage > Disk)"


def _exceeded(
    what: str, macro: str, test: str, subcode: int, reason: str, *arguments: Argument
) -> tuple[Template, ...]:
    """The pair of templates that preempt, or hold, jobs which exceed a limit."""
    preempt = f"{macro} = {test}\nuse POLICY : Preempt_if({macro})\n"
    hold = f'{macro} = {test}\nuse POLICY : Want_Hold_if({macro}, {subcode}, "{reason}")\n'
    return (
        template("POLICY", f"Preempt_if_{what}", f"Preempts a job when its {reason}.", _LIMITS, preempt, *arguments),
        template(
            "POLICY",
            f"Hold_if_{what}",
            f"Preempts a job and puts it on hold when its {reason}.",
            _LIMITS,
            hold,
            *arguments,
        ),
    )


TEMPLATES: tuple[Template, ...] = (
    template(
        "POLICY",
        "Always_Run_Jobs",
        "Jobs always start and are never suspended or preempted.",
        "dedicated machines",
        _ALWAYS
        + """
PREEMPTION_REQUIREMENTS = False
NEGOTIATOR_CONSIDER_PREEMPTION = False
MAXJOBRETIREMENTTIME = 2147483647
CLAIM_WORKLIFE = 1200
""",
    ),
    template(
        "POLICY",
        "Desktop",
        "Jobs run while keyboard and processor are idle, are suspended when the owner is back, "
        "and leave if the owner stays.",
        _DEFAULT,
        _DESKTOP,
    ),
    template("POLICY", "UWCS_Desktop", "The same as Desktop.", _DEFAULT, _DESKTOP),
    template(
        "POLICY",
        "Desktop_Idle",
        "Jobs start when keyboard and processor are idle, or outside working hours if "
        "those are given, and leave without being suspended when the owner is back.",
        _DEFAULT,
        _ALWAYS
        + """
use FEATURE : POLICY_EXPR_FRAGMENTS
use FEATURE : POLICY_HOURS_TO_START($(0))
START = ((KeyboardIdle > $(StartIdleTime)) && $(CPUIdle))
PREEMPT = ($(KeyboardBusy) || (CpuBusyTime > 2 * $(MINUTE)))
if $(1?)
  START = ($(START)) || $(HoursToStart)
  PREEMPT = ($(PREEMPT)) && $(HoursToPreempt)
endif
CpuBusy = $(CPUBusy)
IS_OWNER = (START =?= False)
SLOTS_CONNECTED_TO_KEYBOARD = 1000000
SLOTS_CONNECTED_TO_CONSOLE = 1000000
""",
        replace(BEGIN, meaning="hour at which work begins; empty: the hours do not matter", default=""),
        END,
        FIRST,
        LAST,
    ),
    template(
        "POLICY",
        "Desktop_Hours",
        "Jobs start and leave by the clock alone: they may start until half an hour "
        "before work begins, and must leave ten minutes before.",
        _HOURS,
        _ALWAYS
        + """
use FEATURE : POLICY_HOURS_TO_START($(0))
START = $(HoursToStart)
PREEMPT = $(HoursToPreempt)
IS_OWNER = (START =?= False)
SLOTS_CONNECTED_TO_KEYBOARD = 1000000
SLOTS_CONNECTED_TO_CONSOLE = 1000000
""",
        BEGIN,
        END,
        FIRST,
        LAST,
    ),
    template(
        "POLICY",
        "Limit_Job_Runtimes",
        "Jobs are preempted after a time, too, besides what the policy above it says; use it after other policies.",
        _LIMITS,
        """
MAXJOBRETIREMENTTIME = ($(1:24*3600)) + 120
PREEMPT = ($(PREEMPT:False)) || ((Activity == "Busy") && ($(ActivityTimer) > ($(1:24*3600))))
""",
        Argument(name="seconds", meaning="longest run time", default="24*3600", kind=ArgumentKind.SECONDS),
    ),
    template(
        "POLICY",
        "Preempt_if",
        "Preempts a job, without retirement time and without suspending it, when a macro is true.",
        _LIMITS,
        _PREEMPT_IF,
        Argument(name="macro", meaning="name of a macro that holds a condition", kind=ArgumentKind.NAME),
    ),
    template(
        "POLICY",
        "Want_Hold_if",
        "Preempts a job and puts it on hold when a macro is true.",
        _LIMITS,
        "use POLICY : Preempt_if($(1))"
        + """
WANT_HOLD_REASON = ifThenElse($($(1)), $(3+), $(WANT_HOLD_REASON:UNDEFINED))
WANT_HOLD_SUBCODE = ifThenElse($($(1)), $(2), $(WANT_HOLD_SUBCODE:UNDEFINED))
WANT_HOLD = ($($(1))) || ($(WANT_HOLD:False))
""",
        Argument(name="macro", meaning="name of a macro that holds a condition", kind=ArgumentKind.NAME),
        Argument(name="subcode", meaning="number of the hold reason"),
        Argument(name="reason", meaning="text of the hold reason, an expression"),
        rest=True,
    ),
    *_exceeded("Runtime_Exceeds", "RUNTIME_EXCEEDED", _RUNTIME, 103, "run time exceeds $(1) seconds", _SECONDS),
    *_exceeded("Cpus_Exceeded", "CPUS_EXCEEDED", _CPUS, 101, "use of cores exceeds request_cpus"),
    *_exceeded("Memory_Exceeded", "MEMORY_EXCEEDED", _MEMORY, 102, "use of memory exceeds request_memory"),
    *_exceeded("Disk_Exceeded", "DISK_EXCEEDED", _DISK, 104, "use of disk exceeds request_disk"),
    template(
        "POLICY",
        "Startd_Publish_CpusUsage",
        "Publishes an estimate of the cores that a slot's job uses, from the load: at most twice what is there.",
        _LIMITS,
        """
CpusUsage = ifThenElse(Activity != "Idle" && TotalLoadAvg > 0.0, \\
  CondorLoadAvg / TotalLoadAvg * min({TotalLoadAvg, 2}), 0)
STARTD_ATTRS = $(STARTD_ATTRS) CpusUsage
""",
    ),
)
