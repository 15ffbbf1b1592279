"""What of a transcript has to be the same in every cell: the rest gets a name that does not depend on the cell.

Ids of jobs become names by the command that shows them first, JOB3-1, JOB3-2, ...; times, process ids and figures
that are measured (load, memory, usage) become words. Blanks between the columns of a table count only as separators,
because their number depends on the width of what has been replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tests.transcripts.reading import Command

_MEASURED: Final = r"(?:ru_\w+|cpu|mem|io|iow|maxvmem|maxrss|maxpss|wallclock|load_values)"
#: A pattern to what takes its place, in this order.
_REPLACED: Final = [
    (re.compile(pattern), text)
    for pattern, text in (
        (r"\b\d\d/\d\d/\d{4} \d\d:\d\d:\d\d\b", "TIME"),
        (r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: [A-Z]+)? \d{4}\b", "TIME"),
        (r"\b[A-Z][a-z]{2} [ \d]\d \d\d:\d\d\b", "TIME"),
        (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?\b", "TIME"),
        (r"^\d\d:\d\d:\d\d\b", "TIME"),
        (r"^(start_time|end_time|qsub_time) +(?!-/-).*", r"\1 TIME"),
        (rf"^({_MEASURED}) +\S+$", r"\1 FIGURE"),
        (r"^usage +(\d+): .*", r"usage \1: FIGURES"),
        # Lines of the accounting and the reporting file.
        (r"\b1[5-9]\d{8}\b", "INSTANT"),
        (
            r"((?::INSTANT){3}:\d+:\d+)(?::[\d.]+){18}(:[^:]+:[^:]+:[^:]+:\d+:\d+)(?::[\d.]+){3}(:.*):[\d.]+(:[^:]+):[\d.]+"
            r"(:\d+:\d+)$",
            r"\1:FIGURES\2:FIGURES\3:FIGURE\4:FIGURE\5",
        ),
        # qstat -ext: what a job uses.
        (r" \d+:\d\d:\d\d:\d\d +\d+\.\d{5} +\d+\.\d{5} ", " USAGE "),
        # Sums of qacct.
        (r"^(.*?\S) +\d+(?: +\d+\.\d{3}){6}$", r"\1 FIGURES"),
        # qhost: processors, load, memory.
        (r"^(\S+ +lx-\S+) +\d+ .*$", r"\1 FIGURES"),
        (r"(<hostvalue name='(?:load_avg|num_proc|mem_\w+|swap_\w+|m_\w+)'>)[^<]*", r"\1FIGURE"),
        # qstat -f: load.
        (r"^(\S+@\S+ +\S+ +\d+/\d+/\d+ +)\S+( +\S+)", r"\1LOAD\2"),
        (
            r"\b(\w*:)?((?:np_)?load_\w+|(?:mem|swap|virtual)_\w+|cpu|m_core|m_socket|m_thread|m_topology\w*|num_proc)"
            r"=[^\s,]+",
            r"\1\2=FIGURE",
        ),
        # Where commands and files of the cell are.
        (r"/srv/roost/commands:", ""),
        (r"/srv/roost/bin\b", "/usr/lib/gridengine"),
        (r"/srv/roost/sgehub/gridengine\b", "/var/lib/gridengine"),
        (r"\bSGE_JOB_SPOOL_DIR=\S+", "SGE_JOB_SPOOL_DIR=DIRECTORY"),
        # Ids of a user and a process before what a daemon says.
        (r"\[\d+:\d+\]: ", ""),
    )
]
_SUBMITTED: Final = re.compile(r"Your job(?:-array)? (\d+)|\bJob (\d+) cannot run|^ {0,6}(\d{1,7}) \d\.\d{5} ")
_TERSE: Final = re.compile(r"(\d+)(?:\.\d+-\d+:\d+)?")
_PRIORITY: Final = re.compile(r"^(JOB[\d-]+) \d\.\d{5} ")
_RULE: Final = re.compile(r"-+")


class Shown(NamedTuple):
    """One command, and what it printed in every cell alike."""

    command: Command
    lines: tuple[str, ...]


def plain(commands: Sequence[Command], outputs: Iterable[Sequence[str]]) -> list[Shown]:
    """Outputs of the commands of a transcript, in order."""
    ids: dict[str, str] = {}
    found = []
    for command, output in zip(commands, outputs, strict=True):
        for line in output:
            _learn(ids, line, command)
        found.append(Shown(command, tuple(_plain(line, ids) for line in output)))
    return found


def _learn(ids: dict[str, str], line: str, command: Command) -> None:
    numbers = [next(filter(None, each.groups())) for each in _SUBMITTED.finditer(line)]
    if "-terse" in command.text and (bare := _TERSE.fullmatch(line)):
        numbers.append(bare[1])
    for number in numbers:
        if number not in ids:
            before = sum(name.startswith(f"JOB{command.number}-") for name in ids.values())
            ids[number] = f"JOB{command.number}-{before + 1}"


def _plain(line: str, ids: dict[str, str]) -> str:
    line = line.rstrip()
    for pattern, text in _REPLACED:
        line = pattern.sub(text, line)
    line = re.sub(r"(?<![\d:])(\d+)(?!\d|:\d)", lambda found: ids.get(found[1], found[1]), line)
    if "INSTANT" in line:
        line = re.sub(r"(?<=:)\d+(?=:)", lambda found: ids.get(found[0], found[0]), line)
    return re.sub(r" +", " ", line).strip()


def loose(lines: Sequence[str]) -> list[str]:
    """Lines without what is left to chance: which of several equal hosts, the priority, `t` or `r`, the order."""
    found = []
    for line in lines:
        line = _PRIORITY.sub(r"\1 PRIORITY ", line)
        line = re.sub(r"\bnode\d\b", "HOST", line).removeprefix("scheduling info: ")
        found.append(re.sub(r" (?:t|r) TIME", " r TIME", line))
    return sorted(line for line in found if not _RULE.fullmatch(line))
