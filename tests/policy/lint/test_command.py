"""``roost policy lint`` and ``roost policy rules`` as a user runs them."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from roost.cli.__main__ import main

BAD = "START = TARGET.NumJobStarts == UNDEFINED || TARGET.NumJobStarts < 3\n"


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.config"
    path.write_bytes(BAD.encode())
    return path


def test_exit_status_tells_clean_from_findings_from_unreadable(
    bad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = tmp_path / "good.config"
    good.write_text("START = KeyboardIdle > 900\n")
    assert main(["policy", "lint", str(good)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["policy", "lint", str(bad)]) == 1
    assert main(["policy", "lint", str(tmp_path / "none")]) == 2
    assert main(["policy", "lint"]) == 2


def test_the_level_decides_what_is_shown_and_counted(bad: Path) -> None:
    assert main(["policy", "lint", "--level", "error", str(bad)]) == 0
    assert main(["policy", "lint", "--level", "note", str(bad)]) == 1


def test_output_names_place_code_and_remedy(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["policy", "lint", str(bad)])
    out = capsys.readouterr().out
    assert f"{bad}:1:9: warning RST103: TARGET.NumJobStarts == UNDEFINED is always UNDEFINED" in out
    assert "1 warning; --fix can correct 1" in out


def test_json_is_one_document(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "lint", "--json", str(bad)]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [one["code"] for one in document["findings"]] == ["RST103"]
    assert document["findings"][0]["fix"]["edits"][0]["new"] == "=?="
    assert document["sources"] == [str(bad)]


def test_diff_changes_nothing_and_fix_changes_only_what_it_shows(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "lint", "--diff", str(bad)]) == 1
    assert "+START = TARGET.NumJobStarts =?= UNDEFINED" in capsys.readouterr().out
    assert bad.read_bytes() == BAD.encode()
    assert main(["policy", "lint", "--fix", str(bad)]) == 0
    assert bad.read_bytes() == BAD.replace("==", "=?=").encode()


def test_a_file_that_cannot_be_corrected_is_left_as_it_was(
    bad: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    assert main(["policy", "lint", "--fix", str(bad)]) == 2
    assert f"{bad} is unchanged: No space left on device" in capsys.readouterr().err
    assert bad.read_bytes() == BAD.encode()
    assert list(bad.parent.iterdir()) == [bad]


def test_a_correction_keeps_mode_and_link_of_a_file(bad: Path) -> None:
    bad.chmod(0o640)
    link = bad.with_name("link.config")
    link.symlink_to(bad)
    assert main(["policy", "lint", "--fix", str(link)]) == 0
    assert link.is_symlink() and bad.read_bytes() == BAD.replace("==", "=?=").encode()
    assert stat.S_IMODE(bad.stat().st_mode) == 0o640


def test_a_rule_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "lint", "--explain", "rst103"]) == 0
    assert capsys.readouterr().out.startswith("# RST103: ")
    assert main(["policy", "lint", "--explain", "RST999"]) == 2


def test_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 100
    assert main(["policy", "rules", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(lines)


def test_a_job_ad_makes_its_attributes_known(tmp_path: Path) -> None:
    config, job, broken = tmp_path / "a.config", tmp_path / "job.ad", tmp_path / "broken.ad"
    config.write_text("START = TARGET.JobUniversee =?= 5 || TARGET.JobPrio > 0\n")
    job.write_text('JobUniversee = 5\nOwner = "me"\n')
    broken.write_text("JobUniverse = = 5\n")
    assert main(["policy", "lint", str(config)]) == 1
    assert main(["policy", "lint", "--job", str(job), str(config)]) == 0
    assert main(["policy", "lint", "--job", str(broken), str(config)]) == 2


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_a_code_that_no_rule_has_is_an_error(option: str, bad: Path) -> None:
    assert main(["policy", "lint", option, "RTS403", str(bad)]) == 2
    assert main(["policy", "lint", option, "RST9", str(bad)]) == 2


def test_a_missing_path_is_told_once_and_an_empty_directory_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["policy", "lint", str(tmp_path / "none")]) == 2
    told = capsys.readouterr()
    assert told.out.count(str(tmp_path / "none")) == 2 and told.err == ""
    assert main(["policy", "lint", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert told.out == "" and str(tmp_path) in told.err


def test_a_finding_in_a_template_begins_with_the_line_that_uses_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hours.config"
    path.write_text('use POLICY : Desktop\nStartIdleTime = "900"\n')
    assert main(["policy", "lint", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{path}:1:1: error RST102")
    assert lines[1].startswith("    in a template: FEATURE:UWCS_DESKTOP_POLICY_VALUES:")


def test_what_a_terminal_would_obey_is_shown_as_an_escape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd.config"
    path.write_text('START = TARGET.Owner == "\x1b[2J" + "\u202e"\n', encoding="utf-8")
    main(["policy", "lint", str(path)])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "\\x1b[2J" in out


def repeated(tmp_path: Path, number: int) -> Path:
    path = tmp_path / "many.config"
    path.write_text("".join(f"A{n} = $(Missing)\n" for n in range(number)))
    return path


def test_equal_findings_are_one_with_their_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = repeated(tmp_path, 12)
    assert main(["policy", "lint", str(path)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0] == f"{path}:1:6: warning RST508: $(Missing) is not defined (12 times)"
    assert out[-2:] == ["    also on line 2, 3, 4, 5, 6, 7, 8, 9, …", "12 warnings"]
    assert len(out) == 4


def test_sarif_has_the_rules_and_each_finding_at_its_place(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "lint", "--format", "sarif", str(bad)]) == 1
    document = json.loads(capsys.readouterr().out)
    [run] = document["runs"]
    assert document["version"] == "2.1.0"
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    [result] = run["results"]
    assert rules[result["ruleId"]]["shortDescription"]["text"]
    assert (result["ruleId"], result["level"]) == ("RST103", "warning")
    place = result["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 1, "startColumn": 9, "endColumn": 41}
    assert Path(place["artifactLocation"]["uri"]).name == "bad.config"


def test_annotations_are_commands_of_a_workflow(
    bad: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bad.parent)
    assert main(["policy", "lint", "--format", "github", str(bad)]) == 1
    line, *more = capsys.readouterr().out.splitlines()
    assert more == []
    assert line.startswith("::warning file=bad.config,line=1,col=9,title=RST103::TARGET.NumJobStarts == UNDEFINED")
    assert "%0A" in line


def test_a_baseline_leaves_out_what_is_known_and_tells_what_is_new(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, known = repeated(tmp_path, 2), tmp_path / "known.json"
    assert main(["policy", "lint", str(path), "--write-baseline", str(known)]) == 0
    assert main(["policy", "lint", str(path), "--baseline", str(known)]) == 0
    assert capsys.readouterr().out == ""
    # Lines before it move what is known; a third of the same kind is new.
    path.write_text("# a comment\n" + path.read_text() + "A1 = $(Missing)\nB = $(Other)\n")
    assert main(["policy", "lint", str(path), "--baseline", str(known)]) == 1
    out = capsys.readouterr().out
    assert "$(Other) is not defined" in out
    known.write_text("[]")
    assert main(["policy", "lint", str(path), "--baseline", str(known)]) == 2
    assert "is not a baseline of version 1" in capsys.readouterr().err


def test_a_copy_of_etc_condor_is_read_as_the_daemons_read_the_original(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "condor"
    (copy / "config.d").mkdir(parents=True)
    (copy / "condor_config").write_text("LOCAL_CONFIG_DIR = /etc/condor/config.d\nSTART = 1 +\n")
    (copy / "config.d" / "10.config").write_text("START = True\nIS_OWNER = False\nALLOW_WRITE = *\n")
    # Beside the files that are read; by its name alone it would be a configuration.
    (copy / "unread.config").write_text("START = 1 +\n")
    assert main(["policy", "lint", str(copy)]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[0].startswith(f"{copy}/config.d/10.config:3:1: warning RST532")
    assert "1 warning\n" in out
    assert main(["config", "get", "-c", str(copy), "START"]) == 0
    assert capsys.readouterr().out == "True\n"


def test_the_machine_comes_from_the_output_of_condor_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, config = tmp_path / "status.txt", tmp_path / "a.config"
    ad = 'Machine = "m1.example.org"\nDetectedCpus = {}\nDetectedMemory = 4000\nName = "slot{}@m1.example.org"\n'
    status.write_text("\n" + ad.format(8, 1) + "\n" + ad.format(4, 2) + "\n")
    config.write_text(
        "MEMORY = $(DETECTED_MEMORY)\nSLOT_TYPE_1 = cpus=1, mem=3000\nNUM_SLOTS_TYPE_1 = 2\nIS_OWNER = False\n"
    )
    assert main(["policy", "lint", "--slot-ad", str(status), str(config)]) == 1
    assert "all slots together take 150 % of memory" in capsys.readouterr().out
