"""How long the owner has been away from the machine, as each slot sees it.

Sensors report the idle time of each terminal and console device. The first slots, by number, are connected to the
console and to the keyboard: SLOTS_CONNECTED_TO_CONSOLE and SLOTS_CONNECTED_TO_KEYBOARD. A slot that is not connected
sees an owner who left DISCONNECTED_KEYBOARD_IDLE_BOOST seconds before the daemon started. By default every slot is
connected to both. A dynamic slot is connected as its parent is.

A device whose use is only observed as it happens says nothing about the time before the daemon's start, for which
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
    #: ConsoleIdle, s: the machine's own keyboard or mouse; None if unknown.
    console_s: int | None

    @property
    def line(self) -> str:
        """The log line for the machine's idle times."""
        console = -1 if self.console_s is None else self.console_s
        return f"Idle Time: user= {self.keyboard_s} , console= {console} seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """Which slots notice the owner."""

    #: Slots up to these numbers are connected to the console, and to terminals and keyboard.
    console: int
    keyboard: int
    #: Idle time at the daemon's start that other slots see, s.
    boost_s: int


def connections(config: Config) -> Connections:
    """The connections in a configuration. Raises `ConfigError`."""
    return Connections(
        console=config.get_int("SLOTS_CONNECTED_TO_CONSOLE"),
        keyboard=config.get_int("SLOTS_CONNECTED_TO_KEYBOARD"),
        boost_s=config.get_int("DISCONNECTED_KEYBOARD_IDLE_BOOST"),
    )


def machine_idleness(terminals_s: Iterable[float], consoles_s: Iterable[float]) -> Idleness:
    """The idle times of a machine from those of its terminals and its console devices.

    A machine without any terminal counts as never used, which is shown as the largest 32-bit number.
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
    """The log line for a slot's idle times."""
    console = -1 if idleness.console_s is None else idleness.console_s
    return f"Idle time: Keyboard: {idleness.keyboard_s} Console: {console}"
