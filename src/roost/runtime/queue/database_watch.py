"""What a queue does about a database that is damaged, replaced or gone under it: confirm nothing more, and say so.

Its jobs run on. What happened since cannot be kept, so it is not taken note of either: machines repeat their reports,
and commands are refused at once instead of waiting for an answer. Only a new start, with a database that was put right,
goes on from there.
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

#: How often a database to which nothing is written is looked at, s.
WATCH_S: Final = 5.0
#: What the administrator does.
REMEDY: Final = (
    "end the pool with `roost down --leave-jobs` within the lease of the jobs, restore the backup, and start it again"
)


class DatabaseWatch:
    """The watch over the database of a queue."""

    def __init__(self, database: Database, thread: Executor, home: Home, role: str) -> None:
        self._database = database
        self._thread = thread
        self._home = home
        self._role = role
        #: Why nothing is confirmed any more; "" while all is well.
        self.damage = ""

    def found(self, damage: Damaged) -> None:
        """The database is damaged."""
        if not self.damage:
            self.damage = str(damage)
            _log.critical("%s. No more requests are confirmed: %s", damage, REMEDY)
        self._home.note_problem(self._role, f"{damage}. No more requests are confirmed: {REMEDY}")

    def away(self, error: StoreError) -> None:
        """The database cannot be written for now; changes wait for it, and so do those who asked for them."""
        self._home.note_problem(self._role, f"{error}. Requests for changes are not answered until it can")

    def back(self) -> None:
        """The database can be written again."""
        self._home.note_problem(self._role, "")

    def look(self) -> None:
        """Look whether its files are still there."""
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
        """Look at the database now and then, and keep the word about it where it is looked for."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(WATCH_S)
            try:
                await loop.run_in_executor(self._thread, self._database.verify)
            except Damaged as damage:
                self.found(damage)
            except StoreError as error:
                # It is away; what is to be written waits for it.
                _log.debug("%s", error)
