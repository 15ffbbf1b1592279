"""``roost status``: the machines of the pool, their activities, and the daemons on this machine."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import Any, Final

from roost.cli.listing import counted, duration, print_json, table
from roost.cli.pool_connection import Pool, add_pool_options, with_pool
from roost.cli.queue import print_ads
from roost.cli.terminal import CommandError, Exit, complain, say
from roost.cli.up import daemon_of
from roost.runtime.home import Home, HomeError
from roost.wire.requests import central

#: The attributes that the listing needs of each slot.
_SHOWN: Final = (
    "Name", "Machine", "OpSys", "Arch", "State", "Activity", "LoadAvg", "Cpus", "Memory", "EnteredCurrentActivity",
    "RemoteOwner", "SlotBrokenReason", "SlotLeavingReason", "MachineProblem", "StarterJobState",
)  # fmt: skip
#: Attributes of a slot that accepts no jobs, with the reason.
_CLOSED: Final = ("SlotBrokenReason", "SlotLeavingReason", "MachineProblem")
#: StarterJobState while a starter evicts its job.
EVICTING: Final = ("Vacating", "Killing")
#: Maximum number of slots that accept no jobs and are named below the listing.
_CLOSED_MAX: Final = 5
_ROLES: Final = ("central", "schedd", "node")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``status``."""
    parser = subparsers.add_parser(
        "status", help="show the machines of the pool", description="Show the slots of the pool."
    )
    add_pool_options(parser)
    parser.add_argument("slot", metavar="SLOT", nargs="*", help="slots or machines (default: all)")
    parser.add_argument("--constraint", metavar="EXPR", help="only slots for which EXPR is true")
    parser.add_argument("--long", action="store_true", help="whole ads")
    parser.add_argument("--daemons", action="store_true", help="show the daemons on this machine")


def run(args: argparse.Namespace) -> int:
    """Run ``status``."""
    if args.daemons:
        return _daemons(args)

    def ask(pool: Pool) -> list[dict[str, Any]]:
        projection = () if args.json or args.long else tuple(_SHOWN)
        return pool.ask(central.Ads(kind="Machine", constraint=args.constraint, projection=projection))

    rows = [row for row in with_pool(args, ask) if _is_meant(row, args.slot)]
    if args.json:
        print_json(rows)
    elif args.long:
        print_ads(rows)
    elif not rows:
        complain(_nothing(args))
    else:
        _show(rows)
    return Exit.OK if rows or not args.slot else Exit.NO


def _nothing(args: argparse.Namespace) -> str:
    if args.slot:
        return f"there is no slot or machine {' or '.join(args.slot)}; `roost status` lists all of them"
    if args.constraint:
        return "no slot matches"
    return "the pool has no slots yet; `roost status --daemons` shows which daemons are running"


def _is_meant(row: dict[str, Any], names: list[str]) -> bool:
    """Whether a slot is selected: by its name, by its machine, or as slot1 for that slot of any machine."""
    name, machine = str(row.get("Name", "")).lower(), str(row.get("Machine", "")).lower()
    return not names or not {name, machine, name.partition("@")[0]}.isdisjoint(each.lower() for each in names)


def _show(rows: list[dict[str, Any]]) -> None:
    now = time.time()
    lines = [
        [
            str(row.get("Name", "")),
            str(row.get("OpSys", "")),
            str(row.get("Arch", "")),
            str(row.get("State", "")),
            _activity(row),
            f"{float(row.get('LoadAvg', 0.0)):.3f}",
            str(row.get("Cpus", "")),
            str(row.get("Memory", "")),
            duration(now - float(row.get("EnteredCurrentActivity", now))),
            str(row.get("RemoteOwner", "")),
        ]
        for row in rows
    ]
    titles = ["NAME", "OPSYS", "ARCH", "STATE", "ACTIVITY", "LOADAV", "CPUS", "MEM", "FOR", "USER"]
    table(lines, titles, frozenset({5, 6, 7, 8}), coloured=frozenset({3, 4}))
    counts = Counter(str(row.get("State", "?")).lower() for row in rows)
    parts = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    say("")
    say(counted(len(rows), "slot") + (f": {parts}" if parts else ""))
    closed = [str(row.get("Name", "")) for row in rows if any(row.get(name) for name in _CLOSED)]
    if closed:
        more = f" and {len(closed) - _CLOSED_MAX} more" if len(closed) > _CLOSED_MAX else ""
        names = ", ".join(closed[:_CLOSED_MAX])
        say(f"Closed to new jobs: {names}{more}; `roost explain slot {closed[0]}` explains why")


def _activity(row: dict[str, Any]) -> str:
    """The activity of a slot; if its starter evicts the job by its own policy, with the phase of that."""
    activity, phase = str(row.get("Activity", "")), row.get("StarterJobState")
    return f"{activity}/{phase}" if phase in EVICTING else activity


_ORDERED: Final = "was ordered to stop; `roost up` starts it again"


def _daemons(args: argparse.Namespace) -> int:
    home = Home.find(args.home)
    found: dict[str, Any] = {"home": str(home.path)}
    running = True
    contact = _contact(home)
    roles = _ROLES if contact is None else tuple(contact.get("roles", _ROLES))
    for role in roles:
        try:
            found[role] = daemon_of(home, contact, role)
        except PermissionError:
            raise CommandError(
                f"only the user who runs the pool in {home.path} may see its daemons; `roost status` shows its slots"
            ) from None
        running = running and bool(found[role])
    problems = {role: text for role in roles if (text := home.problem(role))}
    problems |= {role: _ORDERED for role in roles if not found[role] and home.stopped(role).exists()}
    shortcomings = {role: text for role in roles if found[role] and (text := home.shortcoming(role))}
    full = home.full()
    if full:
        # Daemons could not save their reports about it.
        problems = {role: problems.get(role, full) for role in roles if role in problems or found[role]}
    stopped = _stopped({role: found[role] for role in roles} | _others(home, contact))
    problems |= stopped
    if args.json:
        notes = {"problems": problems, "shortcomings": shortcomings}
        print_json(found | {name: texts for name, texts in notes.items() if texts})
    elif not any(found[role] for role in roles):
        raise CommandError(f"no pool is running in {home.path}; start one with `roost up`")
    else:
        for role in roles:
            say(f"{role:<8} {f'runs, pid {found[role]}' if found[role] else 'does not run'}")
            for texts in (problems, shortcomings):
                if role in texts:
                    say(f"         {texts[role]}")
        for name in sorted(stopped.keys() - set(roles)):
            say(f"{name:<8} {stopped[name]}")
        say(f"state directory: {home.path}; logs: {home.log}")
    return Exit.OK if running and not problems else Exit.NO


def _others(home: Home, contact: dict[str, Any] | None) -> dict[str, Any]:
    """The processes of a pool besides its daemons, by kind."""
    found = {} if contact is None else {"master": contact.get("pid", 0)}
    for path in (home.run / "nats" / "ports").glob("nats-server_*.ports"):
        number = path.stem.rpartition("_")[2]
        found["nats"] = int(number) if number.isdecimal() else 0
    return found


def _stopped(processes: dict[str, Any]) -> dict[str, str]:
    """Which of these processes a signal has stopped, so that they do not answer requests, and the remedy."""
    from roost.runtime.processes.shepherd.processes import look

    found = {}
    for name, pid in processes.items():
        seen = look(pid) if pid else None
        if seen is not None and seen.is_stopped:
            found[name] = f"stopped by a signal and not responding; `kill -CONT {pid}` resumes it"
    return found


def _contact(home: Home) -> dict[str, Any] | None:
    try:
        return home.contact()
    except HomeError:
        return None
