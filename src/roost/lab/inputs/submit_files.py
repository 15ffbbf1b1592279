"""Submit files as a source of simulated jobs: the ads that the submit language makes.

Lists of items and included files are read relative to the submit file. Programs and data need not exist, commands are
not run, the environment is empty, and random numbers come from a fixed seed: a run must not depend on the user or
machine.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.config import Config
from roost.config.host import CommandResult
from roost.config.not_text import joined
from roost.lab.machines import LabError
from roost.model.cell_requests import ASKED
from roost.schedd.submit import FileKind, SubmitContext, read_submission
from roost.schedd.submit.diagnostics import SubmitCode

#: The message for a job that requests something of a cell.
NO_CELLS: Final = "{} requires a Grid Engine cell, but the pool has none; omit it, or name a cell"

#: The submitter if the file does not name one.
OWNER = "user"


class _Folder:
    """The environment of a submit file: only the files next to it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._random = random.Random(0)

    @property
    def cwd(self) -> str:
        """The folder of the submit file."""
        return str(self._folder)

    def environment(self) -> Mapping[str, str]:
        """An empty environment."""
        return {}

    def read_text(self, path: str) -> str | None:
        """A file next to the submit file; None if it does not exist."""
        try:
            return (self._folder / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def kind_of(self, path: str) -> FileKind | None:
        """Whether a path is a file or a directory; None if it is neither."""
        whole = self._folder / path
        return FileKind.FILE if whole.is_file() else FileKind.DIRECTORY if whole.is_dir() else None

    def size_of(self, path: str) -> int | None:
        """No files are transferred, so none has a size."""
        return None

    def glob(self, pattern: str) -> list[str]:
        """Files that match a pattern."""
        if Path(pattern).is_absolute():
            return []
        return sorted(str(found.relative_to(self._folder)) for found in self._folder.glob(pattern))

    def run_command(self, command: str) -> CommandResult:
        """Commands are not run."""
        return CommandResult(status=127, output="")

    def random_integer(self, low: int, high: int) -> int:
        """The next number of a fixed seed."""
        return self._random.randint(low, high)

    def local_date(self, instant: float) -> tuple[int, int, int]:
        """The day in UTC: the zone of the process must not change a run."""
        day = datetime.fromtimestamp(instant, UTC)
        return day.year, day.month, day.day


def clusters_of(
    text: str,
    file: str,
    owner: str = OWNER,
    arguments: tuple[str, ...] = (),
    append: tuple[str, ...] = (),
    *,
    config: Config | None = None,
    in_cell: bool = False,
) -> list[list[ClassAd]]:
    """The ads of all jobs of a submit file, by cluster; `arguments` and `append` are those of `read_submission`.

    `in_cell`: the pool has a cell, of which jobs may make requests.

    Raises LabError with all problems of the file.
    """
    found = read_submission(text, file, _context(file, owner, config), arguments=arguments, append=append)
    if found.errors:
        raise LabError(joined(found.errors, found.dropped))
    for plan in found.clusters if not in_cell else ():
        if asked := asks_a_cell([*plan.common, *plan.varying]):
            raise LabError(f"{file}: {NO_CELLS.format(asked)}")
    return [list(plan.ads()) for plan in found.clusters]


def warnings_of(text: str, file: str, config: Config | None = None) -> tuple[str, ...]:
    """The warnings of `roost submit` for a valid submit file, such as about a line without effect.

    A description for nodes of DAGs has no `queue` statement.
    """
    found = read_submission(text, file, _context(file, OWNER, config)).findings
    return tuple(str(one) for one in found if one.code is not SubmitCode.NO_QUEUE)


def _context(file: str, owner: str, config: Config | None) -> SubmitContext:
    folder = _Folder(Path(file).parent)
    return SubmitContext(host=folder, now=0.0, owner=owner, uid_domain="sim", config=config, look_at_files=False)


def asks_a_cell(names: Iterable[str]) -> str:
    """The first of these names that is a request to a Grid Engine cell; empty for none."""
    folded = {fold(name) for name in names}
    return next((name for name in ASKED if fold(name) in folded), "")
