"""The configuration that a command reads if the command line names none: that of the pool, as found by `roost up`.

In this order: the file of ``ROOST_CONFIG`` or ``CONDOR_CONFIG``; the files of the pool that runs in the state
directory, or that directory's ``roost.config``; the first standard file that exists.

A named directory that contains a ``condor_config`` is read as HTCondor's daemons read /etc/condor: that file first,
then the files it names. In a copy of such a directory elsewhere, paths below /etc/condor refer to the copy.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from roost.base.records import dataclass, field
from roost.cli.terminal import CommandError
from roost.runtime.home import Home, HomeError
from roost.runtime.machine import STANDARD_FILES, SystemHost, root_files

_OF_CONDOR = "/etc/condor"
_ROOT_FILE = "condor_config"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFiles:
    """The files that a command reads first."""

    #: Files and directories; none for ONLY_ENV.
    roots: tuple[str, ...]
    #: Their origin, for a message; "" if the user has named them.
    source: str = ""
    #: Values that the pool's daemons are started with.
    detected: dict[str, str] = field(default_factory=dict)
    #: Whether they belong to a pool, whose daemons do not read the file USER_CONFIG_FILE.
    of_pool: bool = False

    #: A directory that is a copy of /etc/condor; "" for none.
    copy: str = ""

    def path_of(self, path: str) -> str:
        """The actual path of a source on this machine."""
        is_below = bool(self.copy) and (path == _OF_CONDOR or path.startswith(f"{_OF_CONDOR}/"))
        return self.copy.rstrip("/") + path[len(_OF_CONDOR) :] if is_below else path

    def host(self) -> SystemHost:
        """The host with which to read them."""
        return MovedHost(self) if self.copy else SystemHost()

    def told(self, command: str) -> str:
        """A line that says which files are read, for standard error."""
        return f"{command}: reading {', '.join(self.roots)}, {self.source}"


def config_files(given: Sequence[str] | None) -> ConfigFiles:
    """The files that a command reads. `given`: those on the command line. Raises CommandError if there are none."""
    if given:
        first = [f"{path.rstrip('/')}/{_ROOT_FILE}" if _is_of_condor(path) else path for path in given]
        copies = [path for path in given if _is_of_condor(path) and os.path.realpath(path) != _OF_CONDOR]
        if len(copies) > 1:
            raise CommandError(f"{copies[0]} and {copies[1]} are both copies of {_OF_CONDOR}; name one of them")
        return ConfigFiles(roots=tuple(first), copy=copies[0] if copies else "")
    if not any(os.environ.get(variable) for variable in ("ROOST_CONFIG", "CONDOR_CONFIG")):
        found = _of_pool(Home.find(None))
        if found is not None:
            return found
    roots = root_files(None, os.environ)
    if roots is None:
        raise CommandError(
            f"no configuration: {Home.find(None).config_file} does not exist\n    hint: name a file with --config, set "
            f"ROOST_HOME or ROOST_CONFIG, or create one of {', '.join(STANDARD_FILES)}"
        )
    named = next((name for name in ("ROOST_CONFIG", "CONDOR_CONFIG") if os.environ.get(name)), "")
    return ConfigFiles(roots=roots, source=f"which {named} names" if named else "the first standard file that exists")


def _is_of_condor(path: str) -> bool:
    return Path(path, _ROOT_FILE).is_file()


class MovedHost(SystemHost):
    """This machine, with a copy in place of /etc/condor."""

    def __init__(self, files: ConfigFiles) -> None:
        self._moved = files.path_of

    def read_text(self, path: str) -> str | None:
        """Return the text of a file, or None if it cannot be read."""
        return super().read_text(self._moved(path))

    def list_directory(self, path: str) -> list[str] | None:
        """Return the names in a directory, or None if it cannot be read."""
        return super().list_directory(self._moved(path))


def _of_pool(home: Home) -> ConfigFiles | None:
    roots = None
    with suppress(HomeError):
        roots = home.contact().get("roots")
    if roots is None and not home.config_file.exists():
        return None
    return ConfigFiles(
        roots=(str(home.config_file),) if roots is None else tuple(roots),
        source=f"the configuration of the pool in {home.path}",
        detected={"ROOST_HOME": str(home.path)},
        of_pool=True,
    )
