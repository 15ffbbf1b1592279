"""``condor_drain``: drain a machine, or cancel a drain."""

from __future__ import annotations

import sys
from typing import Final

from roost.cli.condor.asking import DaemonLocation
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Option, given
from roost.cli.pool_connection import Pool
from roost.cli.terminal import CommandError
from roost.wire.requests import machine as requests

OPTIONS: Final = (
    Option("cancel", "stop draining", least=1),
    Option("graceful", "give jobs their retirement and vacate time (default)", least=2),
    Option("quick", "give jobs only their vacate time", least=2),
    Option("fast", "give jobs neither", least=1),
    Option("resume-on-completion", "accept jobs again once the machine is empty", least=3),
    Option("exit-on-completion", "stop the machine's daemon once it is empty", least=2),
    Option("restart-on-completion", "restart the machine's daemon once it is empty", least=5),
    Option(
        "reconfig-on-completion", "reread the configuration once the machine is empty, then accept jobs again", least=5
    ),
    Option("reason", "reason, shown with the machine", takes="TEXT", least=3),
    Option("check", "drain only if EXPR is true for every slot", takes="EXPR", least=2),
    Option("start", "jobs that may start during the drain", takes="EXPR", least=1),
    Option("request-id", "cancel only the drain with this id", takes="ID", least=3),
    Option("pool", "the pool of the machine", takes="HOST", least=2),
    Option("debug", "accepted, has no effect", least=1),
)
_SCHEDULES: Final = {"graceful": 0, "quick": 10, "fast": 20}
_THEN: Final = {
    "resume-on-completion": 1, "exit-on-completion": 2, "restart-on-completion": 3, "reconfig-on-completion": 4,
}  # fmt: skip


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_drain``."""
    place, said, flags, machines = DaemonLocation(), {}, set(), []
    for option in given(arguments, OPTIONS):
        if option.name == "":
            machines.append(option.value)
        elif option.name == "pool":
            place.pool = option.value
        elif option.values:
            said[option.name] = option.value
        else:
            flags.add(option.name)
    if len(machines) != 1:
        raise UsageError("ERROR: name one machine\nUsage: condor_drain [options] MACHINE")
    return place.ask(lambda pool: _drain(pool, machines[0], said, flags), lost="ERROR: unable to locate the pool")


def _drain(pool: Pool, named: str, said: dict[str, str], flags: set[str]) -> int:
    machine = named.rpartition("@")[2]
    what = "CANCEL_DRAIN_JOBS" if "cancel" in flags else "DRAIN_JOBS"
    try:
        if "cancel" in flags:
            pool.ask(requests.CancelDrain(request_id=said.get("request-id", "")), machine=machine)
        else:
            pool.ask(_order(said, flags, pool.user), machine=machine)
    except CommandError as error:
        raise ToolError(f"Attempt to send {what} request to startd {named} failed\n{error}") from None
    if "cancel" in flags:
        sys.stdout.write(f"Sent request to cancel draining on {named}\n")
    else:
        sys.stdout.write(
            f"Sent request to drain the startd <{machine}> with {named}. This only affects the single startd; "
            "any other startds running on the same host will not be drained.\n"
        )
    return 0


def _order(said: dict[str, str], flags: set[str], user: str) -> requests.Drain:
    schedule = next((number for name, number in _SCHEDULES.items() if name in flags), 0)
    then = next((number for name, number in _THEN.items() if name in flags), 0)
    reason = said.get("reason") or f"by command: condor_drain of {user}"
    return requests.Drain(
        schedule=schedule, on_completion=then, check=said.get("check"), start=said.get("start"), reason=reason
    )
