"""The pool behind these commands: found like by `roost`'s own commands, with errors in HTCondor's words.

A Roost pool is found by its state directory (ROOST_HOME). ``-pool`` and ``-name`` are accepted if they name that pool
and its queue or machine; any other name is refused, never ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from roost.cli.condor.errors import ToolError
from roost.cli.condor.options import Given, Option
from roost.cli.pool_connection import Pool, Refused, connected
from roost.cli.terminal import CommandError
from roost.runtime.bus.pool_client import is_called, is_pool
from roost.runtime.home import Home, HomeError

if TYPE_CHECKING:
    from roost.config import Config

T = TypeVar("T")

#: Options that name a command's pool and daemon.
PLACE_OPTIONS: Final = (
    Option("name", "query the queue with this name", takes="NAME", least=1),
    Option("pool", "query this pool, named by its name or its central manager", takes="HOST", least=1),
)


class DaemonLocation:
    """Which pool and which of its daemons a command uses."""

    def __init__(self) -> None:
        self.pool = ""
        self.name = ""

    def take(self, option: Given) -> bool:
        """Note an option of `PLACE_OPTIONS`; return whether it was one."""
        if option.name == "pool":
            self.pool = option.value
        elif option.name == "name":
            self.name = option.value
        else:
            return False
        return True

    def ask(self, work: Callable[[Pool], T], *, lost: str = "Error: Can't find address of local schedd") -> T:
        """Run a function with the pool. Raises ToolError, which begins with `lost` if no pool is found."""
        context = connected(Home.find(None))
        try:
            pool = context.__enter__()
        except CommandError as error:
            raise ToolError(f"{lost}\n{error}") from None
        try:
            self._check(pool.home, pool.contact)
            return work(pool)
        except Refused:
            raise
        except CommandError as error:
            raise ToolError(f"{lost}\n{error}") from None
        finally:
            context.__exit__(None, None, None)

    def check_files(self) -> None:
        """Raise ToolError if a name is given that is not this pool's, for a command that only reads its files."""
        if not (self.pool or self.name):
            return
        home = Home.find(None)
        try:
            self._check(home, home.contact())
        except HomeError as error:
            raise ToolError(f"Error: Can't find address for {self.name or self.pool}\n{error}") from None

    def _check(self, home: Home, contact: dict[str, Any]) -> None:
        if self.pool and not is_pool(self.pool, contact):
            raise ToolError(
                f"Error: Couldn't contact the condor_collector on {self.pool}.\n"
                f"This command queries the pool {contact['pool']!r} in {home.path}; use ROOST_HOME to select "
                "another pool."
            )
        if self.name and not is_called(self.name, str(contact["schedd"])):
            raise ToolError(f"Error: Collector has no record of schedd/submitter {self.name}")


def config(subsystem: str = "TOOL") -> Config:
    """The configuration of the pool as a daemon with that name reads it; without a pool, from HTCondor's locations."""
    from roost.runtime.queue.descriptions import config_for_tools

    home = Home.find(None)
    found = config_for_tools(home, subsystem)
    if found is None:
        from roost.runtime.machine import STANDARD_FILES

        raise ToolError(
            "Neither the environment variable CONDOR_CONFIG,\n"
            f"{', '.join(STANDARD_FILES)}, nor {home.config_file} contain a valid condor configuration."
        )
    return found
