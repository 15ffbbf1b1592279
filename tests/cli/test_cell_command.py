"""`roost cell`: check and diff of directories, archives and single files."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from roost.cli.__main__ import main

DATA = Path(__file__).parents[1] / "gridengine/data"
PAGE = (Path(__file__).parents[2] / "docs/reference/cli-cell.md").read_text()


@pytest.fixture
def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The department, and a copy without a calendar and an override."""
    shutil.copytree(DATA / "department", tmp_path / "department")
    changed = tmp_path / "changed"
    shutil.copytree(DATA / "department", changed)
    queue = changed / "cqueues/short.q"
    queue.write_text(queue.read_text().replace("4,[@new=8],[@gpu=8]", "4,[@new=8]"))
    (changed / "calendars/night").unlink()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def standard_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("block", re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL))
def test_the_examples_of_the_page_are_what_is_printed(
    block: str, cells: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, _, expected = block.partition("\n")
    main(command.removeprefix("$ roost ").split())
    assert capsys.readouterr().out == expected


def test_the_status_of_check_follows_errors(cells: Path) -> None:
    assert main(["cell", "check", "department"]) == 0
    assert main(["cell", "check", "department", "--strict"]) == 1
    assert main(["cell", "check", str(DATA / "oddities")]) == 1
    assert main(["cell", "check", "nowhere"]) == 2


def test_an_archive_on_standard_input_is_checked_as_the_directory_is(
    cells: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.add("department")
    standard_input(monkeypatch, data.getvalue())
    assert main(["cell", "check", "-", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["code"], one["place"]) for one in found["findings"]] == [
        ("RGE406", "cqueues/idle.q:5"),
        ("RGE301", "execution/node5:3"),
        ("RGE501", "resource_quotas/licences:6"),
    ]


def test_an_object_alone_is_read(
    cells: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DATA / "department/cqueues/gpu.q").read_text()
    standard_input(monkeypatch, text.encode())
    assert main(["cell", "check", "-"]) == 0
    assert capsys.readouterr().out == "cqueues/gpu.q: 0 errors, 0 warnings\n"
    standard_input(monkeypatch, text.replace("nsuspend              1", "nsuspend              x").encode())
    assert main(["cell", "check", "-"]) == 2
    assert 'error parsing unsigned long value from string "x"' in capsys.readouterr().err


def test_a_directory_that_is_not_a_cell_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cell", "check", str(tmp_path)]) == 2
    assert "save_sge_config.sh" in capsys.readouterr().err
    (tmp_path / "notes").write_text("hello\n")
    assert main(["cell", "check", str(tmp_path)]) == 1
    assert "notes does not belong to a cell" in capsys.readouterr().out


def test_every_change_is_in_the_document(cells: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cell", "diff", "department", "changed", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == [
        {"verb": "delete", "kind": "calendar", "name": "night", "attributes": []},
        {
            "verb": "modify",
            "kind": "cluster queue",
            "name": "short.q",
            "attributes": [{"attribute": "slots", "before": "4,[@new=8],[@gpu=8]", "after": "4,[@new=8]"}],
        },
    ]
    assert main(["cell", "diff", "department", "department"]) == 0


def test_rules_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cell", "rules"]) == 0
    assert "RGE201  warning Queues that suspend each other" in capsys.readouterr().out
    assert main(["cell", "rules", "rge201"]) == 0
    assert capsys.readouterr().out.startswith("# RGE201: Queues that suspend each other\n")
    assert main(["cell", "rules", "RGE999"]) == 2
