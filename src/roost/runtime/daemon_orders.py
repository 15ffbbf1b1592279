"""Orders to a daemon to end: how, whether its master restarts it, and the signals by which they come."""

from __future__ import annotations

import os
import signal
from enum import StrEnum
from typing import Final, NamedTuple


class DaemonEnding(StrEnum):
    """How a daemon must end."""

    #: Jobs continue; the next daemon takes them over.
    LEAVE = "leave"
    #: Jobs have to leave, with the time that they are entitled to.
    GRACEFUL = "graceful"
    #: Jobs have to leave at once.
    FAST = "fast"


class DaemonOrder(NamedTuple):
    """An order to a daemon to end."""

    ending: DaemonEnding
    #: Its master does not restart it.
    stays_down: bool = False


#: Exit status of a daemon that was ordered to stay down.
STAYS_DOWN: Final = 99
#: Signals that order a daemon to end; the first four come from the master and from outside, the others from itself.
ORDERS: Final = {
    signal.SIGTERM: DaemonOrder(DaemonEnding.GRACEFUL),
    signal.SIGINT: DaemonOrder(DaemonEnding.GRACEFUL),
    signal.SIGQUIT: DaemonOrder(DaemonEnding.FAST),
    signal.SIGUSR1: DaemonOrder(DaemonEnding.LEAVE),
    signal.SIGRTMIN: DaemonOrder(DaemonEnding.GRACEFUL, stays_down=True),
    signal.SIGRTMIN + 1: DaemonOrder(DaemonEnding.FAST, stays_down=True),
    signal.SIGRTMIN + 2: DaemonOrder(DaemonEnding.LEAVE, stays_down=True),
}


def stop_for_good(ending: DaemonEnding) -> None:
    """Order the daemon of this process to end, and its master not to restart it."""
    order = DaemonOrder(ending, stays_down=True)
    os.kill(os.getpid(), next(number for number, each in ORDERS.items() if each == order))
