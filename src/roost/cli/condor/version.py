"""``condor_version``: the version by which programs decide how to talk to the pool."""

from __future__ import annotations

import sys

from roost.model.compatible import CONDOR_VERSION


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_version``; unknown arguments are ignored, as in HTCondor."""
    if any(each.lower() in ("-help", "--help", "-h") for each in arguments):
        sys.stdout.write(f"Usage: {name} [-arch] [-opsys] [-syscall]\n")
        return 0
    wanted = [each[1:].lower() for each in arguments if each.startswith("-")]
    import os

    machine = os.uname()
    if "arch" in wanted:
        sys.stdout.write(f"{machine.machine.upper()}\n")
    if "opsys" in wanted:
        sys.stdout.write(f"{machine.sysname.upper()}\n")
    if not wanted or not {"arch", "opsys"} & set(wanted):
        sys.stdout.write(f"{CONDOR_VERSION}\n$CondorPlatform: {machine.machine}_{machine.sysname} $\n")
    return 0
