"""`JobEventLog` and `JobEvent`: an event log read while it grows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

from roost.classad.unparse import reference_order
from roost.compat.classad2 import ClassAd
from roost.compat.htcondor2.enums import JobEventType
from roost.compat.htcondor2.errors import HTCondorException
from roost.schedd.event_log.log import END, LoggedEvent, LogReader, format_event

#: How often a log is polled while waiting for an event, s.
_LOOK_S: Final = 0.1
_PIECE_BYTES: Final = 1 << 16


class JobEvent(Mapping[str, Any]):
    """An event: its attributes, and its job."""

    def __init__(self, data: ClassAd, event_text: str) -> None:
        self._data = data
        self._text = event_text

    @property
    def type(self) -> JobEventType:
        """What happened."""
        return JobEventType(self._data["EventTypeNumber"])

    @property
    def cluster(self) -> int:
        """The cluster of the job."""
        return int(self._data["Cluster"])

    @property
    def proc(self) -> int:
        """The number of the job in its cluster."""
        return int(self._data["Proc"])

    @property
    def timestamp(self) -> int:
        """When, epoch s."""
        text = str(self._data["EventTime"])
        form = "%Y-%m-%dT%H:%M:%S"
        if text.endswith("Z"):
            import calendar

            return calendar.timegm(time.strptime(text[:19], form))
        return int(time.mktime(time.strptime(text[:19], form)))

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"JobEvent(type={self.type}, cluster={self.cluster}, proc={self.proc}, timestamp={self.timestamp})"


class JobEventLog:
    """An event log as an iterator of its events, which waits for more unless limited by `events`.

    It is a context manager, and can be pickled: the copy continues at the same position.
    """

    def __init__(self, filename: str) -> None:
        self._filename = str(filename)
        #: Monotonic instant until which events are waited for; None forever.
        self._until: float | None = None
        self._file: BinaryIO | None = None
        self._open(0)

    def _open(self, position: int) -> None:
        try:
            self._file = Path(self._filename).open("rb")  # noqa: SIM115
        except OSError as error:
            words = f"{error.strerror}: '{self._filename}'"
            raise HTCondorException(f"Could not initialize JobEventLog: {words}.") from None
        self._file.seek(position)
        self._reader = LogReader(position)
        self._ready: list[tuple[int, LoggedEvent]] = []
        self._position = position

    def events(self, stop_after: int | None = None) -> Self:
        """This log, ending after `stop_after` seconds; 0: after the existing events; None: never."""
        self._until = None if stop_after is None else time.monotonic() + stop_after
        return self

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> JobEvent:
        while True:
            if self._file is None:
                raise StopIteration("All events processed")
            if self._ready or self._more():
                position, logged = self._ready.pop(0)
                self._position = position
                return _event(logged)
            if self._until is not None and time.monotonic() >= self._until:
                raise StopIteration("All events processed")
            left = _LOOK_S if self._until is None else self._until - time.monotonic()
            time.sleep(max(0.0, min(_LOOK_S, left)))

    def _more(self) -> bool:
        """Read more, and return whether there was an event."""
        assert self._file is not None
        while not self._ready:
            piece = self._file.read(_PIECE_BYTES)
            if not piece:
                return False
            for logged in self._reader.feed(piece):
                self._ready.append((self._reader.position, logged))
        return True

    def close(self) -> None:
        """Close the log."""
        if self._file is not None:
            self._file.close()
        self._file, self._ready = None, []

    def __del__(self) -> None:
        # Programs leave logs to the interpreter, which would warn of the open file.
        file = getattr(self, "_file", None)
        if file is not None:
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exceptionType: Any, exceptionValue: Any, traceback: Any) -> None:
        self.close()

    def __getstate__(self) -> tuple[dict[str, Any], int]:
        left = None if self._until is None else self._until - time.monotonic()
        return {"_filename": self._filename, "_left": left}, self._position

    def __setstate__(self, t: tuple[dict[str, Any], int]) -> None:
        self._filename = t[0]["_filename"]
        left = t[0]["_left"]
        self._until = None if left is None else time.monotonic() + left
        self._open(t[1])


def _event(logged: LoggedEvent) -> JobEvent:
    ad = logged.ad()
    text = ""
    if logged.event is not None:
        text = format_event(logged.event, logged.cluster, logged.proc, logged.time)
        text = text.removesuffix(f"{END}\n")
    ordered = ClassAd()
    for name in sorted(ad, key=reference_order):
        ordered._ad.put(name, ad.cells[name.lower()])
    return JobEvent(ordered, text)
