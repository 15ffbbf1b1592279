"""What a starter hears of a prolog, or of another program around the job, that could not be run."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from roost.model import starter_effects as sef
from roost.model import starter_events as sev
from roost.model.starter import ScriptPoint
from roost.runtime.node.runs.job_hooks import JobHooks


class Full(JobHooks):
    """Hooks of a job where the disk has no room."""

    async def _script(self, *_: Any) -> int | None:
        raise OSError(28, "No space left on device")


def test_a_disk_without_room_for_the_host_file_does_not_hang_the_run() -> None:
    told: list[object] = []
    hooks = Full.__new__(Full)
    around = SimpleNamespace(tell=told.append)
    hooks._runner = cast(Any, SimpleNamespace(run="run", in_log="job 1.0", around=around, has_printed=False))
    asyncio.run(hooks.script(sef.RunScript(point=ScriptPoint.PROLOG, command="/bin/true", job_status=1)))
    assert told == [sev.ScriptEnded(point=ScriptPoint.PROLOG, status=None)]
