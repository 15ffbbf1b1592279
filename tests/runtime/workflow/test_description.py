"""The submit description of a run, compared with the one that the reference writes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from roost.classad import ClassAd, parse_expression
from roost.dag import read_dag
from roost.model.command_line import arguments_from_submit, environment_from_submit
from roost.runtime.workflow.description import SubmitOptions, dag_description
from roost.runtime.workflow.files import read_text

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("htcondor2") is None, reason="the reference library is not installed"
)

#: Options of the reference, and what they are called here.
CASES: list[tuple[dict[str, Any], SubmitOptions]] = [
    ({}, SubmitOptions()),
    ({"MaxIdle": 10, "MaxJobs": 3, "MaxPre": 1, "MaxPost": 2},
     SubmitOptions(idle_max=10, jobs_max=3, pre_max=1, post_max=2)),
    ({"Force": True, "AlwaysRunPost": True}, SubmitOptions(force=True, always_post=True)),
    ({"DoRecovery": True, "UseDagDir": True}, SubmitOptions(recover=True, use_dag_directory=True)),
    ({"BatchName": "two words", "Notification": "never"}, SubmitOptions(batch_name="two words", notification="never")),
    ({"Priority": 5}, SubmitOptions(priority=5)),
]  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours"), CASES)
def test_the_description_says_what_that_of_the_reference_says(
    theirs: dict[str, Any], ours: SubmitOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "bin" / "condor_dagman"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    (tmp_path / "x.dag").write_text("JOB A a.sub\n")
    code = f"import htcondor2; htcondor2.Submit.from_dag('x.dag', {theirs!r})"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "CONDOR_CONFIG": "ONLY_ENV"})
    wanted = _values((tmp_path / "x.dag.condor.sub").read_text())
    found = _values(dag_description(("x.dag",), read_dag(["x.dag"], read_text), ours))
    kept = set(wanted.pop("getenv").split(",")) - {"ASAN_OPTIONS", "LSAN_OPTIONS"}
    assert kept <= set(found.pop("getenv").split(","))
    # A priority is the run's own here, too.
    found.pop("priority", None)
    assert _words(found.pop("arguments")) == _words(wanted.pop("arguments"))
    # There a run that its ABORT-DAG-ON ends with more than 2 is started again, and again.
    assert (
        wanted.pop("on_exit_remove")
        == "(ExitSignal =?= 11 || (ExitCode =!= UNDEFINED && ExitCode >=0 && ExitCode <= 2))"
    )
    remove = parse_expression(found.pop("on_exit_remove"))
    assert [code for code in (0, 1, 2, 3, 4, 255) if ClassAd(ExitCode=code).eval_expr(remove) is not True] == [3]
    assert [ClassAd(ExitSignal=signal).eval_expr(remove) for signal in (9, 11)] == [False, True]
    assert environment_from_submit(found.pop("environment")) == environment_from_submit(wanted.pop("environment"))
    assert found == wanted


def _values(text: str) -> dict[str, str]:
    lines = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, _, value in lines}


def _words(text: str) -> list[str]:
    words = list(arguments_from_submit(text))
    del words[words.index("-CsdVersion") + 1]
    return words
