"""The log of the pool-wide policy's effects: NEGOTIATOR_PE_LOG, one line per finding.

It grows to LOG_BYTES_MAX, and LOGS_KEPT older files are kept next to it. If the file cannot be written, the daemon's
own log says so, and everything else continues.
"""

from __future__ import annotations

import logging
import logging.handlers
from collections.abc import Iterable
from pathlib import Path

from roost.config import Config
from roost.runtime.daemon_log import LOG_BYTES_MAX, LOGS_KEPT

_log = logging.getLogger("roost.matchmaker")


class PolicyLog:
    """The file, opened when there is something to write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handler: logging.handlers.RotatingFileHandler | None = None

    def write(self, lines: Iterable[str]) -> None:
        """Append lines."""
        try:
            for line in lines:
                if self._handler is None:
                    self._handler = _Strict(self.path, maxBytes=LOG_BYTES_MAX, backupCount=LOGS_KEPT, encoding="utf-8")
                self._handler.emit(logging.LogRecord("roost.policy", logging.INFO, "", 0, line, None, None))
        except OSError as error:
            _log.error("cannot write %s: %s", self.path, error)
            self.close()

    def close(self) -> None:
        """Close the file; the next line opens it again."""
        if self._handler is not None:
            self._handler.close()
            self._handler = None


class _Strict(logging.handlers.RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:
        """Report the failure to the writer."""
        raise


def policy_log_path(config: Config, logs: Path) -> Path:
    """The path of the log: NEGOTIATOR_PE_LOG if that is set, otherwise PolicyLog in the log directory of the
    daemons.
    """
    # The default refers to LOG, which is not the log directory of a pool with its own directory.
    given = config.get("NEGOTIATOR_PE_LOG", subsys="NEGOTIATOR") if config.definitions("NEGOTIATOR_PE_LOG") else None
    return logs / (given or "PolicyLog")
