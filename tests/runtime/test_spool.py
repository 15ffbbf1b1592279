"""What a queue keeps of its jobs' files, and that it keeps nothing of jobs that have left."""

from __future__ import annotations

import asyncio
from pathlib import Path

from roost.runtime.deputies import Deputies
from roost.runtime.spool import Spool
from tests.schedd.queue_world import World, source


def test_what_a_killed_daemon_kept_of_jobs_that_had_left_is_swept_away(tmp_path: Path) -> None:
    world = World()
    cluster = world.submit(source(2))
    kept = [f"{cluster}.0", f"{cluster}.1.new", "history", "job_queue.log.1"]
    left = [f"{cluster}.2", f"{cluster}.2.new", f"{cluster + 1}.0"]
    for name in (*kept, *left):
        (tmp_path / name / "deep").mkdir(parents=True)

    async def sweep() -> None:
        Spool(tmp_path, Deputies()).sweep(world.queue)

    # What is removed beside is waited for at the end.
    asyncio.run(sweep())
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(kept)
