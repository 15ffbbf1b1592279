"""Texts that users name are read up to a limit."""

from __future__ import annotations

import errno
import io
from pathlib import Path

import pytest

from roost.cli.__main__ import main
from roost.cli.condor import transform_ads
from roost.cli.condor.errors import ToolError
from roost.runtime.files.bounded_text import bounded_text
from roost.runtime.workflow.files import read_text


def test_a_text_at_the_limit_is_read_and_a_longer_one_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "text"
    path.write_text("ä" * 10)
    assert bounded_text(path, 10) == "ä" * 10
    with pytest.raises(OSError, match="longer than 9 characters") as caught:
        bounded_text(path, 9)
    assert caught.value.errno == errno.EFBIG
    monkeypatch.setattr("sys.stdin", io.StringIO("12345"))
    with pytest.raises(OSError, match="longer than 4 characters: 'standard input'"):
        bounded_text(None, 4)


def test_files_that_never_end_are_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bounded_text, "__defaults__", (1000,))
    assert read_text("/dev/zero") is None
    assert main(["dag", "check", "/dev/zero"]) != 0
    assert "/dev/zero cannot be read, or is longer than" in capsys.readouterr().err
    with pytest.raises(ToolError, match="could not open rules file /dev/zero: longer than 1000 characters"):
        transform_ads.run("condor_transform_ads", ["-rules", "/dev/zero", "-in", "/dev/null"])
