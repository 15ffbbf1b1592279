"""A look at a configuration before machines live by it: what daemons refuse is refused here, each with its place."""

from __future__ import annotations

import re
from typing import Final

from roost.classad import ParseError, Syntax, parse_expression
from roost.config import Config, ConfigError
from roost.lab.machines import LabError
from roost.policy.catalogue.machine import STARTD, STARTER
from roost.runtime.processes.memory_control import limits_memory
from roost.runtime.start_checks import errors
from roost.startd.layout.resources import is_set

_LIST: Final = re.compile(r"(ALLOW|DENY)_(READ|WRITE|ADMINISTRATOR|DAEMON|NEGOTIATOR|ADVERTISE_[A-Z]+)(_[A-Z]+)?")
_PROGRAMS: Final = re.compile(r"(STARTD|SCHEDD)_CRON_JOBLIST")
#: Sums over all slots of a machine, which the ads of simulated slots lack.
_OF_DRAINS: Final = re.compile(
    r"\b(?:ExpectedMachine(?:Graceful|Quick)Draining(?:Completion|Badput)|LastDrainSt(?:art|op)Time"
    r"|TotalMachineDraining(?:Badput|UnclaimedTime))\b",
    re.IGNORECASE,
)
_TRANSFERS: Final = ("MAX_CONCURRENT_UPLOADS", "MAX_CONCURRENT_DOWNLOADS")
#: Lists that keep no user out.
_EVERYBODY: Final = ("*", "*@*")


def not_acted_on(config: Config) -> tuple[str, ...]:
    """Notes on what a configuration sets and the lab does not act on, though a pool does."""
    lists: list[str] = []
    programs: list[str] = []
    for name in sorted({each.upper() for each in config.names()}):
        kept = lists if _LIST.fullmatch(name) else programs if _PROGRAMS.fullmatch(name) else None
        value = "" if kept is None or config.find(name) is None else (config.get(name) or "").strip()
        if kept is not None and value and not (name.startswith("ALLOW_") and value in _EVERYBODY):
            kept.append(name)
    notes = []
    if lists:
        notes.append(
            f"the lab does not act on access lists ({', '.join(lists)}), so that every user may submit and every "
            "daemon may take part"
        )
    if programs:
        notes.append(f"the lab does not run the programs of {' and '.join(programs)}")
    if limits_memory(config):
        notes.append(
            "the lab does not limit memory (CGROUP_MEMORY_LIMIT_POLICY), so that a job which needs more than its slot "
            "has is not killed"
        )
    unseen = sorted({found for name in config.names() for found in _unseen(config, name)})
    if unseen:
        notes.append(f"slots of the lab do not show {', '.join(unseen)}: it is UNDEFINED but for defragmentation")
    transfers = [name for name in _TRANSFERS if is_set(config, name)]
    if transfers:
        notes.append(f"the lab moves the files of all jobs at once ({', '.join(transfers)})")
    return tuple(notes)


def _unseen(config: Config, name: str) -> list[str]:
    """Attributes of a machine's drains that a value names; defragmentation's own expressions see them."""
    if name.upper().startswith("DEFRAG_") or not is_set(config, name):
        return []
    return _OF_DRAINS.findall(config.get(name) or "")


def refuse_unreadable(config: Config) -> None:
    """Raise LabError for all that daemons would refuse, and for each policy expression that cannot be read."""
    problems = []
    for row in (*STARTD, *STARTER):
        subsystem = row.evaluated_by.upper()
        found = config.find(row.name, subsys=subsystem)
        if found is None:
            continue
        try:
            text = config.get(row.name, subsys=subsystem)
            if text is not None and text.strip():
                parse_expression(text, Syntax.OLD)
        except ParseError as error:
            problems.append(f"{found.span.chain()}: {row.name} is not an expression: {error}")
        except ConfigError as error:
            problems.append(str(error))
    # The expressions above are told with what is wrong inside of them.
    problems = problems or [str(one) for one in errors(config)]
    if problems:
        raise LabError("\n".join(problems))
