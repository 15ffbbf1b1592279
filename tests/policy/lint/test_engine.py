"""The engine: places, comments that allow, selection, corrections byte for byte, hostile input, speed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.classad import ClassAd
from roost.config import CommandResult, MemoryHost
from roost.config.templates import BY_NAME
from roost.policy.lint import Finding, RuleSelection, Severity, lint, lint_text
from roost.policy.lint.edits import corrected, edits_by_file
from roost.policy.model import AdKind
from roost.runtime.machine import SystemHost

HOST = SystemHost()


def found(text: str, **options: object) -> list[Finding]:
    return lint_text(text, HOST, file="pool.config", **options).findings  # type: ignore[arg-type]


def test_a_finding_in_a_macro_names_the_line_of_the_macro_and_the_knob() -> None:
    (finding,) = found('# macros\nMine = (Owner ==\\\n   "a" * 10)\nRANK = 1 + $(Mine)\n')
    assert (finding.code, finding.place.line, finding.place.column) == ("RST101", 3, 4)
    assert finding.knob == "RANK"
    assert finding.through == ("Mine",)
    assert [(why, place.line) for why, place in finding.related] == [("in the value of RANK", 4)]


def test_a_place_is_exact_behind_macros_in_the_same_value() -> None:
    (finding,) = found("HOURS = 3600\nSTART = KeyboardIdle > $(HOURS) && Foo == UNDEFINED\n")
    assert (finding.place.line, finding.place.column, finding.place.length) == (2, 36, 16)


def test_a_reference_to_the_name_itself_means_the_earlier_definition() -> None:
    (finding,) = found("START = Foo == UNDEFINED\nSTART = ($(START)) || KeyboardIdle > 900\n")
    assert finding.place.line == 1
    assert finding.knob == "START"


def test_one_mistake_in_a_macro_used_by_many_is_told_once() -> None:
    text = "Bad = (Foo == UNDEFINED)\nSUSPEND = $(Bad)\nWANT_SUSPEND = $(Bad)\nPREEMPT = $(Bad)\n"
    assert [f.code for f in found(text, choice=RuleSelection(select=("RST103",)))] == ["RST103"]


def test_a_comment_allows_the_next_statement_with_all_its_lines() -> None:
    text = "# roost: allow RST103 old jobs say so\nSTART = KeyboardIdle > 900 && \\\n  Foo == UNDEFINED\n"
    assert found(text) == []
    assert [f.code for f in found(text + "PREEMPT = Foo == UNDEFINED\n")][-1] == "RST103"


def test_a_comment_at_the_knob_allows_what_is_found_in_its_macros() -> None:
    text = "Bad = (Foo == UNDEFINED)\n# roost: allow RST103 known\nSTART = $(Bad) || KeyboardIdle > 900\n"
    assert found(text) == []


def test_a_comment_without_reason_allows_nothing() -> None:
    assert [f.code for f in found("# roost: allow RST103\nSTART = Foo == UNDEFINED\n")] == ["RST003", "RST103"]


def test_a_comment_for_the_file_allows_everywhere() -> None:
    assert found("# roost: allow-file RST103 generated\nRANK = 1\nSTART = Foo == UNDEFINED || KeyboardIdle > 1\n") == []


def test_rules_are_selected_and_ignored_by_code_or_group() -> None:
    text = 'START = Foo == UNDEFINED && Bar == "undefined"\n'
    assert {f.code for f in found(text, choice=RuleSelection(select=("RST10",)))} == {"RST103", "RST104"}
    assert {f.code for f in found(text, choice=RuleSelection(ignore=("RST104",)))} == {"RST103"}


def test_attributes_of_a_given_job_are_known() -> None:
    host = MemoryHost(files={"a": "START = TARGET.JobUniversee < 100\n"})
    assert [f.code for f in lint(host, ["a"]).findings] == ["RST201"]
    assert lint(host, ["a"], None, {AdKind.JOB: ClassAd({"JobUniversee": 1})}).findings == []


def test_corrections_leave_every_other_byte_alone() -> None:
    text = "\ufeff# caf\u00e9\t\r\nSTART\t =  Foo ==   UNDEFINED \\\r\n   || KeyboardIdle > 900  \r\n\r\n#\r\nX = 1"
    findings = found(text)
    edits = edits_by_file(findings)["pool.config"]
    after, done = corrected(text, edits)
    assert done == 1
    assert after == text.replace("==   UNDEFINED", "=?=   UNDEFINED")


def test_an_edit_whose_text_is_gone_is_left_out() -> None:
    (finding,) = [f for f in found("START = Foo == UNDEFINED || KeyboardIdle > 1\n") if f.fix]
    assert finding.fix is not None
    assert corrected("START = True\n", finding.fix.edits) == ("START = True\n", 0)


def test_commands_of_a_configuration_are_not_run() -> None:
    class Watching(MemoryHost):
        def run_command(self, command: str) -> CommandResult:
            raise AssertionError(command)

    host = Watching(files={"a": "include command : /bin/echo START = 1\nLOCAL_CONFIG_FILE = /bin/echo |\n"})
    lint(host, ["a"])


def test_what_cannot_be_read_is_named() -> None:
    assert lint(MemoryHost(), ["nowhere"]).missing == ("nowhere",)


@pytest.mark.parametrize("name", sorted(BY_NAME))
@pytest.mark.parametrize("before", ["", "use POLICY : Desktop\n", "use POLICY : Always_Run_Jobs\n"])
def test_no_template_gives_an_alarm(name: tuple[str, str], before: str) -> None:
    template = BY_NAME[name]
    values = {"macro": "TOO_MANY", "seconds": "7200", "subcode": "9", "reason": '"because"', "user": "coltrane"}
    values |= {"machines": "MY.Memory < 4096", "jobs": "TARGET.RequestCpus > 8", "runs": "7200"}
    values |= {"begin": "8", "end": "18", "since": "2030-12-24T18:00:00Z", "until": "2030-12-27T06:00:00Z"}
    values |= {"mode": "Periodic", "period": "5m", "daemon": "STARTD_CRON"}
    given_args = ", ".join(values.get(a.name, "1") for a in template.arguments[: template.required])
    call = f"{template.name}({given_args})" if given_args else template.name
    text = f"TOO_MANY = (CpusUsage > Cpus + 0.8)\n{before}use {template.category} : {call}\n"
    # What templates set without effect is a table of its own, in tests/config/test_readers.py.
    alarms = [f for f in found(text) if f.severity != "note" and f.code != "RST530"]
    assert [(f.code, f.message, f.witness) for f in alarms] == []


def big_configuration(knobs: int) -> str:
    lines = [f"MACRO_{n} = (KeyboardIdle > {n} && LoadAvg - CondorLoadAvg < 0.{n % 9 + 1})" for n in range(knobs // 2)]
    lines += [f"ATTRIBUTE_{n} = $(MACRO_{n}) || TARGET.RequestMemory < {n}" for n in range(knobs // 2)]
    lines += ["STARTD_ATTRS = " + " ".join(f"ATTRIBUTE_{n}" for n in range(knobs // 2))]
    lines += ["use POLICY : Desktop"]
    return "\n".join(lines)


@pytest.mark.slow
def test_two_thousand_knobs_take_about_as_long_as_reading_them_some_dozen_times() -> None:
    from roost.config import load_text

    def spent_s(work: Callable[[], object]) -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    text = big_configuration(2000)
    reading_s = max(spent_s(lambda: load_text(text, HOST)) for _ in range(3))
    findings: list[Finding] = []
    # The quickest of three: others that use the processor's cache make each slower than it is.
    assert any(spent_s(lambda: findings.extend(found(text))) < max(40 * reading_s, 1.0) for _ in range(3))
    assert [f for f in findings if f.severity == "error"] == []


@pytest.mark.parametrize(
    "sensor", ["LoadAvg", "TotalLoadAvg", "CondorLoadAvg", "LoadAvg - CondorLoadAvg", "CpuBusyTime"]
)
@pytest.mark.parametrize("sensor_of", ["START", "SUSPEND", "PREEMPT", "CONTINUE", "CpuBusy"])
@pytest.mark.parametrize("number", ["4", "0", "-1", "0.3", "1e3", "9223372036854775807", "1e308", "-1e-9"])
def test_any_number_may_be_compared_with_a_load(sensor: str, sensor_of: str, number: str) -> None:
    assert [f.message for f in found(f"{sensor_of} = ({sensor}) < {number}\n") if f.code == "RST000"] == []


@pytest.mark.parametrize("sensor", ["KeyboardIdle", "ConsoleIdle", "ClockMin", "ClockDay", "TARGET.ImageSize"])
@pytest.mark.parametrize("number", ["4", "-1", "0.3", "9223372036854775807", "1e308", 'real("INF")', 'real("NaN")'])
def test_any_number_may_be_compared_with_a_sensor(sensor: str, number: str) -> None:
    text = f"START = {sensor} > {number}\nSUSPEND = {sensor} * 2 <= {number}\nPREEMPT = {sensor} + 0.5 == {number}\n"
    assert [f.message for f in found(text) if f.code == "RST000"] == []


@pytest.mark.parametrize(
    "start",
    [
        "time() - TARGET.QDate > 86400",
        "TARGET.QDate < time() - 86400",
        "time() < 1795000000",
        "CurrentTime < 1795000000",
        "(time() + (TARGET.MaxWallTime ?: 86400)) < 1795000000",
    ],
)
def test_a_date_or_the_age_of_a_job_does_not_make_an_expression_never_true(start: str) -> None:
    assert [f.code for f in found(f"START = {start}\n") if f.severity == "error"] == []


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("KeyboardIdle > 900 & KeyboardIdle < 9", "KeyboardIdle > 900 && KeyboardIdle < 9"),
        ("KeyboardIdle > 9 | KeyboardIdle < 3 && TARGET.JobUniverse == 5", None),
        (
            "(KeyboardIdle > 9 | KeyboardIdle < 3) && TARGET.JobUniverse == 5",
            "(KeyboardIdle > 9 || KeyboardIdle < 3) && TARGET.JobUniverse == 5",
        ),
        ("KeyboardIdle > 900 & KeyboardIdle < 9 | TARGET.Foo", None),
        ('TARGET.RequestMemory > "100"', "TARGET.RequestMemory > 100"),
        ('TARGET.RequestMemory > "0100"', None),
        ('member(TARGET.ClusterId, "1,2,3")', None),
        ('member(TARGET.Owner, "a,b")', 'stringListIMember(TARGET.Owner, "a,b")'),
        ("TARGET.Foo != True", None),
        ("!TARGET.Foo", None),
        ("TARGET.NiceUser != True", "TARGET.NiceUser =!= True"),
    ],
)
def test_a_correction_is_offered_only_where_it_keeps_the_meaning(text: str, after: str | None) -> None:
    findings = found(f"START = {text}\n")
    assert findings
    edits = [edit for f in findings if f.fix for edit in f.fix.edits]
    assert corrected(f"START = {text}\n", edits)[0] == f"START = {after or text}\n"


def test_quotation_marks_of_a_macro_that_others_may_use_stay() -> None:
    (finding,) = found('M = "4096"\nSTART = TARGET.RequestMemory > $(M)\nSTARTD_ATTRS = M\n')
    assert (finding.code, finding.fix) == ("RST102", None)


WORK_HOURS = "WorkHours = ((ClockMin >= 480 && ClockMin < 1080) && (ClockDay >= 1 && ClockDay <= 5))\n"


def test_a_situation_shows_the_hour_and_the_day_if_they_decide_and_no_job() -> None:
    text = f"{WORK_HOURS}use POLICY : Desktop\nSUSPEND = $(WorkHours) || ($(SUSPEND))\n"
    (finding,) = [f for f in found(text) if f.code == "RST420"]
    assert dict(finding.witness).keys() == {"KeyboardIdle", "ClockMin", "ClockDay", "owner's load"}
    assert ("ClockMin", "720 (12:00)") in finding.witness and ("ClockDay", "3 (Wednesday)") in finding.witness
    assert finding.place.line == 3
    assert next(why for why, _ in finding.related) == "START is here"


def test_a_job_that_makes_its_own_load_high_is_told_so() -> None:
    text = "WANT_SUSPEND = True\nSUSPEND = LoadAvg > 0.5\nCONTINUE = KeyboardIdle > 9\nSTART = LoadAvg < 0.3\n"
    (finding,) = [f for f in found(text) if f.code == "RST420"]
    assert finding.witness == (("owner's load", "0"),)
    assert "CondorLoadAvg" in finding.remedy


@pytest.mark.parametrize(
    "text",
    [
        "START = ConsoleIdle > 900\nWANT_SUSPEND = True\nSUSPEND = ConsoleIdle < 60\nCONTINUE = ConsoleIdle > 300\n",
        "START = ConsoleIdle > 900\nPREEMPT = ConsoleIdle < 60\n",
        "START = CpuIsBusy =!= True\nPREEMPT = CpuIsBusy\n",
        "PREEMPT = time() - TARGET.QDate > 86400 * 7\n",
        "PREEMPT = time() - TARGET.JobCurrentStartDate > 86400\n",
        "START = (time() - MY.DaemonStartTime) > 600\n",
        "START = (ClockMin + 30) % 1440 < 60\n",
        "START = KeyboardIdle - ConsoleIdle > 100\n",
        "START = (time() - EnteredCurrentState) < 60\n",
        "SUSPEND = (time() - JobStart) == 60\n",
        "PREEMPT = (time() - JobStart) > 4000 && (time() - JobStart) < 4010\n",
        "WANT_SUSPEND = True\nCONTINUE = KeyboardIdle > 5\nSUSPEND = CpuBusyTime > 5 * 86400\n",
        "Shade = ClockMin\nSTARTD_ATTRS = Shade\nSTART = Shade < 1\n",
        "START = TARGET.RequestMemory =?= 600\n",
    ],
)
def test_nothing_is_said_to_be_never_true_that_the_grid_does_not_vary(text: str) -> None:
    assert [f.code for f in found(text) if f.code in ("RST401", "RST419", "RST408")] == []


def test_cpu_busy_time_is_missed_only_where_the_slot_is_asked_and_nothing_sets_cpu_busy() -> None:
    choice = RuleSelection(select=("RST307",))
    (finding,) = found("Busy = (CpuBusyTime > 9)\nPREEMPT = $(Busy)\nSUSPEND = CpuIsBusy\n", choice=choice)
    assert (finding.place.line, finding.place.column) == (1, 9)
    for text in (
        "use POLICY : Desktop\nPREEMPT = CpuBusyTime > 9\n",
        "SLOT_TYPE_1_CpuBusy = LoadAvg > 1\nSLOT_TYPE_1_PREEMPT = CpuBusyTime > 9\n",
        "CPU_BUSY = LoadAvg > 1\nPREEMPT = CpuBusyTime > 9\n",
        "SYSTEM_PERIODIC_REMOVE = CpuBusyTime > 9\n",
        "CpuBusyTime = 5\nSTARTD_ATTRS = $(STARTD_ATTRS) CpuBusyTime\nPREEMPT = CpuBusyTime > 9\n",
    ):
        assert found(text, choice=choice) == [], text


def test_the_latch_of_newer_releases_is_told_even_where_it_is_listed() -> None:
    text = "STARTD_LATCH_EXPRS = CpuBusy\nCpuBusy = LoadAvg > 1\nPREEMPT = CpuBusyValue * (time() - CpuBusyTime) > 9\n"
    assert [f.code for f in found(text, choice=RuleSelection(select=("RST306",)))] == ["RST306", "RST306"]


def test_a_condition_about_a_thousand_attributes_is_looked_at_in_bounded_time() -> None:
    start = "START = " + " || ".join(f"TARGET.Wish{n} == {n}" for n in range(1000)) + "\n"
    began = time.process_time()
    assert found(start) == []
    assert time.process_time() - began < 6


#: Asks for so much that not every combination of it can be looked at.
MANY_WISHES = (
    "START = KeyboardIdle > 900 && (ClockMin < 480 || ClockMin > 1020 || ClockDay == 0 || ClockDay == 6)"
    " && TARGET.RequestMemory < 4000 && TARGET.RequestCpus <= 4 && TARGET.ImageSize < 1000000"
    ' && TARGET.Owner != "ada" && TARGET.Department =?= "Physics" && TARGET.JobPrio >= 0\n'
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("PREEMPT = KeyboardIdle < 60\nKILL = (time() - EnteredCurrentActivity) > 1200\n", "RST411"),
        ("SUSPEND = KeyboardIdle < 60\nCONTINUE = KeyboardIdle > 300\n", "RST408"),
        ("WANT_SUSPEND = True\nSUSPEND = KeyboardIdle < 60\nCONTINUE = KeyboardIdle > 300\n", "RST422"),
        ('PREEMPT = KeyboardIdle < 60 && State == "Owner"\n', "RST419"),
    ],
)
def test_what_one_knob_never_does_is_found_beside_a_start_that_asks_for_much(text: str, code: str) -> None:
    assert code in {finding.code for finding in found(MANY_WISHES + text)}
    assert code not in {finding.code for finding in found(MANY_WISHES)}


def test_a_path_of_a_daemon_and_a_foreign_knob_set_twice_are_no_mistakes() -> None:
    paths = "".join(f"{name} = /usr/sbin/condor_{name.lower()}\n" for name in ("STARTD", "SCHEDD", "MASTER", "STARTER"))
    # The knob of HTCondor is named as one without effect, once, and nothing else is said.
    assert [
        (one.code, one.severity, one.knob)
        for one in found(paths + "CERTIFICATE_MAPFILE = /a\nCERTIFICATE_MAPFILE = /b\n")
    ] == [("RST530", Severity.NOTE, "CERTIFICATE_MAPFILE")]


def test_a_place_in_a_template_is_the_line_that_uses_it() -> None:
    text = '# roost: allow RST102 a text\nuse POLICY : Desktop\nStartIdleTime = "900"\n'
    assert found(text) == []
    (inside,) = found(text.partition("\n")[2])
    assert (inside.code, inside.place.file, inside.place.line, inside.place.column) == ("RST102", "pool.config", 1, 1)
    assert inside.place.template.startswith("FEATURE:UWCS_DESKTOP_POLICY_VALUES:")


def test_each_undefined_macro_of_a_macro_is_named_where_it_stands() -> None:
    codes = [(f.message, f.place.column) for f in found("Busy = ($(ConsBusy) || $(KeybBusy))\n")]
    assert codes == [("$(ConsBusy) is not defined", 9), ("$(KeybBusy) is not defined", 24)]


def test_an_attribute_is_not_asked_of_the_wrong_ad_if_that_ad_was_handed_in_with_it() -> None:
    host = MemoryHost(files={"a": "START = TARGET.KeyboardIdle > 900\n"})
    assert [f.code for f in lint(host, ["a"]).findings] == ["RST211"]
    assert lint(host, ["a"], None, {AdKind.JOB: ClassAd({"KeyboardIdle": 1})}).findings == []


def test_a_count_of_runs_that_ends_the_loop_is_no_loop() -> None:
    start = "START = KeyboardIdle > 900\nIS_OWNER = (START =?= False)\n"
    assert [f.code for f in found(f"{start}PREEMPT = TARGET.NumJobStarts > 3\n")] == ["RST403"]
    assert found(f"{start}PREEMPT = TARGET.NumJobStarts == 3\n") == []


def test_a_mistake_in_kill_does_not_hide_what_the_others_do_together() -> None:
    owner = "IS_OWNER = (START =?= False)\n"
    text = f"START = KeyboardIdle > 900\n{owner}PREEMPT = KeyboardIdle > 900\nKILL = TARGET.ImageSize > Memory\n"
    assert [f.code for f in found(text)] == ["RST403", "RST301"]


def test_slot_types_with_the_same_expressions_are_looked_at_once() -> None:
    types = "".join(
        f"SLOT_TYPE_{n} = cpus=1, memory=5%\nNUM_SLOTS_TYPE_{n} = 1\nSLOT_TYPE_{n}_START = KeyboardIdle > 900\n"
        for n in range(1, 9)
    )
    text = f"START = KeyboardIdle > 900\nIS_OWNER = (START =?= False)\nPREEMPT = KeyboardIdle > 900\n{types}"
    assert [f.code for f in found(text)] == ["RST403"]


PIECES = [
    "START",
    "SUSPEND",
    "PREEMPT",
    "KILL",
    "RANK",
    "IS_OWNER",
    "STARTD_ATTRS",
    "SLOT_TYPE_1",
    "=",
    "=",
    "==",
    "&&",
    "||",
    "(",
    ")",
    "$(START)",
    "$(",
    "$$",
    "\\\n",
    "\n",
    "\n",
    "#",
    '"',
    "'",
    "KeyboardIdle",
    "TARGET.",
    "MY.",
    "1",
    "0",
    "0.5",
    "?",
    ":",
    "use POLICY : Desktop",
    "if",
    "endif",
    "@=x",
    "@x",
    "+=",
    "eval(",
    "UNDEFINED",
    "ERROR",
    "!",
    "-",
    "/",
    "%",
    "State",
    "Activity",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    " ",
    "\t",
    "\x00",
    "\u20ac",
    "1e999",
    "9" * 30,
    "time()",
    "strcat(",
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_no_text_makes_a_rule_fail(pieces: list[str]) -> None:
    assert [f for f in found(" ".join(pieces)) if f.code == "RST000"] == []


def test_deep_and_long_expressions_are_survived() -> None:
    chance = random.Random(1)
    deep = "START = " + "(" * 500 + "KeyboardIdle > 1" + ")" * 500
    negated = "START = " + "!" * 900 + "(KeyboardIdle > 1)"
    long = "START = " + " || ".join(f'TARGET.Owner == "u{chance.randrange(10**6)}"' for _ in range(3000))
    for text in (deep, negated, long):
        assert [f for f in found(text) if f.code == "RST000"] == []
