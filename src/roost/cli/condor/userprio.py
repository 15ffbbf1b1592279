"""``condor_userprio``: users' priorities and usage, with changes by administrators."""

from __future__ import annotations

import sys
import time
from typing import Final

from roost.cli.condor.asking import DaemonLocation
from roost.cli.condor.choosing import check_constraint
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Option, given
from roost.cli.condor.printing.chosen import OUTPUT_OPTIONS, Output
from roost.cli.condor.printing.renderers import date
from roost.cli.condor.printing.rows import AdRow
from roost.cli.pool_connection import Pool, Refused
from roost.wire.requests import central

OPTIONS: Final = (
    *OUTPUT_OPTIONS,
    Option("all", "show all fields of all users", least=3),
    Option("allusers", "also show users without recent usage", least=4),
    Option("activefrom", "show users with usage since this date", takes="MONTH DAY YEAR", least=3),
    Option("usage", "show usage", least=1),
    Option("priority", "priorities alone", least=3),
    Option("most", "show the most common fields (default)", least=1),
    Option("quotas", "accepted; groups are not listed", least=1),
    Option("grouporder", "the same", least=6),
    Option("grouprollup", "the same", least=6),
    Option("hierarchical", "the same", least=2),
    Option("constraint", "only users for whom EXPR is true", takes="EXPR", least=3),
    Option("setfactor", "set a user's priority factor", takes="USER VALUE", least=4),
    Option("setprio", "set a user's real priority", takes="USER VALUE", least=4),
    Option("setfloor", "set the slot weight that a user gets before fair share applies", takes="USER VALUE", least=6),
    Option("setceiling", "set the slot weight that a user can never exceed", takes="USER VALUE", least=4),
    Option("setaccum", "set a user's accumulated usage, slot weight times s", takes="USER VALUE", least=4),
    Option("setbegin", "set the time when a user began to use slots, epoch s", takes="USER VALUE", least=4),
    Option("setlast", "set the time when a user last used slots, epoch s", takes="USER VALUE", least=4),
    Option("resetusage", "clear a user's accumulated usage", takes="USER", least=6),
    Option("resetall", "clear the accumulated usage of all users", least=6),
    Option("delete", "forget a user", takes="USER", least=3),
    Option("pool", "query this pool", takes="HOST", least=2),
    Option("name", "its matchmaker", takes="NAME", least=1),
    Option("negotiator", "accepted, has no effect", least=3),
    Option("modular", "accepted, has no effect", least=3),
    Option("debug", "accepted, has no effect", least=3),
)
#: Option to the request to the negotiator, and the message when it is done.
_ACTIONS: Final[dict[str, tuple[central.UserAction, str]]] = {
    "setfactor": ("set-factor", "The priority factor of {} was set to {:f}"),
    "setprio": ("set-priority", "The priority of {} was set to {:f}"),
    "setfloor": ("set-bounds", "The floor of {} was set to {:f}"),
    "setceiling": ("set-bounds", "The ceiling of {} was set to {:f}"),
    "setaccum": ("set-usage", "The Accumulated Usage of {} was set to {:f}"),
    "setbegin": ("set-usage", "The Begin Usage Time of {} was set to {:.0f}"),
    "setlast": ("set-usage", "The Last Usage Time of {} was set to {:.0f}"),
    "resetusage": ("reset", "The accumulated usage of {} was reset"),
    "delete": ("delete", "The accountant record named {} was deleted"),
}
#: Option to the value that it sets.
_USAGE: Final = {"setaccum": "used_s", "setbegin": "began", "setlast": "last"}
#: Users with usage within this time are shown, s.
_RECENT_S: Final = 24 * 3600


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_userprio``."""
    place, output, users, flags = DaemonLocation(), Output(), [], set()
    chosen: tuple[str, tuple[str, ...]] | None = None
    constraint = ""
    for option in given(arguments, OPTIONS):
        if option.name == "pool":
            place.pool = option.value
        elif option.name == "constraint":
            constraint = option.value
            check_constraint(constraint)
        elif option.name in _ACTIONS:
            chosen = (option.name, option.values)
        elif option.name == "":
            users.append(option.value)
        elif not output.take(option) and option.name != "name":
            flags.add(option.name)
    try:
        if chosen is not None:
            done = chosen
            return place.ask(lambda pool: _change(pool, *done), lost="Error: failed to contact the negotiator")
        if "resetall" in flags:
            return place.ask(_reset_all, lost="Error: failed to contact the negotiator")
        rows = place.ask(_rows, lost="Error: failed to contact the negotiator")
    except Refused as refused:
        raise ToolError(f"Error: {refused}") from None
    rows = [row for row in rows if _is_meant(row, users, constraint, everybody=bool(flags & {"allusers", "all"}))]
    if output.is_own:
        output.print(rows)
    else:
        _show(rows, all_figures="all" in flags)
    return 0


# -- changes -----------------------------------------------------------------------------------------------------


def _change(pool: Pool, name: str, values: tuple[str, ...]) -> int:
    action, words = _ACTIONS[name]
    user = values[0]
    if "@" not in user:
        raise UsageError(f"You must specify the full name of the submittor: {user}@{pool.contact['uid_domain']}")
    try:
        number = float(values[1]) if len(values) > 1 else 0.0
    except ValueError:
        raise UsageError(f"Error: -{name}: {values[1]} is not a number") from None
    more: dict[str, float | None] = {"value": number} if action in ("set-factor", "set-priority") else {}
    if action == "set-bounds":
        mine = next((row for row in _rows(pool) if row.text("Name") == user), AdRow({}))
        bounds = {each: mine.value(each.title()) for each in ("floor", "ceiling")}
        more = {each: value for each, value in bounds.items() if isinstance(value, int | float)}
        more[name.removeprefix("set")] = number if number >= 0 else None
    if name in _USAGE:
        more = {_USAGE[name]: number}
    pool.ask(central.ChangeUser(action=action, user=user, **more))
    sys.stdout.write(words.format(user, number) + "\n")
    return 0


def _reset_all(pool: Pool) -> int:
    for row in _rows(pool):
        pool.ask(central.ChangeUser(action="reset", user=row.text("Name")))
    sys.stdout.write("The accumulated usage was reset for all users\n")
    return 0


# -- the table ---------------------------------------------------------------------------------------------------


def _rows(pool: Pool) -> list[AdRow]:
    found = {str(ad.get("Name")): dict(ad) for ad in pool.ask(central.Users())}
    for ad in pool.ask(central.Ads(kind="Submitter")):
        mine = found.setdefault(str(ad.get("Name")), {"MyType": "Accounting", "Name": ad.get("Name")})
        mine["IdleJobs"] = mine.get("IdleJobs", 0) + int(ad.get("IdleJobs", 0))
    return [AdRow(data) for _, data in sorted(found.items())]


def _is_meant(row: AdRow, users: list[str], constraint: str, *, everybody: bool) -> bool:
    if users and row.text("Name") not in users and row.text("Name").partition("@")[0] not in users:
        return False
    if constraint and row.value(constraint) is not True:
        return False
    recent = row.number("LastUsageTime") > time.time() - _RECENT_S or row.whole("ResourcesUsed") > 0
    return bool(users) or everybody or recent or row.whole("IdleJobs") > 0


def _show(rows: list[AdRow], *, all_figures: bool) -> None:
    wide = max(19, *(len(row.text("Name")) for row in rows)) if rows else 19
    heads = ["Effective ", "Priority  ", "Res ", "Total Usage ", "Time Since", "Requested "]
    names = ["Priority", "Factor", "In Use", "(wghtd-hrs)", "Last Usage", "Resources"]
    widths = [12, 9, 6, 12, 10, 10]
    if all_figures:
        heads[1:1], names[1:1], widths[1:1] = ["Real "], ["Priority"], [12]
    rule = " ".join(["-" * wide, *("-" * each for each in widths)])
    sys.stdout.write(f"Last Priority Update: {date(int(time.time()))}\n")
    for first, titles in (("", heads), ("User Name", names)):
        line = " ".join([f"{first:<{wide}}", *(f"{t.rstrip():>{w}}" for t, w in zip(titles, widths, strict=True))])
        sys.stdout.write(f"{line.rstrip()}\n")
    sys.stdout.write(f"{rule}\n")
    for row in rows:
        figures = _figures(row, all_figures=all_figures)
        cells = [f"{text:>{w}}" for text, w in zip(figures, widths, strict=True)]
        sys.stdout.write(" ".join([f"{row.text('Name'):<{wide}}", *cells]) + "\n")
    in_use = sum(row.whole("ResourcesUsed") for row in rows)
    used_h = sum(row.number("WeightedAccumulatedUsage") for row in rows) / 3600
    sys.stdout.write(f"{rule}\nNumber of users: {len(rows)}, resources in use: {in_use}, usage: {used_h:.2f} h\n")


def _figures(row: AdRow, *, all_figures: bool) -> list[str]:
    priority, factor = row.number("Priority"), row.number("PriorityFactor", 1.0)
    last = row.whole("LastUsageTime")
    ago = max(0, int(time.time()) - last) if last else None
    real = [f"{priority / factor if factor else 0.0:.2f}"] if all_figures else []
    return [
        f"{priority:.2f}", *real, f"{factor:.2f}", str(row.whole("ResourcesUsed")),
        f"{row.number('WeightedAccumulatedUsage') / 3600:.2f}",
        _since(row, ago),
        str(row.whole("IdleJobs")),
    ]  # fmt: skip


def _since(row: AdRow, ago: int | None) -> str:
    if row.whole("ResourcesUsed"):
        return "<now>"
    return "" if ago is None else f"{ago // 86400}+{ago // 3600 % 24:02d}:{ago // 60 % 60:02d}"
