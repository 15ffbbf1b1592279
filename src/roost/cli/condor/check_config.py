"""``condor_check_config``: errors and suspicious settings in the configuration, found by Roost's own check and
linter.
"""

from __future__ import annotations

import sys
from typing import Final

from roost.cli.condor.errors import UsageError
from roost.cli.condor.options import Option, given

OPTIONS: Final = (
    Option("config", "the file or directory to read; what the daemons read without it", takes="PATH", least=1),
    Option("no-lint", "only what cannot be read, not what is suspicious", least=4),
)


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_check_config``."""
    from roost.cli.__main__ import main

    path, lints = "", True
    for option in given(arguments, OPTIONS):
        if option.name == "config":
            path = option.value
        elif option.name == "no-lint":
            lints = False
        else:
            raise UsageError(f"Usage: {name} [-config PATH] [-no-lint]")
    status = int(main(["config", "check", *(("-c", path) if path else ())]))
    sys.stdout.flush()
    if status or not lints:
        return status
    return int(main(["policy", "lint", *((path,) if path else ())]))
