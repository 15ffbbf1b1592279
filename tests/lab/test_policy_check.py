"""The lab refuses what daemons refuse."""

from __future__ import annotations

import pytest

from roost.config import MemoryHost, load_text
from roost.lab.machines import LabError
from roost.lab.policy_check import refuse_unreadable


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("STARTD_CRON_JOBLIST = A\nSTARTD_CRON_A_EXECUTABLE = /x\n", "<text>:1:1: error: STARTD_CRON_A_PERIOD"),
        ("USER_CEILINGS = ann\n", "<text>:1:1: error: USER_CEILINGS"),
        ("MAX_JOBS_RUNING = 3\n", "<text>:1:1: error: nothing reads MAX_JOBS_RUNING"),
        ("START = 1 +\n", "START is not an expression"),
    ],
)
def test_what_daemons_refuse_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(LabError, match=said):
        refuse_unreadable(load_text(text, MemoryHost()))
