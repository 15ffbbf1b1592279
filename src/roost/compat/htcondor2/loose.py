"""Functions of the module: versions, the configuration, logging, and commands to daemons."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from roost.compat.classad2 import ClassAd
from roost.compat.htcondor2.asking import connected, home_of
from roost.compat.htcondor2.enums import DaemonCommand, LogLevel, SubsystemType
from roost.compat.htcondor2.errors import HTCondorException
from roost.compat.htcondor2.parameters import Param
from roost.compat.htcondor2.security import SecurityContext
from roost.model.compatible import CONDOR_VERSION
from roost.wire.requests import queue

param = Param()
_debugging: list[str] = []


def version() -> str:
    """The version string of HTCondor, for programs that check it."""
    return CONDOR_VERSION


def platform() -> str:
    """The platform string."""
    machine = os.uname()
    return f"$CondorPlatform: {machine.machine}_{machine.sysname} $"


def reload_config(root_config_file: str | None = None) -> None:
    """Read the configuration again; `root_config_file` for another file, as CONDOR_CONFIG names one."""
    if root_config_file is not None:
        os.environ["CONDOR_CONFIG"] = root_config_file
    param.reload()


def set_subsystem(subsystem: str, type: SubsystemType | None = None) -> None:
    """Read the configuration as another daemon does."""
    if not isinstance(subsystem, str):
        raise TypeError("subsystem must be a string")
    param.reload(subsystem)


def enable_debug(flags: str | None = None) -> None:
    """Make `log` write to standard error."""
    _debugging[:] = [flags or "all"]


def disable_debug() -> None:
    """Make `log` write nothing."""
    _debugging.clear()


def enable_log() -> None:
    """Make `log` write, like `enable_debug`."""
    enable_debug()


def log(level: LogLevel | int, message: str) -> None:
    """Write a line, if `enable_debug` was called."""
    if _debugging:
        sys.stderr.write(f"{time.strftime('%m/%d/%y %H:%M:%S')} {message}\n")


def send_command(ad: ClassAd, dc: DaemonCommand, target: str | None = None) -> None:
    """Tell the pool's daemons to reread their configuration or to end; other commands are not possible."""
    home = home_of(ad)
    with connected(home) as pool:
        pid = int(pool.contact["pid"])
    orders = {
        DaemonCommand.Reconfig: signal.SIGHUP,
        DaemonCommand.OffGraceful: signal.SIGTERM,
        DaemonCommand.DaemonsOff: signal.SIGTERM,
        DaemonCommand.OffFast: signal.SIGQUIT,
        DaemonCommand.DaemonsOffFast: signal.SIGQUIT,
    }
    order = orders.get(DaemonCommand(dc))
    if order is None:
        raise HTCondorException(
            f"{DaemonCommand(dc).name} is not possible: a Roost pool's daemons are started and ended together "
            "(`roost up`, `roost down`)"
        )
    try:
        os.kill(pid, order)
    except OSError as error:
        raise HTCondorException(f"the pool's master cannot be told: {error.strerror}") from None


def send_alive(ad: ClassAd | None = None, pid: int | None = None, timeout: int | None = None) -> None:
    """No effect: a Roost master watches the processes that it started."""


def set_ready_state(state: str = "Ready") -> None:
    """No effect: a Roost master watches the processes that it started."""


def ping(location: str | ClassAd, authz: str | None = None, security: SecurityContext | None = None) -> ClassAd:
    """Contact the pool, and return the identity under which it knows this program."""
    with connected(home_of(location) if isinstance(location, ClassAd) else None) as pool:
        pool.ask(queue.Summary())
        found: dict[str, Any] = {
            "AuthCommand": 60022,
            "AuthMethods": "NATS",
            "AuthorizationSucceeded": True,
            "MyRemoteUserName": f"{pool.user}@{pool.contact['uid_domain']}",
            "Authentication": "YES",
            "Encryption": "NO",
            "Integrity": "NO",
        }
    return ClassAd(found)
