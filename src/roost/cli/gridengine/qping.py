"""``qping``: whether a daemon of the cell answers, and how long it has been running.

Grid Engine's qmaster corresponds to the central manager and the queue of the pool, an execution daemon to the daemon of
a machine. They answer through the pool's message servers, so the given port is only echoed.
"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from roost.cli.gridengine.asking import ask
from roost.cli.gridengine.tables import date
from roost.cli.pool_connection import Refused
from roost.cli.terminal import CommandError
from roost.gridengine.commands.errors import FAILED, Failure
from roost.gridengine.commands.options import Option, taken, usage
from roost.wire.requests import central, machine

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

_SERVERS: Final = "daemons of a pool talk through its message servers; configure their security there (NATS_SERVERS)"
_TRAFFIC: Final = "`roost audit` and the logs of the daemons tell what was done"
OPTIONS: Final = (
    Option("i", "time between requests, s; 1", "interval"),
    Option("info", "show the full status and exit"),
    Option("f", "show the full status each time"),
    Option("noalias", "pools have no aliases of hosts"),
    Option("ssl", "use SSL", "", _SERVERS),
    Option("tcp", "use TCP; pools always do"),
    Option("dump", "dump communication traffic", "", _TRAFFIC),
    Option("dump_tag", "dump communication traffic", "tag", _TRAFFIC),
    Option("nonewline", "dump without line breaks", "", _TRAFFIC),
)
_POSITIONAL: Final = "host port name id"
_NAMES: Final = ("qmaster", "execd")
#: The type of the ads of queues.
_QUEUE: Final = "Scheduler"


class _Endpoint(NamedTuple):
    host: str
    port: str
    name: str
    id: str

    @property
    def called(self) -> str:
        return f"{self.host}/{self.name}/{self.id}"


class _Status(NamedTuple):
    #: Epoch s.
    started: int
    #: 0 for normal; 1 for a problem, which `info` describes.
    code: int
    info: str


def run(name: str, arguments: list[str]) -> int:
    """Run ``qping``."""
    given, rest = taken(name, arguments, OPTIONS)
    if len(rest) != 4:
        raise Failure(usage(name, OPTIONS, _POSITIONAL), FAILED)
    endpoint = _Endpoint(*rest)
    if not endpoint.port.isdecimal() or not 0 < int(endpoint.port) < 65536:
        raise Failure(f"endpoint {endpoint.called} at port 0: no valid port number", FAILED)
    if endpoint.name not in _NAMES:
        raise Failure(f"endpoint {endpoint.called}: a cell has components {' and '.join(_NAMES)}", FAILED)
    names = {each.name for each in given}
    interval = next((each.value for each in given if each.name == "i"), "1")
    if not interval.isdecimal() or int(interval) < 1:
        raise Failure(f'qping: -i takes a number of seconds from 1 on, and not "{interval}"', FAILED)
    if "info" in names:
        return ask(name, lambda pool: _once(pool, endpoint, full=True))
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            ask(name, lambda pool: _once(pool, endpoint, full="f" in names))
            time.sleep(int(interval))
    return 0


def _once(pool: Pool, endpoint: _Endpoint, *, full: bool) -> int:
    """Make one request, and report; return the exit status."""
    now = int(time.time())
    try:
        status = _of_qmaster(pool, endpoint) if endpoint.name == "qmaster" else _of_machine(pool, endpoint)
    except (Refused, CommandError) as error:
        sys.stdout.write(f"{date(now)} endpoint {endpoint.called} at port {endpoint.port}: no connection: {error}\n")
        sys.stdout.flush()
        return FAILED
    if full:
        sys.stdout.write(_shown(status, now))
    else:
        up_s = now - status.started
        sys.stdout.write(f"{date(now)} endpoint {endpoint.called} at port {endpoint.port} is up since {up_s} seconds\n")
    sys.stdout.flush()
    return 0


def _shown(status: _Status, now: int) -> str:
    rows = {
        "SIRM version": "0.1",
        "SIRM message id": 1,
        "start time": f"{date(status.started)} ({status.started})",
        "run time [s]": now - status.started,
        "messages in read buffer": 0,
        "messages in write buffer": 0,
        "no. of connected clients": 1,
        "status": status.code,
        "info": status.info,
        "Monitor": "disabled",
    }
    return "".join([f"{date(now)}:\n", *(f"{f'{name}:':<26}{value}\n" for name, value in rows.items()), "\n"])


def _of_qmaster(pool: Pool, endpoint: _Endpoint) -> _Status:
    """The status of the central manager and the queue. Raises Refused and CommandError."""
    from roost.runtime.cell_root import central_name

    if not _same(endpoint.host, central_name(pool.home)):
        raise CommandError(f"the qmaster runs on {central_name(pool.home)}")
    shown = ("MyType", "DaemonStartTime")
    # An answer shows that the central manager is running.
    ads = pool.ask(central.Ads(kind=_QUEUE, projection=shown, values=True))
    started = [int(ad["DaemonStartTime"]) for ad in ads if "DaemonStartTime" in ad]
    return _Status(min(started, default=int(time.time())), int(not ads), "OK" if ads else "there is no queue")


def _of_machine(pool: Pool, endpoint: _Endpoint) -> _Status:
    """The status of a machine. Raises Refused and CommandError."""
    ads = pool.ask(machine.Ads(), machine=_machine_of(pool, endpoint.host))
    started = [int(ad["DaemonStartTime"]) for ad in ads if "DaemonStartTime" in ad]
    return _Status(min(started, default=int(time.time())), 0, "OK")


def _machine_of(pool: Pool, host: str) -> str:
    names = sorted({str(ad["Machine"]) for ad in pool.ask(central.Ads(kind="Machine", projection=("Machine",)))})
    found = next((name for name in names if _same(host, name)), None)
    if found is None:
        raise CommandError(f'no machine of the pool is called "{host}"')
    return found


def _same(host: str, name: str) -> bool:
    """Whether two names refer to one host; one of them may lack the domain."""
    if "." in host and "." in name:
        return host == name
    return host.partition(".")[0] == name.partition(".")[0]
