"""The README shows what the commands print."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
SESSIONS = [
    (command, shown.strip())
    for block in BLOCKS
    for command, shown in re.findall(r"^\$ (roost [^\n]*)\n(.*?)(?=^\$ |\Z)", block, re.DOTALL | re.MULTILINE)
]


@pytest.mark.parametrize(("command", "shown"), SESSIONS, ids=[command for command, _ in SESSIONS])
def test_a_session_of_the_readme_is_real(command, shown):
    words = [sys.executable, "-m", "roost.cli", *shlex.split(command)[1:]]
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        words, cwd=ROOT / "demo/ads", capture_output=True, text=True, check=False, env=environment, encoding="utf-8"
    )
    assert (done.stdout + done.stderr).strip() == shown


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
