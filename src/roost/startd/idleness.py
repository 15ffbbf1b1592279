"""How long the owner has left the machine alone, as each slot sees it.

Sensors give the idle time of every terminal and of every console device. Some slots are connected to the console and
some to the keyboard, by their numbers: SLOTS_CONNECTED_TO_CONSOLE and SLOTS_CONNECTED_TO_KEYBOARD. A slot that is not
sees an owner who has been away since a while before the daemon started, DISCONNECTED_KEYBOARD_IDLE_BOOST. By default
every slot is connected to both. A dynamic slot is connected as its parent is.

A device whose use is only seen as it happens tells nothing of the time before the daemon's start: for that,
STARTUP_KEYBOARD_IDLE_BOOST is assumed (`runtime.node.idle_devices`).
"""

from __future__ import annotations

from collections.abc import Iterable

from roost.base.records import dataclass
from roost.config import Config
from roost.model.slots import SlotId


@dataclass(frozen=True, slots=True, kw_only=True)
class Idleness:
    """Idle times of a machine, or as a slot sees them."""

    #: KeyboardIdle, s: any terminal, keyboard or mouse.
    keyboard_s: int
    #: ConsoleIdle, s: the machine's own keyboard or mouse; None where that cannot be found out.
    console_s: int | None

    @property
    def line(self) -> str:
        """The line of the daemon's log that tells what the machine saw."""
        console = -1 if self.console_s is None else self.console_s
        return f"Idle Time: user= {self.keyboard_s} , console= {console} seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """Which slots notice the owner."""

    #: Slots up to these numbers notice the console, and terminals and keyboard.
    console: int
    keyboard: int
    #: Idle time before the daemon's start that other slots see, s.
    boost_s: int


def connections(config: Config) -> Connections:
    """The connections that a configuration says. Raises `ConfigError`."""
    return Connections(
        console=config.get_int("SLOTS_CONNECTED_TO_CONSOLE"),
        keyboard=config.get_int("SLOTS_CONNECTED_TO_KEYBOARD"),
        boost_s=config.get_int("DISCONNECTED_KEYBOARD_IDLE_BOOST"),
    )


def machine_idleness(terminals_s: Iterable[float], consoles_s: Iterable[float]) -> Idleness:
    """The idle times of a machine from those of its terminals and its console devices.

    A machine without any terminal has been left alone for ever: that is shown as the largest 32-bit number, as an
    owner who never came.
    """
    consoles = [max(0, int(one)) for one in consoles_s]
    terminals = [max(0, int(one)) for one in terminals_s]
    return Idleness(keyboard_s=min((*terminals, *consoles), default=2**31 - 1), console_s=min(consoles, default=None))


def slot_idleness(
    machine: Idleness, slot: SlotId, connected: Connections, *, now: float, started_at: float
) -> Idleness:
    """The idle times that a slot reports. `started_at` is the start of the daemon, both are epoch s."""
    away_s = max(0, int(now - started_at)) + connected.boost_s
    console_s = machine.console_s
    if console_s is not None and slot.number > connected.console:
        console_s = away_s
    return Idleness(keyboard_s=machine.keyboard_s if slot.number <= connected.keyboard else away_s, console_s=console_s)


def log_line(idleness: Idleness) -> str:
    """The line of a slot's log that tells what it sees."""
    console = -1 if idleness.console_s is None else idleness.console_s
    return f"Idle time: Keyboard: {idleness.keyboard_s} Console: {console}"
