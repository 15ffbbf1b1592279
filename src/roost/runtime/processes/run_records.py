"""Reading the record of a run, which outlives every daemon and is authoritative.

A run has one file, to which lines are only ever appended, each a JSON object written in one call: the machine's daemon
records whose run it is (``ticket``), and before each start of its program the state of slot and starter (``slot``), so
that a later daemon can continue or finish the run, however young it was; the shepherd records that the program of a
start runs, and how it ended; the daemon records its report to the queue (``report``). It is one file because creating
files is the main cost of a short job. A line that was truncated, by a full disk or a crash of the machine, is left out.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from roost.base.records import dataclass, field
from roost.runtime.processes.spawn_order import NotStarted, ProcessEnd

#: Suffix of the names of records.
SUFFIX: Final = ".run"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRecord:
    """The processes of a run as they were when its program began."""

    key: str
    pid: int
    #: Clock ticks since boot at which the main process started.
    start: int
    shepherd: int
    shepherd_start: int
    boot: str
    group: Path | None
    #: Epoch s.
    started_at: float
    #: The group by which version 1 limits its memory; None if there is none.
    memory_group: Path | None = None
    #: What the shepherd had read and written before, with its earlier jobs, bytes.
    io_before: int = 0

    @classmethod
    def of(cls, fields: dict[str, Any], key: str) -> StartRecord:
        """From a record's fields, or a shepherd's answer. Raises KeyError if one is missing."""
        group = fields["group"]
        return cls(
            key=key,
            pid=fields["pid"],
            start=fields["start"],
            shepherd=fields["shepherd"],
            shepherd_start=fields["shepherd_start"],
            boot=fields["boot"],
            group=None if group is None else Path(group),
            started_at=fields["started_at"],
            memory_group=Path(fields["memory_group"]) if "memory_group" in fields else None,
            io_before=fields.get("io_before", 0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRecord:
    """How a run ended, as observed by its shepherd."""

    outcome: ProcessEnd | NotStarted
    #: Whether nothing of the job was left.
    final: bool

    @classmethod
    def of(cls, fields: dict[str, Any]) -> EndRecord:
        """From a record's fields, or a shepherd's report. Raises KeyError if one is missing."""
        return cls(outcome=_outcome(fields), final=fields["final"])


@dataclass(slots=True)
class RunRecord:
    """The contents of a record."""

    #: Names of the run, its queue, claim and slot; empty if the daemon could not write them.
    ticket: dict[str, str] = field(default_factory=dict)
    #: Key of a start ("1.0#1@q/1") to its data; of several reports of its end the last counts.
    starts: dict[str, StartRecord] = field(default_factory=dict)
    ends: dict[str, EndRecord] = field(default_factory=dict)
    #: Slot and starter at the last start of the program; empty before the first.
    slot: dict[str, Any] = field(default_factory=dict)
    #: The report as it was sent, and the queue to which it was sent.
    report: dict[str, Any] | None = None
    schedd: str = ""

    @property
    def keys(self) -> list[str]:
        """All starts, in order."""
        return list(dict.fromkeys((*self.starts, *self.ends)))


def read_record(record: Path) -> RunRecord:
    """The contents of a record; empty if it does not exist."""
    found = RunRecord()
    for fields in _lines(record):
        try:
            if "ticket" in fields:
                found.ticket = {name: str(value) for name, value in fields["ticket"].items()}
            elif "slot" in fields:
                found.slot = fields if isinstance(fields["slot"], dict) else {}
            elif "report" in fields:
                found.report, found.schedd = fields["report"], str(fields["schedd"])
            elif "final" in fields:
                found.ends[fields["key"]] = EndRecord.of(fields)
            else:
                found.starts[fields["key"]] = StartRecord.of(fields, fields["key"])
        except (KeyError, TypeError, AttributeError):
            continue
    return found


def read_end(record: Path, key: str) -> EndRecord | None:
    """The end of a start of a run; None if it is not recorded."""
    return read_record(record).ends.get(key)


def is_told_of(record: Path, key: str) -> bool:
    """Whether a record has anything about a start."""
    try:
        # Called before every start, and so it does not parse the record.
        file = os.open(record, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        data = os.read(file, os.fstat(file).st_size)
    finally:
        os.close(file)
    return json.dumps(key).encode() in data and key in read_record(record).keys


def _outcome(fields: dict[str, Any]) -> ProcessEnd | NotStarted:
    if "failed" in fields:
        return NotStarted(key=fields["key"], stage=fields["failed"], errno=fields["errno"], detail=fields["detail"])
    return ProcessEnd(
        key=fields["key"],
        exit_code=fields["exit_code"],
        signal=fields["signal"],
        core_dumped=fields["core_dumped"],
        started_at=fields["started_at"],
        ended_at=fields["ended_at"],
        user_cpu_s=fields["user_s"],
        system_cpu_s=fields["system_s"],
        max_resident_kib=fields["max_resident_kib"],
        io_bytes=fields.get("io_bytes", 0),
        left=fields["left"],
        out_of_memory=(fields["memory_limit"], fields["memory_peak"]) if "memory_limit" in fields else None,
        # Records of earlier versions have none.
        resources={name: float(amount) for name, amount in fields.items() if name.startswith("ru_")},
    )


def _lines(path: Path) -> list[dict[str, Any]]:
    """The objects in a file, one per line."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = []
    for line in data.splitlines():
        try:
            fields = json.loads(line)
        except ValueError:
            continue
        if isinstance(fields, dict):
            found.append(fields)
    return found
