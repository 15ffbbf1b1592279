"""The process of a workflow, with the options of `condor_dagman`: ``python -m roost.cli.dagman -Dag FILE``."""

from __future__ import annotations

import logging
import logging.handlers
import os
import sys
from typing import Final

from roost.cli.terminal import CommandError, Exit, complain, guarded

#: Options of the process with an argument, folded; and those without.
_WITH_WORD: Final = frozenset((
    "-p", "-l", "-lockfile", "-autorescue", "-dorescuefrom", "-dag", "-maxidle", "-maxjobs", "-maxpre", "-maxpost",
    "-maxhold", "-priority", "-csdversion", "-debug", "-dagman", "-outfile_dir", "-notification", "-load_save",
    "-include_env", "-insert_env", "-rescuefile",
))  # fmt: skip


def run_process(words: list[str]) -> int:
    """The process of a run, with the options of `condor_dagman`."""
    from roost.runtime.workflow.dagman import CannotRun, run_dag
    from roost.runtime.workflow.files import Locked

    flags, files = _flags(words)
    if not files:
        raise CommandError("no DAG file is named: -Dag FILE")
    _set_up_log(os.environ.get("_CONDOR_DAGMAN_LOG"))
    try:
        return run_dag(tuple(files), flags, complain)
    except CannotRun as problem:
        complain(str(problem))
        return Exit.NO
    except Locked as problem:
        raise CommandError(str(problem)) from None


def _flags(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Options by their folded names, and DAG files."""
    found: dict[str, str] = {}
    files: list[str] = []
    rest = iter(words)
    for word in rest:
        name = word.lower()
        value = next(rest, "") if name in _WITH_WORD else ""
        if name == "-dag":
            files.append(value)
        elif name.startswith("-"):
            found[name] = value
        else:
            files.append(word)
    return found, files


def _set_up_log(path: str | None) -> None:
    handler: logging.Handler = logging.StreamHandler(sys.stdout)
    if path:
        handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%m/%d/%y %H:%M:%S"))
    logger = logging.getLogger("roost.dag")
    logger.handlers[:] = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False


if __name__ == "__main__":
    sys.exit(guarded(lambda: run_process(sys.argv[1:]), bad=1))
