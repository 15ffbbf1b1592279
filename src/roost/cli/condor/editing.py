"""``condor_prio`` and ``condor_qedit``: change the priority or any attribute of jobs in the queue."""

from __future__ import annotations

import re
import sys
from typing import Final

from roost.cli.condor.asking import PLACE_OPTIONS, DaemonLocation
from roost.cli.condor.choosing import JobSelection, job_id, owner
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Option, given
from roost.cli.pool_connection import Pool, Refused
from roost.wire.requests import queue

PRIO_OPTIONS: Final = (
    Option("p", "this priority", takes="N"),
    Option("+N", "N more; -N: N less"),
    Option("all", "all jobs", least=1),
    *PLACE_OPTIONS,
)
EDIT_OPTIONS: Final = (
    Option("constraint", "only jobs for which EXPR is true", takes="EXPR", least=1),
    Option("owner", "only jobs of this user", takes="USER", least=1),
    Option("jobids", "these jobs", takes="IDS", least=1),
    Option("edits", "read assignments from a file; - for standard input", takes="FILE", least=2, colon="FORM"),
    Option("forward", "accepted, has no effect", least=2),
    *PLACE_OPTIONS,
    Option("debug", "accepted, has no effect", least=1),
)
OPTIONS_OF: Final = {"condor_prio": PRIO_OPTIONS, "condor_qedit": EDIT_OPTIONS}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_ASSIGNED: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*=(?!=)(.*)", re.DOTALL)


def _named(word: str) -> JobSelection | None:
    job = job_id(word)
    if job is not None:
        return JobSelection(jobs=(job,))
    return JobSelection(owners=(owner(word),)) if _NAME.match(owner(word)) else None


def edit(pool: Pool, choice: JobSelection, attributes: dict[str, str]) -> queue.ActedUpon:
    """Set attributes to expressions and return the results. Raises ToolError for an invalid expression."""
    from roost.classad import ClassAd, ParseError, Syntax, parse_expression
    from roost.wire.ads import ad_data

    ad = ClassAd()
    for name, text in attributes.items():
        try:
            ad[name] = parse_expression(text, Syntax.OLD)
        except ParseError as error:
            raise ToolError(f'Failed to set attribute "{name}": the value cannot be parsed\n{error}') from None
    try:
        return pool.ask(queue.Act(action="edit", attributes=ad_data(ad), **choice.asked()))
    except Refused as refused:
        raise ToolError(f"Error: {refused}") from None


def run(name: str, arguments: list[str]) -> int:
    """Run either."""
    return _prio(arguments) if name == "condor_prio" else _qedit(arguments)


# -- condor_prio -------------------------------------------------------------------------------------------------


def _prio(arguments: list[str]) -> int:
    place, choices, change = DaemonLocation(), [], ""
    words = iter(arguments)
    left: list[str] = []
    for word in words:
        # A change by that much looks like an option.
        if re.fullmatch(r"[+-]\d+", word):
            change = word
        elif word == "-p":
            change = f"={next(words, '')}"
        else:
            left.append(word)
    for option in given(left, PRIO_OPTIONS):
        if place.take(option):
            continue
        choice = JobSelection() if option.name == "all" else _named(option.value)
        if choice is None:
            raise UsageError(f"Invalid argument: {option.value}")
        choices.append((option.value if option.values else "all jobs", choice))
    if not re.fullmatch(r"=?[+-]?\d+", change) or not choices:
        raise UsageError("Usage: condor_prio -p N | +N | -N  {cluster | cluster.proc | user | -all} ...")
    return place.ask(lambda pool: max(_set_priority(pool, called, choice, change) for called, choice in choices))


def _set_priority(pool: Pool, called: str, choice: JobSelection, change: str) -> int:
    rows = pool.ask(queue.Query(projection=("ClusterId", "ProcId", "JobPrio"), **choice.asked()))
    by_priority: dict[int, list[str]] = {}
    for row in rows:
        old = row.get("JobPrio", 0)
        new = int(change[1:]) if change[0] == "=" else int(old if isinstance(old, int) else 0) + int(change)
        by_priority.setdefault(new, []).append(f"{row['ClusterId']}.{row['ProcId']}")
    if not by_priority:
        sys.stderr.write(f"Couldn't find any jobs for {called}\n")
        return 1
    failed = 0
    for priority, jobs in by_priority.items():
        done = edit(pool, JobSelection(jobs=tuple(jobs)), {"JobPrio": str(priority)})
        for job in done.refused:
            sys.stderr.write(f"Couldn't set new priority for job {job}\n")
            failed = 1
    return failed


# -- condor_qedit ------------------------------------------------------------------------------------------------


def _qedit(arguments: list[str]) -> int:
    place, choice, words = DaemonLocation(), JobSelection(), []
    chosen = False
    attributes: dict[str, str] = {}
    for option in given(arguments, EDIT_OPTIONS):
        match option.name:
            case _ if place.take(option):
                continue
            case "constraint":
                choice, chosen = choice.but(option.value), True
            case "owner":
                choice, chosen = choice._replace(owners=(owner(option.value),)), True
            case "jobids":
                choice, chosen = choice._replace(jobs=_ids(option.value)), True
            case "edits":
                attributes |= _from_file(option.value)
            case "":
                words.append(option.value)
    if not chosen and words:
        first = _named(words.pop(0))
        if first is None:
            raise UsageError(f"Invalid argument: {arguments[0]}")
        choice = first
    attributes |= _assignments(words)
    if not attributes or choice == JobSelection():
        raise UsageError(
            "Usage: condor_qedit {cluster | cluster.proc | user | -constraint EXPR} {ATTR VALUE | ATTR=VALUE} ..."
        )
    return place.ask(lambda pool: _set_attributes(pool, choice, attributes))


def _ids(text: str) -> tuple[str, ...]:
    found = [(word, job_id(word)) for word in text.replace(",", " ").split()]
    for word, job in found:
        if job is None:
            raise UsageError(f"Invalid job id: {word}")
    return tuple(job for _, job in found if job is not None)


def _assignments(words: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    left = iter(words)
    for word in left:
        assigned = _ASSIGNED.match(word)
        if assigned is not None:
            found[assigned[1]] = assigned[2].strip()
            continue
        value = next(left, None)
        if value is None or not _NAME.match(word):
            raise UsageError(f"Attribute {word} has no value: write ATTR VALUE or ATTR=VALUE")
        found[word] = value
    return found


def _from_file(path: str) -> dict[str, str]:
    from roost.cli.condor.printing.chosen import rows_of_file

    return {name: row.raw(name) for row in rows_of_file(path) for name in row.data}


_WHY: Final = {
    "permission-denied": "permission denied",
    "bad-name": "it is not a valid attribute name",
    "immutable": "it cannot be changed after submission",
    "protected": "only queue super users may change it",
    "not-a-number": "JobPrio must be a whole number from -2147483647 to 2147483647",
    "not-a-text": "an accounting group must be a quoted string",
    "too-large": "the job's ad would be too large; transfer large data as files",
    "group-too-long": "the name of a group is too long",
    "too-many-groups": "your jobs would use more accounting groups than the queue allows per user",
}


def _set_attributes(pool: Pool, choice: JobSelection, attributes: dict[str, str]) -> int:
    told = edit(pool, choice, attributes)
    done, refused = told.counts.get("ok", 0), told.refused
    if refused or not done:
        why = next((_WHY[each] for each in refused.values() if each in _WHY), "it cannot be changed")
        text = why if refused else "no matching jobs are in the queue"
        for name in attributes:
            sys.stderr.write(f'Failed to set attribute "{name}": {text}\n')
    if not done:
        return 1
    for name in attributes:
        if choice.jobs and "." in choice.jobs[0] and len(choice.jobs) == 1:
            sys.stdout.write(f'Set attribute "{name}".\n')
        else:
            sys.stdout.write(f'Set attribute "{name}" for {done} matching jobs.\n')
    return 1 if refused else 0
