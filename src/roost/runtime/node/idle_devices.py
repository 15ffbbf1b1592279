"""The time of the last use of keyboard, mouse or terminals of this machine.

Several kinds of traces are used, because none of them exists on every machine:

* terminals of users who are logged in (utmp), and the console's devices: the kernel notes when they were read;
* input devices (``/dev/input/event*``), which a daemon of root or of the group ``input`` may listen to; only the
  instant is kept, not what is typed;
* interrupts of a keyboard controller, where the devices may not be opened;
* files that a session's own helper touches when its user is active, for desktops that leave no other trace.

This module does not query an X or Wayland server; only a program of the session may.
"""

from __future__ import annotations

import contextlib
import glob
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roost.base.records import dataclass, field

_UTMP: Final = Path("/var/run/utmp")
#: type, process, line, id, user, host; the rest is ignored.
_ENTRY: Final = struct.Struct("hi32s4s32s256s")
_ENTRY_BYTES: Final = 384
_USER_PROCESS: Final = 7
_INPUT: Final = "/dev/input/event*"
_EVENT_BYTES: Final = 24 * 64
#: Maximum number of devices listened to at once.
_DEVICES_MAX: Final = 64
_CONTROLLER: Final = b"i8042"


@dataclass(slots=True, kw_only=True)
class IdleDevices:
    """Reads the devices of this machine. Keep one object; it listens between two readings."""

    #: CONSOLE_DEVICES, names in /dev.
    console: tuple[str, ...] = ("console",)
    #: STARTD_HAS_BAD_UTMP: all terminals count, not only those of users who are known to be logged in.
    bad_utmp: bool = False
    #: Files, or patterns of files, that are touched when a user is active.
    activity: tuple[str, ...] = ()
    #: STARTUP_KEYBOARD_IDLE_BOOST: idle time at the first reading of devices whose use is only observed as it happens,
    #: s.
    startup_boost_s: int = 0
    _open: dict[str, int] = field(default_factory=dict)
    _heard_at: float | None = None
    _interrupts: int | None = None
    _interrupted_at: float | None = None

    def terminals_s(self, now: float) -> list[float]:
        """Idle times of terminals and of touched files, s."""
        return [now - used for used in (*self._terminals(), *self._touched())]

    def consoles_s(self, now: float) -> list[float]:
        """Idle times of the machine's own keyboard and mouse, s; empty if unknown."""
        used = [found for name in self.console if (found := _used_at(f"/dev/{name}")) is not None]
        used += [found for found in (self._listened(now), self._counted(now)) if found is not None]
        return [now - each for each in used]

    def close(self) -> None:
        """Stop listening."""
        for file in self._open.values():
            os.close(file)
        self._open.clear()

    def _terminals(self) -> Iterator[float]:
        lines = None if self.bad_utmp else logged_in()
        paths = [*glob.glob("/dev/tty[0-9]*"), *glob.glob("/dev/pts/[0-9]*")] if lines is None else lines  # noqa: PTH207
        for path in paths:
            used = _used_at(path)
            if used is not None:
                yield used

    def _touched(self) -> Iterator[float]:
        for pattern in self.activity:
            for path in glob.glob(pattern):  # noqa: PTH207 - absolute patterns
                with contextlib.suppress(OSError):
                    yield Path(path).stat().st_mtime

    def _listened(self, now: float) -> float | None:
        """When an input device last produced an event; since the first reading, if there are any devices."""
        paths = [path for path in sorted(glob.glob(_INPUT))[:_DEVICES_MAX] if is_of_a_person(path)]  # noqa: PTH207
        for path in set(self._open) - set(paths):
            os.close(self._open.pop(path))
        for path in paths:
            if path not in self._open:
                with contextlib.suppress(OSError):
                    self._open[path] = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not self._open:
            return None
        if self._heard_at is None:
            # Nothing is known of the time before; unless configured otherwise, a user may just have been present.
            self._heard_at = now - self.startup_boost_s
        if any([_has_events(file) for file in self._open.values()]):
            self._heard_at = now
        return self._heard_at

    def _counted(self, now: float) -> float | None:
        count = controller_interrupts()
        if count is None:
            return None
        if count != self._interrupts:
            boost_s = self.startup_boost_s if self._interrupts is None else 0
            self._interrupts, self._interrupted_at = count, now - boost_s
        return self._interrupted_at


def logged_in(path: Path = _UTMP) -> list[str] | None:
    """The terminals of logged-in users; None if the machine keeps no record of them."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    found = []
    for at in range(0, len(data) - _ENTRY_BYTES + 1, _ENTRY_BYTES):
        kind, _, line, *_ = _ENTRY.unpack_from(data, at)
        name = line.split(b"\0", 1)[0].decode("utf-8", "replace")
        # Displays are written ":0"; they are not terminals.
        if kind == _USER_PROCESS and name and not name.startswith(":") and ".." not in name:
            found.append(f"/dev/{name}")
    return found


def is_of_a_person(path: str) -> bool:
    """Whether an input device has keys or reports relative motion, unlike position sensors."""
    base = Path("/sys/class/input") / Path(path).name / "device" / "capabilities"
    for name in ("key", "rel"):
        try:
            if (base / name).read_text().replace(" ", "").strip("0\n"):
                return True
        except OSError:
            continue
    return False


def controller_interrupts() -> int | None:
    """Number of interrupts of the keyboard controller; None for a machine without one."""
    try:
        lines = Path("/proc/interrupts").read_bytes().splitlines()
    except OSError:
        return None
    found = [line.split() for line in lines if _CONTROLLER in line]
    if not found:
        return None
    return sum(int(word) for words in found for word in words[1:] if word.isdigit())


def _has_events(file: int) -> bool:
    """Empty the event queue of a device; return whether there was anything in it."""
    heard = False
    with contextlib.suppress(OSError):
        while os.read(file, _EVENT_BYTES):
            heard = True
    return heard


def _used_at(path: str) -> float | None:
    """When a device was last read; None for a path that is not a device."""
    try:
        found = os.stat(path)  # noqa: PTH116 - called for every terminal
    except OSError:
        return None
    return found.st_atime if stat.S_ISCHR(found.st_mode) else None
