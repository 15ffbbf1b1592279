"""Checks a configuration before machines use it: what daemons refuse is refused here, with places."""

from __future__ import annotations

import re
from typing import Final

from roost.base.diagnostics import Severity
from roost.classad import ParseError, Syntax, parse_expression
from roost.config import Config, ConfigError, check
from roost.config.knobs import find
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
#: How fast a workflow submits: its nodes are submitted as soon as they are ready.
_PACE: Final = ("DAGMAN_SUBMIT_DELAY", "DAGMAN_MAX_SUBMITS_PER_INTERVAL")
_SIZES: Final = ("MAX_TRANSFER_INPUT_MB", "MAX_TRANSFER_OUTPUT_MB")
#: Daemons of which a pool in the lab has one, whatever single machines are configured with.
_OF_POOL: Final = ("SCHEDD", "NEGOTIATOR", "COLLECTOR", "DEFRAG", "SUBMIT", "DAGMAN")
#: Lists that exclude no user.
_EVERYBODY: Final = ("*", "*@*")


def not_acted_on(config: Config) -> tuple[str, ...]:
    """Notes on settings that the lab ignores although a pool honours them, and on warnings of `roost config check`,
    such as a misspelt knob.
    """
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
            f"the lab ignores access lists ({', '.join(lists)}): every user may submit and every daemon may join"
        )
    if programs:
        notes.append(f"the lab does not run the programs of {' and '.join(programs)}")
    if limits_memory(config):
        notes.append(
            "the lab does not limit memory (CGROUP_MEMORY_LIMIT_POLICY): a job that needs more than its slot "
            "has is not killed"
        )
    unseen = sorted({found for name in config.names() for found in _unseen(config, name)})
    if unseen:
        notes.append(f"slots in the lab do not show {', '.join(unseen)}: it is UNDEFINED except for defragmentation")
    transfers = [name for name in _TRANSFERS if is_set(config, name)]
    if transfers:
        notes.append(f"the lab transfers the files of all jobs at once ({', '.join(transfers)})")
    sizes = [name for name in _SIZES if is_set(config, name)]
    if sizes:
        notes.append(f"the lab transfers no files, so their size holds no job ({', '.join(sizes)})")
    if is_set(config, "USER_JOB_WRAPPER"):
        notes.append("the lab runs no programs, and so no USER_JOB_WRAPPER: jobs run as if it had started them")
    pace = [name for name in _PACE if is_set(config, name)]
    if pace:
        notes.append(f"workflows in the lab submit nodes as soon as they are ready ({', '.join(pace)})")
    notes += [str(one) for one in check(config) if one.severity is Severity.WARNING]
    return tuple(notes)


def is_of_pool(name: str) -> bool:
    """Whether a knob is read by the queue or the daemons of the central manager only."""
    row = find(name)
    return row is not None and row.unread is None and row.subsystem in _OF_POOL


def _unseen(config: Config, name: str) -> list[str]:
    """Attributes of a machine's drains that a value refers to; only defragmentation's own expressions see them."""
    if name.upper().startswith("DEFRAG_") or not is_set(config, name):
        return []
    return _OF_DRAINS.findall(config.get(name) or "")


def refuse_unreadable(config: Config) -> None:
    """Raise LabError for everything that daemons would refuse, and for each invalid policy expression."""
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
    # The expressions above are reported with the error inside them.
    problems = problems or [str(one) for one in errors(config)]
    if problems:
        raise LabError("\n".join(problems))
