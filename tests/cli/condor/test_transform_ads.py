"""``condor_transform_ads`` from file to file."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.condor.kit import run


def test_ads_are_changed_and_printed(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text('REQUIREMENTS N > 1\nSET Big true\nSET Of "$(who)"\n')
    (tmp_path / "ads").write_text("N = 1\n\nN = 2\n")
    done = run("condor_transform_ads", "-rules", "rules", "-in", "ads", "who=me", cwd=tmp_path)
    assert done == (0, 'N = 1\n\nBig = true\nN = 2\nOf = "me"\n\n', "")
    assert run("condor_transform_ads", "-rules", "rules", "ads", "who=me", cwd=tmp_path) == done
    run("condor_transform_ads", "-rules", "rules", "-in", "ads", "-out:json", "out", cwd=tmp_path)
    assert [len(ad) for ad in json.loads((tmp_path / "out").read_text())] == [1, 3]
    done = run("condor_transform_ads", "-rules", "rules", "-verbose", text="N = 2\n", cwd=tmp_path)
    assert done.err == "-: rules applied\n"


def test_rules_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "roost.config").write_text("JOB_TRANSFORM_Mark @=end\n  SET Mark 1\n@end\n")
    home = str(tmp_path)
    done = run("condor_transform_ads", "-jobtransforms", "Mark", text="N = 2\n", cwd=tmp_path, ROOST_HOME=home)
    assert done == (0, "Mark = 1\nN = 2\n\n", "")
    failed = run("condor_transform_ads", "-jobtransforms", "None", text="N = 2\n", cwd=tmp_path, ROOST_HOME=home)
    assert failed == (1, "", "ERROR : JOB_TRANSFORM_None is not defined\n")


def test_mistakes_are_told(tmp_path: Path) -> None:
    assert run("condor_transform_ads", text="").err.startswith("ERROR : no rules")
    assert "could not open rules file" in run("condor_transform_ads", "-rules", "nowhere", cwd=tmp_path).err
    (tmp_path / "bad").write_text("SETT A 1\n")
    assert "bad:1: SETT A 1" in run("condor_transform_ads", "-rules", "bad", text="A = 1\n", cwd=tmp_path).err
