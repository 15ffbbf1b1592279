"""A wrong file is told so in one sentence by every command, and a file with many mistakes shows some of them."""

from __future__ import annotations

import io
import re
import shutil
import sys
from pathlib import Path

import pytest

from roost.cli.__main__ import main
from roost.cli.condor.entry import main as condor
from roost.config.diagnostics import Span
from roost.config.not_text import SHOWN_MAX, nature, shown
from roost.schedd.submit.diagnostics import FINDINGS_MAX, Findings, SubmitCode

PROSE = "".join(f"This is line {number} of a report, and it says: nothing.\n" for number in range(60))
SCRIPT = '#!/bin/sh\nset -e\nfor x in 1 2 3; do echo "$x"; done\nexit 0\n'
ACCOUNTS = "root:x:0:0:root:/root:/bin/bash\nann:x:1000:1000::/home/ann:/bin/bash\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return Path(shutil.copy("/bin/ls", tmp_path / "prog"))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "data.gz"
    path.write_bytes(bytes(range(128, 256)) * 40)
    return path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ""),
        ("executable = /bin/true\nqueue\n", ""),
        ("# Äußerst schön\nname = \u4e2d\u6587\t1\r\n", ""),
        ("\x7fELF\x02\x01\0\0", "a program"),
        ("a = 1\n\0", "a binary file"),
        ("\ufffd\x8b\x08\ufffd\x01\x02\x03", "a binary file"),
        ("\udc80\udc81\udc82abc", "a binary file"),
    ],
)
def test_text_is_told_from_what_is_not(text: str, found: str) -> None:
    assert nature(text) == found


def test_mistakes_are_shown_up_to_a_limit() -> None:
    assert shown(["a", "b"]) == ["a", "b"]
    assert shown([str(number) for number in range(50)], 7) == [*map(str, range(SHOWN_MAX)), "and 37 more"]
    assert shown([], 3) == ["and 3 more"]


def _said(capsys: pytest.CaptureFixture[str], *words: str, status: int = 2) -> str:
    assert main(list(words)) == status
    found = capsys.readouterr()
    return found.out + found.err


def test_a_program_is_no_description(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _said(capsys, "submit", "--dry-run", str(program)) == (
        f"roost: {program}: error: {program} is a program, not a submit description [submit-not-a-description] "
        f"To run it, submit a description with the lines `executable = {program}` and `queue`.\n"
    )


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (SCRIPT, "is a script, not a submit"),
        (PROSE, "is not a submit"),
        (PROSE * 30, "is not a submit"),
        (ACCOUNTS, "is not a submit"),
    ],
)
def test_another_text_is_no_description(
    text: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    said = _said(capsys, "submit", "--dry-run", str(path))
    assert said.count("\n") == 1
    assert f"error: {path} {word} description [submit-not-a-description]" in said


def test_a_script_on_standard_input_is_not_called_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SCRIPT.encode())))
    said = _said(capsys, "submit", "--dry-run", "-")
    assert "<stdin> is a script, not a submit description" in said
    assert "`executable = PROGRAM` and `queue`" in said


def test_a_description_that_never_ends_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "/dev/zero is a binary file, not a submit description" in _said(capsys, "submit", "--dry-run", "/dev/zero")


def test_an_error_after_many_warnings_keeps_a_description_from_being_submitted() -> None:
    findings = Findings()
    for line in range(FINDINGS_MAX + 10):
        findings.report(SubmitCode.UNUSED, "the line has no effect", Span("x.sub", line))
    findings.report(SubmitCode.NO_EXECUTABLE, "no executable is given", Span("x.sub"))
    assert [one.code for one in findings.errors] == [SubmitCode.NO_EXECUTABLE]
    assert findings.dropped == 10


def test_an_archive_is_neither(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is a binary file, not a submit description" in _said(capsys, "submit", "--dry-run", str(archive))
    assert "is a binary file, not a DAG file" in _said(capsys, "dag", "check", str(archive))
    lines = _said(capsys, "policy", "lint", str(archive), status=1).splitlines()
    assert "is a binary file, not a configuration file" in lines[0]
    assert len(lines) == 3


def test_condor_submit_says_so_too(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    assert condor("condor_submit", ["-dry-run", "-", str(program)]) == 1
    said = capsys.readouterr().err
    assert said.count("ERROR") == 1
    assert f"{program} is a program, not a submit description" in said


@pytest.mark.parametrize("text", [PROSE, "\0" + PROSE])
def test_another_file_is_no_dag(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    for command in ("check", "submit"):
        said = _said(capsys, "dag", command, str(path))
        assert said.count("\n") == 1
        assert re.search(r"is (a binary file, )?not a DAG file.*\[dag-not-a-dag\]", said)


def test_a_slip_in_a_dag_is_told_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file"
    path.write_text("JBO A a.sub\n")
    assert "unknown command JBO" in _said(capsys, "dag", "check", str(path))


def test_a_file_with_many_mistakes_shows_some_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file"
    path.write_text("executable = /bin/true\nzebra = 1\n" + "what is this\n" * 300 + "queue\n")
    said = _said(capsys, "submit", "--dry-run", str(path)).splitlines()
    assert len(said) == SHOWN_MAX + 1
    assert re.fullmatch(r"roost: and 2\d\d more", said[-1])
    assert all("error: " in line for line in said[:-1])
    dag = tmp_path / "dag"
    dag.write_text("JOB A a.sub\n" + "what is this\n" * 300)
    assert len(_said(capsys, "dag", "check", str(dag)).splitlines()) == SHOWN_MAX + 1
    config = tmp_path / "config"
    config.write_text("what is this\n" * 300)
    assert len(_said(capsys, "policy", "lint", str(config), status=1).splitlines()) < 300


@pytest.mark.parametrize("name", ["prog", "many"])
def test_a_pool_says_so_at_its_start(
    name: str, program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "many").write_text("what is this\n" * 300)
    said = _said(capsys, "up", "--home", str(tmp_path / "home"), "-c", str(tmp_path / name))
    if name == "prog":
        assert f"{program} is a program, not a configuration file" in said
    assert 1 <= said.count("\n") <= SHOWN_MAX + 1
