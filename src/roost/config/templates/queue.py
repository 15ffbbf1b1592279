"""Features of the queue: user maps, attributes set from them, and programs that the schedd runs.

A user map is a file of lines ``* user value``; the function ``userMap("name", user)`` looks a user up in it. The
templates set a change that jobs go through at submission (JOB_TRANSFORM_…) and a condition that they must then meet
(SUBMIT_REQUIREMENT_…), under the names that configurations for HTCondor know.
"""

from __future__ import annotations

from roost.config.template import Argument, ArgumentKind, Template, template
from roost.config.templates.cron import cron

_CONVENTION = "convention"
_FILE = Argument(name="file", meaning="path of the file of the map", kind=ArgumentKind.WORD)
_MAP = Argument(name="map", meaning="name of the map, the first argument of userMap()", kind=ArgumentKind.WORD)

TEMPLATES: tuple[Template, ...] = (
    template(
        "FEATURE",
        "ScheddUserMapFile",
        "Gives the queue a map of users under a name.",
        _CONVENTION,
        """
SCHEDD_CLASSAD_USER_MAP_NAMES = $(SCHEDD_CLASSAD_USER_MAP_NAMES) $(1)
CLASSAD_USER_MAPFILE_$(1) = $(2)
""",
        _MAP,
        _FILE,
    ),
    template(
        "FEATURE",
        "SetJobAttrFromUserMap",
        "Sets an attribute of each job to what a map says of another one, and refuses jobs for which it says nothing.",
        _CONVENTION,
        """
if $(4?)
  use FEATURE : ScheddUserMapFile($(3), $(4))
endif
JOB_TRANSFORM_NAMES = $(JOB_TRANSFORM_NAMES) Set$(1)
JOB_TRANSFORM_Set$(1) = EVALSET $(1) userMap("$(3)", $(2), $(1))
SUBMIT_REQUIREMENT_NAMES = $(SUBMIT_REQUIREMENT_NAMES) Require$(1)
SUBMIT_REQUIREMENT_Require$(1) = $(1) =!= UNDEFINED
SUBMIT_REQUIREMENT_Require$(1)_REASON = strcat("no $(1) belongs to ", $(2) ?: "nobody")
""",
        Argument(name="attribute", meaning="attribute that is set", kind=ArgumentKind.WORD),
        Argument(name="from", meaning="attribute that is looked up in the map", kind=ArgumentKind.WORD),
        _MAP,
        Argument(name="file", meaning="path of the file of the map; empty if the map is defined elsewhere", default=""),
    ),
    template(
        "FEATURE",
        "AssignProjectName",
        "Sets ProjectName of each job by its owner, and refuses jobs of owners without a project.",
        _CONVENTION,
        "use FEATURE : SetJobAttrFromUserMap(ProjectName, Owner, $(0))",
        _MAP,
        Argument(name="file", meaning="path of the file of the map; empty if the map is defined elsewhere", default=""),
    ),
    template(
        "FEATURE",
        "AssignAccountingGroup",
        "Puts each job into the accounting group of its owner, the one that was asked for if the owner has it, and "
        "refuses jobs of owners without a group.",
        _CONVENTION,
        """
use FEATURE : ScheddUserMapFile(AssignAccountingGroup, $(1))
JOB_TRANSFORM_NAMES = $(JOB_TRANSFORM_NAMES) AssignAccountingGroup
JOB_TRANSFORM_AssignAccountingGroup @=end
  COPY Owner AcctGroupUser
  COPY AcctGroup RequestedAcctGroup
  EVALSET AcctGroup userMap("AssignAccountingGroup", AcctGroupUser, AcctGroup)
  EVALSET AccountingGroup join(".", AcctGroup, AcctGroupUser)
@end
IMMUTABLE_JOB_ATTRS = $(IMMUTABLE_JOB_ATTRS) AcctGroup AcctGroupUser AccountingGroup
if $(2:True)
  SUBMIT_REQUIREMENT_NAMES = $(SUBMIT_REQUIREMENT_NAMES) CheckRequestedGroup
  SUBMIT_REQUIREMENT_CheckRequestedGroup = RequestedAcctGroup =?= UNDEFINED \\
    || (RequestedAcctGroup == AcctGroup) =?= True
  SUBMIT_REQUIREMENT_CheckRequestedGroup_REASON = strcat("not a member of accounting group ", RequestedAcctGroup)
endif
SUBMIT_REQUIREMENT_NAMES = $(SUBMIT_REQUIREMENT_NAMES) AssignAccountingGroup
SUBMIT_REQUIREMENT_AssignAccountingGroup = AcctGroup =!= UNDEFINED && AccountingGroup =!= UNDEFINED
SUBMIT_REQUIREMENT_AssignAccountingGroup_REASON = strcat("no accounting group belongs to ", Owner)
""",
        _FILE,
        Argument(name="check", meaning="whether a job that asks for a group of others is refused", default="True"),
    ),
    template(
        "POLICY",
        "Own_Accounts",
        "Refuses jobs whose use would be charged to the account of another user (accounting_group_user, "
        "+AccountingGroup), and lets only queue super users change the account of a job in the queue.",
        "guide to submission rules",
        """
SUBMIT_REQUIREMENT_NAMES = $(SUBMIT_REQUIREMENT_NAMES) OwnAccount
SUBMIT_REQUIREMENT_OwnAccount = (JOB.AcctGroupUser ?: JOB.Owner) =?= JOB.Owner \\
  && (JOB.AccountingGroup =?= UNDEFINED || JOB.AccountingGroup =?= JOB.Owner \\
  || JOB.AccountingGroup =?= strcat(JOB.AcctGroup, ".", JOB.Owner))
SUBMIT_REQUIREMENT_OwnAccount_REASON = strcat("the job would be charged to ", \\
  JOB.AccountingGroup ?: JOB.AcctGroupUser, ", which is not an account of ", JOB.Owner)
PROTECTED_JOB_ATTRS = $(PROTECTED_JOB_ATTRS) AcctGroup AcctGroupUser AccountingGroup
""",
    ),
    cron("ScheddCronPeriodic", "Runs a program regularly and publishes in the queue's ad what it prints.", "Periodic"),
    cron("ScheddCronContinuous", "Keeps a program running and publishes what it prints.", "WaitForExit"),
    cron("ScheddCronOneShot", "Runs a program once and publishes what it prints.", "OneShot"),
)
