"""What a node daemon does at its start about runs that an earlier one left: adopt them, or bury them.

The earlier daemon kept the state of its machine (`roost.runtime.node_state`) and a record of every run. A run whose
slot and starter are known goes on where it was: its processes never noticed. Of any other, all that is left is killed
and removed, and its queue is told that nobody saw its end.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from roost.runtime.family import Family, adopt
from roost.runtime.runner import remove_record
from roost.runtime.sandbox import remove_tree

if TYPE_CHECKING:
    from roost.runtime.node_daemon import NodeDaemon

_log = logging.getLogger("roost.node")


async def take_over(daemon: NodeDaemon) -> None:
    """See to what an earlier daemon left."""
    home = daemon.context.home
    for record in sorted(path for path in home.jobs.iterdir() if path.is_dir()):
        await _bury(record)
    for left in sorted(home.execute.glob("dir_*")):
        problem = await asyncio.to_thread(remove_tree, left)
        if problem:
            _log.warning("%s", problem)


async def _bury(record: Path) -> None:
    """Nothing of a run is to be left."""
    found = await adopt(record, record.name)
    if isinstance(found, Family) and not found.is_ended:
        _log.warning("run %s belongs to no slot any more and is ended", found.key)
        await found.kill()
    await asyncio.to_thread(remove_record, record)
    shutil.rmtree(record, ignore_errors=True)
