"""Where a daemon logs, how much, and how long: <DAEMON>_LOG, MAX_<DAEMON>_LOG, MAX_NUM_<DAEMON>_LOG, <DAEMON>_DEBUG.

A daemon of Roost is called after the first of HTCondor's that it stands for: COLLECTOR (with the negotiator and
defragmentation), SCHEDD, STARTD (with the starters). Its log is ``log/<role>.log`` in the state directory; if it is
elsewhere, that name is a link to it, by which people and commands find it.

A log has two levels. D_FULLDEBUG, D_ALL, D_ANY, or a category with ``:2`` ask for all that there is to say. D_LOAD (and
D_ALL, D_ANY) adds loads and idle times to the log of an execute machine, whatever the level.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roost.config import Config
from roost.runtime.daemon_log import LOGS_KEPT, DaemonLog
from roost.runtime.home import Home

#: Role to the name of the daemon in knobs.
DAEMONS: Final = {"central": "COLLECTOR", "schedd": "SCHEDD", "node": "STARTD"}
#: The logger of loads and idle times.
LOADS: Final = "roost.node.load"
#: Units of sizes, in lower case, without a final b.
_UNITS: Final = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{0,6})?)\s*([kmgt]?)b?(?:ytes)?\Z", re.IGNORECASE)
#: Smallest size at which a log is turned over, bytes.
_BYTES_MIN: Final = 10_000


class BadLog(ValueError):
    """A daemon cannot log as it is told to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """How a daemon logs."""

    path: Path
    bytes_max: int
    kept: int
    level: int
    #: D_LOAD: the loads and idle times of machine and slots at each look at the sensors.
    loads: bool = False


def log_settings(config: Config, home: Home, role: str) -> LogSettings:
    """The settings of a daemon. Raises BadLog, ConfigError."""
    daemon = DAEMONS[role]
    path = config.get(f"{daemon}_LOG", subsys=daemon) or str(home.log / f"{role}.log")
    if not path.startswith("/"):
        raise BadLog(f"{daemon}_LOG = {path} is not an absolute path")
    size = f"MAX_{daemon}_LOG"
    if config.get(size, subsys=daemon) is None:
        size = "MAX_DEFAULT_LOG"
    return LogSettings(
        path=Path(path),
        bytes_max=_bytes(size, config.get(size, subsys=daemon) or "10 Mb"),
        kept=config.get_int(f"MAX_NUM_{daemon}_LOG", LOGS_KEPT, subsys=daemon),
        level=_level(config, daemon),
        loads=any(word.partition(":")[0] in ("D_LOAD", "D_ALL", "D_ANY") for word in _categories(config, daemon)),
    )


def log_as(settings: LogSettings, home: Home, role: str) -> None:
    """Write the log of this process so from now on. Raises BadLog if it cannot be written."""
    root = logging.getLogger()
    root.setLevel(settings.level)
    logging.getLogger(LOADS).setLevel(logging.DEBUG if settings.loads else logging.INFO)
    try:
        settings.path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        log = DaemonLog(settings.path, settings.bytes_max, settings.kept)
    except OSError as error:
        raise BadLog(f"{DAEMONS[role]}_LOG: cannot write {settings.path}: {error.strerror}") from None
    for old in list(root.handlers):
        root.removeHandler(old)
        old.close()
    root.addHandler(log)
    _link(home.log / f"{role}.log", settings.path)


def _link(usual: Path, path: Path) -> None:
    """Let the usual name lead to the log; what is there of an earlier log stays under the name of a rotated one."""
    if path == usual:
        return
    with contextlib.suppress(OSError):
        if usual.is_symlink():
            usual.unlink()
        elif usual.exists():
            usual.replace(usual.with_name(f"{usual.name}.1"))
        usual.symlink_to(path)


def _bytes(knob: str, text: str) -> int:
    found = _SIZE.match(text.strip().strip('"'))
    if found is None:
        raise BadLog(f"{knob} = {text} is not a size: write for instance 10 Mb, or a number of bytes; logs are not "
                     "rotated by time")  # fmt: skip
    size = int(float(found[1]) * _UNITS[found[2].lower()])
    # 0 means no limit, as in HTCondor.
    return max(size, _BYTES_MIN) if size else 2**63 - 1


def _categories(config: Config, daemon: str) -> list[str]:
    text = f"{config.get('ALL_DEBUG', subsys=daemon) or ''} {config.get(f'{daemon}_DEBUG', subsys=daemon) or ''}"
    return re.split(r"[\s,|]+", text.upper())


def _level(config: Config, daemon: str) -> int:
    """The level that categories ask for; ROOST_LOG_LEVEL in the environment goes before them."""
    given = logging.getLevelName(os.environ.get("ROOST_LOG_LEVEL", ""))
    if isinstance(given, int):
        return given
    words = _categories(config, daemon)
    full = any(word in ("D_FULLDEBUG", "D_ALL", "D_ANY") or word.endswith(":2") for word in words)
    return logging.DEBUG if full else logging.INFO
