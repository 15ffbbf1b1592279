"""The command ``roost explain expr``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from roost.cli.__main__ import main

MACHINE = 'KeyboardIdle = 12\nLoadAvg = 0.1\nCondorLoadAvg = 0.0\nState = "Owner"\nActivity = "Idle"\n'


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "pool.config"
    lines = ("use POLICY : Desktop", 'START = ($(START)) || TARGET.Owner == "ada"', 'SITE = "x"', "STARTD_ATTRS = SITE")
    path.write_text("\n".join(lines))
    return path


def test_an_expression_between_two_ads_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["explain", "expr", "TARGET.Memory >= 5", "--my", "a = 1", "--target", "[Memory = 4]"])
    out = capsys.readouterr().out
    assert code == 1
    assert "FALSE: TARGET.Memory is 4" in out
    assert "It would be TRUE if TARGET.Memory were >= 5 (is 4)." in out


def test_true_gives_exit_code_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "expr", "1 < 2"]) == 0
    assert capsys.readouterr().out.startswith("The expression is TRUE\n")


def test_a_knob_is_looked_up_and_its_place_is_shown(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ad = tmp_path / "slot.ad"
    ad.write_text(MACHINE)
    code = main(["explain", "expr", "start", "-c", str(config), "--my", str(ad), "--target", '[Owner = "bob"]'])
    out = capsys.readouterr().out
    assert code == 1
    assert out.startswith(f"start is FALSE [{config.resolve()}:2]")
    assert "FALSE: KeyboardIdle is 12, 15 * 60 is 900" in out


def test_the_configured_policy_is_in_the_machine_ad(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "expr", 'SITE == "x" && !IsOwner', "-c", str(config), "--my", MACHINE, "--json"]) == 0
    site, owner = json.loads(capsys.readouterr().out)["clauses"]
    assert site["attributes"][0]["origin"]["line"] == 3
    assert [step["name"] for step in owner["path"]] == ["IsOwner", "START"]
    assert owner["text"] == 'TARGET.Owner == "ada"'


def test_a_knob_is_known_by_its_attribute_too(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "expr", "IsOwner", "-c", str(config)]) == 1
    assert "POLICY:Desktop" in capsys.readouterr().out


def test_the_place_is_the_users_line_and_the_template_is_behind_it(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["explain", "expr", "PREEMPT", "-c", str(config), "--my", MACHINE, "--json"])
    origin = json.loads(capsys.readouterr().out)["origin"]
    assert (origin["file"], origin["line"]) == (str(config.resolve()), 1)
    assert origin["via"].startswith("in POLICY:Desktop:")


def test_macros_in_an_expression_are_expanded(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "expr", "$(MINUTE) == 60", "-c", str(config)]) == 0
    assert "60 == 60" in capsys.readouterr().out


def test_macros_without_configuration_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "expr", "$(MINUTE) == 60"]) == 2
    assert "--config" in capsys.readouterr().err


def test_defaults_stand_for_knobs_that_nobody_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.config"
    path.write_text("")
    assert main(["explain", "expr", "WANT_VACATE", "-c", str(path)]) == 0
    assert "[<default>]" in capsys.readouterr().out


def test_the_time_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "expr", "time() == 77", "--time", "77"]) == 0
    assert "TRUE" in capsys.readouterr().out


def test_a_text_that_is_no_expression_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "expr", "a &&"]) == 2
    assert "operand" in capsys.readouterr().err


def test_what_is_wrong_with_the_configuration_is_a_warning_beside_the_explanation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pool.config"
    file.write_text("use SECURITY : Stronge\nuse SECURITY : Strong\nSTART = KeyboardIdle > 5\n")
    assert main(["explain", "expr", "START", "-c", str(file), "--my", "KeyboardIdle = 9"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"START is TRUE [{file.resolve()}:3]")
    assert err.startswith(f"roost: warning: {file.resolve()}:1:1: there is no template SECURITY:Stronge")
    assert len(err.splitlines()) == 1


def test_a_submit_command_stands_for_the_attribute_it_sets(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["explain", "expr", "periodic_hold", "--my", "[PeriodicHold = NumJobStarts > 3; NumJobStarts = 5]"]) == 0
    )
    assert "NumJobStarts is 5" in capsys.readouterr().out


def test_a_macro_that_is_taken_for_an_attribute_is_pointed_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pool.config"
    file.write_text("START = NODE_IS_HEALTHY =?= True\nNODE_IS_HEALTHY = True\n")
    assert main(["explain", "expr", "START", "-c", str(file)]) == 1
    assert capsys.readouterr().out.endswith(
        f"\nNODE_IS_HEALTHY is a macro, set at {file.resolve()}:2:1: "
        "write $(NODE_IS_HEALTHY), or list it in STARTD_ATTRS.\n"
    )


def test_configuration_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "expr", "START", "-c", "/no/such"]) == 2
    assert capsys.readouterr().err.startswith("roost: cannot read '/no/such'.")


def test_the_session_in_the_reference_is_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    page = (Path(__file__).resolve().parents[2] / "docs/reference/cli-explain.md").read_text(encoding="utf-8")
    session = page.split("```\n$ ")[1].split("```")[0]
    command, _, output = session.partition("\n")
    main(shlex.split(command)[1:])
    assert capsys.readouterr().out == output
