"""``roost down``: stop the daemons of this machine."""

from __future__ import annotations

import argparse
from typing import Final

from roost.cli.listing import print_json
from roost.cli.terminal import CommandError, Exit, complain, say
from roost.cli.up import SIGNALS, master_runs, signal_master, wait_gone
from roost.runtime.home import Home, HomeError

#: How long stopping a pool may take before the reason is printed, s.
SILENT_S: Final = 3.0


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``down``."""
    parser = subparsers.add_parser(
        "down", help="stop the pool on this machine", description="Stop the daemons on this machine."
    )
    parser.add_argument("--home", metavar="DIR", help="state directory of the pool (default: ROOST_HOME)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--fast", action="store_const", dest="how", const="fast", help="kill running jobs at once")
    how.add_argument(
        "--leave-jobs",
        action="store_const",
        dest="how",
        const="leave",
        help="leave jobs running; the next `roost up` takes them over",
    )
    parser.set_defaults(how="graceful")


def run(args: argparse.Namespace) -> int:
    """Run ``down``."""
    home = Home.find(args.home)
    pid = stop(home, args.how)
    if args.json:
        print_json({"home": str(home.path), "pid": pid})
    else:
        say(f"pool in {home.path} is down")
    return Exit.OK


def stop(home: Home, how: str) -> int:
    """Stop the daemons of this machine, "graceful", "fast" or "leave"; return the master's pid. Raises CommandError."""
    try:
        contact = home.contact()
    except HomeError as error:
        contact = {"pid": home.master()}
        if not contact["pid"]:
            raise CommandError(str(error)) from None
    pid = int(contact["pid"])
    if not master_runs(contact):
        (home.run / "contact.json").unlink(missing_ok=True)
        raise CommandError(f"no pool is running in {home.path}: its master was killed")
    signal_master(home, pid, SIGNALS[how])
    if not wait_gone(pid, SILENT_S):
        if how == "graceful":
            complain(
                "waiting for running jobs to end within the time that the policy grants; `roost down --fast` kills them"
            )
        wait_gone(pid, None)
    return pid
