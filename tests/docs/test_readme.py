"""The README shows what the commands print."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from roost.cli.__main__ import parser_of_all

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
#: Commands whose output a block shows, block by block, each with what it prints.
SESSIONS = [re.findall(r"^\$ ([^\n]*)\n(.*?)(?=^\$ |\Z)", block, re.DOTALL | re.MULTILINE) for block in BLOCKS]
#: Of the examples: what a job writes next to its description.
WRITTEN = re.compile(r"^(?:output|error|log|transfer_output_files)\s*=\s*(\S+)", re.MULTILINE)


@pytest.mark.parametrize("session", SESSIONS)
def test_a_session_of_the_readme_is_real(session: list[tuple[str, str]]) -> None:
    """It begins in a clone, and `cd` leads on from there."""
    place = ROOT
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    for command, shown in session:
        program, *words = shlex.split(command)
        if program == "cd":
            place /= words[0]
            continue
        assert program == "roost"
        words = [sys.executable, "-m", "roost.cli", *words]
        done = subprocess.run(
            words, cwd=place, capture_output=True, text=True, check=False, env=environment, encoding="utf-8"
        )
        assert (done.stdout + done.stderr).strip() == shown.strip(), command


def test_every_command_of_the_first_minute_can_be_typed() -> None:
    (minute,) = re.findall(r"```\n(\$ python3 -m venv.*?)```", README, re.DOTALL)
    place = ROOT
    for line in re.findall(r"^\$ (.*)$", minute, re.MULTILINE):
        program, *words = shlex.split(line)
        if program == "cd":
            place /= words[0]
        if program == "roost":
            args = parser_of_all().parse_args(words)
            assert args.command != "submit" or (place / args.file).is_file(), line


def test_what_the_examples_write_is_not_part_of_the_repository() -> None:
    written = [
        f"examples/{re.sub(r'[$][(].*?[)]', 'x', name)}"
        for path in (ROOT / "examples").glob("*.sub")
        for name in WRITTEN.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(written) > 8
    done = subprocess.run(["git", "check-ignore", *written], cwd=ROOT, capture_output=True, text=True, check=False)
    if "not a git repository" in done.stderr:
        pytest.skip("these are not the sources in a repository")
    assert done.stdout.split() == written


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#:]+)\)", README))
def test_a_link_of_the_readme_leads_somewhere(target):
    if target == "docs/reference/benchmarks.md" and not (ROOT / target).exists():
        pytest.fail("write the page of figures")
    assert (ROOT / target).exists()


def test_the_python_of_the_readme_runs():
    from roost.classad import ClassAd

    slot = ClassAd({"Memory": 2048})
    slot.set("Requirements", "TARGET.RequestMemory <= Memory")
    job = ClassAd({"RequestMemory": 1024})
    job.set("Requirements", "TARGET.Memory >= RequestMemory")
    names = {"slot_ads": [slot], "job_ad": job}
    first, second = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(first, names)
    assert names["machine"].eval("START", ClassAd({"RequestMemory": 1024})) is True
    exec(second, names)
    assert list(names["mask"]) == [True]
