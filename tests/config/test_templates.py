"""Every template of the catalogue can be used, and what it sets can be read; the important ones mean what they say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.classad import ClassAd, Syntax, parse_expression
from roost.classad import evaluate as evaluate_classad
from roost.config import Code, Config, MemoryHost, Severity, check, load_text
from roost.config.template import Template, fill, split_options
from roost.config.templates import ALL, BY_NAME
from roost.config.templates.known import BY_CATEGORY, WITHOUT_EFFECT

_SAMPLES = {
    "macro": "SampleCondition",
    "subcode": "7",
    "reason": '"a, b"',
    "executable": "/bin/true",
    "mode": "Periodic",
    "period": "5m",
    "daemon": "STARTD_CRON",
    "file": "/etc/map",
    "since": "2030-01-01T00:00:00Z",
    "until": "2030-01-02T00:00:00Z",
    "begin": "4",
}


def used(template: Template) -> Config:
    """A configuration that uses a template with its required arguments, or with all of them if it has any."""
    arguments = [_SAMPLES.get(one.name, "5") if one.default is None else one.default for one in template.arguments]
    text = "SampleCondition = (Foo > 3)\nDETECTED_CORES = 4\nDETECTED_MEMORY = 1000\nRELEASE_DIR = /usr\n"
    text += f"use {template.category} : {template.name}"
    return load_text(text + (f"({','.join(arguments)})" if arguments else "") + "\n", MemoryHost())


@pytest.mark.parametrize("template", ALL, ids=lambda one: f"{one.category}:{one.name}")
def test_a_template_sets_only_values_that_can_be_read_and_warns_of_nothing(template: Template) -> None:
    findings = [one for one in check(used(template)) if one.severity is not Severity.NOTE]
    assert findings == []


@pytest.mark.parametrize("template", ALL, ids=lambda one: f"{one.category}:{one.name}")
def test_a_template_has_a_sentence_a_source_and_explained_arguments(template: Template) -> None:
    assert template.meaning.endswith(".")
    assert template.source
    assert all(argument.meaning for argument in template.arguments)


@pytest.mark.parametrize(
    "name",
    [
        "Always_Run_Jobs",
        "Desktop",
        "UWCS_Desktop",
        "Desktop_Idle",
        "Desktop_Hours",
        "Limit_Job_Runtimes",
        "Preempt_if",
        "Want_Hold_if",
        "Preempt_if_Runtime_Exceeds",
        "Hold_if_Runtime_Exceeds",
        "Preempt_if_Cpus_Exceeded",
        "Hold_if_Cpus_Exceeded",
        "Preempt_if_Memory_Exceeded",
        "Hold_if_Memory_Exceeded",
        "Preempt_if_Disk_Exceeded",
        "Hold_if_Disk_Exceeded",
        "Test_User",
        "Desktop_After_Hours",
        "Desktop_Or_Dedicated",
        "Suspendable_Slots",
        "Interactive_Slot_Reserved",
        "Interactive_Slot_Preferred",
        "No_Preemption",
    ],
)
def test_the_known_policies_exist(name: str) -> None:
    assert load_text(f"if defined use POLICY:{name}\nA = 1\nendif\n", MemoryHost()).get("A") == "1"


def evaluate(config: Config, name: str, **attributes: object) -> object:
    """A policy expression of the configuration in a slot with these attributes."""
    text = config.get_expr(name)
    assert text is not None
    machine = ClassAd(dict(attributes))
    for policy in ("SUSPEND", "WANT_SUSPEND", "START"):
        if policy != name:
            expression = config.get_expr(policy)
            assert expression is not None
            machine.set(policy, expression)
    return evaluate_classad(parse_expression(text, Syntax.OLD), machine)


def test_desktop_starts_jobs_only_when_the_owner_has_been_away() -> None:
    config = load_text("use POLICY : Desktop\n", MemoryHost())
    idle = {"LoadAvg": 0.1, "CondorLoadAvg": 0.0, "State": "Unclaimed"}
    assert evaluate(config, "START", KeyboardIdle=901, **idle) is True
    assert evaluate(config, "START", KeyboardIdle=900, **idle) is False
    assert evaluate(config, "START", KeyboardIdle=901, **(idle | {"LoadAvg": 0.5})) is False
    assert evaluate(config, "START", KeyboardIdle=901, **(idle | {"LoadAvg": 0.5, "State": "Claimed"})) is True


def test_hours_keep_jobs_away_during_work_only() -> None:
    config = load_text("use POLICY : Desktop_Hours(8,17)\n", MemoryHost())
    for minute, day, start, preempt in [
        (449, 2, True, False),
        (450, 2, False, False),
        (470, 2, False, True),
        (1019, 2, False, True),
        (1020, 2, True, False),
        (600, 6, False, True),
    ]:
        assert evaluate(config, "START", ClockMin=minute, ClockDay=day) is start
        assert evaluate(config, "PREEMPT", ClockMin=minute, ClockDay=day) is preempt


def is_work(minute: int, day: int, begin: float, end: float, days: tuple[int, int] | None) -> bool:
    """Whether the owner works at a minute of a day, by counting."""

    def begins(day: int) -> bool:
        if days is None:
            return True
        first, last = days
        return first <= day <= last if first <= last else day >= first or day <= last

    if begin < end:
        return begins(day) and begin <= minute < end
    return (begins(day) and minute >= begin) or (begins((day - 1) % 7) and minute < end)


@settings(max_examples=40, deadline=None)
@given(
    hours=st.lists(st.integers(1, 23), min_size=2, max_size=2, unique=True),
    days=st.none() | st.tuples(st.integers(0, 6), st.integers(0, 6)),
)
def test_hours_may_go_over_midnight_and_days_over_the_weekend(hours: list[int], days: tuple[int, int] | None) -> None:
    begin, end = hours
    given = f"{begin},{end}" + ("" if days is None else f",{days[0]},{days[1]}")
    config = load_text(f"use POLICY : Desktop_Hours({given})\n", MemoryHost())
    names = {name: parse_expression(config.get_expr(name) or "") for name in ("WorkHours", "AfterHours")}
    marks = {0, 1439, *(hour * 60 + off for hour in hours for off in (-31, -30, -11, -10, -1, 0, 1))}
    for day in range(7):
        for minute in sorted(marks):
            ad = ClassAd({"ClockMin": minute, "ClockDay": day})
            work = is_work(minute, day, begin * 60, end * 60, days)
            assert evaluate_classad(names["WorkHours"], ad) is work
            assert evaluate_classad(names["AfterHours"], ad) is not work
            begins, leaves = begin * 60 - 30, begin * 60 - 10
            start = not is_work(minute, day, begins, end * 60, days)
            preempt = is_work(minute, day, leaves, end * 60, days)
            assert evaluate(config, "START", ClockMin=minute, ClockDay=day) is start
            assert evaluate(config, "PREEMPT", ClockMin=minute, ClockDay=day) is preempt


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("POLICY : Desktop_Hours(22, 25)", "end is '25': an hour must be a number from 0 to 24"),
        ("POLICY : Desktop_Idle(-1, 5)", "begin is '-1': an hour must be a number from 0 to 24"),
        ("POLICY : Desktop_After_Hours(eight, 5)", "begin is 'eight'"),
        ("POLICY : Desktop_After_Hours($(BEGIN), 5)", "its value must be known at this line (define it above)"),
        ("POLICY : Desktop_Hours(9, 9)", "begin and end are the same hour"),
        ("POLICY : Desktop_Hours(9, 17, 1, 7)", "last is '7': a day must be a number from 0 (Sunday) to 6 (Saturday)"),
        ("POLICY : Desktop_Hours(9, 17, 1.5)", "first is '1.5'"),
        ("POLICY : Interactive_Slot_Reserved(0)", "it must be a whole number from 1"),
        ('POLICY : Limit_Job_Runtimes("1h")', "it must be a number of seconds"),
        ("POLICY : Preempt_if(Foo > 5)", "it must be the name of a macro"),
        ('POLICY : Test_User("ada")', "write it without quotes and spaces"),
    ],
)
def test_an_argument_that_a_template_cannot_work_with_is_reported_at_the_use(use: str, words: str) -> None:
    (problem,) = load_text(f"A = 1\nuse {use}\n", MemoryHost()).log
    assert problem.code is Code.TEMPLATE_ARGUMENTS
    assert words in problem.message
    assert str(problem).startswith("<text>:2:1: error: ")
    assert problem.remedy.startswith("The form is `use POLICY : ")


def test_arguments_may_be_macros_and_expressions() -> None:
    config = load_text(
        "Begin = 7 + 1\nuse POLICY : Desktop_Hours($(Begin), 5 * 3.5)\nuse POLICY : Limit_Job_Runtimes(TARGET.Most)\n",
        MemoryHost(),
    )
    assert config.log == ()
    assert config.get("WorkHours") == "(ClockMin >= (7 + 1) * 60 && ClockMin < (5 * 3.5) * 60)"


def test_a_limit_on_run_times_leaves_the_desktop_to_its_owner() -> None:
    config = load_text("use POLICY : Desktop\nuse POLICY : Limit_Job_Runtimes(3600)\n", MemoryHost())
    calm = {"KeyboardIdle": 9999, "LoadAvg": 1.0, "CondorLoadAvg": 1.0, "CpuBusyTime": 0, "JobStart": 0}

    def preempts(activity: str, seconds: int) -> object:
        text = (config.get_expr("PREEMPT") or "").replace("time()", str(seconds))
        machine = ClassAd({**calm, "Activity": activity, "EnteredCurrentActivity": 0})
        for policy in ("SUSPEND", "WANT_SUSPEND"):
            machine.set(policy, config.get_expr(policy) or "")
        return evaluate_classad(parse_expression(text), machine)

    assert [preempts("Busy", seconds) for seconds in (3600, 3601)] == [False, True]
    assert [preempts("Suspended", seconds) for seconds in (600, 601)] == [False, True]
    assert load_text("use POLICY : Limit_Job_Runtimes(60)\n", MemoryHost()).get("PREEMPT", subsys="STARTD") == (
        '(False) || ((Activity == "Busy") && ((time() - EnteredCurrentActivity) > (60)))'
    )


def test_a_map_of_users_gives_jobs_an_attribute_and_refuses_those_it_does_not_know() -> None:
    config = load_text("use FEATURE : AssignProjectName(projects, /etc/projects)\n", MemoryHost())
    assert config.get("SCHEDD_CLASSAD_USER_MAP_NAMES") == "projects"
    assert config.get("CLASSAD_USER_MAPFILE_projects") == "/etc/projects"
    assert config.get("JOB_TRANSFORM_SetProjectName") == 'EVALSET ProjectName userMap("projects", Owner, ProjectName)'
    required = parse_expression(config.get_expr("SUBMIT_REQUIREMENT_RequireProjectName") or "")
    reason = parse_expression(config.get_expr("SUBMIT_REQUIREMENT_RequireProjectName_REASON") or "")
    assert evaluate_classad(required, ClassAd({"Owner": "ada", "ProjectName": "tide"})) is True
    assert evaluate_classad(required, ClassAd({"Owner": "ada"})) is False
    assert evaluate_classad(reason, ClassAd({"Owner": "ada"})) == "no ProjectName belongs to ada"


def test_a_map_that_is_defined_elsewhere_is_not_defined_again() -> None:
    config = load_text("use FEATURE : SetJobAttrFromUserMap(Dept, Owner, staff)\n", MemoryHost())
    assert config.get("SCHEDD_CLASSAD_USER_MAP_NAMES") is None


@pytest.mark.parametrize(("check_group", "names"), [("", 2), (", True", 2), (", False", 1)])
def test_accounting_groups_can_be_asked_for_by_their_members_only(check_group: str, names: int) -> None:
    config = load_text(f"use FEATURE : AssignAccountingGroup(/etc/groups{check_group})\n", MemoryHost())
    assert len(config.get_list("SUBMIT_REQUIREMENT_NAMES")) == names
    assert config.get_list("IMMUTABLE_JOB_ATTRS") == ("AcctGroup", "AcctGroupUser", "AccountingGroup")
    if names == 2:
        asked = parse_expression(config.get_expr("SUBMIT_REQUIREMENT_CheckRequestedGroup") or "")
        for requested, is_met in (("a.b", True), ("a.c", False), (None, True)):
            ad = ClassAd({"AcctGroup": "a.b"} | ({} if requested is None else {"RequestedAcctGroup": requested}))
            assert evaluate_classad(asked, ad) is is_met


def test_programs_of_the_queue_are_set_as_those_of_the_startd() -> None:
    lines = {
        daemon: load_text(f"use FEATURE : {daemon}CronPeriodic(LIC, 5m, /bin/lic, -a, -b)\n", MemoryHost())
        for daemon in ("Startd", "Schedd")
    }
    for end in ("JOBLIST", "LIC_MODE", "LIC_PERIOD", "LIC_EXECUTABLE", "LIC_ARGS"):
        value = lines["Schedd"].get(f"SCHEDD_CRON_{end}")
        assert value == lines["Startd"].get(f"STARTD_CRON_{end}")
        assert value


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("POLICY : Always_Run_Jobs(1)", "Always_Run_Jobs takes no arguments"),
        ("POLICY : Test_User", "Test_User needs 1 argument"),
        ("FEATURE : ScheddUserMapFile(a)", "ScheddUserMapFile needs 2 arguments"),
        ("FEATURE : ScheddUserMapFile(a, b, c)", "ScheddUserMapFile takes at most 2 arguments"),
    ],
)
def test_a_wrong_number_of_arguments_is_said_in_plain_words(use: str, words: str) -> None:
    (problem,) = load_text(f"use {use}\n", MemoryHost()).log
    assert problem.message == words


def test_a_finding_in_a_template_stands_at_the_users_line() -> None:
    config = load_text("A = 1\nTEST = (Foo\nuse POLICY : Preempt_if(TEST)\n", MemoryHost(), file="pool.config")
    places = {str(one).partition(" ")[0] for one in check(config)}
    assert places == {"pool.config:3:1"}
    finding = check(config)[0].to_json()
    assert (finding["file"], finding["line"]) == ("pool.config", 3)
    assert str(finding["template"]).startswith("POLICY:Preempt_if:")
    assert str(finding["place"]) == f"pool.config:3:1 (in {finding['template']})"


def test_a_reserved_slot_leaves_the_other_slots_alone() -> None:
    config = load_text("use POLICY : Interactive_Slot_Reserved\n", MemoryHost())
    assert evaluate(config, "START", SlotID=2) is True
    assert evaluate(config, "START", SlotID=1) is False


def test_later_statements_override_a_template_and_it_overrides_earlier_ones() -> None:
    config = load_text("START = a\nKILL = b\nuse POLICY : Always_Run_Jobs\nKILL = c\n", MemoryHost())
    assert (config.get("START"), config.get("KILL")) == ("True", "c")
    assert [str(one.span) for one in config.definitions("KILL")] == [
        "<text>:2:1",
        "POLICY:Always_Run_Jobs:7:1",
        "<text>:4:1",
    ]


def test_arguments_are_filled_in_as_text() -> None:
    body = "A$(1) = $(0) # $(0#) $(2?)$(3?) $(2+) $(3:d$(1)) $(X:$(2)) $INT($(1))\n"
    assert fill(body, "x, f(y,z)") == "Ax = x, f(y,z) # 2 10 f(y,z) dx $(X:f(y,z)) $INT(x)\n"


def test_options_are_separated_by_commas_or_blanks() -> None:
    assert split_options("A, B(1,(2)) C ( 3 ),") == [("A", None), ("B", "1,(2)"), ("C", " 3 ")]


@pytest.mark.parametrize(
    "text",
    [
        "use POLICY : Preempt_if",
        "use POLICY : Always_Run_Jobs(1)",
        "use POLICY : Limit_Job_Runtimes(5",
        "use POLICY : ,)",
    ],
)
def test_wrong_arguments_are_reported_with_the_usage(text: str) -> None:
    assert [one.code for one in load_text(text + "\n", MemoryHost()).log] == [Code.TEMPLATE_ARGUMENTS]


@pytest.mark.parametrize("category", sorted(BY_CATEGORY))
def test_a_template_of_htcondor_that_does_nothing_here_is_known_by_name(category: str) -> None:
    lines = "".join(f"use {category} : {name}(a, b, c)\n" for name in BY_CATEGORY[category])
    config = load_text(f"{lines}if defined use {category}:{BY_CATEGORY[category][0]}\nA = 1\nendif\n", MemoryHost())
    assert {(one.code, one.severity) for one in check(config)} == {(Code.TEMPLATE_WITHOUT_EFFECT, Severity.NOTE)}
    assert len(config.log) == len(BY_CATEGORY[category])
    assert config.names() == ["A"]


def test_no_template_is_both_in_the_catalogue_and_without_effect() -> None:
    assert not WITHOUT_EFFECT & set(BY_NAME)


def test_a_misspelt_template_of_a_known_category_is_still_an_error() -> None:
    (problem,) = load_text("use SECURITY : Stronge\n", MemoryHost()).log
    assert (problem.code, problem.severity) == (Code.UNKNOWN_TEMPLATE, Severity.ERROR)
