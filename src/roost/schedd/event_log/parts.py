"""Parts that several events of a user's event log share: usage, ends of programs, the table of resources.

Each part writes itself as the lines of HTCondor's text format and reads them back. Tab characters and widths are those
that its readers expect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Value

_USAGE: Final = re.compile(r"Usr (\d+) (\d+):(\d+):(\d+), Sys (\d+) (\d+):(\d+):(\d+)")
_DAY_S: Final = 86_400


class LogFormatError(ValueError):
    """A text is not an event of a user's event log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Processor time, whole s."""

    user_s: int = 0
    system_s: int = 0

    def __str__(self) -> str:
        return f"Usr {_clock(self.user_s)}, Sys {_clock(self.system_s)}"

    @classmethod
    def read(cls, text: str) -> Usage:
        """Parse the usage in a text. Raises `LogFormatError`."""
        found = _USAGE.match(text.strip())
        if found is None:
            raise LogFormatError(f"{text!r} is not usage of processors")
        days, hours, minutes, seconds, *system = map(int, found.groups())
        return cls(
            user_s=days * _DAY_S + hours * 3600 + minutes * 60 + seconds,
            system_s=system[0] * _DAY_S + system[1] * 3600 + system[2] * 60 + system[3],
        )


def _clock(seconds: int) -> str:
    days, rest = divmod(max(0, seconds), _DAY_S)
    return f"{days} {rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


NO_USAGE: Final = Usage()


def one_line(text: str) -> str:
    """A text on one line: line ends become blanks."""
    return " ".join(text.splitlines()) if "\n" in text or "\r" in text else text


class Lines:
    """The lines of one event's text, taken one after another."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = list(lines)
        self._next = 0

    @property
    def left(self) -> int:
        """Number of lines not taken yet."""
        return len(self._lines) - self._next

    def peek(self) -> str:
        """The next line unchanged; empty at the end."""
        return self._lines[self._next] if self.left else ""

    def take(self) -> str:
        """The next line without its indent; empty at the end."""
        line = self.peek()
        self._next += self.left > 0
        return line.strip()

    def take_if(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The match of a pattern at the beginning of the next line, which then is taken."""
        found = pattern.match(self.peek().strip())
        if found is not None:
            self._next += 1
        return found

    def rest(self) -> Iterator[str]:
        """All remaining lines, without indents."""
        while self.left:
            yield self.take()


# -- numbers with words after them -----------------------------------------------------------------------------------

_LABELLED: Final = re.compile(r"(-?\d+)(?:\.\d+)?\s+-\s+(.*)")


def labelled(number: int, label: str) -> str:
    """``⇥5  -  label``."""
    return f"\t{number}  -  {label}"


def read_labelled(lines: Lines) -> dict[str, int]:
    """Consecutive lines of that kind: label to number."""
    found = {}
    while match := lines.take_if(_LABELLED):
        found[match[2].strip()] = int(match[1])
    return found


_USAGE_LINE: Final = re.compile(r"(Usr .*?)\s+-\s+(.*)")


def usage_line(usage: Usage, label: str) -> str:
    """``⇥⇥Usr …  -  label``."""
    return f"\t\t{usage}  -  {label}"


def read_usages(lines: Lines) -> dict[str, Usage]:
    """Consecutive lines of that kind: label to usage."""
    found = {}
    while match := lines.take_if(_USAGE_LINE):
        found[match[2].strip()] = Usage.read(match[1])
    return found


# -- how a program ended ---------------------------------------------------------------------------------------------

_NORMAL: Final = re.compile(r"\(1\) Normal termination \(return value (-?\d+)\)")
_ABNORMAL: Final = re.compile(r"\(0\) Abnormal termination \(signal (\d+)\)")
_CORE: Final = re.compile(r"\((\d)\) (?:Corefile in: (.*)|No core file)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramExit:
    """How a program ended: by itself with a code, or by a signal."""

    code: int | None = None
    signal: int | None = None
    #: Where its core was left; "" for none.
    core_file: str = ""

    def lines(self, *, core: bool = True) -> Iterator[str]:
        """One line, or two after a signal."""
        if self.signal is None:
            yield f"\t(1) Normal termination (return value {self.code or 0})"
            return
        yield f"\t(0) Abnormal termination (signal {self.signal})"
        if core:
            yield f"\t(1) Corefile in: {one_line(self.core_file)}" if self.core_file else "\t(0) No core file"

    @classmethod
    def read(cls, lines: Lines) -> ProgramExit | None:
        """The end that the next lines describe; None if they describe none."""
        if normal := lines.take_if(_NORMAL):
            return cls(code=int(normal[1]))
        abnormal = lines.take_if(_ABNORMAL)
        if abnormal is None:
            return None
        core = lines.take_if(_CORE)
        return cls(signal=int(abnormal[1]), core_file=(core[2] or "") if core else "")

    def attributes(self) -> dict[str, Value]:
        """As the attributes of an event's ad."""
        if self.signal is None:
            return {"TerminatedNormally": True, "ReturnValue": self.code or 0}
        core: dict[str, Value] = {"CoreFile": self.core_file} if self.core_file else {}
        return {"TerminatedNormally": False, "TerminatedBySignal": self.signal, **core}

    @classmethod
    def of(cls, ad: ClassAd) -> ProgramExit:
        """The end that a job's ad describes."""
        signal, code = ad.eval("ExitSignal"), ad.eval("ExitCode")
        if ad.eval("ExitBySignal") is True and isinstance(signal, int):
            core = ad.eval("JobCoreFileName")
            return cls(signal=signal, core_file=core if isinstance(core, str) else "")
        return cls(code=code if isinstance(code, int) else 0)


# -- the table of resources ------------------------------------------------------------------------------------------

_HEADER: Final = re.compile(r"Partitionable Resources\s*:")
_ROW: Final = re.compile(r"([^:]+?)\s*:(.*)")
_ASSIGNED: Final = re.compile(r'"(.*)"\s*\Z')
_UNITS: Final = {"Disk": "Disk (KB)", "Memory": "Memory (MB)"}
#: Resources that every job has.
_USUAL: Final = ("Cpus", "Disk", "Memory")
#: Width of a row's label: that of the longest usual one plus the space that readers expect next to it.
_LABEL_WIDTH: Final = len("Memory (MB)") + 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One row: the usage, request and allocation of a resource."""

    name: str
    usage: float | None = None
    request: float | None = None
    allocated: float | None = None
    #: Which devices, as text; "" for none.
    assigned: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceTable:
    """The rows, in the order of their names."""

    rows: tuple[Resource, ...] = ()

    def lines(self) -> Iterator[str]:
        """The lines; none for no rows."""
        if not self.rows:
            return
        usage = _column([row.usage for row in self.rows], 8)
        request = _column([row.request for row in self.rows], 8)
        allocated = _column([row.allocated for row in self.rows], 9)
        widths = tuple(len(column[0]) for column in (usage, request, allocated))
        titles = f" {'Usage':>{widths[0]}} {'Request':>{widths[1]}} {'Allocated':>{widths[2]}} "
        assigned = "Assigned" if any(row.assigned for row in self.rows) else ""
        yield f"\t{'Partitionable Resources':<{_LABEL_WIDTH + 4}} :{titles}{assigned}"
        for row, *cells in zip(self.rows, usage, request, allocated, strict=True):
            label = f"{'':3}{_UNITS.get(row.name, row.name)}"
            devices = f'"{row.assigned}"' if row.assigned else ""
            yield f"\t{label:<{_LABEL_WIDTH + 4}} : {cells[0]} {cells[1]} {cells[2]} {devices}"

    @classmethod
    def read(cls, lines: Lines) -> ResourceTable:
        """Parse the table in the next lines; no rows if there is none."""
        if lines.take_if(_HEADER) is None:
            return cls()
        rows = []
        while match := lines.take_if(_ROW):
            rows.append(_row(match[1], match[2]))
        return cls(rows=tuple(rows))

    def attributes(self) -> dict[str, Value]:
        """As the attributes of an event's ad."""
        found: dict[str, Value] = {}
        for row in self.rows:
            pairs = (f"{row.name}Usage", row.usage), (f"Request{row.name}", row.request), (row.name, row.allocated)
            found.update({name: value for name, value in pairs if value is not None})
            if row.assigned:
                found[f"Assigned{row.name}"] = row.assigned
        return found

    @classmethod
    def of(cls, ad: ClassAd) -> ResourceTable:
        """What a job's ad says of resources: RequestX, XProvisioned, XUsage, AssignedX."""
        names = {name.lower(): name for name in _USUAL}
        layer: ClassAd | None = ad
        while layer is not None:
            for key in layer.cells:
                if key.startswith("request") and len(key) > 7:
                    names.setdefault(key[7:], layer.spelling(key)[7:])
            layer = layer.chained
        rows = (_resource(ad, names[key]) for key in sorted(names))
        return cls(rows=tuple(row for row in rows if row.request is not None or row.allocated is not None))


def _resource(ad: ClassAd, name: str) -> Resource:
    assigned = ad.eval(f"Assigned{name}")
    return Resource(
        name=name,
        usage=_number(ad.eval(f"{name}Usage")),
        request=_number(ad.eval(f"Request{name}")),
        allocated=_number(ad.eval(f"{name}Provisioned")),
        assigned=assigned if isinstance(assigned, str) else "",
    )


def _number(value: Value) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return int(value) if value == int(value) else value


def _column(values: list[float | None], width: int) -> list[str]:
    """Cells of one width. If one has decimals, the others are padded."""
    decimals = any(value is not None and value != int(value) for value in values)
    cells = []
    for value in values:
        if value is None:
            cells.append("")
        elif value != int(value):
            cells.append(f"{value:.2f}")
        else:
            cells.append(f"{int(value)}" + ("   " if decimals else ""))
    width = max(width, *map(len, cells))
    return [cell.rjust(width) for cell in cells]


def _row(label: str, text: str) -> Resource:
    """Parse a row. Cells are identified by where they end, since any may be empty."""
    assigned = _ASSIGNED.search(text)
    if assigned is not None:
        text = text[: assigned.start()]
    name = label.strip().partition(" (")[0]
    # A cell with decimals is a real number, even if they are zeros.
    found = re.finditer(r"-?\d+(\.\d+)?", text)
    cells = [(match.end(), float(match[0]) if match[1] else int(match[0])) for match in found]
    values: list[float | None] = [None, None, None]
    if len(cells) == 3:
        values = [value for _, value in cells]
    else:
        for end, value in cells:
            values[0 if end <= 10 else 1 if end <= 19 else 2] = value
    return Resource(
        name=name,
        usage=values[0],
        request=values[1],
        allocated=values[2],
        assigned=assigned[1] if assigned is not None else "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Bytes transferred."""

    sent: int = 0
    received: int = 0

    def lines(self, word: str = "Run", whose: str = "Job") -> Iterator[str]:
        """Two lines."""
        yield labelled(self.sent, f"{word} Bytes Sent By {whose}")
        yield labelled(self.received, f"{word} Bytes Received By {whose}")

    @classmethod
    def read(cls, found: dict[str, int], word: str = "Run", whose: str = "Job") -> Traffic:
        """From labelled numbers."""
        return cls(
            sent=found.get(f"{word} Bytes Sent By {whose}", 0),
            received=found.get(f"{word} Bytes Received By {whose}", 0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """The usage of a run, and of all runs of a job."""

    run: Usage = field(default=NO_USAGE)
    #: The queue's own usage for the job; always zero in Roost, which has no process for it.
    local: Usage = field(default=NO_USAGE)
    total: Usage = field(default=NO_USAGE)
    total_local: Usage = field(default=NO_USAGE)
    traffic: Traffic = field(default_factory=Traffic)
    total_traffic: Traffic = field(default_factory=Traffic)

    @classmethod
    def of(cls, ad: ClassAd) -> Bill:
        """The usage in a job's ad."""

        def whole(name: str) -> int:
            value = ad.eval(name)
            return int(value) if isinstance(value, int | float) and abs(value) < 2**62 else 0

        run = Usage(user_s=whole("RemoteUserCpu"), system_s=whole("RemoteSysCpu"))
        total = Usage(
            user_s=max(run.user_s, whole("CumulativeRemoteUserCpu")),
            system_s=max(run.system_s, whole("CumulativeRemoteSysCpu")),
        )
        total_traffic = Traffic(sent=whole("BytesSent"), received=whole("BytesRecvd"))
        of_run = Traffic(sent=whole("LastRunBytesSent"), received=whole("LastRunBytesRecvd"))
        traffic = of_run if "LastRunBytesSent" in ad else total_traffic
        return cls(run=run, total=total, traffic=traffic, total_traffic=total_traffic)

    def attributes(self, *, total: bool) -> dict[str, Value]:
        """As the attributes of an event's ad."""
        found: dict[str, Value] = {
            "RunRemoteUsage": str(self.run),
            "RunLocalUsage": str(self.local),
            "SentBytes": float(self.traffic.sent),
            "ReceivedBytes": float(self.traffic.received),
        }
        if total:
            found |= {
                "TotalRemoteUsage": str(self.total),
                "TotalLocalUsage": str(self.total_local),
                "TotalSentBytes": float(self.total_traffic.sent),
                "TotalReceivedBytes": float(self.total_traffic.received),
            }
        return found
