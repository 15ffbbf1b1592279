"""Constructions of public configurations in which the linter once saw mistakes, and what it must still see.

Each case is written for this test after what such files do; the files themselves are not here.
"""

from __future__ import annotations

import pytest

from roost.classad import ClassAd
from roost.config import MemoryHost
from roost.policy.lint import Finding, Reader, Severity, lint, lint_text, machine_of
from roost.runtime.machine import SystemHost

SOUND = {
    "paths of programs have defaults": "COLLECTOR1 = $(COLLECTOR)\nCOLLECTOR1_ARGS = -f -p 9619\n",
    "a list goes on with what HTCondor has": (
        "SEC_CLIENT_AUTHENTICATION_METHODS = $(SEC_DEFAULT_AUTHENTICATION_METHODS), SSL\n"
    ),
    "the attribute of a job in a transform": (
        "JOB_TRANSFORM_NAMES = Big\nJOB_TRANSFORM_Big @=end\n  EVALMACRO cores RequestCpus\n  limit = 4\n"
        "  if $(cores) > $(limit)\n    SET Xcount $(MY.RequestMemory) * $(cores)\n  endif\n@end\n"
    ),
    "macros of a transform of the router": (
        "JOB_ROUTER_TRANSFORM_Cpus @=jrt\n  EVALMACRO orig OriginalCpus ?: 1\n  SET RequestCpus $INT(orig)\n@jrt\n"
    ),
    "macros of a transform that another one or the route makes": (
        "JOB_ROUTER_TRANSFORM_Base @=jrt\n  EVALMACRO whole RequestCpus > 32\n@jrt\n"
        "JOB_ROUTER_TRANSFORM_Cpus @=jrt\n  if $(whole) && $(UNIVERSE) == 5\n"
        "    SET RequestCpus $(cores_of_route)\n  endif\n@jrt\n"
    ),
    "a macro that is called after a virtual machine": "VM1_LOAD = 0.3\nSTART = LoadAvg < $(VM1_LOAD)\n",
    "a reason of the removal of jobs": (
        'SYSTEM_PERIODIC_REMOVE = NumJobStarts > 10\nSYSTEM_PERIODIC_REMOVE_REASON = "started too often"\n'
        "SYSTEM_PERIODIC_REMOVE_SUBCODE = 7\n"
    ),
    "a question whether a knob has a value": (
        'SCHEDD_ATTRS = QueueName\nQueueName = ifThenElse(size("$(SCHEDD_NAME)") > 0, "$(SCHEDD_NAME)", "main")\n'
    ),
    "the default of a knob refers to another": 'STARTD_ATTRS = Pool\nPool = "$(COLLECTOR_HOST)"\n',
    "what a program of the site may define": "LOCAL_CONFIG_FILE = /usr/libexec/site_config|\nSITE = $(SITE_DEFAULTS)\n",
    "a route with macros of its own": (
        "JOB_ROUTER_ROUTE_NAMES = Site\nJOB_ROUTER_ROUTE_Site @=jrt\n  UNIVERSE VANILLA\n  queue = short\n"
        '  SET remote_queue "$(queue)"\n  SET Hold $(MY.HeldUntil:0)\n@jrt\n'
    ),
    "variables of a transform of items": (
        'JOB_TRANSFORM_NAMES = Many\nJOB_TRANSFORM_Many @=end\n  SET Color "$(color)-$(Row)"\n'
        "  TRANSFORM 1 color in (red, green)\n@end\n"
    ),
    "a switch compared with a Boolean": (
        "SWITCH = False\nif $(SWITCH)\nendif\nSYSTEM_PERIODIC_REMOVE = ($(SWITCH) =!= True) && NumJobStarts > 10\n"
    ),
    "macros that HTCondor has without a template": (
        "START = KeyboardIdle > $(StartIdleTime)\nSUSPEND = KeyboardIdle < $(MINUTE)\n"
        'CONTINUE = KeyboardIdle > $(ContinueIdleTime)\nPREEMPT = Activity == "Suspended" && '
        "$(ActivityTimer) > $(MaxSuspendTime)\n"
        "IS_OWNER = False\nWANT_SUSPEND = True\n"
    ),
    "names that HTCondor knows and gives no value": "ALLOW_NEGOTIATOR_SCHEDD = $(FLOCK_TO), nego@example.org\n",
    "a knob of HTCondor that looks like another": "USE_AFS = True\n",
    "everyone may submit who proves a name": (
        "SEC_DEFAULT_AUTHENTICATION = REQUIRED\nALLOW_WRITE = *\nALLOW_READ = *\nDENY_WRITE = anonymous@example.org\n"
    ),
    "a template of HTCondor that requires names": "use security : recommended_v9_0\nALLOW_WRITE = *\n",
    "the macros of a file that leaves the policy to another": (
        "FITS_SITE = TARGET.RequestCpus <= Cpus\nFITS_SITE = $(FITS_SITE) && TARGET.RequestMemory <= Memory\n"
    ),
    "an old name that the present one is made of": (
        "HOSTALLOW_WRITE = *@example.org\nALLOW_WRITE = $(HOSTALLOW_WRITE), ann@example.net\n"
    ),
    "what looks like a variable of a shell in the arguments of a program": (
        "STARTD_CRON_JOBLIST = PROBE\nSTARTD_CRON_PROBE_EXECUTABLE = /usr/libexec/probe\n"
        "STARTD_CRON_PROBE_ARGS = ^[a-z]+$ $HOME $1 $$(Memory)\n"
    ),
    "a template of submit files has arguments": (
        "SUBMIT_TEMPLATE_NAMES = $(SUBMIT_TEMPLATE_NAMES) Big\nSUBMIT_TEMPLATE_Big @=end\n"
        "  request_memory = $(1:2)GB\n  log = $(Cluster).log\n@end\n"
    ),
}
WRONG = {
    "RST508": "JOB_TRANSFORM_NAMES = Big\nJOB_TRANSFORM_Big @=end\n  SET Xcount $(NoSuchMacro)\n@end\n",
    "RST532": "ALLOW_ADMINISTRATOR = *\n",
    "RST533": "SEC_DEFAULT_AUTHENTICATION_METHODS = FS, CLAIMTOBE\n",
    "RST514": "USERNAME = somebody\n",
    "RST510": "STARTD_ATTRS = Colour\nVM1_Colour = 1\nSTART = Cpus > $(VM1_Colour)\n",
    "RST527": "START = Cpus > 1\nFITS_SITE = Cpus > 2\nFITS_SITE = $(FITS_SITE) && Memory > 1024\n",
    "RST530": "HOSTALLOW_WRITE = *@example.org\nHOSTALLOW_READ = $(HOSTALLOW_WRITE)\n",
    "RST534": "SITE_ADMINS = $SITE_ADMINS, ann@example.org\n",
}


#: Settings that nothing reads, and what the remedy names.
UNREAD = {
    "CLIENT_AUTHENTICATION_METHODS = FS, SSL": "SEC_CLIENT_AUTHENTICATION_METHODS",
    "DEFAULT_ENCRYPTION = REQUIRED": "SEC_DEFAULT_ENCRYPTION",
    "SECURITY = Host_Based": "`use SECURITY : Host_Based`",
    "Role = Execute": "`use ROLE : Execute`",
}


def found(text: str, name: str = "site.config", reader: Reader | None = None) -> list[Finding]:
    return lint(MemoryHost(files={name: text}), [name], reader=reader).findings


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_nothing_is_said_about_it(text: str) -> None:
    assert [str(one) for one in found(text) if one.severity is not Severity.NOTE and one.code != "RST530"] == []


@pytest.mark.parametrize(("code", "text"), WRONG.items(), ids=WRONG)
def test_a_mistake_of_that_kind_is_still_seen(code: str, text: str) -> None:
    assert code in {one.code for one in found(text)}


@pytest.mark.parametrize(("text", "meant"), UNREAD.items(), ids=UNREAD)
def test_a_setting_that_lacks_its_prefix_is_seen(text: str, meant: str) -> None:
    [one] = [one for one in found(f"{text}\n") if one.code == "RST509"]
    assert one.message == f"nothing reads {text.partition(' ')[0]}"
    assert meant in one.remedy
    # The same name as a macro of the configuration's own is right.
    assert "RST509" not in {one.code for one in found(f"{text}\nSITE = $({text.partition(' ')[0]})\n")}


@pytest.mark.parametrize("methods", ["CLAIMTOBE, FS", "FS, ANONYMOUS"])
def test_everyone_is_admitted_where_any_name_is_believed(methods: str) -> None:
    text = f"SEC_DEFAULT_AUTHENTICATION = REQUIRED\nSEC_DEFAULT_AUTHENTICATION_METHODS = {methods}\nALLOW_WRITE = *\n"
    assert {"RST532", "RST533"} <= {one.code for one in found(text)}


def test_authentication_of_another_daemon_does_not_count() -> None:
    text = "COLLECTOR.SEC_DEFAULT_AUTHENTICATION = REQUIRED\nALLOW_WRITE = *\n"
    assert "RST532" in {one.code for one in found(text)}


def test_everyone_may_not_be_a_daemon_whoever_proves_a_name() -> None:
    assert "RST532" in {one.code for one in found("SEC_DEFAULT_AUTHENTICATION = REQUIRED\nALLOW_DAEMON = *\n")}


def test_a_list_by_its_old_name_admits_nobody() -> None:
    assert {one.code for one in found("HOSTALLOW_WRITE = *\n")} == {"RST530"}
    assert {one.code for one in found("HOSTALLOW_WRITE = *\nALLOW_WRITE = $(HOSTALLOW_WRITE)\n")} == {"RST532"}


def test_a_list_of_a_daemon_instead_of_a_level_is_seen() -> None:
    [one] = [one for one in found("ALLOW_COLLECTOR = condor@example.org\n") if one.severity is Severity.ERROR]
    assert one.message == "ALLOW_COLLECTOR has no effect: COLLECTOR is not an authorization level"


def test_what_shields_jobs_in_htcondor_alone_is_an_error() -> None:
    [one] = found("ENCRYPT_EXECUTE_DIRECTORY = True\n")
    assert (one.code, one.severity) == ("RST530", Severity.ERROR)


def test_an_attribute_that_the_configuration_sets_is_not_called_missing() -> None:
    text = "SCHEDD_ATTRS = IsBusy, IsFree\nIsBusy = TotalRunningJobs > 100\nIsFree = !IsBusy\n"
    [one] = [one for one in found(text) if one.code == "RST118"] or [None]
    if one is not None:
        assert one.message == "!IsBusy is UNDEFINED where IsBusy is UNDEFINED itself"
    unset = "SCHEDD_ATTRS = IsFree\nIsFree = !IsBusy\n"
    [one] = [one for one in found(unset) if one.code == "RST118"]
    assert one.message == "!IsBusy is UNDEFINED where IsBusy is missing"


def test_a_reference_as_in_a_shell_gets_its_parentheses() -> None:
    [one] = [one for one in found("SITE_ADMINS = \\\n  $SITE_ADMINS, \\\n  ann@example.org\n") if one.code == "RST534"]
    assert (one.place.line, one.place.column) == (2, 3)
    assert one.fix is not None
    assert [(edit.old, edit.new) for edit in one.fix.edits] == [("$SITE_ADMINS", "$(SITE_ADMINS)")]


def test_a_macro_that_only_roost_has_is_missing_for_htcondor() -> None:
    text = "PREEMPT = $(ActivationTimer) > 48 * $(HOUR)\n"
    assert "RST508" not in {one.code for one in found(text)}
    [missing] = [one for one in found(text, reader=Reader(condor_version=(25, 14, 1))) if one.code == "RST508"]
    assert (missing.severity, missing.message) == (Severity.ERROR, "$(ActivationTimer) is not defined")


def test_for_htcondor_nothing_is_said_about_what_roost_does_not_do() -> None:
    text = "HIBERNATE = True\nUSE_AFS = True\nGRIDMANAGER_ARGS = -x\n"
    assert {one.code for one in found(text)} == {"RST530"}
    assert found(text, reader=Reader(condor_version=(25, 14, 1))) == []


def test_conditions_compare_with_the_version_that_is_named() -> None:
    text = "if version >= 23.0\n  START = 1 +\nelse\n  START = True\nendif\n"
    codes = [
        {one.code for one in found(text, reader=Reader(condor_version=version))} - {"RST424"}
        for version in ((23, 10, 1), (9, 0, 17))
    ]
    assert codes[0] != set()
    assert codes[1] == set()


def test_what_depends_on_the_assumed_machine_is_a_note_that_names_it() -> None:
    text = "MEMORY = $(DETECTED_MEMORY)*2\nSLOT_TYPE_1 = cpus=1, mem=3072\nNUM_SLOTS_TYPE_1 = 48\n"
    [note] = [one for one in found(text) if one.code == "RST601"]
    assert note.severity is Severity.NOTE
    assert (
        note.message
        == "all slots together take 112 % of memory of the assumed machine, which has 16 cores and 65536 MB of memory"
    )
    small = machine_of(ClassAd({"Machine": "m1.example.org", "DetectedCpus": 48, "DetectedMemory": 64000}))
    [error] = [one for one in found(text, reader=Reader(detected=small)) if one.code == "RST601"]
    assert (error.severity, error.message) == (Severity.ERROR, "all slots together take 115 % of memory")
    large = machine_of(ClassAd({"Machine": "m1.example.org", "DetectedCpus": 48, "DetectedMemory": 192000}))
    assert [one for one in found(text, reader=Reader(detected=large)) if one.code == "RST601"] == []


def test_a_configuration_may_be_called_submit() -> None:
    assert {
        one.code for one in found("UNUSED_CLAIM_TIMEOUT = 600\nSCHEDD_NAME = a\n", "condor_config.local.submit")
    } <= {"RST530"}
    assert {one.code for one in found("executable = a.sh\n", "a.submit")} == {"RST707"}


def test_a_set_of_rules_of_its_own_is_read_by_the_daemons_as_well() -> None:
    # The lab and the pool read the same text: what the linter passes over is not lost there.
    text = "A = $(COLLECTOR)\n"
    assert [one.message for one in lint_text(text, SystemHost()).findings] == []


def test_the_remedy_for_a_list_that_admits_everyone_makes_no_other_finding() -> None:
    (users,) = [one for one in found("ALLOW_ADMINISTRATOR = *\n") if one.code == "RST532"]
    assert users.remedy == "Name the users, as user@domain, that may do this."
    # Roost reads no list of daemons, and says so of one that names accounts.
    (daemons,) = [one for one in found("ALLOW_NEGOTIATOR = *\n") if one.code == "RST532"]
    assert "Name the accounts of the daemons" in daemons.remedy and "remove the line" in daemons.remedy
    assert "RST530" in {one.code for one in found("ALLOW_NEGOTIATOR = condor@example.org\n")}
