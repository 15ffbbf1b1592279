"""``roost reconfig``: the daemons of this machine read their configuration again and say what they made of it."""

from __future__ import annotations

import argparse
import json
import signal
import time
from typing import Any, Final

from roost.cli.pool import print_json
from roost.cli.terminal import CommandError, Exit, complain, say
from roost.cli.up import master_runs, signal_master
from roost.runtime.home import Home, HomeError

#: How long daemons are waited for, s.
_WAIT_S: Final = 15.0
_ROLES: Final = ("central", "schedd", "node", "web")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``reconfig``."""
    parser = subparsers.add_parser(
        "reconfig",
        help="read the configuration again",
        description="Let the daemons of this machine read the configuration again. If it has errors, they are "
        "reported and nothing changes. Slots that are no longer configured vanish once their jobs are gone. Other "
        "cores, memory or resources of the machine, another NATS server or database need a restart.",
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
                complain(f"{role} has not answered within {_WAIT_S:g} s: see {home.log / role}.log")
            elif answer["ok"]:
                say(f"{role:<8} read the configuration again")
                for note in answer.get("notes", ()):
                    say(f"{'':<8} {note}")
            else:
                complain(f"{role} keeps its configuration: {answer['text']}")
        waiting = dict.fromkeys(name for each in answers.values() if each for name in each.get("restart", ()))
        if waiting:
            many = "count" if len(waiting) > 1 else "counts"
            say(f"{', '.join(waiting)} {many} from the next start: `roost down --leave-jobs`, then `roost up`")
    return Exit.OK if all(answer is not None and answer["ok"] for answer in answers.values()) else Exit.BAD


def reconfigure(home: Home) -> dict[str, dict[str, Any] | None]:
    """Let the daemons read the configuration again; what each made of it. Raises CommandError."""
    try:
        contact = home.contact()
    except HomeError as error:
        raise CommandError(str(error)) from None
    if not master_runs(contact):
        raise CommandError(f"no pool runs in {home.path}: its master was killed; `roost up` starts it again")
    signal_master(home, int(contact["pid"]), 0)
    _check(home, contact)
    running = [role for role in _ROLES if (home.run / f"{role}.pid").exists()]
    before = {role: _said(home, role) for role in running}
    signal_master(home, int(contact["pid"]), signal.SIGHUP)
    return _wait(home, before)


def _check(home: Home, contact: dict[str, Any]) -> None:
    """What every daemon would refuse is told before any is asked. Raises CommandError."""
    roots = contact.get("roots")
    config = home.config(tuple(roots) if roots else None, "MASTER")
    if config.errors:
        from roost.config.not_text import joined

        text = joined(config.errors, config.dropped)
        raise CommandError(f"the configuration has errors, and nothing is changed:\n{text}")


def _said(home: Home, role: str) -> dict[str, Any] | None:
    """What a daemon made of its configuration last; None if nothing."""
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
