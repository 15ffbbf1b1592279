"""The clock of a daemon.

Every daemon asks the clock that its `RoleContext` names, and lets its event loop wait. A real one is the system's.
Where somebody drives the time (`lab.replay`), clock and event loop agree on another: it stands still until nothing is
left to do, and then is at once that of the next timer. So the same daemons go through eight hours in seconds.

Work outside of daemons (shepherds, the bus's server) takes the time that it takes; who waits for it waits in
`time.monotonic`'s seconds.
"""

from __future__ import annotations

import time
from typing import Final


class Clock:
    """What time it is."""

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        return time.time()

    def zone_offset_s(self) -> int:
        """Seconds that the machine's time is east of UTC."""
        return time.localtime(self.now()).tm_gmtoff


#: The clock of the system.
SYSTEM: Final = Clock()
