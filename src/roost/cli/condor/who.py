"""``condor_who``: the jobs that run on this machine, or with ``-quick`` and ``-daemons`` its daemons."""

from __future__ import annotations

import sys
import time
from typing import Any, Final

from roost.cli.condor.asking import DaemonLocation
from roost.cli.condor.errors import ToolError
from roost.cli.condor.options import Option, given
from roost.cli.condor.printing.chosen import OUTPUT_OPTIONS, Output
from roost.cli.condor.printing.renderers import duration
from roost.cli.condor.printing.rows import AdRow
from roost.cli.pool_connection import Pool
from roost.model.addresses import daemon_address
from roost.runtime.daemon_ads import place_of
from roost.runtime.home import Home, HomeError
from roost.wire.requests.machine import Ads

OPTIONS: Final = (
    *OUTPUT_OPTIONS,
    Option("quick", "print the state of the daemons as an ad", least=1),
    Option("wait", "with -quick: wait until EXPR is true or the time is over", takes="EXPR", least=2, colon="SECONDS"),
    Option("daemons", "show the daemons of this machine", least=2),
    Option("dae", "the same", least=3),
    Option("allpids", "accepted, has no effect", least=3),
    Option("address", "accepted, has no effect", takes="ADDRESS", least=2),
    Option("diagnostic", "accepted, has no effect", least=3),
    Option("verbose", "accepted, has no effect", least=1),
    Option("wide", "accepted, has no effect", least=1),
    Option("ospids", "accepted, has no effect", least=2),
)
#: HTCondor's name of a daemon to the corresponding role.
_ROLES: Final = {"COLLECTOR": "central", "NEGOTIATOR": "central", "SCHEDD": "schedd", "STARTD": "node"}
_PAUSE_S: Final = 0.2


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_who``."""
    output, flags = Output(), set()
    wait: tuple[str, float] | None = None
    for option in given(arguments, OPTIONS):
        if option.name == "wait":
            wait = (option.value, _seconds(option.colon))
        elif option.name and not output.take(option):
            flags.add("daemons" if option.name == "dae" else option.name)
    if wait is not None:
        return _wait(*wait)
    if "quick" in flags:
        return _quick(_state(Home.find(None)))
    if "daemons" in flags:
        return _daemons(Home.find(None))
    rows = DaemonLocation().ask(_jobs, lost="Error: no daemons of a pool were found on this machine")
    if output.is_own:
        output.print(rows)
    else:
        _table(rows)
    return 0


def _seconds(colon: str | None) -> float:
    try:
        return float(colon or 0)
    except ValueError:
        raise ToolError(f"Error: -wait:{colon}: must be a number of seconds") from None


# -- daemons -----------------------------------------------------------------------------------------------------


def _state(home: Home) -> dict[str, Any]:
    """The daemons as an ad: which are running, and whether all are ready."""
    from roost.cli.up import daemon_of, master_runs

    try:
        contact = home.contact()
    except HomeError:
        return {"IsReady": False, "MASTER": "Dead"}
    ad: dict[str, Any] = {}
    pids = {"MASTER": int(contact["pid"]), **{name: _pid(home, role) for name, role in _ROLES.items()}}
    for name, pid in pids.items():
        try:
            living = master_runs(contact) if name == "MASTER" else daemon_of(home, contact, _ROLES[name]) > 0
        except PermissionError:
            raise ToolError(f"Error: only the user who runs the pool in {home.path} may see its daemons") from None
        if not living and name != "MASTER" and not (home.run / f"{_ROLES[name]}.pid").exists():
            continue
        ad[name] = "Alive" if living else "Dead"
        ad[f"{name}_PID"] = pid
        ad[f"{name}_State"] = "Ready" if living else "Dead"
        ad[f"{name}_Addr"] = daemon_address(place_of(contact["urls"]), str(contact["node"]), name.lower())
    ad["IsReady"] = all(value == "Alive" for key, value in ad.items() if "_" not in key)
    return dict(sorted(ad.items()))


def _pid(home: Home, role: str) -> int:
    try:
        return int((home.run / f"{role}.pid").read_text())
    except (OSError, ValueError):
        return 0


def _quick(ad: dict[str, Any]) -> int:
    row = AdRow(ad)
    sys.stdout.writelines(f"{name} = {row.raw(name)}\n" for name in ad)
    return 0


def _wait(expression: str, seconds: float) -> int:
    until = time.monotonic() + seconds
    while True:
        ad = _state(Home.find(None))
        if AdRow(ad).value(expression) is True:
            return _quick(ad)
        if time.monotonic() >= until:
            _quick(ad)
            return 1
        time.sleep(_PAUSE_S)


def _daemons(home: Home) -> int:
    ad = AdRow(_state(home))
    form = "{:<12} {:<6} {:<6} {:<24} {}\n"
    sys.stdout.write(form.format("Daemon", "Alive", "PID", "Addr", "Log"))
    sys.stdout.write(form.format("------", "-----", "---", "----", "---"))
    for name in ("MASTER", *_ROLES):
        if name in ad:
            log = home.log / f"{_ROLES.get(name, 'master')}.log"
            living = "yes" if ad.text(name) == "Alive" else "no"
            sys.stdout.write(form.format(name.title(), living, ad.whole(f"{name}_PID"), ad.text(f"{name}_Addr"), log))
    return 0


# -- jobs --------------------------------------------------------------------------------------------------------


def _jobs(pool: Pool) -> list[AdRow]:
    """The slots of this machine that run a job."""
    rows = [AdRow(each) for each in pool.ask(Ads())]
    return [row for row in rows if row.text("State") == "Claimed" and row.text("JobId")]


def _table(rows: list[AdRow]) -> None:
    form = "{:<24} {:<18} {:>4} {:>8} {:>13} {}\n"
    sys.stdout.write("\n" + form.format("OWNER", "CLIENT", "SLOT", "JOB", "RUNTIME", "STATE"))
    for row in rows:
        ran = duration(max(0, int(time.time()) - row.whole("JobStart")))
        client = row.text("ClientMachine") or row.text("Machine")
        sys.stdout.write(form.format(row.text("RemoteOwner"), client, row.whole("SlotID"), row.text("JobId"), ran,
                                     f"{row.text('State')}/{row.text('Activity')}"))  # fmt: skip
