"""``roost userprio``: users' priorities and usage, with changes by administrators."""

from __future__ import annotations

import argparse
from typing import Any, Final

from roost.cli.listing import print_json, table
from roost.cli.pool_connection import Pool, Refused, add_pool_options, with_pool
from roost.cli.terminal import CommandError, Exit, complain, say
from roost.wire.requests import central
from roost.wire.structs import data_of

#: Option to its request.
_ACTIONS: Final[dict[str, central.UserAction]] = {
    "set_factor": "set-factor", "unset_factor": "set-factor", "set_priority": "set-priority", "reset": "reset",
    "floor": "set-bounds", "ceiling": "set-bounds",
}  # fmt: skip


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``userprio``."""
    parser = subparsers.add_parser(
        "userprio",
        help="show or change users' priorities",
        description="Show the users of the pool with their priorities (the lowest value goes first) and their usage.",
    )
    add_pool_options(parser)
    parser.add_argument("user", metavar="USER", nargs="*", help="users, for example ann@example.org (default: all)")
    actions = parser.add_mutually_exclusive_group()
    actions.add_argument("--set-factor", metavar="N", type=float, help="give the user this priority factor, 1 or more")
    actions.add_argument("--set-priority", metavar="N", type=float, help="set the user's real priority, 0.5 or more")
    actions.add_argument("--unset-factor", action="store_true", help="return to the configured factor")
    parser.add_argument(
        "--floor", metavar="N", type=float, help="slot weight that the user gets before fair share applies"
    )
    parser.add_argument("--ceiling", metavar="N", type=float, help="slot weight that the user can never exceed")
    actions.add_argument("--reset", action="store_true", help="clear the user's accumulated usage")


def run(args: argparse.Namespace) -> int:
    """Run ``userprio``."""
    chosen = [name for name in _ACTIONS if (given := getattr(args, name)) is not None and given is not False]
    if chosen:
        return _change(args, chosen[0])
    rows = [row for row in with_pool(args, _rows) if not args.user or row["user"] in args.user]
    if args.json:
        print_json(rows)
    elif args.user and not rows:
        complain(f"no user named {' or '.join(args.user)} has used the pool; `roost userprio` lists all users")
    else:
        _show(rows)
    return Exit.OK if rows or not args.user else Exit.NO


def _change(args: argparse.Namespace, name: str) -> int:
    if len(args.user) != 1:
        raise CommandError(f"--{name.replace('_', '-')} requires one user, named as `roost userprio` lists them")
    given = getattr(args, name)
    value = None if isinstance(given, bool) else given
    bounds = {each: getattr(args, each) for each in ("floor", "ceiling")}
    fields = bounds if _ACTIONS[name] == "set-bounds" else {"value": value}

    def ask(pool: Pool) -> central.UserChanged:
        user = _completed(pool, args.user[0])
        return pool.ask(central.ChangeUser(action=_ACTIONS[name], user=user, **fields))

    changed = with_pool(args, ask)
    if args.json:
        print_json(data_of(changed))
    else:
        said = ", ".join(
            f"{each.replace('_', ' ')} {number:g}"
            for each in ("set_factor", "set_priority", "floor", "ceiling")
            if (number := getattr(args, each)) is not None
        )
        say(f"{changed.user}: {said or name.replace('_', ' ')}")
    return Exit.OK


def _completed(pool: Pool, given: str) -> str:
    """The full name of a user; a name that no user of the pool has causes a warning, because no job is charged to
    it.
    """
    users = [str(row["user"]) for row in _rows(pool)]
    if given in users:
        return given
    meant = [user for user in users if user.partition("@")[0] == given]
    if len(meant) == 1:
        complain(f"{given} stands for {meant[0]}")
        return meant[0]
    if meant:
        raise CommandError(f"{given} is ambiguous: {' or '.join(meant)}; name one of them")
    complain(f"the pool has no user named {given} yet; `roost userprio` lists the users with their domains")
    return given


def _rows(pool: Pool) -> list[dict[str, Any]]:
    """Users, from their accounts and from their queues' ads."""
    found: dict[str, dict[str, Any]] = {}
    for ad in _accounts(pool):
        found[str(ad.get("Name"))] = {
            "priority": ad.get("Priority"),
            "factor": ad.get("PriorityFactor"),
            "group": ad.get("AccountingGroup"),
            "slots": ad.get("ResourcesUsed", 0),
            "weighted": ad.get("WeightedResourcesUsed", 0.0),
            "used_h": round(float(ad.get("WeightedAccumulatedUsage", 0.0)) / 3600, 2),
        }
    for ad in pool.ask(central.Ads(kind="Submitter")):
        row = found.setdefault(str(ad.get("Name")), {})
        for key, name in (("running", "RunningJobs"), ("idle", "IdleJobs"), ("held", "HeldJobs")):
            row[key] = row.get(key, 0) + int(ad.get(name, 0))
    return [{"user": user, **row} for user, row in sorted(found.items())]


def _accounts(pool: Pool) -> list[dict[str, Any]]:
    try:
        return pool.ask(central.Users())
    except Refused:
        return []


def _show(rows: list[dict[str, Any]]) -> None:
    if not rows:
        say("no user has used the pool yet")
        return
    columns = {
        "USER": "user", "PRIORITY": "priority", "FACTOR": "factor", "SLOTS": "slots", "USED H": "used_h",
        "RUN": "running", "IDLE": "idle", "HELD": "held",
    }  # fmt: skip
    shown = {title: key for title, key in columns.items() if any(row.get(key) is not None for row in rows)}
    lines = [[_cell(row.get(key)) for key in shown.values()] for row in rows]
    table(lines, list(shown), frozenset(range(1, len(shown))))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if isinstance(value, float) else str(value)
