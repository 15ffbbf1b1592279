"""The options of ``qacct``, and their meaning."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Sequence
from typing import Final, NoReturn

from roost.base.records import dataclass, field
from roost.cli.gridengine.accounting_tables import ColumnShown
from roost.cli.gridengine.option_tables import options
from roost.gridengine.commands.errors import Failure
from roost.gridengine.commands.options import usage
from roost.runtime.local_time import read_instant

OPTIONS: Final = options(
    """
A [account_string] | list [matching] account
ar [ar_id] | list [matching] advance reservations
b begin_time | runs that started at this time or later, [[CC]YY]MMDDhhmm[.SS]
d days | runs that started in so many days: from -b on, before -e, or before now
D [department] | list [matching] department
e end_time | runs that started at this time or earlier
E | -b, -d and -e are about the end of runs, not their start
f acctfile | read this accounting file, - for standard input, and not the pool's database
g [groupid|groupname] | list [matching] group, by name or number
h [host] | list [matching] host
j [job_id|job_name|pattern] | list all [matching] runs in detail
l attr=val,... | runs in queue instances with these resources
m | ignore the tasks that parallel jobs have started
o [owner] | list [matching] owner
u [owner] | the same
pe [pe_name] | list [matching] parallel environment
P [project] | list [matching] project
q [queue] | list [matching] queue
slots [slots] | list [matching] number of slots
t taskid[-taskid[:step]],... | list all [matching] tasks (requires -j with an argument)
"""
)
_TAKES: Final = {option.name: option.takes for option in OPTIONS}
#: Columns in their order: option, heading, and the member of a record.
COLUMNS: Final = (
    ("h", "HOST", "host"), ("q", "CLUSTER QUEUE", "queue"), ("g", "GROUP", "group"), ("o", "OWNER", "owner"),
    ("P", "PROJECT", "project"), ("D", "DEPARTMENT", "department"), ("pe", "PE", "environment"),
    ("slots", "SLOTS", "slots"), ("ar", "AR", "reservation"), ("A", "ACCOUNT", "account"),
)  # fmt: skip
_RANGE: Final = re.compile(r"([1-9]\d*)(?:-([1-9]\d*)(?::([1-9]\d*))?)?\Z")
_DAY_S: Final = 86_400


@dataclass(slots=True)
class Asked:
    """The request of the options."""

    #: Option to its pattern; None for all.
    options: dict[str, str | None] = field(default_factory=dict)
    since: int | None = None
    until: int | None = None
    job: int | None = None
    name: str = ""
    tasks: frozenset[int] = frozenset()
    #: The last range of those tasks, for messages.
    ranges: str = ""

    def __contains__(self, option: str) -> bool:
        return option in self.options

    def text(self, option: str) -> str | None:
        """The pattern of an option; None for any."""
        return self.options.get(option)

    def number(self, option: str) -> int | None:
        """The same as a number."""
        text = self.text(option)
        if text is None:
            return None
        return int(text)

    @property
    def columns(self) -> list[tuple[ColumnShown, str]]:
        """The columns of the table, each with the member of a record."""
        # A named queue includes its hosts.
        wanted = self.options | ({"h": self.text("h")} if self.text("q") else {})
        return [
            (ColumnShown(heading, None if option == "q" else wanted[option]), member)
            for option, heading, member in COLUMNS
            if option in wanted
        ]


def _bad(text: str = "") -> NoReturn:
    raise Failure(f"{text}{usage('qacct', OPTIONS)}")


def read_options(arguments: Sequence[str]) -> Asked:
    """The request of arguments. Raises Failure."""
    asked, at = Asked(), 0
    while at < len(arguments):
        option = arguments[at][1:] if arguments[at].startswith("-") else ""
        takes = _TAKES.get(option)
        if takes is None:
            _bad(f'error: invalid option argument "{arguments[at]}"\n')
        at += 1
        value = arguments[at] if at < len(arguments) else None
        if not takes or value is None or (value.startswith("-") and not (option == "f" and value == "-")):
            if takes and not takes.startswith("["):
                _bad(f"error: -{option} option must have argument\n")
            asked.options.setdefault("o" if option == "u" else option, None)
            continue
        asked.options["o" if option == "u" else option] = value
        at += 1
    for option in ("slots", "ar"):
        value = asked.text(option)
        if value is not None and not value.isdecimal():
            _bad(f"error: -{option} {value}: not a number\n")
        if value is not None and not int(value):
            # Neither may be 0: Grid Engine treats that as any.
            del asked.options[option]
    _read_times(asked)
    _read_jobs(asked)
    _read_group(asked)
    return asked


def _read_times(asked: Asked) -> None:
    asked.since, asked.until = (_instant(asked.text(option)) for option in ("b", "e"))
    text = asked.text("d")
    if text is None:
        return
    if not text.isdecimal():
        _bad(f"error: -d {text}: not a number of days\n")
    span = int(text) * _DAY_S
    if asked.since is not None and asked.until is not None:
        _bad("error: -d, -b and -e exclude one another: give two of them\n")
    if asked.since is not None:
        asked.until = asked.since + span
    else:
        asked.since = (int(time.time()) if asked.until is None else asked.until) - span


def _instant(text: str | None) -> int | None:
    """The instant of ``[[CC]YY]MMDDhhmm[.SS]`` in local time, epoch s."""
    try:
        return None if text is None else read_instant(text)
    except ValueError as problem:
        _bad(f"\n{problem}\n")


def _read_jobs(asked: Asked) -> None:
    job = asked.text("j")
    if "t" in asked:
        if job is None:
            _bad("error: -t option requires -j option with an argument\n")
        asked.tasks, asked.ranges = _tasks(asked.text("t") or "")
    if job is not None and job.isdecimal():
        asked.job = int(job)
    else:
        asked.name = job or ""


def _tasks(text: str) -> tuple[frozenset[int], str]:
    found: set[int] = set()
    shown = ""
    for part in text.split(","):
        match = _RANGE.match(part)
        if match is None:
            _bad(f"invalid list of task id ranges: {text}\n")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last - first > 10**7:
            _bad(f"invalid list of task id ranges: {text}\n")
        found.update(range(first, last + 1, step))
        # Messages name the last one.
        shown = f"{first}-{last}:{step}"
    return frozenset(found), shown


def _read_group(asked: Asked) -> None:
    """A group may be named by its number."""
    text = asked.text("g")
    if text is not None and text.isdecimal():
        import grp

        with contextlib.suppress(KeyError):
            asked.options["g"] = grp.getgrgid(int(text)).gr_name
