"""What a master starts, and how it restarts and stops daemons: DAEMON_LIST, MASTER_BACKOFF_*, MASTER_RECOVER_FACTOR,
SHUTDOWN_*_TIMEOUT.

By default, a dead daemon is restarted after 0.1 s, and the pause doubles with each further death, up to 30 s: jobs are
unaffected, and a machine is back soon. A pool that sets one of the MASTER_BACKOFF_* knobs gets HTCondor's rule with
HTCondor's defaults for the others: CONSTANT + FACTOR ** n seconds after n deaths, at most CEILING.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.base.records import dataclass
from roost.config import Code, Config, Diagnostic, Severity
from roost.config.subsystems import SUBSYSTEMS

#: Word of DAEMON_LIST, in lower case, to the role that it stands for.
ROLES: Final = {"collector": "central", "negotiator": "central", "schedd": "schedd", "startd": "node"}
#: Other words with an effect: the master itself, and a part of the central manager.
_WITHOUT_ROLE: Final = ("master", "defrag")
#: Without configuration: the first and the maximum pause, s.
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 30.0
#: A daemon that has lived this long has recovered, s.
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
        """Pause before a dead daemon is restarted, s; `deaths` were before this one."""
        if self.backoff is None:
            return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(deaths, 30))
        constant, factor, ceiling = self.backoff
        try:
            return min(ceiling, constant + factor**deaths)
        except OverflowError:
            return ceiling


def daemon_problems(config: Config) -> Iterator[Diagnostic]:
    """The words of DAEMON_LIST for which nothing is started."""
    known = (*_WITHOUT_ROLE, *ROLES)
    for word in config.get_list("DAEMON_LIST", subsys=_MASTER):
        if word.lower() in known:
            continue
        message = f"{word} is not started: Roost has no daemon of that name"
        remedy = f"Remove it; the daemons are {', '.join(known).upper()}."
        severity = Severity.NOTE if word.lower() in SUBSYSTEMS else Severity.WARNING
        yield config.problem(Code.BAD_MEMBER, "DAEMON_LIST", message, subsys=_MASTER, remedy=remedy, severity=severity)


def master_settings(config: Config) -> MasterSettings:
    """The settings of a configuration. Raises ConfigError."""
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
