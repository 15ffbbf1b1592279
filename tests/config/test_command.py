"""`roost config` on real files: what is printed, and the exit status."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import pytest

from roost.cli import config as command
from roost.config import LoadOptions, load
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
    assert "with its earlier value put in: 12" in out


def test_check_prints_all_errors_and_has_status_one(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert roost("check", "-c", str(root)) == 0
    root.write_text("A-b = 1\nfoo\nMATCH_TIMEOUT = x\nX = $(Y)\nY = $(X)\n")
    capsys.readouterr()
    assert roost("check", "--json", "-c", str(root)) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["errors"] == 5
    assert [one["line"] for one in document["findings"]] == [1, 2, 3, 4, 5]


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


def test_no_configuration_at_all_has_status_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "STANDARD_FILES", ())
    monkeypatch.setattr(command, "STANDARD_FILES", ())
    for variable in ("ROOST_CONFIG", "CONDOR_CONFIG"):
        monkeypatch.delenv(variable, raising=False)
    assert roost("show") == 2


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


def test_two_thousand_names_cost_no_more_each_than_a_hundred() -> None:
    from time import perf_counter

    from roost.config import MemoryHost

    def seconds(count: int) -> float:
        lines = [f"K{i} = $(K{i % 40}:d) and $(HOUR) * {i} \\\n  && (Foo > $(MINUTE))" for i in range(40, count + 40)]
        files = {f"/c/{part}": "\n".join(lines[part::4]) for part in range(4)}
        best = float("inf")
        for _ in range(3):
            begin = perf_counter()
            config = load(MemoryHost(files=dict(files)), LoadOptions(roots=("/c",)))
            for name in config.names():
                config.get(name)
            best = min(best, perf_counter() - begin)
        return best

    assert seconds(2000) < seconds(100) * 20 * 4


@pytest.mark.parametrize("reverse", [False, True])
def test_each_link_of_a_long_chain_of_macros_is_told_to_be_too_deep_and_costs_the_same(reverse: bool) -> None:
    from time import process_time

    from roost.config import Code, MemoryHost, check, load_text

    def seconds(count: int) -> float:
        lines = [f"M{i} = $(M{i + 1})" for i in range(count)] + [f"M{count} = 1"]
        config = load_text("\n".join(reversed(lines) if reverse else lines), MemoryHost())
        begin = process_time()
        findings = check(config)
        spent = process_time() - begin
        assert {one.code for one in findings} == {Code.EXPANSION_LIMIT}
        assert len(findings) == count - 60
        assert config.get(f"M{count - 60}") == "1"
        return spent

    assert seconds(8000) < 5 * max(seconds(2000), 0.05) * 2


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "f.config"
    os.mkfifo(pipe)
    assert machine.SystemHost().read_text(str(pipe)) is None
