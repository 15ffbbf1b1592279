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
}


def found(text: str, name: str = "site.config", reader: Reader | None = None) -> list[Finding]:
    return lint(MemoryHost(files={name: text}), [name], reader=reader).findings


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_nothing_is_said_about_it(text: str) -> None:
    assert [str(one) for one in found(text) if one.severity is not Severity.NOTE and one.code != "RST530"] == []


@pytest.mark.parametrize(("code", "text"), WRONG.items(), ids=WRONG)
def test_a_mistake_of_that_kind_is_still_seen(code: str, text: str) -> None:
    assert code in {one.code for one in found(text)}


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
