"""Stories are told with what can be found out, and without long waits for the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from roost.cli.pool_connection import Pool, Refused
from roost.cli.terminal import CommandError
from roost.runtime.asking.story import job_happenings, slot_happenings
from roost.wire.requests import central, queue
from roost.wire.requests.machine import Story


class Stopped:
    """A pool whose central manager is stopped: it takes what is asked and never replies."""

    error_class: ClassVar = CommandError
    refused_class: ClassVar = Refused
    warn = Pool.warn

    def __init__(self) -> None:
        self.contact = {"node": "here"}
        self.waits: list[float] = []

    def ask(self, request: object, *, machine: str = "", within_s: float = 30.0) -> Any:
        if isinstance(request, central.AuditTrail):
            self.waits.append(within_s)
            raise CommandError(f"no answer within {within_s:g} s: `roost status --daemons` shows what runs")
        if isinstance(request, Story):
            return []
        return [{"ClusterId": 1, "ProcId": 0, "QDate": 5, "Owner": "ann"}] if isinstance(request, queue.Query) else []


@pytest.mark.parametrize("what", ["job", "slot"])
def test_a_central_manager_that_is_stopped_is_waited_for_once_and_told_of_once(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = Stopped()
    if what == "job":
        assert job_happenings(cast(Pool, pool), "1.0")
    else:
        assert slot_happenings(cast(Pool, pool), "slot1@here", 5) == []
    assert capsys.readouterr().err.count("the audit trail is missing from this story: no answer within 6 s") == 1
    assert pool.waits == [6.0]
