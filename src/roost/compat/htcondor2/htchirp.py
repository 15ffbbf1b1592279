"""`htchirp`: how a running job communicates with its queue (see `roost.cli.condor.chirp_client`)."""

from __future__ import annotations

import shlex
from typing import Any

from roost.cli.condor.chirp import COUNTS, arguments_of, carry_out
from roost.cli.condor.chirp_client import HTChirp
from roost.cli.condor.errors import UsageError

__version__ = "1"
__all__ = ("HTChirp", "condor_chirp")


def condor_chirp(chirp_args: str | list[str], return_exit_code: bool = False) -> Any:
    """Run a ``condor_chirp`` command, and return its result, or with `return_exit_code` its exit status."""
    words = shlex.split(chirp_args) if isinstance(chirp_args, str) else list(chirp_args)
    if return_exit_code:
        from roost.cli.condor.entry import main

        return main("condor_chirp", words)
    if not words or words[0] not in COUNTS:
        raise TypeError(f"Command must be one of: {', '.join(COUNTS)}")
    try:
        arguments, options = arguments_of(words[0], words[1:])
    except UsageError as error:
        raise TypeError(str(error)) from None
    with HTChirp() as line:
        return carry_out(line, words[0], arguments, options)
