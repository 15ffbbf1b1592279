"""Pool-wide policies, for the central manager's configuration: each adds to what is in force.

They end in the NEGOTIATOR_PE_* knobs, which no owner or user can circumvent. Conditions on job attributes that users
control are written so that omitting or falsifying the attribute does not help; the descriptions name the exceptions.
AccountingGroup determines the group of a user, since it decides which share a job uses.
"""

from __future__ import annotations

from typing import Final

from roost.config.template import Argument, ArgumentKind, Template, template

_SOURCE: Final = "pool-wide policy"

_GROUP = Argument(name="group", meaning="accounting group, its subgroups included", kind=ArgumentKind.WORD)
_PROGRAMS = Argument(name="programs", meaning="paths of programs as jobs name them (Cmd), separated by commas")

#: Values so far.
_SLOTS: Final = "($(NEGOTIATOR_PE_STARTD_ONLY_EXPR:False))"
_JOBS: Final = "($(NEGOTIATOR_PE_JOB_ONLY_EXPR:False))"
_QUEUES: Final = "($(NEGOTIATOR_PE_SCHEDD_ONLY_EXPR:False))"
_MATCHES: Final = "($(NEGOTIATOR_PE_RESOURCE_EXPR:True))"

#: It is ERROR for a value that is not a string; the job then counts as one of the group.
_IN_GROUP: Final = 'regexp("^$(1)[.]", TARGET.AccountingGroup ?: "", "i")'
_WINDOW_STRAIGHT: Final = "(MY.ClockMin >= ($(1)) * 60 && MY.ClockMin < ($(2)) * 60)"
_WINDOW_NIGHT: Final = "(MY.ClockMin >= ($(1)) * 60 || MY.ClockMin < ($(2)) * 60)"
_FROM, _TO = (f'$INT(int(absTime("$({number})")))' for number in (1, 2))
#: Whole licences only: a request for a thousandth of one does not count.
_ASKS: Final = 'regexp("(^|,) *$(1)(:[1-9][0-9]*([.][0-9]*)?)? *(,|$)", MY.ConcurrencyLimits, "i")'

_USERS: Final = "user names, with or without the domain, separated by commas"


def _one_of(users: str) -> str:
    """Whether a job belongs to one of these users."""
    return f'stringListIMember(MY.Owner, "{users}") || stringListIMember(MY.User ?: "", "{users}")'


def _policy(name: str, meaning: str, body: str, *arguments: Argument, rest: bool = False) -> Template:
    return template("POLICY", name, meaning, _SOURCE, body, *arguments, rest=rest)


TEMPLATES: tuple[Template, ...] = (
    _policy(
        "Pool_Minimum_Memory",
        "Machines with little memory take no part in matching; slots that are divided count as a whole.",
        f"""
NEGOTIATOR_PE_STARTD_ONLY_EXPR = {_SLOTS} \\
  || (((MY.TotalSlotMemory ?: MY.Memory) < $(1:128) && MY.DynamicSlot =!= True) =?= True)
""",
        Argument(name="megabytes", meaning="smallest memory of a slot", default="128", kind=ArgumentKind.AMOUNT),
    ),
    _policy(
        "Pool_Minimum_Speed",
        "Slow machines take no part in matching; those that were never measured do.",
        f"NEGOTIATOR_PE_STARTD_ONLY_EXPR = {_SLOTS} || ((MY.KFlops < $(1)) =?= True)",
        Argument(name="kflops", meaning="lowest KFlops of a slot", kind=ArgumentKind.AMOUNT),
    ),
    _policy(
        "Pool_Maximum_Starts",
        "Jobs that were started so many times get nothing more.",
        f"NEGOTIATOR_PE_JOB_ONLY_EXPR = {_JOBS} || ((MY.NumJobStarts >= $(1:10)) =?= True)",
        Argument(name="starts", meaning="most starts of a job", default="10", kind=ArgumentKind.POSITIVE),
    ),
    _policy(
        "Pool_Maximum_Restarts",
        "Jobs of some users, or of all, may be started again only so many times.",
        f"""
if $(2?)
  NEGOTIATOR_PE_JOB_ONLY_EXPR = {_JOBS} \\
    || ((({_one_of("$(2+)")}) && MY.NumJobStarts > $(1:10)) =?= True)
else
  NEGOTIATOR_PE_JOB_ONLY_EXPR = {_JOBS} || ((MY.NumJobStarts > $(1:10)) =?= True)
endif
""",
        Argument(
            name="restarts", meaning="most starts of a job after its first", default="10", kind=ArgumentKind.POSITIVE
        ),
        Argument(name="users", meaning=f"{_USERS}; all users without", default=""),
        rest=True,
    ),
    _policy(
        "Pool_Confine_Group",
        "Jobs of an accounting group run only on machines for which a condition is TRUE.",
        f"NEGOTIATOR_PE_RESOURCE_EXPR = {_MATCHES} && (({_IN_GROUP}) =?= False || (($(2+)) =?= True))",
        _GROUP,
        Argument(
            name="machines", meaning="condition on the machine, as in KFlops < 500000", kind=ArgumentKind.CONDITION
        ),
        rest=True,
    ),
    _policy(
        "Pool_Confine_User",
        "Jobs of a user run only on machines for which a condition is TRUE.",
        f"""
NEGOTIATOR_PE_RESOURCE_EXPR = {_MATCHES} \\
  && ((TARGET.Owner != "$(1)" && (TARGET.User ?: "") != "$(1)") || (($(2+)) =?= True))
""",
        Argument(name="user", meaning="user name, with or without the domain", kind=ArgumentKind.WORD),
        Argument(
            name="machines", meaning="condition on the machine, as in KFlops < 500000", kind=ArgumentKind.CONDITION
        ),
        rest=True,
    ),
    _policy(
        "Pool_Allowed_Programs",
        "On machines for which a condition is TRUE, jobs of an accounting group run the named programs only.",
        f"""
NEGOTIATOR_PE_RESOURCE_EXPR = {_MATCHES} \\
  && (({_IN_GROUP}) =?= False || (($(2)) =!= True) || stringListMember(TARGET.Cmd, "$(3+)"))
""",
        _GROUP,
        Argument(
            name="machines",
            meaning='condition on the machine, as in Machine == "y"; True for all',
            kind=ArgumentKind.CONDITION,
        ),
        _PROGRAMS,
        rest=True,
    ),
    _policy(
        "Pool_Daily_Window",
        "Jobs for which a condition is TRUE start between two hours of the day only, by the machine's clock as its ad "
        "told it last; what runs when the window ends goes on.",
        f"""
if $INT(ifThenElse(($(1)) > ($(2)), 1, 0))
  NEGOTIATOR_PE_RESOURCE_EXPR = {_MATCHES} && ((($(3+)) =!= True) || {_WINDOW_NIGHT})
else
  NEGOTIATOR_PE_RESOURCE_EXPR = {_MATCHES} && ((($(3+)) =!= True) || {_WINDOW_STRAIGHT})
endif
""",
        Argument(name="begin", meaning="first hour", kind=ArgumentKind.HOUR),
        Argument(name="end", meaning="hour at which it ends; before `begin`: the next day", kind=ArgumentKind.HOUR),
        Argument(
            name="jobs",
            meaning="condition on the job, as in TARGET.RequestMemory > 8192; True for all",
            kind=ArgumentKind.CONDITION,
        ),
        rest=True,
    ),
    _policy(
        "Pool_Maintenance",
        "Machines for which a condition is TRUE are free from one instant to another: before it only jobs start on "
        "them that will be done in time, by their allowed_execute_duration or allowed_job_duration.",
        f"""
NEGOTIATOR_PE_STARTD_ONLY_EXPR = {_SLOTS} \\
  || ((($(4+)) =?= True) && time() >= {_FROM} && time() < {_TO})
NEGOTIATOR_PE_RESOURCE_EXPR = {_MATCHES} \\
  && ((($(4+)) =!= True) || time() >= {_FROM} \\
  || time() + (TARGET.AllowedExecuteDuration ?: (TARGET.AllowedJobDuration ?: ($(3)))) <= {_FROM})
""",
        Argument(name="since", meaning="first instant, as in 2030-12-24T18:00:00Z", kind=ArgumentKind.INSTANT),
        Argument(name="until", meaning="instant at which it is over", kind=ArgumentKind.INSTANT),
        Argument(
            name="runs",
            meaning="how long a job that says nothing is taken to run, in seconds",
            kind=ArgumentKind.SECONDS,
        ),
        Argument(name="machines", meaning="condition on the machine; True for all", kind=ArgumentKind.CONDITION),
        rest=True,
    ),
    _policy(
        "Pool_User_Cap",
        "A user never gets more than so much of the pool at once, in all groups and from all queues together.",
        "USER_CEILINGS = $(USER_CEILINGS:) $(1)=$(2)",
        Argument(name="user", meaning="user name, with or without the domain", kind=ArgumentKind.WORD),
        Argument(name="weight", meaning="weight of slots, which is their number of cores", kind=ArgumentKind.AMOUNT),
    ),
    _policy(
        "Pool_Licences",
        "So many licences are in use at once, and the named programs get nothing without asking for one "
        "(concurrency_limits).",
        f"""
$(1)_LIMIT = $(2)
if $(3?)
  NEGOTIATOR_PE_JOB_ONLY_EXPR = {_JOBS} \\
    || ((stringListMember(MY.Cmd, "$(3+)") =?= True) && (({_ASKS}) =!= True))
endif
""",
        Argument(name="name", meaning="name of the licence, as jobs ask for it", kind=ArgumentKind.NAME),
        Argument(name="count", meaning="number of licences", kind=ArgumentKind.AMOUNT),
        Argument(name="programs", meaning=_PROGRAMS.meaning, default=""),
        rest=True,
    ),
    _policy(
        "Pool_Data_Locality",
        "A job that names a data set runs only where the data set is.",
        f"""
NEGOTIATOR_PE_RESOURCE_EXPR = {_MATCHES} \\
  && (TARGET.$(1:DataSet) =?= UNDEFINED || (stringListIMember(TARGET.$(1:DataSet), MY.$(2:DataSets)) =?= True))
""",
        Argument(name="job", meaning="attribute of jobs: the data set", default="DataSet", kind=ArgumentKind.NAME),
        Argument(
            name="machine",
            meaning="attribute of machines (STARTD_ATTRS): a text with data sets, separated by commas",
            default="DataSets",
            kind=ArgumentKind.NAME,
        ),
    ),
    _policy(
        "Pool_Prefer_Data",
        "A job that names a data set runs where the data set is as long as there is room, and elsewhere then.",
        """
NEGOTIATOR_PRE_JOB_RANK = ($(NEGOTIATOR_PRE_JOB_RANK)) \\
  + 1.0e12 * (stringListIMember(TARGET.$(1:DataSet), MY.$(2:DataSets)) =?= True)
""",
        Argument(name="job", meaning="attribute of jobs: the data set", default="DataSet", kind=ArgumentKind.NAME),
        Argument(
            name="machine",
            meaning="attribute of machines (STARTD_ATTRS): a text with data sets, separated by commas",
            default="DataSets",
            kind=ArgumentKind.NAME,
        ),
    ),
    _policy(
        "Pool_Closed_Queues",
        "Queues on the named machines take no part: none of their jobs gets anything.",
        f"""
NEGOTIATOR_PE_SCHEDD_ONLY_EXPR = {_QUEUES} || (stringListIMember(MY.Machine, "$(0)") =?= True)
""",
        Argument(name="machines", meaning="names of submit machines, separated by commas"),
        rest=True,
    ),
    _policy(
        "Pool_Closed_Users",
        "Jobs of the named users get nothing.",
        f"""
NEGOTIATOR_PE_JOB_ONLY_EXPR = {_JOBS} || (({_one_of("$(0)")}) =?= True)
""",
        Argument(name="users", meaning=_USERS),
        rest=True,
    ),
)
