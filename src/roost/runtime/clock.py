"""The clock of a daemon.

Every daemon reads the clock that its `RoleContext` names, and lets its event loop wait. Normally that is the system's
clock. In a replay (`lab.replay`), clock and event loop agree on another time: it stands still until nothing is left to
do, and then jumps to the next timer. So the same daemons go through eight hours in seconds.

Work outside of daemons (shepherds, the bus's server) takes the time that it takes; who waits for it waits in
`time.monotonic`'s seconds.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


class Clock:
    """What time it is."""

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        return time.time()

    def zone_offset_s(self) -> int:
        """Seconds that the machine's time is east of UTC."""
        return time.localtime(self.now()).tm_gmtoff

    def zone(self) -> tzinfo:
        """The machine's time zone with its changes of the clock: TZ, or /etc/localtime."""
        name = os.environ.get("TZ", "").removeprefix(":")
        try:
            if name and not name.startswith("/"):
                return ZoneInfo(name)
            with Path(name or _LOCALTIME).open("rb") as file:
                return ZoneInfo.from_file(file)
        except (OSError, ValueError, ZoneInfoNotFoundError):
            # TZ may be a rule that names no zone, and the file may be missing: then the present offset counts.
            offset_s = self.zone_offset_s()
            return timezone(timedelta(seconds=offset_s)) if offset_s else UTC


#: The machine's time zone where TZ names none.
_LOCALTIME: Final = "/etc/localtime"

#: The clock of the system.
SYSTEM: Final = Clock()
