"""How a master starts daemons again and ends them: MASTER_BACKOFF_*, MASTER_RECOVER_FACTOR, SHUTDOWN_*_TIMEOUT.

Where nothing is set, a daemon that died comes back after 0.1 s, and twice as late after each further death, up to 30 s:
jobs do not notice, and a machine is soon back. A pool that sets one of the MASTER_BACKOFF_* knobs gets HTCondor's
rule with HTCondor's values for the others: CONSTANT + FACTOR ** n seconds after n deaths, at most CEILING.
"""

from __future__ import annotations

from typing import Final

from roost.base.records import dataclass
from roost.config import Config

#: Without configuration: the first pause and the longest, s.
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 30.0
#: A daemon that has lived so long has recovered, s.
RECOVERED_S: Final = 60.0

_MASTER: Final = "MASTER"


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterSettings:
    """The settings of a master."""

    #: CONSTANT, FACTOR and CEILING of HTCondor's rule; None without it.
    backoff: tuple[float, float, float] | None = None
    recovered_s: float = RECOVERED_S
    #: SHUTDOWN_GRACEFUL_TIMEOUT and SHUTDOWN_FAST_TIMEOUT, s.
    graceful_s: float = 1800.0
    fast_s: float = 300.0

    def pause_s(self, deaths: int) -> float:
        """How long to wait before a daemon is started that died; `deaths` were before this one."""
        if self.backoff is None:
            return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(deaths, 30))
        constant, factor, ceiling = self.backoff
        try:
            return min(ceiling, constant + factor**deaths)
        except OverflowError:
            return ceiling


def master_settings(config: Config) -> MasterSettings:
    """The settings that a configuration has. Raises ConfigError."""
    names = ("MASTER_BACKOFF_CONSTANT", "MASTER_BACKOFF_FACTOR", "MASTER_BACKOFF_CEILING")
    is_set = [config.get(name, subsys=_MASTER) is not None for name in names]
    constant, factor, ceiling = (
        config.get_float(name, default, subsys=_MASTER) for name, default in zip(names, (9.0, 2.0, 3600.0), strict=True)
    )
    recovered_s = config.get_float("MASTER_RECOVER_FACTOR", 300.0 if any(is_set) else RECOVERED_S, subsys=_MASTER)
    return MasterSettings(
        backoff=(constant, factor, ceiling) if any(is_set) else None,
        recovered_s=recovered_s,
        graceful_s=config.get_float("SHUTDOWN_GRACEFUL_TIMEOUT", subsys=_MASTER),
        fast_s=config.get_float("SHUTDOWN_FAST_TIMEOUT", subsys=_MASTER),
    )
