"""Logs for programs (LOG_FORMAT): lines of JSON, or entries of systemd's journal, with the ids that tie them together.

The ids are those that a line of text names: a message ends in ``[SUBMISSION]`` or ``[SUBMISSION, by REQUEST]``, or
names ``request REQUEST``; a job and a slot are named as such.
"""

from __future__ import annotations

import json
import logging
import re
import socket
import struct
import time
from pathlib import Path
from typing import Final

#: Values of LOG_FORMAT.
TEXT, JSON, JOURNAL = FORMATS = ("text", "json", "journal")
#: Where systemd's journal takes entries.
JOURNAL_SOCKET: Final = Path("/run/systemd/journal/socket")
#: Characters of a message in the journal: a datagram has a limit.
_MESSAGE_MAX: Final = 48_000
_TIED: Final = re.compile(r"\[([0-9a-f]{8})(?:, by ([0-9a-f]{8}))?\]\Z")
_REQUEST: Final = re.compile(r"\brequest ([0-9a-f]{8})\b")
_JOB: Final = re.compile(r"\bjob (\d{1,9}\.\d{1,9})\b")
_SLOT: Final = re.compile(r"(?:\A|\s)(slot\d{1,6}(?:_\d{1,6})?@[\w.-]{1,255})")
#: Level to syslog's priority.
_PRIORITIES: Final = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}


def ids_of(message: str) -> dict[str, str]:
    """The ids that a message names: submission, request, job, slot."""
    found: dict[str, str] = {}
    first = message.partition("\n")[0]
    if (tied := _TIED.search(first)) is not None:
        found["submission"] = tied[1]
        if tied[2]:
            found["request"] = tied[2]
    for name, pattern in (("request", _REQUEST), ("job", _JOB), ("slot", _SLOT)):
        if name not in found and (match := pattern.search(first)) is not None:
            found[name] = match[1]
    return found


class JsonLines(logging.Formatter):
    """A record as a line of JSON."""

    def __init__(self, daemon: str) -> None:
        super().__init__()
        self._daemon = daemon

    def format(self, record: logging.LogRecord) -> str:
        """The line; it has printable ASCII only."""
        message = record.getMessage()
        second, thousandths = divmod(int(record.created * 1000), 1000)
        data = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)) + f".{thousandths:03d}Z",
            "level": record.levelname,
            "daemon": self._daemon,
            "logger": record.name,
            "message": message,
            **ids_of(message),
        }
        if record.exc_info:
            data["exception"] = self.formatException(record.exc_info)
        # JSON leaves DEL as it is, which terminals do not.
        return json.dumps(data).replace("\x7f", "\\u007f")


class JournalLog(logging.Handler):
    """Sends records to systemd's journal. Raises OSError where there is none."""

    def __init__(self, daemon: str, place: Path = JOURNAL_SOCKET) -> None:
        super().__init__()
        self._daemon = daemon
        self._place = str(place)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._socket.connect(self._place)
        except OSError:
            self._socket.close()
            raise

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record."""
        try:
            message = record.getMessage()
            ids = {f"ROOST_{name.upper()}": value for name, value in ids_of(message).items()}
            if record.exc_info:
                message += "\n" + logging.Formatter().formatException(record.exc_info)
            fields = {
                "MESSAGE": message[:_MESSAGE_MAX],
                "PRIORITY": str(_PRIORITIES.get(record.levelname, 6)),
                "SYSLOG_IDENTIFIER": f"roost-{self._daemon}",
                "ROOST_LOGGER": record.name,
                **ids,
            }
            data = b"".join(_field(name, value) for name, value in fields.items())
            try:
                self._socket.send(data)
            except (ConnectionError, FileNotFoundError):
                # The journal has been started again.
                self._socket.connect(self._place)
                self._socket.send(data)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
        super().close()


def _field(name: str, value: str) -> bytes:
    """A field as the journal's protocol has it: a value of several lines with its length."""
    data = value.encode("utf-8", "backslashreplace")
    if b"\n" not in data:
        return name.encode() + b"=" + data + b"\n"
    return name.encode() + b"\n" + struct.pack("<Q", len(data)) + data + b"\n"
