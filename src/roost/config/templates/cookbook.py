"""Example policies of the manual's policy chapter, ready to use and with their mistakes corrected.

Each adds to the policy in force, or says in its description that it replaces it.
"""

from __future__ import annotations

from roost.base.records import replace
from roost.config.template import Argument, ArgumentKind, Template, template
from roost.config.templates.hours import BEGIN, END, FIRST, LAST

_SLOT = Argument(name="slot", meaning="number of the slot", default="1", kind=ArgumentKind.POSITIVE)

TEMPLATES: tuple[Template, ...] = (
    template(
        "POLICY",
        "Test_User",
        "The jobs of one user start whatever happens on the machine and are left alone; "
        "other jobs follow the policy in force.",
        "test-job policy",
        """
START = ($(START)) || (TARGET.Owner == "$(1)")
SUSPEND = ($(SUSPEND)) && ((TARGET.Owner != "$(1)") =!= False)
PREEMPT = ($(PREEMPT)) && ((TARGET.Owner != "$(1)") =!= False)
""",
        Argument(name="user", meaning="account name", kind=ArgumentKind.WORD),
    ),
    template(
        "POLICY",
        "Desktop_After_Hours",
        "The desktop policy, but no jobs during working hours: those still running "
        "when work begins are preempted, not suspended.",
        "time of day policy",
        """
use POLICY : Desktop
use FEATURE : POLICY_HOURS_TO_START($(1:8), $(2:12+5), $(3:1), $(4:5))
START = $(AfterHours) && $(CPUIdle) && (KeyboardIdle > $(StartIdleTime))
MachineBusy = ( $(WorkHours) || $(CPUBusy) || $(KeyboardBusy) )
SUSPEND = $(WorkHours) || ($(SUSPEND))
WANT_SUSPEND = $(AfterHours)
""",
        BEGIN,
        END,
        replace(FIRST, meaning="first working day, 0 for Sunday", default="1"),
        LAST,
    ),
    template(
        "POLICY",
        "Desktop_Or_Dedicated",
        "One policy for the whole pool: machines with IsDesktop = True yield to "
        "their owners, all others ignore the keyboard.",
        "desktop and non-desktop policy",
        """
use POLICY : Desktop
IsDesktop = $(IsDesktop:False)
STARTD_ATTRS = $(STARTD_ATTRS) IsDesktop
START = ( ($(CPUIdle) || (State != "Unclaimed" && State != "Owner")) \\
  && (IsDesktop =!= True || (KeyboardIdle > $(StartIdleTime))) )
WANT_SUSPEND = ( $(SmallJob) || $(JustCPU) || $(IsVanilla) )
SUSPEND = ( ((CpuBusyTime > 2 * $(MINUTE)) && ($(ActivationTimer) > 90)) \\
  || (IsDesktop =?= True && $(KeyboardBusy)) )
CONTINUE = ( $(CPUIdle) && ($(ActivityTimer) > 300) \\
  && (IsDesktop =!= True || (KeyboardIdle > $(ContinueIdleTime))) )
MAXJOBRETIREMENTTIME = (IsDesktop =!= True) * ($(1:0))
""",
        Argument(
            name="retirement",
            meaning="retirement time on dedicated machines, in seconds",
            default="0",
            kind=ArgumentKind.SECONDS,
        ),
    ),
    template(
        "POLICY",
        "Guaranteed_Runtime",
        "A job that has to go may first run up to a time since its start.",
        "disabling and enabling preemption",
        """
MAXJOBRETIREMENTTIME = $(1:48 * $(HOUR))
""",
        Argument(
            name="seconds",
            meaning="time granted since the start of the job",
            default="48 * $(HOUR)",
            kind=ArgumentKind.SECONDS,
        ),
    ),
    template(
        "POLICY",
        "No_Preemption",
        "Jobs are preempted neither by the machine nor for other users nor for rank; "
        "use it on execute machines and on the central manager.",
        "disabling and enabling preemption",
        """
PREEMPT = False
PREEMPTION_REQUIREMENTS = False
RANK = 0
NEGOTIATOR_CONSIDER_PREEMPTION = False
CLAIM_WORKLIFE = $(1:3600)
""",
        Argument(
            name="worklife",
            meaning="how long a queue may go on using a slot, in seconds",
            default="3600",
            kind=ArgumentKind.SECONDS,
        ),
    ),
    template(
        "POLICY",
        "Suspendable_Slots",
        "Two slots for each core; jobs with IsSuspendableJob = True use the second, "
        "and are suspended while the first is in use.",
        "job suspension policy",
        """
NUM_CPUS = $(DETECTED_CORES) * 2
MEMORY = $(DETECTED_MEMORY) * 2
IsSuspendableSlot = SlotID > $(DETECTED_CORES)
NonSuspendableSlotState = eval(strcat("slot", SlotID - $(DETECTED_CORES), "_State"))
STARTD_SLOT_ATTRS = $(STARTD_SLOT_ATTRS) State
STARTD_ATTRS = $(STARTD_ATTRS) IsSuspendableSlot NonSuspendableSlotState
MyNonSuspendableSlotIsIdle = \\
  (NonSuspendableSlotState =!= "Claimed" && NonSuspendableSlotState =!= "Preempting")
START = ( (IsSuspendableSlot =!= True && IsSuspendableJob =!= True) \\
  || (IsSuspendableSlot =?= True && IsSuspendableJob =?= True && $(MyNonSuspendableSlotIsIdle)) )
SUSPEND = ( IsSuspendableSlot =?= True && ($(MyNonSuspendableSlotIsIdle)) =!= True )
WANT_SUSPEND = $(SUSPEND)
CONTINUE = ($(SUSPEND)) =!= True
""",
    ),
    template(
        "POLICY",
        "Interactive_Slot_Preferred",
        "One slot prefers interactive jobs.",
        "interactive jobs",
        """
RANK = ($(RANK:0)) + ((MY.SlotID == $(1:1)) && (TARGET.InteractiveJob =?= True))
""",
        _SLOT,
    ),
    template(
        "POLICY",
        "Interactive_Slot_Reserved",
        "One slot takes interactive jobs only; the others follow the policy in force.",
        "interactive jobs",
        """
START = ($(START)) && ((MY.SlotID =!= $(1:1)) || (TARGET.InteractiveJob =?= True))
""",
        _SLOT,
    ),
    template(
        "POLICY",
        "Prefer_Users",
        "Jobs of the named users are preferred and may preempt those of others.",
        "the RANK expression",
        """
RANK = ($(RANK:0)) + stringListMember(TARGET.Owner, "$(0)")
""",
        Argument(name="users", meaning="account names, separated by commas"),
        rest=True,
    ),
    template(
        "POLICY",
        "Background_Jobs",
        "Jobs always run and are never disturbed, at a low priority that the machine's user does not notice.",
        "the START expression",
        """
use POLICY : Always_Run_Jobs
JOB_RENICE_INCREMENT = $(1:10)
""",
        Argument(name="nice", meaning="nice value of jobs", default="10"),
    ),
    template(
        "POLICY",
        "Starter_Evict_if_Memory_Exceeded",
        "The starter evicts a job whose image outgrows the slot's memory, softly at first.",
        "starter eviction policy",
        """
STARTER_EVICT = ImageSize =!= UNDEFINED && ImageSize > (Memory * 1024)
STARTER_WANT_VACATE = True
STARTER_KILL = (time() - EnteredCurrentState) > ($(1:5 * $(MINUTE)))
""",
        Argument(
            name="seconds",
            meaning="time to leave between soft and hard kill",
            default="5 * $(MINUTE)",
            kind=ArgumentKind.SECONDS,
        ),
    ),
)
