"""`roost config` on real files: what is printed, and the exit status."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from types import FrameType

import pytest

from roost.cli import config as command
from roost.cli.__main__ import main
from roost.config import LoadOptions, MemoryHost, check, load, load_text
from roost.runtime import machine


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "d").mkdir()
    (tmp_path / "root").write_text(f"LOCAL_CONFIG_DIR = {tmp_path}/d\nA = 1\nB = <$(A)>\n")
    (tmp_path / "d" / "10").write_text("A = $(A)2\nC = $INT(6 * 7)\n")
    return tmp_path / "root"


def roost(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    return command.run(parser.parse_args(["config", *arguments]))


def test_get_prints_expanded_values(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert roost("get", "B", "C", "-c", str(root)) == 0
    assert capsys.readouterr().out == "<12>\n42\n"


def test_get_of_an_undefined_name_has_status_one(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert roost("get", "NOPE", "--json", "-c", str(root)) == 1
    assert json.loads(capsys.readouterr().out) == {"NOPE": None}


def test_explain_shows_places_and_steps(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert roost("explain", "B", "A", "-c", str(root)) == 0
    out = capsys.readouterr().out
    assert f"{root}:3:1  <$(A)>" in out
    assert f"$(A) is 12 [{root.parent}/d/10:1:1]" in out
    assert "with its earlier value inserted: 12" in out


def test_check_prints_all_errors_and_has_status_one(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert roost("check", "-c", str(root)) == 0
    root.write_text("A-b = 1\nfoo\nMATCH_TIMEOUT = x\nX = $(Y)\nY = $(X)\n")
    capsys.readouterr()
    assert roost("check", "--json", "-c", str(root)) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["errors"] == 4
    assert [one["line"] for one in document["findings"]] == [1, 2, 3, 4]
    assert "X -> Y -> X; Y at" in document["findings"][3]["message"]


def test_a_circle_of_macros_is_reported_once_and_names_all_its_places() -> None:
    text = "D = $(C)\nA = $(B)\nB = $(C) x\nC = $(A)\nSTART = $(D) $(C)\nP = $(Q)\nQ = $(P)\n"
    first, second = check(load_text(text, MemoryHost(), file="f"))
    assert str(first.span) == "f:2:1"
    assert first.message.endswith(": A -> B -> C -> A; B at f:3:1, C at f:4:1")
    assert second.message.endswith(": P -> Q -> P; Q at f:7:1")


def test_strict_check_counts_warnings(root: Path) -> None:
    root.write_text("WANTS_SUSPEND = x\n")
    assert roost("check", "-c", str(root)) == 0
    assert roost("check", "--strict", "-c", str(root)) == 1


def test_a_dump_reads_back_to_the_same_values(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root.write_text(root.read_text() + "M @=end\none\ntwo $(A)\n@end\nuse POLICY : Desktop\n")
    assert roost("dump", "-c", str(root)) == 0
    copy = tmp_path / "copy"
    copy.write_text(capsys.readouterr().out.replace("LOCAL_CONFIG_DIR", "WAS_DIRECTORY"))
    host = machine.SystemHost()
    first, second = (load(host, LoadOptions(roots=(str(path),), environment=False)) for path in (root, copy))
    for name in first.names():
        if name != "LOCAL_CONFIG_DIR":
            assert first.get(name) == second.get(name)


def test_show_and_definitions_on_the_command_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert roost("show", "A*", "-D", "A=9", "--json", "-c", str(root)) == 0
    assert json.loads(capsys.readouterr().out) == [{"name": "A", "value": "9", "place": "<runtime>"}]
    assert roost("show", "--all", "match_timeout", "-c", str(root)) == 0
    assert capsys.readouterr().out == "MATCH_TIMEOUT = 120    # <default>\n"


def test_a_name_that_nobody_defines_is_answered_with_the_one_that_was_meant(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root.write_text("SiteLimit = 3\n")
    for command_name in ("get", "explain"):
        assert roost(command_name, "WANT_SUSPEN", "SiteLimt", "Qwertyuiop", "-c", str(root)) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err.splitlines() == [
            "roost config: WANT_SUSPEN is not defined; did you mean WANT_SUSPEND?",
            "roost config: SiteLimt is not defined; did you mean SiteLimit?",
            "roost config: Qwertyuiop is not defined",
        ]


@pytest.mark.parametrize("arguments", [["-D", "A"], ["-D", "=1"], ["--slot", "0"], ["--slot-type", "x"]])
def test_an_option_that_makes_no_sense_is_refused(root: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        roost("get", "A", "-c", str(root), *arguments)


def test_what_is_asked_for_in_vain_is_said(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root.write_text("E =\nX = $(Y)\nY = $(X)\n")
    assert roost("show", "Zz*", "-c", str(root)) == 1
    assert roost("get", "E", "-c", str(root)) == 1
    assert roost("get", "X", "--subsystem", "nonsense", "-c", str(root)) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == [
        "roost config: no name matches Zz*",
        "roost config: E is empty",
        "roost config: NONSENSE is not a daemon that Roost knows",
    ]
    assert len(lines) == 4
    assert "X -> Y -> X" in lines[3]


def test_a_short_name_that_is_typed_may_be_a_slip_too(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command_name in ("get", "explain"):
        assert roost(command_name, "STRT", "KLL", "-c", str(root)) == 1
        assert capsys.readouterr().err.splitlines() == [
            "roost config: STRT is not defined; did you mean START?",
            "roost config: KLL is not defined; did you mean KILL?",
        ]


def test_show_says_how_to_see_a_knob_that_is_not_set(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert roost("show", "MATCH_TIMEOUT", "-c", str(root)) == 1
    assert capsys.readouterr().err == (
        "roost config: no name matches MATCH_TIMEOUT; --all also shows knobs that are not set\n"
    )


def test_a_value_that_begins_with_an_empty_macro_has_no_blank_in_front(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root.write_text("LIST = $(LIST) A\nLIST = $(LIST) B\n")
    assert roost("get", "LIST", "-c", str(root)) == 0
    assert capsys.readouterr().out == "A B\n"


def test_only_files_and_commands_are_counted_as_sources(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root.write_text("use POLICY : Limit_Job_Runtimes(60)\nuse SECURITY : Strong\n")
    assert roost("check", "-c", str(root)) == 0
    assert capsys.readouterr().out.endswith("\n1 source, 1 template, 2 names: 0 errors, 0 warnings, 1 note\n")


def test_a_directory_without_files_is_not_passed_over_in_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".hidden").write_text("A = 1\n")
    assert roost("check", "-c", str(tmp_path)) == 0
    assert f"{tmp_path}: warning: no file of the directory is read" in capsys.readouterr().out
    assert roost("get", "A", "-c", str(tmp_path)) == 1
    assert "no file of the directory is read" in capsys.readouterr().err


def test_a_path_that_is_not_there_is_named_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert roost("get", "MATCH_TIMEOUT", "-c", "/no/such") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("roost config: /no/such: error: cannot read '/no/such'")
    assert "include" not in line


def test_beside_an_answer_only_the_first_errors_are_shown(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root.write_text("A = 1\n" + "foo\n" * 20)
    assert roost("get", "A", "-c", str(root)) == 1
    out, err = capsys.readouterr()
    assert out == "1\n"
    assert len(err.splitlines()) == command.ERRORS_SHOWN_MAX + 1
    assert err.endswith("and 15 more; `roost config check` lists them all\n")


def test_a_byte_order_mark_does_not_count(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root.write_bytes(b"\xef\xbb\xbfSTART = Foo > 5\r\nA = 1\r\n")
    assert roost("check", "-c", str(root)) == 0
    assert roost("get", "START", "-c", str(root)) == 0
    assert capsys.readouterr().out.endswith("Foo > 5\n")


def test_the_environment_can_be_the_only_source(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CONDOR_CONFIG", "ONLY_ENV")
    monkeypatch.delenv("ROOST_CONFIG", raising=False)
    monkeypatch.setenv("_CONDOR_Q", "$(MINUTE)1")
    assert roost("get", "Q") == 0
    assert capsys.readouterr().out == "601\n"


def test_the_system_host_reads_files_directories_and_commands(tmp_path: Path) -> None:
    host = machine.SystemHost()
    (tmp_path / "f").write_bytes(b"A = \xff\n")
    assert host.read_text(str(tmp_path / "f")) == "A = \ufffd\n"
    assert host.read_text(str(tmp_path)) is None
    assert host.read_text("\0") is None
    assert host.list_directory(str(tmp_path)) == ["f"]
    assert host.list_directory(str(tmp_path / "f")) is None
    assert host.run_command("printf 'A = %s' 1").output == "A = 1"
    assert host.run_command("false").status == 1
    assert host.run_command("'unclosed").status == 127
    assert host.write_cache(str(tmp_path / "c"), "x")
    assert not host.write_cache(str(tmp_path / "no" / "c"), "x")


def test_two_thousand_names_cost_no_more_each_than_two_hundred() -> None:
    """Counted in function calls, which a busy machine does not change."""

    def calls(count: int) -> int:
        lines = [f"K{i} = $(K{i % 40}:d) and $(HOUR) * {i} \\\n  && (Foo > $(MINUTE))" for i in range(40, count + 40)]
        host = MemoryHost(files={f"/c/{part}": "\n".join(lines[part::4]) for part in range(4)})
        counted = 0

        def count_call(frame: FrameType, event: str, argument: object) -> None:
            nonlocal counted
            counted += event == "call"

        before = sys.getprofile()
        sys.setprofile(count_call)
        try:
            config = load(host, LoadOptions(roots=("/c",)))
            for name in config.names():
                config.get(name)
        finally:
            sys.setprofile(before)
        return counted

    calls(10)  # what is set up once does not count
    assert calls(2000) < calls(200) * 10 * 1.1


@pytest.mark.parametrize("reverse", [False, True])
def test_each_link_of_a_long_chain_of_macros_is_told_to_be_too_deep_and_costs_the_same(reverse: bool) -> None:
    import gc
    from time import process_time

    from roost.config import Code

    def seconds(count: int) -> float:
        lines = [f"M{i} = $(M{i + 1})" for i in range(count)] + [f"M{count} = 1"]
        config = load_text("\n".join(reversed(lines) if reverse else lines), MemoryHost())
        # What other tests have left in memory is none of its cost.
        gc.disable()
        try:
            begin = process_time()
            findings = check(config)
            spent = process_time() - begin
        finally:
            gc.enable()
        assert {one.code for one in findings} == {Code.EXPANSION_LIMIT}
        assert len(findings) == count - 60
        assert config.get(f"M{count - 60}") == "1"
        return spent

    assert seconds(8000) < 5 * max(seconds(2000), 0.05) * 2


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "f.config"
    os.mkfifo(pipe)
    assert machine.SystemHost().read_text(str(pipe)) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SLOT_TYPE_1 = foo=3", "error: SLOT_TYPE_1: "),
        ("SLOT_TYPE_1 = cpus=1/0", "error: SLOT_TYPE_1: "),
        ("SLOT_TYPE_1 = disk=1000", "error: SLOT_TYPE_1: "),
        ("MACHINE_RESOURCE_gpu = a, b\nSLOT_TYPE_1 = cpus=1, memory=1, gpu=1", "slot of type 1 number 3 of 3 cannot"),
    ],
)
def test_check_and_lint_report_slots_that_a_start_refuses(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "roost.config"
    path.write_text(f"NUM_CPUS = 8\nMEMORY = 8000\nNUM_SLOTS_TYPE_1 = 3\n{text}\n", encoding="utf-8")
    assert roost("check", "-c", str(path)) == 1
    out = capsys.readouterr().out
    assert said in out
    assert "[slots-" in out
    assert main(["policy", "lint", str(path)]) == 1
    assert "slots-" in capsys.readouterr().out


def test_slots_too_large_for_this_machine_only_are_a_warning_that_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "roost.config"
    path.write_text("SLOT_TYPE_1 = memory=900000000\nNUM_SLOTS_TYPE_1 = 1\n", encoding="utf-8")
    assert roost("check", "-c", str(path)) == 0
    out = capsys.readouterr().out
    assert "warning: SLOT_TYPE_1: slot of type 1 number 1 of 1 cannot be created" in out
    assert "on this machine, which has " in out
    main(["policy", "lint", str(path)])
    assert "slots-" not in capsys.readouterr().out


def test_slots_of_units_that_a_command_lists_are_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "roost.config"
    path.write_text("MACHINE_RESOURCE_INVENTORY_gpu = /bin/false\nSLOT_TYPE_1 = gpu=1\n", encoding="utf-8")
    assert roost("check", "-c", str(path)) == 0
    assert "slots-" not in capsys.readouterr().out


def test_diff_compares_values_and_not_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_text("POLLING_INTERVAL = 5\nBASE = /a\nX = $(BASE)/x\nLOCAL_DIR = /a\nSTART =  A  &&  B\n")
    (tmp_path / "b").write_text("X = /a/x\nLOCAL_DIR = /b\nSTART = A && B\nNEW = $(X)\n")
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    assert roost("diff", "--json", a, b) == 1
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)["differences"]}
    assert found["LOCAL_DIR"]["first"] == {"value": "/a", "place": f"{a}:4:1"}
    assert found["LOCAL_DIR"]["second"] == {"value": "/b", "place": f"{b}:2:1"}
    # What is derived differs, too; what is written differently and means the same does not.
    assert found["SPOOL"]["second"]["value"] == "/b/spool"
    assert found["NEW"]["first"]["value"] is None
    assert not {"X", "START", "POLLING_INTERVAL"} & set(found)
    assert roost("diff", a, a) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "no names differ\n")
    assert roost("diff", a, b) == 1
    assert f"LOCAL_DIR\n  - /a    # {a}:4:1\n  + /b    # {b}:2:1\n" in capsys.readouterr().out


def test_a_configuration_is_read_as_a_version_of_htcondor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "a")
    (tmp_path / "a").write_text(
        "if defined ROOST\nWHO = roost\nelse\nWHO = condor\nendif\n"
        "if version >= 9.0\nAGE = new\nelse\nAGE = old\nendif\n"
    )
    assert roost("get", "-c", path, "WHO", "AGE") == 0
    assert roost("get", "-c", path, "--condor-version", "8.8", "WHO", "AGE", "MAX_JOBS_PER_SUBMISSION") == 0
    assert capsys.readouterr().out == "roost\nnew\ncondor\nold\n20000\n"
    with pytest.raises(SystemExit):
        roost("get", "-c", path, "--condor-version", "new", "WHO")
