"""The guide to submission rules names the attributes that the queue keeps, all of them and no others."""

from __future__ import annotations

import re
from pathlib import Path

from roost.classad.values import fold
from roost.schedd.jobs.owned import IMMUTABLE, RECORDED

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "submission-rules.md"


def test_the_guide_lists_the_attributes_that_the_queue_keeps() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## Attributes that the queue keeps")[2]
    what_it_is, _, happened = text.partition("What has happened to a job:")
    listed = [
        {fold(name) for name in re.findall(r"`(\w+)`", part)}
        for part in (what_it_is.partition("after submission:")[2], happened.partition("`JobPrio`")[0])
    ]
    assert listed == [IMMUTABLE, RECORDED]
