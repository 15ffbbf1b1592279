"""``roost shims``: scripts that are written once, and the words that make a shell find them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from roost.cli import shims
from roost.cli.__main__ import main
from roost.cli.condor.names import COMMANDS


def test_a_shell_that_evaluates_the_words_finds_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "with blank"))
    assert main(["shims", "condor", "--shell", "sh"]) == 0
    words = capsys.readouterr().out
    for shell in ("sh", "bash", "zsh"):
        if shutil.which(shell):
            script = f'{words}{words}condor_version; command -v condor_q; printf %s "$PATH"'
            done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True)
            lines = done.stdout.splitlines()
            assert lines[0].startswith("$CondorVersion: 25.") and lines[1].startswith("$CondorPlatform: ")
            assert Path(lines[2]).parent == shims.default_directory("condor")
            assert lines[3].split(":").count(str(shims.default_directory("condor"))) == 1


@pytest.mark.parametrize(
    ("shell", "start"), [("fish", "if not contains -- '/a b' $PATH"), ("tcsh", "if ( ! $?PATH )"), ("zsh", "case ")]
)
def test_each_shell_has_words_of_its_own(shell: str, start: str) -> None:
    assert shims.words(shell, "PATH", "/a b").startswith(start)


def test_scripts_are_written_once_and_replaced_when_they_differ(tmp_path: Path) -> None:
    shims.write_commands(tmp_path, {"one": "pass\n"})
    first = (tmp_path / "one").stat()
    shims.write_commands(tmp_path, {"one": "pass\n"})
    assert (tmp_path / "one").stat().st_ino == first.st_ino
    shims.write_commands(tmp_path, {"one": "print(1)\n"})
    assert subprocess.run([tmp_path / "one"], capture_output=True, text=True, check=True).stdout == "1\n"
    assert [each.name for each in tmp_path.iterdir()] == ["one"]


def test_an_interpreter_with_a_long_path_is_started_through_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / ("long " * 30)
    place.mkdir()
    (place / "python").symlink_to(os.path.realpath(shims.sys.executable))
    monkeypatch.setattr(shims.sys, "executable", str(place / "python"))
    shims.write_commands(tmp_path / "bin", {"one": "print(sys.argv[1:])\n"})
    done = subprocess.run([tmp_path / "bin" / "one", "a b"], capture_output=True, text=True, check=True)
    assert done.stdout == "['a b']\n"


def test_a_directory_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shims", "condor", "--dir", str(tmp_path), "--path"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}\n"
    assert sorted([*COMMANDS, "share"]) == sorted(each.name for each in tmp_path.iterdir())


def test_what_a_directory_has_in_share_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "share").mkdir()
    (tmp_path / "share/mine").touch()
    assert main(["shims", "condor", "--dir", str(tmp_path), "--path"]) == 0
    assert [each.name for each in (tmp_path / "share").iterdir()] == ["mine"]


def test_modules_are_packages_beside_a_link_to_this_copy_of_roost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert main(["shims", "python", "--dir", str(tmp_path), "--shell", "sh"]) == 0
    assert capsys.readouterr().out.startswith('case ":${PYTHONPATH-}" in ')
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "classad", "classad2", "drmaa", "htcondor", "htcondor2", "roost"
    ]  # fmt: skip
    assert (tmp_path / "roost").resolve() == Path(shims.__file__).resolve().parents[1]
    assert (tmp_path / "htcondor2" / "dags" / "__init__.py").exists()


def test_grid_engines_users_find_its_commands_and_its_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "a pool"
    monkeypatch.setenv("ROOST_HOME", str(home))
    arguments = ["shims", "gridengine", "--dir", str(tmp_path / "bin"), "--shell", "sh"]
    assert main(arguments) == 2
    assert f"there is no pool in {home}" in capsys.readouterr().err
    home.mkdir()
    common = home / "gridengine/default/common"
    assert main(arguments) == 0
    words = capsys.readouterr().out
    (common / "sge_request").write_text("-l h_rt=1:0:0\n")
    assert main(arguments) == 0
    assert (common / "sge_request").read_text() == "-l h_rt=1:0:0\n"
    script = f'{words}command -v qsub; cat "$SGE_ROOT/$SGE_CELL/common/act_qmaster"; qsub -help | head -2'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    qsub, qmaster, *usage = done.stdout.splitlines()
    assert qsub == str(tmp_path / "bin/qsub") and qmaster and usage == ["SGE 8.1.9", "usage: qsub [options]"]
    plain = f'. "{common}/settings.sh"; command -v qsub; echo "$SGE_ROOT"; echo "$MANPATH"'
    bare = {"PATH": os.environ["PATH"]}
    done = subprocess.run(["sh", "-c", plain], capture_output=True, text=True, env=bare, check=True)
    root = home / "gridengine"
    arc = subprocess.run([root / "util/arch"], capture_output=True, text=True, check=True).stdout.strip()
    assert done.stdout.splitlines() == [str(root / "bin" / arc / "qsub"), str(root), f"{root}/man:"]
    assert (root / "man/man1/qsub.1").is_file()


def test_scripts_and_modules_that_name_a_pool_find_it_in_an_empty_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "it's a pool"
    home.mkdir()
    (home / "roost.config").write_text("use ROLE : Personal\nAnswer = 42\n")
    assert main(["shims", "condor", "--home", str(home), "--path"]) == 0
    commands = Path(capsys.readouterr().out.strip())
    # Those without a pool are left as they are.
    assert commands != shims.default_directory("condor")
    script = [commands / "condor_config_val", "Answer"]
    bare = {"PATH": "/usr/bin:/bin"}
    assert subprocess.run(script, capture_output=True, text=True, env=bare, check=True).stdout == "42\n"
    # The environment counts more where it names one.
    other = tmp_path / "other"
    other.mkdir()
    (other / "roost.config").write_text("Answer = 6\n")
    elsewhere = bare | {"ROOST_HOME": str(other)}
    assert subprocess.run(script, capture_output=True, text=True, env=elsewhere, check=True).stdout == "6\n"
    assert main(["shims", "python", "--home", str(home), "--path"]) == 0
    modules = capsys.readouterr().out.strip()
    program = [shims.sys.executable, "-c", "import htcondor2; print(htcondor2.param['Answer'])"]
    done = subprocess.run(program, capture_output=True, text=True, env=bare | {"PYTHONPATH": modules}, check=True)
    assert done.stdout == "42\n"
    assert main(["shims", "gridengine", "--home", str(home), "--path"]) == 2
    assert "set ROOST_HOME" in capsys.readouterr().err
