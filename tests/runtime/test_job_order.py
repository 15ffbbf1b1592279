"""What a job is started with. tests/runtime/test_starting.py starts processes with it."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd
from roost.config import LoadOptions, MemoryHost, load
from roost.runtime.node.runs.job_order import niceness


@pytest.mark.parametrize(
    ("text", "nice"),
    [
        ("", 0),
        ("use POLICY : Background_Jobs(15)", 15),
        ("JOB_RENICE_INCREMENT = 4", 4),
        ("JOB_RENICE_INCREMENT = ifThenElse(TARGET.Owner == \"ada\", 3, MY.Cpus + 5)", 7),
        ("JOB_RENICE_INCREMENT = 40", 19),
        ("JOB_RENICE_INCREMENT = -4", 0),
        ("JOB_RENICE_INCREMENT = undefined", 0),
    ],
)  # fmt: skip
def test_a_jobs_nice_value_is_what_the_machine_says(text: str, nice: int) -> None:
    config = load(MemoryHost(files={"/c": text}), LoadOptions(roots=("/c",), subsystem="STARTD", environment=False))
    assert niceness(config, ClassAd({"Cpus": 2}), ClassAd({"Owner": "ben"})) == nice
