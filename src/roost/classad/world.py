"""The outside world of an evaluation: the clock, random numbers, the time zone, the machine's users.

Pure rooms hand in a `FixedWorld` (or their own); `WORLD`, the default, is the real one.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import Final, Protocol

from roost.base.records import dataclass, field


class World(Protocol):
    """The interface behind functions such as time(), random() and userHome()."""

    def now(self) -> float:
        """Seconds since 1970-01-01T00:00:00Z."""
        ...

    def random(self) -> float:
        """A real in [0, 1)."""
        ...

    def zone_offset(self, epoch: float) -> int:
        """Seconds east of UTC of the local zone at that instant."""
        ...

    def zone_name(self) -> str:
        """The name of the local zone, outside of summer."""
        ...

    def home_of(self, user: str) -> str | None:
        """The home directory of a user of this machine; None if there is none."""
        ...

    def user_map(self, name: str) -> Mapping[str, str] | None:
        """The map of that name: canonical user to a comma-separated list of groups; None if there is none."""
        ...


class SystemWorld:
    """The machine this program runs on."""

    def now(self) -> float:
        """The system clock."""
        return time.time()

    def random(self) -> float:
        """The interpreter's generator."""
        return random.random()

    def zone_offset(self, epoch: float) -> int:
        """The zone of the environment (TZ)."""
        try:
            return time.localtime(epoch).tm_gmtoff
        except (OverflowError, ValueError, OSError):
            return 0

    def zone_name(self) -> str:
        """The zone of the environment (TZ)."""
        return time.tzname[0]

    def home_of(self, user: str) -> str | None:
        """The user database."""
        try:
            import pwd

            return pwd.getpwnam(user).pw_dir
        except (ImportError, KeyError, ValueError):
            return None

    def user_map(self, name: str) -> Mapping[str, str] | None:
        """No maps are configured here."""
        return None


@dataclass(slots=True, kw_only=True)
class FixedWorld:
    """A world with fixed values."""

    #: The instant, epoch seconds.
    instant: float = 0.0
    #: Seconds east of UTC of the local zone.
    offset: int = 0
    #: Source of random numbers; None for numbers seeded by the instant when the first is drawn.
    source: random.Random | None = None
    homes: Mapping[str, str] = field(default_factory=dict)
    user_maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def now(self) -> float:
        """The given instant."""
        return self.instant

    def random(self) -> float:
        """The next number of the given source."""
        if self.source is None:
            self.source = random.Random(self.instant)
        return self.source.random()

    def zone_offset(self, epoch: float) -> int:
        """The given zone."""
        return self.offset

    def zone_name(self) -> str:
        """The name of the offset from UTC."""
        return zone_name(self.offset)

    def home_of(self, user: str) -> str | None:
        """A given home directory."""
        return self.homes.get(user)

    def user_map(self, name: str) -> Mapping[str, str] | None:
        """A given map."""
        return self.user_maps.get(name)


def zone_name(offset: int) -> str:
    """The name of a zone of which only the offset east of UTC is known, in seconds: UTC, +02, -0330."""
    if offset == 0:
        return "UTC"
    hours, minutes = divmod(abs(offset) // 60, 60)
    sign = "-" if offset < 0 else "+"
    return f"{sign}{hours:02d}{minutes:02d}" if minutes else f"{sign}{hours:02d}"


#: The real world.
WORLD: Final[World] = SystemWorld()
