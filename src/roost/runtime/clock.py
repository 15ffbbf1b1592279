"""The clock of a daemon.

Every daemon reads the clock in its `RoleContext`, and its event loop waits accordingly. Normally that is the system's
clock. In a replay (`lab.replay`), clock and event loop use simulated time: it stands still until nothing is left to do,
and then jumps to the next timer. The same daemons therefore run through eight hours in seconds.

Work outside of daemons (shepherds, the bus's server) takes real time; code that waits for it uses `time.monotonic`.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


class Clock:
    """The current time."""

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        return time.time()

    def zone_offset_s(self) -> int:
        """UTC offset of the machine's time zone, seconds east."""
        return time.localtime(self.now()).tm_gmtoff

    def zone(self) -> tzinfo:
        """The machine's time zone with its clock changes: TZ, or /etc/localtime."""
        name = os.environ.get("TZ", "").removeprefix(":")
        try:
            if name and not name.startswith("/"):
                return ZoneInfo(name)
            with Path(name or _LOCALTIME).open("rb") as file:
                return ZoneInfo.from_file(file)
        except (OSError, ValueError, ZoneInfoNotFoundError):
            # TZ may be a rule without a zone name, and the file may be missing: then the current offset is used.
            offset_s = self.zone_offset_s()
            return timezone(timedelta(seconds=offset_s)) if offset_s else UTC


#: The machine's time zone if TZ names none.
_LOCALTIME: Final = "/etc/localtime"

#: The clock of the system.
SYSTEM: Final = Clock()
