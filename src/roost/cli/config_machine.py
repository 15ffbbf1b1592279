"""What `roost config check` says about the machine that it runs on: scratch directories, and programs that daemons run.

Most findings are warnings, because the configuration may be for another machine. What cannot work on any machine is an
error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roost.config import Code, Config, ConfigError, Diagnostic, Severity
from roost.config.knob import KnobType
from roost.config.knobs import find
from roost.model.slots import HostReading
from roost.node.cron import SCHEDD_CRON, STARTD_CRON
from roost.runtime.node.runs.scratch import directories_of, problem_of
from roost.runtime.node.sensors import Sensors
from roost.runtime.processes.hook_programs import refusal
from roost.startd.layout.problems import LayoutCode
from roost.startd.layout.resources import is_set, span_of

#: The lists of an administrator's programs, and the daemons that run them.
_CRON: Final = ((STARTD_CRON, "STARTD"), (SCHEDD_CRON, "SCHEDD"))


def machine_problems(config: Config) -> tuple[list[Diagnostic], HostReading]:
    """Problems that a configuration has on this machine, and the machine's resources to divide into slots."""
    try:
        directories = directories_of(config)
        first, *more = dict.fromkeys(directories.values())
        found = [each for one in directories.items() if (each := _scratch(config, *one)) is not None]
    except ConfigError:
        # It is already among the findings.
        first, more, found = Path(os.curdir), [], []
    reading = Sensors(execute=first, more=tuple(more)).host()
    return [*found, *_programs(config), *_reserves(config, reading)], reading


def _scratch(config: Config, slot: int, directory: Path) -> Diagnostic | None:
    """The problems of making scratch directories in the configured place."""
    knob = f"SLOT{slot}_EXECUTE" if slot else "EXECUTE"
    problem = problem_of(directory, slot) if is_set(config, knob) else ""
    if not problem:
        return None
    return Diagnostic(
        code=LayoutCode.BAD_VALUE,
        message=problem,
        span=span_of(config, knob),
        severity=Severity.WARNING if directory.is_absolute() else Severity.ERROR,
        remedy="An execute machine does not start with this configuration.",
        name=knob,
    )


def _reserves(config: Config, reading: HostReading) -> Iterator[Diagnostic]:
    """Reserves that leave nothing for jobs."""
    free_mb = max((each.free_kb for each in reading.filesystems.values()), default=0) // 1024
    for knob, present_mb, of in (
        ("RESERVED_MEMORY", reading.memory_mb, "of memory"),
        ("RESERVED_SWAP", reading.swap_kb // 1024, "of virtual memory"),
        ("RESERVED_DISK", free_mb, "free where scratch directories are made"),
    ):
        try:
            reserved_mb = config.get_int(knob, 0, subsys="STARTD")
        except ConfigError:
            continue
        if 0 < present_mb <= reserved_mb and not (knob == "RESERVED_MEMORY" and is_set(config, "MEMORY")):
            message = f"nothing is left for jobs: this machine has {present_mb} MB {of}"
            remedy = "Reserve less; ignore this if the configuration is for another machine."
            severity = Severity.WARNING
            yield config.problem(Code.OUT_OF_RANGE, knob, message, subsys="STARTD", remedy=remedy, severity=severity)


def _programs(config: Config) -> Iterator[Diagnostic]:
    """The programs of daemons that would be refused each time they are due."""
    for knob, subsys in _program_knobs(config):
        try:
            text = config.get(knob, subsys=subsys)
        except ConfigError:
            # It is already among the findings.
            continue
        problem = refusal(Path(text)) if text else ""
        if text and problem and Path(text).is_absolute():
            yield config.problem(Code.BAD_PROGRAM, knob, problem, subsys=subsys)
        elif text and problem:
            remedy = "Write an absolute path."
            yield config.problem(Code.BAD_PROGRAM, knob, problem, subsys=subsys, remedy=remedy, severity=Severity.ERROR)


def _program_knobs(config: Config) -> Iterator[tuple[str, str]]:
    """The knobs that name such programs, with the daemons that read them."""
    for manager, subsys in _CRON:
        try:
            listed = config.get_list(f"{manager}_JOBLIST", subsys=subsys)
        except ConfigError:
            continue
        yield from ((f"{manager}_{name}_EXECUTABLE", subsys) for name in dict.fromkeys(map(str.lower, listed)))
    for name in config.names():
        row = find(name)
        if row is not None and row.type is KnobType.PATH and "_HOOK_" in row.name and row.unread is None:
            yield name.rpartition(".")[2], row.subsystem
