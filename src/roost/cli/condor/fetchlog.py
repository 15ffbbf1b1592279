"""``condor_fetchlog``: the logs of the daemons of this machine."""

from __future__ import annotations

import sys
from typing import Final

from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Option, given
from roost.runtime.bus.pool_client import is_called
from roost.runtime.home import Home
from roost.runtime.identity import host_name

OPTIONS: Final = (
    Option("pool", "accepted, has no effect", takes="HOST", least=1),
    *(Option(daemon, "accepted, has no effect", least=len(daemon))
      for daemon in ("master", "schedd", "startd", "collector", "negotiator")),
)  # fmt: skip
_LOGS: Final = {
    "MASTER": "master.log", "SCHEDD": "schedd.log", "SHADOW": "schedd.log", "STARTD": "node.log", "STARTER": "node.log",
    "COLLECTOR": "central.log", "NEGOTIATOR": "central.log", "DEFRAG": "central.log",
    "STARTD_HISTORY": "transitions.jsonl",
}  # fmt: skip
_PIECE: Final = 1 << 16


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_fetchlog``."""
    words = [option.value for option in given(arguments, OPTIONS) if not option.name]
    if len(words) != 2:
        raise UsageError("Usage: condor_fetchlog [options] MACHINE SUBSYSTEM[.EXTENSION]")
    machine, (subsystem, _, extension) = words[0], words[1].partition(".")
    if machine not in ("localhost", "127.0.0.1") and not is_called(machine, host_name()):
        raise ToolError(f"Couldn't locate daemon on {machine}: a machine's logs can only be read on that machine")
    file = _LOGS.get(subsystem.upper())
    if file is None:
        raise ToolError(f"Couldn't fetch log: unknown subsystem {subsystem}; the subsystems are {', '.join(_LOGS)}")
    # A log that is elsewhere has a link here, and so does that of a part of a daemon with its own log.
    logs = Home.find(None).log
    own = logs / f"{subsystem.lower()}.log"
    path = (own if own.is_symlink() else logs / file).resolve()
    if extension:
        path = path.with_name(f"{path.name}.{'1' if extension == 'old' else extension}")
    try:
        with path.open("rb") as log:
            while piece := log.read(_PIECE):
                sys.stdout.write(piece.decode("utf-8", "replace"))
    except OSError as error:
        raise ToolError(f"Couldn't fetch log: {path}: {error.strerror}") from None
    return 0
