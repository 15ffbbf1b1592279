"""SGE_ROOT of the pool of ROOST_HOME, as written by `roost shims gridengine`."""

from __future__ import annotations

from pathlib import Path

from roost.cli.terminal import CommandError
from roost.runtime.cell_root import is_written, root_of, write_root
from roost.runtime.home import Home


def pool_root() -> Path:
    """Write missing files, and return the directory. Raises CommandError."""
    home = Home.find(None)
    if not home.path.is_dir():
        raise CommandError(f"there is no pool in {home.path}; set ROOST_HOME, or start one with `roost up`")
    try:
        return write_root(home)
    except PermissionError as error:
        # The files of the pool's owner are for all users.
        if not is_written(home):
            raise CommandError(
                f"{error.filename}: {error.strerror}; the owner of the pool has to run `roost shims gridengine` once"
            ) from None
        return root_of(home)
