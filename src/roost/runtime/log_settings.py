"""Where a daemon logs, how much, and for how long: <DAEMON>_LOG, MAX_<DAEMON>_LOG, MAX_NUM_<DAEMON>_LOG,
<DAEMON>_DEBUG.

A daemon of Roost is named after the first HTCondor daemon that it stands for: COLLECTOR, SCHEDD, STARTD. Its log is
``log/<role>.log`` in the state directory; if it is elsewhere, that name is a link to it, so that people and commands
find it.

Other HTCondor daemons are parts of these (`PARTS`): the negotiator and defragmentation of the central manager, the
starters of a machine's daemon. A part logs with its daemon, unless it has its own log (NEGOTIATOR_LOG); then
``log/negotiator.log`` is a link to that. Its own categories and those of its daemon select what a part logs.

The master has no log unless MASTER_LOG names one: it prints its messages.

A log has two levels. D_FULLDEBUG, D_ALL, D_ANY, or a category with ``:2`` enable all messages. D_LOAD (and D_ALL,
D_ANY) adds loads and idle times to the log of an execute machine, whatever the level.

LOG_FORMAT selects lines of text, lines of JSON, or systemd's journal instead of files.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from roost.base.diagnostics import Severity
from roost.base.records import dataclass
from roost.config import Code, Config, ConfigError, Diagnostic
from roost.config.suggest import near_among
from roost.runtime.daemon_log import LOGS_KEPT, DaemonLog
from roost.runtime.home import Home
from roost.runtime.log_formats import JOURNAL, JOURNAL_SOCKET, JSON, TEXT, JournalLog, JsonLines

#: Role to the name of the daemon in knobs.
DAEMONS: Final = {"central": "COLLECTOR", "schedd": "SCHEDD", "node": "STARTD", "web": "WEB", "registrar": "REGISTRAR"}
#: Role to the parts of its daemon that are HTCondor daemons, and the loggers of each.
PARTS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "central": {"NEGOTIATOR": ("roost.matchmaker", "roost.cell"), "DEFRAG": ("roost.defrag",)},
    "node": {"STARTER": ("roost.starter", "roost.hooks")},
}
#: Name of the master in knobs and of its logger.
MASTER: Final = "MASTER"
#: The logger of loads and idle times.
LOADS: Final = "roost.node.load"
#: Units of sizes, in lower case, without a final b.
_UNITS: Final = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{0,6})?)\s*([kmgt]?)b?(?:ytes)?\Z", re.IGNORECASE)
#: Minimum size at which a log is rotated, bytes.
_BYTES_MIN: Final = 10_000


#: Words of <DAEMON>_DEBUG, without their D_: categories, and HTCondor's line header options. Those without messages in
#: Roost are accepted and have no effect.
CATEGORIES: Final = frozenset((
    "ACCOUNTANT", "ALL", "ALWAYS", "ANY", "AUDIT", "BACKTRACE", "BUFFER", "BUG", "CAT", "CATEGORY", "CKPT",
    "COMMAND", "CONFIG", "CRON", "DAEMONCORE", "DATE", "DYE", "ERROR", "EXPR", "FAILURE", "FDS", "FULLDEBUG",
    "GENERAL", "HAD", "HOSTNAME", "IDENT", "IDLE", "JOB", "KEYBOARD", "LEVEL", "LOAD", "MACHINE", "MATCH",
    "MATERIALIZE", "NETWORK", "NFS", "NODATE", "NOHEADER", "PERF_TRACE", "PID", "PRIV", "PROC", "PROCFAMILY",
    "PROTOCOL", "SECURITY", "STATS", "STATUS", "SUB_SECOND", "SYSCALLS", "TEST", "THREADS", "TIMESTAMP", "TOOL",
    "UPDOWN", "VERBOSE", "XFER", "ZKM",
))  # fmt: skip

#: Categories that change what Roost logs, and how.
EFFECTS: Final = {
    "D_FULLDEBUG": "Logs all messages of the daemon.",
    "D_ALL": "Logs all messages of the daemon and, on an execute machine, loads and idle times.",
    "D_ANY": "Logs all messages of the daemon and, on an execute machine, loads and idle times.",
    "D_LOAD": "Logs the loads and idle times of an execute machine and of its slots each time the sensors are read.",
}
#: The rule for all others.
NO_EFFECT: Final = "With the suffix `:2`, the daemon logs all of its messages; without it, this category has no effect."


class BadLog(Exception):
    """A daemon cannot write its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSettings:
    """How a part of a daemon logs."""

    #: Its name in knobs.
    name: str
    #: None to use the daemon's log.
    path: Path | None
    bytes_max: int
    kept: int
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """How a daemon logs."""

    path: Path
    bytes_max: int
    kept: int
    level: int
    parts: tuple[PartSettings, ...] = ()
    #: D_LOAD: the loads and idle times of machine and slots at each sensor reading.
    loads: bool = False
    #: LOG_FORMAT.
    format: str = TEXT


def log_settings(config: Config, home: Home, role: str) -> LogSettings:
    """The settings of a daemon. Raises ConfigError."""
    daemon = DAEMONS[role]
    path = _path(config, daemon) or home.log / f"{role}.log"
    return LogSettings(
        path=path,
        bytes_max=_bytes_max(config, daemon),
        kept=config.get_int(f"MAX_NUM_{daemon}_LOG", LOGS_KEPT, subsys=daemon),
        level=_level(config, daemon),
        parts=tuple(_part(config, daemon, part, path) for part in PARTS.get(role, ())),
        loads=any(word.partition(":")[0] in ("D_LOAD", "D_ALL", "D_ANY") for word in _categories(config, daemon)),
        format=_format(config, daemon),
    )


def _format(config: Config, daemon: str) -> str:
    return (config.get("LOG_FORMAT", subsys=daemon) or TEXT).lower()


def _part(config: Config, daemon: str, part: str, path: Path) -> PartSettings:
    """The settings of a part of a daemon that logs to `path`."""
    own = _path(config, part)
    return PartSettings(
        name=part,
        path=None if own == path else own,
        bytes_max=_bytes_max(config, part),
        kept=config.get_int(f"MAX_NUM_{part}_LOG", LOGS_KEPT, subsys=part),
        level=min(_level(config, daemon), _level(config, part)),
    )


def log_problems(config: Config, role: str) -> Iterator[Diagnostic]:
    """Yield the problems in the settings of a daemon and its parts. Raises ConfigError for others."""
    daemon = DAEMONS[role]
    yield from _problems(config, daemon, ("ALL_DEBUG", f"{daemon}_DEBUG"))
    for part in PARTS.get(role, ()):
        yield from _problems(config, part, (f"{part}_DEBUG",))


def master_log_problems(config: Config) -> Iterator[Diagnostic]:
    """Yield the problems in the settings of the master's log. Raises ConfigError for others."""
    yield from _problems(config, MASTER, ())


def master_log(config: Config) -> logging.Handler | None:
    """The log of the master; None if it has none. Raises ConfigError, and BadLog if it cannot be written."""
    path, format = _path(config, MASTER), _format(config, MASTER)
    if path is None and format != JOURNAL:
        return None
    kept = config.get_int(f"MAX_NUM_{MASTER}_LOG", LOGS_KEPT, subsys=MASTER)
    return _opened(MASTER, path or Path(), _bytes_max(config, MASTER), kept, "master", format)


def _problems(config: Config, daemon: str, debugs: tuple[str, ...]) -> Iterator[Diagnostic]:
    for knob in debugs:
        for word in _words(config, knob, daemon):
            name = word.lstrip("-").partition(":")[0].removeprefix("D_")
            if name and name not in CATEGORIES:
                meant = near_among(name, sorted(CATEGORIES), 3)
                remedy = f"Did you mean D_{meant}?" if meant else "Remove it; D_FULLDEBUG logs everything."
                message = f"{word} is not a log category"
                yield config.problem(
                    Code.BAD_CHOICE, knob, message, subsys=daemon, remedy=remedy, severity=Severity.WARNING
                )
    try:
        _path(config, daemon)
    except ConfigError as error:
        yield error.diagnostic
    try:
        size, knob = _configured_size(config, daemon)
        if 0 < size < _BYTES_MIN:
            message = f"{size} bytes are below the minimum of {_BYTES_MIN}, which is used instead"
            remedy = f"Write at least {_BYTES_MIN}, or 0 for a log that is never rotated."
            yield config.problem(
                Code.OUT_OF_RANGE, knob, message, subsys=daemon, remedy=remedy, severity=Severity.WARNING
            )
    except ConfigError as error:
        yield error.diagnostic
    config.get_int(f"MAX_NUM_{daemon}_LOG", LOGS_KEPT, subsys=daemon)


def log_as(settings: LogSettings, home: Home, role: str) -> None:
    """Apply log settings to this process. Raises BadLog if a log cannot be written."""
    root = logging.getLogger()
    root.setLevel(settings.level)
    logging.getLogger(LOADS).setLevel(logging.DEBUG if settings.loads else logging.INFO)
    log = _opened(DAEMONS[role], settings.path, settings.bytes_max, settings.kept, role, settings.format)
    own: dict[Path, logging.Handler] = {}
    try:
        for part in settings.parts:
            if part.path is not None and part.path not in own:
                own[part.path] = _opened(
                    part.name, part.path, part.bytes_max, part.kept, part.name.lower(), settings.format
                )
    except BadLog:
        for each in (log, *own.values()):
            each.close()
        raise
    hand_over(root, log)
    _link(home.log / f"{role}.log", settings.path)
    for part in settings.parts:
        for name in PARTS[role][part.name]:
            logger = logging.getLogger(name)
            logger.setLevel(part.level)
            logger.propagate = part.path is None
            hand_over(logger, None if part.path is None else own[part.path])
        usual = home.log / f"{part.name.lower()}.log"
        if part.path is not None:
            _link(usual, part.path)
        elif usual.is_symlink():
            usual.unlink()


def _opened(name: str, path: Path, bytes_max: int, kept: int, daemon: str, format: str) -> logging.Handler:
    """The log of a daemon or part. Raises BadLog if it cannot be written."""
    if format == JOURNAL:
        try:
            return JournalLog(daemon)
        except OSError as error:
            raise BadLog(f"LOG_FORMAT: cannot reach the journal at {JOURNAL_SOCKET}: {error.strerror}") from None
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        return DaemonLog(path, bytes_max, kept, JsonLines(daemon) if format == JSON else None)
    except OSError as error:
        raise BadLog(f"{name}_LOG: cannot write {path}: {error.strerror}") from None


def hand_over(logger: logging.Logger, log: logging.Handler | None) -> None:
    """Let a logger write only to a given log; None for no log of its own."""
    for old in list(logger.handlers):
        logger.removeHandler(old)
        old.close()
    if log is not None:
        logger.addHandler(log)


def _link(usual: Path, path: Path) -> None:
    """Make the default name a link to the log; an earlier log there is renamed like a rotated one."""
    if path == usual:
        return
    with contextlib.suppress(OSError):
        if usual.is_symlink():
            usual.unlink()
        elif usual.exists():
            usual.replace(usual.with_name(f"{usual.name}.1"))
        usual.symlink_to(path)


def _path(config: Config, daemon: str) -> Path | None:
    """Path of a daemon's log; None for the state directory."""
    knob = f"{daemon}_LOG"
    path = config.get(knob, subsys=daemon)
    if path is not None and not path.startswith("/"):
        message, remedy = f"{path} is not an absolute path", "Write a path that begins with /."
        raise ConfigError(config.problem(Code.BAD_CHOICE, knob, message, subsys=daemon, remedy=remedy))
    return None if path is None else Path(path)


def _bytes_max(config: Config, daemon: str) -> int:
    """Size at which the log of a daemon is rotated, bytes."""
    size, _ = _configured_size(config, daemon)
    # 0 means no limit, as in HTCondor.
    return max(size, _BYTES_MIN) if size else 2**63 - 1


def _configured_size(config: Config, daemon: str) -> tuple[int, str]:
    """The size that is configured for the log of a daemon, bytes, and the knob that says so."""
    knob = f"MAX_{daemon}_LOG"
    if config.get(knob, subsys=daemon) is None:
        knob = "MAX_DEFAULT_LOG"
    text = config.get(knob, subsys=daemon) or "10 Mb"
    found = _SIZE.match(text.strip().strip('"'))
    if found is None:
        remedy = "Write a size such as 10 Mb, or a number of bytes; logs are not rotated by time."
        raise ConfigError(config.problem(Code.BAD_CHOICE, knob, f"{text} is not a size", subsys=daemon, remedy=remedy))
    return int(float(found[1]) * _UNITS[found[2].lower()]), knob


def _words(config: Config, knob: str, daemon: str) -> list[str]:
    return re.split(r"[\s,|]+", (config.get(knob, subsys=daemon) or "").upper())


def _categories(config: Config, daemon: str) -> list[str]:
    return [*_words(config, "ALL_DEBUG", daemon), *_words(config, f"{daemon}_DEBUG", daemon)]


def _level(config: Config, daemon: str) -> int:
    """The level selected by categories; ROOST_LOG_LEVEL in the environment takes precedence."""
    given = logging.getLevelName(os.environ.get("ROOST_LOG_LEVEL", ""))
    if isinstance(given, int):
        return given
    words = _categories(config, daemon)
    full = any(word in ("D_FULLDEBUG", "D_ALL", "D_ANY") or word.endswith(":2") for word in words)
    return logging.DEBUG if full else logging.INFO
