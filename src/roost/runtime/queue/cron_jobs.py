"""The programs of SCHEDD_CRON_JOBLIST, which the queue's daemon runs, and the attributes that they add to its ad.

They have a separate fork server and directory, created when the first program is configured.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from roost.classad import ClassAd
from roost.config import Config, ConfigError
from roost.node.cron import SCHEDD_CRON, CronPlan, cron_plan
from roost.runtime.background import Background
from roost.runtime.clock import Clock
from roost.runtime.home import Home
from roost.runtime.processes.cron import CronAround, CronPrograms
from roost.runtime.processes.fork_server import ForkServer, ForkServerFailed
from roost.runtime.processes.hook_programs import remove_hook_calls
from roost.runtime.role import ConfigurationRefused
from roost.wire.ads import ad_data

_log = logging.getLogger("roost.schedd")

#: How long a program may take to exit at the daemon's end, s.
_END_S: Final = 10.0


def queue_cron_plan(config: Config) -> CronPlan:
    """Read the programs. Raises ConfigurationRefused."""
    try:
        return cron_plan(config, SCHEDD_CRON)
    except ConfigError as error:
        raise ConfigurationRefused(str(error)) from None


class QueueCron:
    """The programs of a queue."""

    def __init__(self, home: Home, clock: Clock, plan: CronPlan, changed: Callable[[], None]) -> None:
        self._home = home
        self._clock = clock
        self._plan = plan
        self._changed = changed
        #: The queue's ad, for which conditions are evaluated; set when it is published.
        self.ad: dict[str, Any] = {}
        self._fork_server: ForkServer | None = None
        self._programs: CronPrograms | None = None
        self._background = Background(_log)

    async def begin(self) -> None:
        """Start the programs, if there are any."""
        if not self._plan.jobs:
            return
        place = self._home.run / "schedd-cron"
        place.mkdir(mode=0o700, exist_ok=True)
        try:
            self._fork_server = await ForkServer.start(self._home.run / "schedd-nursery")
        except ForkServerFailed as error:
            _log.error("the programs of SCHEDD_CRON_JOBLIST cannot run: %s", error)
            return
        await remove_hook_calls(place)
        fork_server = self._fork_server
        around = CronAround(
            clock=self._clock,
            execute=place,
            directory=self._home.log,
            fork_server=lambda: fork_server,
            spawn=self._background.spawn,
            ad=lambda: ClassAd(self.ad),
            changed=lambda _: self._changed(),
            log=_log,
        )
        self._programs = CronPrograms(around, self._plan)
        self._programs.begin()

    async def reconfigure(self, plan: CronPlan) -> None:
        """Use other programs from now on."""
        self._plan = plan
        if self._programs is None:
            await self.begin()
        else:
            await self._programs.reconfigure(plan)

    async def stop(self) -> None:
        """End the programs."""
        await self._background.end(_END_S)
        if self._fork_server is not None:
            await self._fork_server.close()

    def attributes(self) -> dict[str, Any]:
        """The output of the programs."""
        found: dict[str, Any] = {}
        for each in () if self._programs is None else self._programs.ads:
            found |= ad_data(each.attributes)
        return found
