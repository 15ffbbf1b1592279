"""`make demo` plays to its end, and shows what it announces."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.integration.kit import ROOT

#: It takes a minute on a machine with nothing else to do.
PATIENCE_S: Final = 600.0
#: What the audience sees, in this order.
STORY: Final = (
    r"\$ roost up --detach\npool in \S+ is up",
    r"1 job submitted to cluster 2\n",
    r"slot1@\S+ +Owner/Idle → Unclaimed/Idle: owner absent\n +IsOwner is FALSE\n +KeyboardIdle > 4: ",
    r"job 1\.0 +submitted\n",
    r"job 1\.0 +finished with status 0\n",
    r"job 2\.0 +started on slot1@",
    r"the owner +presses a key",
    r"Claimed/Busy → Claimed/Suspended: SUSPEND true \(job 2\.0\)\n +SUSPEND is TRUE",
    r"job 2\.0 +suspended\n",
    r"Claimed/Suspended → Claimed/Busy: CONTINUE true \(job 2\.0\)",
    r"job 2\.0 +resumed\n",
    r"the owner +sits down and types",
    r"Claimed/Suspended → Claimed/Retiring: PREEMPT true \(job 2\.0\)",
    r"job 2\.0 +evicted: PREEMPT expression evaluated to True; it is idle again\n",
    r"\$ roost explain job 2\.0\nJob 2\.0 \(\w+\) has been waiting",
    r" 1 +rejects the job: KeyboardIdle > 4\n",
    r"What would help:\n +- Wait: its owner's policy does not give slot1@",
    r"START is FALSE",
    r"the owner +goes home",
    r"job 2\.0 +started on slot1@",
    r"job 2\.0 +finished with status 0\n",
    r"job 3\.2 +finished with status 0\n",
    r"\$ roost story job 2\.0\n\S+ +job 2\.0 +submitted",
    r"\$ cat count\.out\ngoing on from \d+\n(counted \d+\n)*counted 20\n",
    r"\$ roost history\n",
    r"pool in \S+ is down",
)


def readme_block() -> str:
    """The part of the demonstration that the README shows."""
    (block,) = re.findall(r"```\n(▶.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    return str(block)


def plain(text: str) -> str:
    """What is printed, without what differs from run to run: times, figures, names, and how lines are folded."""
    for pattern, instead in (
        (r"\d\d:\d\d:\d\d", "TIME"),
        (r"slot1@\w+", "slot1@HOST"),
        (r"Job 2\.0 \(\w+\)", "Job 2.0 (USER)"),
        (r"\[/\S*/roost\.config", "[roost.config"),
        (r"\bis \d+(\.\d+)?", "is N"),
        (r"\s+", " "),
    ):
        text = re.sub(pattern, instead, text)
    return text.strip()


@pytest.mark.slow
def test_the_demonstration_tells_its_whole_story(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ROOST_", "_CONDOR_"))}
    demo = subprocess.Popen(
        [sys.executable, "-m", "demo"],
        cwd=ROOT,
        env={**environment, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        shown, complaints = demo.communicate(timeout=PATIENCE_S)
    finally:
        # It ends its pool.
        demo.terminate()
        demo.communicate()
    assert (demo.returncode, complaints) == (0, ""), shown
    at = 0
    for each in STORY:
        found = re.compile(each).search(shown, at)
        assert found, f"{each} is not in what follows:\n{shown[at:]}"
        at = found.end()
    assert plain(readme_block()) in plain(shown)
    assert not list(tmp_path.iterdir())
