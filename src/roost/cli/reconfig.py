"""``roost reconfig``: the daemons of this machine read their configuration again and report the result."""

from __future__ import annotations

import argparse
import json
import signal
import time
from typing import Any, Final

from roost.cli.listing import print_json
from roost.cli.terminal import CommandError, Exit, complain, say
from roost.cli.up import master_runs, signal_master
from roost.runtime.home import Home, HomeError

#: How long to wait for daemons, s.
_WAIT_S: Final = 15.0
_ROLES: Final = ("central", "schedd", "node", "web", "registrar")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``reconfig``."""
    parser = subparsers.add_parser(
        "reconfig",
        help="reread the configuration",
        description="Make the daemons on this machine reread the configuration. If it has errors, the command reports "
        "them and nothing changes. Slots that are no longer configured are deleted once their jobs have ended. Changes "
        "to the machine's cores, memory or resources, the NATS server or the database require a restart.",
    )
    parser.add_argument("--home", metavar="DIR", help="state directory of the pool (default: ROOST_HOME)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run ``reconfig``."""
    home = Home.find(args.home)
    answers = reconfigure(home)
    if args.json:
        print_json(answers)
    else:
        for role, answer in answers.items():
            if answer is None:
                complain(f"{role} did not answer within {_WAIT_S:g} s; see {home.log / role}.log")
            elif answer["ok"]:
                say(f"{role:<8} reread the configuration")
                for note in answer.get("notes", ()):
                    say(f"{'':<8} {note}")
            else:
                complain(f"{role} keeps its previous configuration: {answer['text']}")
        waiting = dict.fromkeys(name for each in answers.values() if each for name in each.get("restart", ()))
        if waiting:
            many = "take" if len(waiting) > 1 else "takes"
            say(f"{', '.join(waiting)} {many} effect at the next start: `roost down --leave-jobs`, then `roost up`")
    return Exit.OK if all(answer is not None and answer["ok"] for answer in answers.values()) else Exit.BAD


def reconfigure(home: Home) -> dict[str, dict[str, Any] | None]:
    """Let the daemons reread the configuration; return the result of each. Raises CommandError."""
    try:
        contact = home.contact()
    except HomeError as error:
        raise CommandError(str(error)) from None
    if not master_runs(contact):
        raise CommandError(f"no pool is running in {home.path}: its master was killed; `roost up` restarts it")
    signal_master(home, int(contact["pid"]), 0)
    _check(home, contact)
    running = [role for role in _ROLES if (home.run / f"{role}.pid").exists()]
    before = {role: _said(home, role) for role in running}
    signal_master(home, int(contact["pid"]), signal.SIGHUP)
    return _wait(home, before)


def _check(home: Home, contact: dict[str, Any]) -> None:
    """Check the configuration for every daemon before any rereads it. Raises CommandError."""
    roots = contact.get("roots")
    config = home.config(tuple(roots) if roots else None, "MASTER")
    if config.errors:
        from roost.config.not_text import joined

        text = joined(config.errors, config.dropped)
        raise CommandError(f"the configuration has errors; nothing was changed:\n{text}")


def _said(home: Home, role: str) -> dict[str, Any] | None:
    """A daemon's last report about its configuration; None if there is none."""
    try:
        data = json.loads((home.run / f"{role}.configured").read_text())
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def _wait(home: Home, before: dict[str, dict[str, Any] | None]) -> dict[str, dict[str, Any] | None]:
    until = time.monotonic() + _WAIT_S
    answers: dict[str, dict[str, Any] | None] = dict.fromkeys(before)
    while time.monotonic() < until:
        for role, old in before.items():
            said = _said(home, role)
            if said is not None and said != old:
                answers[role] = said
        if all(answers.values()):
            break
        time.sleep(0.05)
    return answers
