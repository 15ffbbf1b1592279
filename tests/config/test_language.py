"""The language, rule by rule: what a text means, what is reported about it, and where things were defined."""

from __future__ import annotations

import pytest

from roost.config import (
    Code,
    CommandResult,
    Config,
    ConfigError,
    Limits,
    LoadOptions,
    MemoryHost,
    check,
    explain,
    load,
    load_text,
)


def read(text: str, **files: str) -> Config:
    return load_text(text, MemoryHost(files=files))


def codes(config: Config) -> list[Code]:
    return [one.code for one in config.log]


def test_a_value_is_expanded_when_read_with_the_last_definitions() -> None:
    config = read("A = xxx\nC = $(A)\nA = yyy\nA = $(A)zzz\n")
    assert (config.get("A"), config.get("C")) == ("yyyzzz", "yyyzzz")


def test_a_reference_to_itself_means_the_earlier_value_or_the_default() -> None:
    assert read('START = ($(START)) || Owner == "c"\n').get("START") == '(True) || Owner == "c"'
    assert read("A = $(A:none)\n").get("A") == "none"


def test_names_do_not_care_about_case_but_functions_do() -> None:
    config = read("Abc = 1\nB = $(aBC)\nC = $int(abc)\n")
    assert (config.get("ABC"), config.get("b"), config.get("C")) == ("1", "1", "$int(abc)")


def test_an_empty_value_counts_as_undefined_but_hides_the_default() -> None:
    config = read("PREEMPT =\nA = $(PREEMPT:k)\nif defined PREEMPT\nB = 1\nendif\n")
    assert (config.get("PREEMPT"), config.get("A"), config.get("B")) == (None, "k", None)
    assert config.get_expr("PREEMPT") == "False"


def test_the_line_goes_on_after_a_backslash_and_a_comment_does_not_end_it() -> None:
    config = read("A = x \\\n# gone\n    y\nB = 1 \\  \n 2\n")
    assert (config.get("A"), config.get("B")) == ("x y", "1 2")
    assert codes(config) == [Code.COMMENT_IN_CONTINUATION, Code.BLANK_AFTER_BACKSLASH]


def test_an_inline_comment_is_part_of_the_value_and_is_reported() -> None:
    config = read("X = 3 # three\n")
    assert config.get("X") == "3 # three"
    assert codes(config) == [Code.HASH_IN_VALUE]


def test_all_mistakes_are_reported_with_their_places() -> None:
    config = read("A-b = 1\nfoo\nif a && b\nendif\nuse POLICY : Nope\nerror : stop\nendif\nA = 1\n")
    assert [(str(one.code), one.span.line) for one in config.log] == [
        ("config-illegal-name", 1),
        ("config-missing-operator", 2),
        ("config-complex-condition", 3),
        ("config-unknown-template", 5),
        ("config-error-statement", 6),
        ("config-unbalanced-if", 7),
    ]
    assert config.get("A") == "1"


def test_prefixes_of_daemon_and_instance_override_in_their_order() -> None:
    config = read("A = 0\nSTARTD.A = 1\nfast.A = 2\nSTARTD.fast.A = 3\nB = <$(A)>\n")
    assert config.get("B") == "<0>"
    assert config.get("B", subsys="STARTD") == "<1>"
    assert config.get("B", subsys="SCHEDD", localname="fast") == "<2>"
    assert config.get("B", subsys="STARTD", localname="fast") == "<3>"


def test_slot_types_and_slots_override_where_they_are_asked_for() -> None:
    config = read("START = a\nSLOT_TYPE_2_START = b\nSLOT3_STARTD_ATTRS = c\n")
    assert config.get("START", slot_type=2) == "b"
    assert config.get("START", slot_type=1) == "a"
    assert config.get("STARTD_ATTRS", slot=3) == "c"
    assert config.slot_numbers("SLOT_TYPE_<N>_START") == [2]


def test_sources_are_read_in_order_and_each_value_remembers_what_it_overrode() -> None:
    host = MemoryHost(
        files={
            "/etc/root": "A = 1\nLOCAL_CONFIG_DIR = /etc/d\nLOCAL_CONFIG_FILE = /etc/l\n",
            "/etc/d/20": "A = 3\n",
            "/etc/d/10": "A = 2\n",
            "/etc/d/x~": "A = bad\n",
            "/etc/l": "A = 4\n",
        },
        variables={"_CONDOR_A": "$(A)5"},
    )
    config = load(host, LoadOptions(roots=("/etc/root",), runtime=(("A", "$(A)6"),)))
    assert config.get("A") == "456"
    assert [str(one.span) for one in config.definitions("a")] == [
        "/etc/root:1:1",
        "/etc/d/10:1:1",
        "/etc/d/20:1:1",
        "/etc/l:1:1",
        "environment variable _CONDOR_A",
        "<runtime>",
    ]


def test_a_directory_can_be_the_root() -> None:
    config = load(MemoryHost(files={"/c/b": "A += 2\n", "/c/a": "A = 1\n"}), LoadOptions(roots=("/c",)))
    assert config.get("A") == "1 2"


def test_output_of_commands_is_configuration_and_can_be_kept() -> None:
    host = MemoryHost(commands={"make it": CommandResult(status=0, output="A = 1\n")})
    assert load_text("include : make it |\n", host).get("A") == "1"
    assert load_text("include command into /cache : make it\n", host).get("A") == "1"
    assert host.files["/cache"] == "A = 1\n"
    failing = load_text("include command : fail\ninclude ifexist command : fail\n", host)
    assert codes(failing) == [Code.COMMAND_FAILED]


def test_a_file_that_includes_itself_ends_at_the_depth_limit() -> None:
    host = MemoryHost(files={"/a": "include : /a\n"})
    config = load(host, LoadOptions(roots=("/a",)))
    assert codes(config) == [Code.INCLUDE_DEPTH]
    assert len(config.sources) == Limits().include_depth_max + 1


def test_a_circle_is_named_and_does_not_hang() -> None:
    config = read("A = x$(B)\nB = $(C)\nC = $(A)\n")
    with pytest.raises(ConfigError) as raised:
        config.get("B")
    assert raised.value.code is Code.MACRO_CYCLE
    assert "B -> C -> A -> B" in str(raised.value)
    assert [one.name for one in check(config)] == ["A"]


def test_macros_that_double_each_other_end_at_a_limit() -> None:
    doubling = "".join(f"A{i} = $(A{i + 1})$(A{i + 1})\n" for i in range(50)) + "A50 = 0123456789\n"
    with pytest.raises(ConfigError) as raised:
        read(doubling).get("A0")
    assert raised.value.code is Code.EXPANSION_LIMIT
    self_doubling = "A = 0123456789\n" + "A = $(A)$(A)\n" * 40
    assert Code.EXPANSION_LIMIT in codes(read(self_doubling))


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (Limits(file_chars_max=10), "A = 1\nB = 2\n"),
        (Limits(line_chars_max=10), "A = 0123456789\n"),
        (Limits(value_chars_max=5), "A = 0123456789\n"),
        (Limits(table_chars_max=5), "A = 123\nA = 456\n"),
        (Limits(macros_max=1), "A = 1\nB = 2\n"),
        (Limits(statements_max=1), "A = 1\nB = 2\n"),
        (Limits(if_depth_max=1), "if true\nif true\nendif\nendif\n"),
        (Limits(sources_max=1), "include : /b\n"),
        (Limits(include_depth_max=0), "include : /b\n"),
        (Limits(include_depth_max=0), "use ROLE : Execute\n"),
    ],
)
def test_each_limit_on_reading_is_reported(limits: Limits, text: str) -> None:
    host = MemoryHost(files={"/a": text, "/b": "B = 1\n"})
    assert load(host, LoadOptions(roots=("/a",), limits=limits)).errors


def test_diagnostics_beyond_their_limit_are_counted() -> None:
    host = MemoryHost(files={"/a": "foo\n" * 30})
    config = load(host, LoadOptions(roots=("/a",), limits=Limits(diagnostics_max=10)))
    assert (len(config.log), config.dropped) == (10, 20)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("POLLING_INTERVAL = soon", Code.BAD_INTEGER),
        ("POLLING_INTERVAL = 0", Code.OUT_OF_RANGE),
        ("POLLING_INTERVAL = 2.5", Code.BAD_INTEGER),
        ("PRIORITY_HALFLIFE = x", Code.BAD_REAL),
        ("CONSUMPTION_POLICY = perhaps", Code.BAD_BOOLEAN),
        ("SUSPEND = (a ||", Code.BAD_EXPRESSION),
        ("DEFRAG_DRAINING_SCHEDULE = slow", Code.BAD_CHOICE),
        ("WANTS_SUSPEND = True", Code.NEAR_MISS),
        ("MAXJOBRETIRMENTTIME = 1", Code.NEAR_MISS),
        ("NUMSLOTS = 1", Code.NEAR_MISS),
        ("SLOT_TYPE1_PARTITIONABLE = True", Code.NEAR_MISS),
        ("NUM_SLOT_TYPE_1 = 3", Code.NEAR_MISS),
        ("SLOTTYPE_12 = cpus=1", Code.NEAR_MISS),
        ("VM1_STARTD_ATTRS = x", Code.DEPRECATED_NAME),
        ("HOSTALLOW_READ = *", Code.WITHOUT_EFFECT),
        ("SLOT1_START = True", Code.SLOT_PREFIX_IGNORED),
        ("START = $(MyMacro)", Code.UNDEFINED_MACRO),
        ("A = $INT(nope)", Code.FUNCTION_FAILED),
        ("HOSTNAME = x", Code.PRESET_OVERRIDDEN),
    ],
)
def test_check_finds_what_is_wrong_with_names_and_values(text: str, code: Code) -> None:
    assert code in [one.code for one in check(read(text + "\n"))]


def test_a_misspelt_name_of_a_family_is_answered_with_its_number() -> None:
    found = check(read("SLOT_TYPE12_PARTITIONABLE = True\nNUM_SLOT_TYPE_3 = 1\n"))
    assert [one.suggestion for one in found] == ["SLOT_TYPE_12_PARTITIONABLE", "NUM_SLOTS_TYPE_3"]


def test_check_is_silent_about_a_sound_configuration_with_macros_of_ones_own() -> None:
    text = (
        "MyLimit = 3 * $(HOUR)\nSUSPEND = $(ActivityTimer) > $(MyLimit)\nSLOT_TYPE_1 = 50%\nNUM_SLOTS_TYPE_1 = 2\n"
        'STARTD_ATTRS = favourite\nfavourite = "blue"\nSLOT2_favourite = "green"\nDB_HOOK_FETCH_WORK = /bin/true\n'
        "POLLING_INTERVAL = 2 * 5\nSTARTD.UPDATE_INTERVAL = 100\nsw_LIMIT = 3\n"
    )
    assert check(read(text)) == []


def test_typed_values_may_be_expressions_of_constants() -> None:
    config = read("POLLING_INTERVAL = (2 * 5)\nDEFRAG_DRAINING_MACHINES_PER_HOUR = 1/2.0\nENABLE_BACKFILL = 1 > 0\n")
    assert config.get_int("POLLING_INTERVAL") == 10
    assert config.get_float("DEFRAG_DRAINING_MACHINES_PER_HOUR") == 0.5
    assert config.get_bool("ENABLE_BACKFILL") is True
    assert config.get_int("MATCH_TIMEOUT") == 120
    assert config.get_list("DAEMON_LIST") == ("MASTER",)
    assert config.get_int("MY_OWN", 7) == 7
    with pytest.raises(ConfigError, match="config-missing-value"):
        config.get_int("MY_OWN")


def test_an_error_names_place_and_remedy() -> None:
    with pytest.raises(ConfigError) as raised:
        read("\n  POLLING_INTERVAL = soon\n").get_int("POLLING_INTERVAL")
    assert str(raised.value).startswith("<text>:2:3: error: POLLING_INTERVAL: 'soon' is not a whole number")
    assert raised.value.diagnostic.remedy


def test_random_values_come_from_the_host_and_are_drawn_anew() -> None:
    config = load_text("A = $RANDOM_INTEGER(1,1000)\nB = $(A)\nC = $RANDOM_CHOICE(a,b,c)\n", MemoryHost(seed=1))
    assert len({config.get("B") for _ in range(20)}) > 10
    assert {config.get("C") for _ in range(50)} == {"a", "b", "c"}


def test_functions_take_nested_macros_and_parentheses() -> None:
    config = read(
        'X = 3 * 4\nA = $INT($(X))\nB = $STRING(strcat("a","b"))\nC = $CHOICE($(I),p,q)\nI = 1\nD = $INT( X )\n'
    )
    assert [config.get(name) for name in "ABCD"] == ["12", "ab", "q", "12"]


def test_a_definition_knows_where_each_piece_of_its_text_stands() -> None:
    (definition,) = read("A = one \\\n   two\n").definitions("A")
    assert definition.segments == ((0, 1, 5), (4, 2, 4))


def test_explain_gives_the_chain_and_each_step() -> None:
    config = read("KeyBusy = KeyboardIdle < $(MINUTE)\nSUSPEND = $(KeyBusy)\nSUSPEND = ($(SUSPEND)) && x\n")
    told = explain(config, "suspend")
    assert told.value == "(KeyboardIdle < 60) && x"
    assert told.default == "False"
    assert [(one.written, str(one.span)) for one in told.chain] == [
        ("$(KeyBusy)", "<text>:2:1"),
        ("($(SUSPEND)) && x", "<text>:3:1"),
    ]
    assert [(one.reference, one.result) for one in told.steps] == [
        ("$(KeyBusy)", "KeyboardIdle < 60"),
        ("$(MINUTE)", "60"),
    ]


def test_explain_names_the_weaker_definition_that_a_prefix_overrode() -> None:
    config = read("A = 1\nSTARTD.A = 2\n")
    told = explain(config, "A", subsys="STARTD")
    assert told.value == "2"
    assert [one.text for one in told.overridden] == ["1"]


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("use POLICY Desktop", "Write `use CATEGORY : Name`."),
        ("include local.config", "Write `include : FILE`."),
        ("elseif true", "Write `elif`."),
        ("SLOT_TYPE_1_STRT = True", "Did you mean SLOT_TYPE_1_START?"),
        ("slot_type_2_Partitionabel = True", "Did you mean slot_type_2_PARTITIONABLE?"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(line: str, remedy: str) -> None:
    (finding,) = check(read(line + "\n"))
    assert finding.remedy == remedy


def test_an_elseif_is_reported_even_where_it_is_skipped() -> None:
    (finding,) = check(read("if false\nA = 1\nelseif true\nA = 2\nendif\n"))
    assert (finding.span.line, finding.remedy) == (3, "Write `elif`.")


def test_a_defined_with_operators_is_a_complex_condition() -> None:
    (finding,) = check(read("if defined A && B\nendif\n"))
    assert finding.code is Code.COMPLEX_CONDITION


def test_an_old_name_without_effect_that_is_referred_to_has_one() -> None:
    assert check(read("use POLICY : Desktop\nUWCS_START = KeyboardIdle > 60\n")) == []
    assert [one.code for one in check(read("UWCS_START = True\n"))] == [Code.DEPRECATED_NAME]
