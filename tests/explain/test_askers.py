"""What would help is told to whoever asks; who may do it is said to others than the job's owner."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd
from roost.cli.explain.job import show
from roost.explain.job import JobQuestion, explain_job


@pytest.mark.parametrize(
    ("asker", "heading"),
    [
        ("ann", "What would help:"),
        ("bob", "What would help (only ann or an administrator can change the job):"),
    ],
)
def test_only_its_owner_is_asked_to_change_a_job(asker: str, heading: str, capsys: pytest.CaptureFixture[str]) -> None:
    ad = ClassAd({"JobStatus": 5, "Owner": "ann", "HoldReason": "via roost hold", "HoldReasonCode": 1})
    show(explain_job(JobQuestion(name="1.0", ad=ad)), asker)
    lines = capsys.readouterr().out.splitlines()
    assert heading in lines and any("roost release 1.0" in line for line in lines)
