"""How a queue handles a database that is damaged, replaced or removed while in use: it confirms nothing further, and
says so.

Its jobs continue to run. Later events cannot be stored, so they are ignored: machines repeat their reports, and
commands are refused at once instead of waiting for an answer. Only a restart, with a repaired database, continues from
there.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Executor
from typing import Final

from roost.runtime.database import Database
from roost.runtime.database_guard import Damaged, StoreError
from roost.runtime.home import Home
from roost.wire.messages import Answer

_log = logging.getLogger("roost.schedd")

#: Interval of checks of a database to which nothing is written, s.
WATCH_S: Final = 5.0
#: The remedy for the administrator.
REMEDY: Final = (
    "stop the pool with `roost down --leave-jobs` before the jobs' leases expire, restore the backup, and "
    "start the pool again"
)


class DatabaseWatch:
    """The watch over the database of a queue."""

    def __init__(self, database: Database, thread: Executor, home: Home, role: str) -> None:
        self._database = database
        self._thread = thread
        self._home = home
        self._role = role
        #: Why nothing is confirmed any longer; "" if there is no problem.
        self.damage = ""

    def found(self, damage: Damaged) -> None:
        """Note that the database is damaged."""
        if not self.damage:
            self.damage = str(damage)
            _log.critical("%s. No more requests are confirmed: %s", damage, REMEDY)
        self._home.note_problem(self._role, f"{damage}. No more requests are confirmed: {REMEDY}")

    def away(self, error: StoreError) -> None:
        """Note that the database cannot be written for now; changes, and their requesters, wait for it."""
        self._home.note_problem(self._role, f"{error}. Requests for changes are not answered until it can be written")

    def back(self) -> None:
        """Note that the database can be written again."""
        self._home.note_problem(self._role, "")

    def look(self) -> None:
        """Check whether its files still exist."""
        try:
            self._database.look()
        except Damaged as damage:
            self.found(damage)
        except StoreError as error:
            _log.debug("%s", error)

    def refusal(self) -> Answer | None:
        """The answer to requests for changes; None while changes are possible."""
        if not self.damage:
            return None
        return Answer(ok=False, code="database-damaged", text=f"nothing can be changed: {self.damage}", remedy=REMEDY)

    async def run(self) -> None:
        """Check the database periodically, and report its state where users look for it."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(WATCH_S)
            try:
                await loop.run_in_executor(self._thread, self._database.verify)
            except Damaged as damage:
                self.found(damage)
            except StoreError as error:
                # It is unavailable; writes wait for it.
                _log.debug("%s", error)
