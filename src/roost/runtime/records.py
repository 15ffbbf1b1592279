"""The records that shepherds write of their jobs, read again: the truth about a run that outlives every daemon.

A record directory has ``started.json`` once the program runs, and ``ended.json`` once it has ended or could not be
started. Both are written whole. An end for which the disk had no room is the second line of the first file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from roost.runtime.spawn_order import NotStarted, ProcessEnd

STARTED: Final = "started.json"
ENDED: Final = "ended.json"


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

    @classmethod
    def of(cls, fields: dict[str, Any], key: str) -> StartRecord:
        """From a record's fields, or a shepherd's answer. Raises KeyError where one is missing."""
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
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRecord:
    """How a run ended, as its shepherd knew it."""

    outcome: ProcessEnd | NotStarted
    #: Nothing of the job was left.
    final: bool


def read_start(record_dir: Path) -> StartRecord | None:
    """The start of a run; None if it is not recorded."""
    for fields in _lines(record_dir / STARTED)[:1]:
        return StartRecord.of(fields, fields["key"])
    return None


def read_end(record_dir: Path) -> EndRecord | None:
    """The end of a run; None if it is not recorded."""
    for fields in reversed(_lines(record_dir / ENDED) or _lines(record_dir / STARTED)[1:]):
        return EndRecord(outcome=_outcome(fields), final=fields["final"])
    return None


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
        left=fields["left"],
    )


def _lines(path: Path) -> list[dict[str, Any]]:
    """The objects in a file, one a line; what was cut off by a crash of the machine is left out."""
    try:
        with path.open("rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = []
    for line in data.splitlines():
        try:
            fields = json.loads(line)
        except ValueError:
            break
        if isinstance(fields, dict):
            found.append(fields)
    return found
