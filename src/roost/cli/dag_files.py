"""The common part of the workflow command and the process of a run: the plan of its files, and the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roost.cli.terminal import CommandError
from roost.runtime.home import Home, HomeError

if TYPE_CHECKING:
    from roost.dag import Dag


def plan(files: tuple[str, ...], *, in_their_directories: bool = False) -> Dag:
    """The plan of DAG files; nodes use the directories of their files, if requested. Raises CommandError."""
    from roost.dag import BadDag, read_dag
    from roost.runtime.workflow.files import read_text

    try:
        return read_dag(files, read_text, in_their_directories=in_their_directories)
    except BadDag as problem:
        raise CommandError(str(problem)) from None


def contact_of(home: Home) -> dict[str, Any]:
    """How to reach the pool. Raises CommandError."""
    try:
        return home.contact()
    except HomeError as error:
        raise CommandError(str(error)) from None
