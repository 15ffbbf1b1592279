"""The pool behind these commands: the one of ROOST_HOME, which must have a cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from roost.cli.pool_connection import Pool, Refused, connected
from roost.cli.terminal import CommandError
from roost.gridengine.commands.errors import Failure
from roost.runtime.home import Home

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")


def ask(name: str, work: Callable[[Pool], T]) -> T:
    """Run a function with the pool. Raises Failure if there is none, and Refused if it refuses."""
    context = connected(Home.find(None))
    try:
        pool = context.__enter__()
    except CommandError as error:
        raise unreachable(name, error) from None
    try:
        return work(pool)
    except Refused:
        raise
    except CommandError as error:
        raise unreachable(name, error) from None
    finally:
        context.__exit__(None, None, None)


def unreachable(name: str, why: Exception) -> Failure:
    """The message of Grid Engine's commands that cannot reach their qmaster."""
    return Failure(f"error: commlib error: the pool cannot be asked\nUnable to contact qmaster: {name}: {why}")


def cell_files(pool: Pool) -> Mapping[str, str]:
    """The texts of the pool's cell, by name; empty if it has none."""
    from roost.wire.requests.cell import ReadCell

    return {row.name: row.text for row in pool.ask(ReadCell())}


def trusted(pool: Pool, *lists: str) -> bool:
    """Whether lists of the cell, or the pool, give a user permission. The queue decides; this is for the message."""
    files = cell_files(pool)
    named = {user for name in lists for user in files.get(name, "").split()}
    return pool.user in named or pool.user in ("root", pool.home.path.owner())


def may_change(pool: Pool, owner: str) -> bool:
    """Whether a user may change jobs of an owner; the same holds."""
    return pool.user == owner or trusted(pool, "managers", "operators")
