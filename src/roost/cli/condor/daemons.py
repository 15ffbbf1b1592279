"""The daemons of this machine: ``condor_reconfig|restart|off|on|master``, ``condor_vacate``, ``condor_reschedule``.

A Roost pool's daemons are started and stopped together, by their master. A command that names one daemon therefore acts
on all of them if that does no harm (reconfig), and is refused otherwise (off, on, restart of a single one).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Final

from roost.cli.condor.asking import DaemonLocation
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Option, given
from roost.cli.pool_connection import Pool
from roost.cli.terminal import CommandError
from roost.runtime.bus.pool_client import is_called
from roost.runtime.files.whole_files import write_whole
from roost.runtime.home import Home, HomeError
from roost.runtime.identity import host_name
from roost.wire.requests import queue
from roost.wire.requests.machine import Vacate

_DAEMONS: Final = ("master", "schedd", "startd", "collector", "negotiator")
OPTIONS: Final = (
    Option("all", "act on all machines; in a Roost pool, only on this one", least=1),
    Option("daemon", "this daemon", takes="NAME", least=2),
    Option("subsystem", "the same", takes="NAME", least=2),
    Option("fast", "kill jobs at once", least=1),
    Option("graceful", "give jobs time to end (default)", least=1),
    Option("peaceful", "not supported: wait until jobs have ended by themselves; drain the machine first", least=2),
    Option("force-graceful", "the same as -graceful", least=2),
    Option("name", "the machine", takes="HOST", least=1),
    Option("addr", "accepted, has no effect", takes="ADDRESS", least=2),
    Option("pool", "the pool", takes="HOST", least=2),
    Option("constraint", "only machines for which EXPR is true", takes="EXPR", least=1),
    *(Option(daemon, f"the {daemon}", least=len(daemon)) for daemon in _DAEMONS),
    Option("debug", "accepted, has no effect", least=2),
    Option("f", "condor_master: stay in the foreground"),
    Option("b", "condor_master: run in the background (default)"),
    Option("t", "accepted, has no effect"),
    Option("pidfile", "condor_master: write its process id there", takes="FILE", least=3),
)
#: Interval of checks for a restarting master, s.
_PAUSE_S: Final = 0.05
#: The name of each command in messages.
_CALLED: Final = {
    "condor_reconfig": "Reconfig", "condor_restart": "Restart", "condor_off": "Kill-All-Daemons",
    "condor_on": "Spawn-All-Daemons", "condor_vacate": "Vacate-All-Claims", "condor_reschedule": "Reschedule",
}  # fmt: skip


class _CommandLine:
    """The parsed command line."""

    def __init__(self, arguments: list[str]) -> None:
        self.place = DaemonLocation()
        self.daemon = ""
        self.machines: list[str] = []
        self.flags: set[str] = set()
        self.pid_file = ""
        for option in given(arguments, OPTIONS):
            match option.name:
                case "" | "name":
                    self.machines.append(option.value)
                case "daemon" | "subsystem":
                    self.daemon = option.value.lower()
                case "pool":
                    self.place.pool = option.value
                case "pidfile":
                    self.pid_file = option.value
                case _ if option.name in _DAEMONS:
                    self.daemon = option.name
                case _:
                    self.flags.add(option.name)

    @property
    def how(self) -> str:
        """How jobs are ended."""
        return "fast" if "fast" in self.flags else "graceful"


def run(name: str, arguments: list[str]) -> int:
    """Run one of them."""
    order = _CommandLine(arguments)
    if name == "condor_master":
        return _master(order)
    if name in ("condor_vacate", "condor_reschedule"):
        return order.place.ask(lambda pool: _ask(pool, name, order))
    _check(name, order)
    home = Home.find(None)
    try:
        match name:
            case "condor_reconfig":
                _reconfigure(home)
            case "condor_off":
                _stop(home, order.how)
            case "condor_on":
                _start(home)
            case "condor_restart":
                _restart(home, "fast" if "fast" in order.flags else "leave")
    except CommandError as error:
        raise ToolError(f"ERROR: Can't connect to local master\n{error}") from None
    sys.stdout.write(f'Sent "{_CALLED[name]}" command to {_who(order)}\n')
    return 0


def _check(name: str, order: _CommandLine) -> None:
    for machine in order.machines:
        if not is_called(machine, host_name()):
            raise ToolError(
                f"Can't find address for master {machine}\n"
                "The daemons of a machine can only be started and stopped on that machine"
            )
    if order.daemon not in ("", "master") and name != "condor_reconfig":
        raise UsageError(
            f"ERROR: {name} cannot act on the {order.daemon} alone: the daemons of a machine start and stop together"
        )


def _who(order: _CommandLine) -> str:
    return f"master {order.machines[0]}" if order.machines else "local master"


# -- this machine ------------------------------------------------------------------------------------------------


def _reconfigure(home: Home) -> None:
    from roost.cli.reconfig import reconfigure

    for role, answer in reconfigure(home).items():
        if answer is None or not answer["ok"]:
            text = "it did not answer" if answer is None else answer["text"]
            raise ToolError(f"ERROR: {role} keeps its previous configuration: {text}")


def _stop(home: Home, how: str) -> None:
    from roost.cli.down import stop

    try:
        _keep_roots(home)
    except HomeError as error:
        raise CommandError(str(error)) from None
    stop(home, how)


def _restart(home: Home, how: str) -> None:
    """Restart the daemons; a master in the foreground restarts itself, and stays the same process."""
    from roost.cli.up import SIGNALS, again_of, alive, foreground_of, master_runs, signal_master

    try:
        contact = home.contact()
        pid = int(foreground_of(home).read_text())
    except (HomeError, OSError, ValueError):
        contact, pid = {}, 0
    if not pid or contact.get("pid") != pid or not master_runs(contact):
        _stop(home, how)
        _start(home)
        return
    signal_master(home, pid, 0)
    again_of(home).touch()
    # It exists again when the daemons work.
    foreground_of(home).unlink()
    signal_master(home, pid, SIGNALS[how])
    while not foreground_of(home).exists():
        if not alive(pid):
            raise CommandError(f"the master has exited and did not restart; see {home.log / 'master.log'}")
        time.sleep(_PAUSE_S)


def _start(home: Home) -> None:
    from roost.cli.up import start_detached

    home.make()
    start_detached(home, _kept_roots(home))


def _keep_roots(home: Home) -> None:
    """Save the configuration files of the pool, for the next start."""
    roots = home.contact().get("roots")
    if roots is not None:
        write_whole(home.run / "roots", "\n".join(roots))


def _kept_roots(home: Home) -> tuple[str, ...] | None:
    try:
        return tuple((home.run / "roots").read_text().splitlines()) or None
    except OSError:
        return None


def _master(order: _CommandLine) -> int:
    """Start the daemons of this machine."""
    home = Home.find(None)
    try:
        home.make()
        if "f" in order.flags:
            from roost.cli.up import run_foreground

            return run_foreground(home, _kept_roots(home), lambda warning: _write_pid(order, home))
        _start(home)
        _write_pid(order, home)
    except (HomeError, CommandError) as error:
        raise ToolError(f"ERROR: {error}") from None
    return 0


def _write_pid(order: _CommandLine, home: Home) -> None:
    if order.pid_file:
        Path(order.pid_file).write_text(f"{home.contact()['pid']}\n")


# -- the pool ----------------------------------------------------------------------------------------------------


def _ask(pool: Pool, name: str, order: _CommandLine) -> int:
    if name == "condor_reschedule":
        # Idle jobs and free slots start a cycle by themselves; the request proves that the queue is running.
        pool.ask(queue.Summary())
        sys.stdout.write('Sent "Reschedule" command to local schedd\n')
        return 0
    failed = 0
    for machine in order.machines or [str(pool.contact["node"])]:
        slot = machine if "@" in machine else ""
        try:
            pool.ask(Vacate(slot=slot, fast="fast" in order.flags), machine=machine.rpartition("@")[2])
        except CommandError as error:
            sys.stderr.write(f"Can't send Vacate-Claim command to startd {machine}\n{error}\n")
            failed = 1
            continue
        command = "Vacate-Claim" if slot else "Vacate-All-Claims"
        command += "-Fast" if "fast" in order.flags else ""
        sys.stdout.write(f'Sent "{command}" command to startd {machine}\n')
    return failed
