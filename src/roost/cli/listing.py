"""How commands print what they list: tables, JSON, and the words for jobs and times."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from roost.cli.colour import by_meaning, wanted
from roost.cli.terminal import CommandError


def print_json(data: Any) -> None:
    """Print a value as JSON."""
    json.dump(data, sys.stdout, indent=2, sort_keys=False)
    sys.stdout.write("\n")


def table(
    rows: list[list[str]],
    titles: list[str],
    right: frozenset[int] = frozenset(),
    *,
    coloured: frozenset[int] = frozenset(),
) -> None:
    """Print rows under headings; columns in `right` are right-aligned, those in `coloured` coloured by the meaning of
    their word.
    """
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    form = "  ".join(f"{{:{'>' if at in right else '<'}{wide}}}" for at, wide in enumerate(widths)).format
    painting = bool(coloured) and wanted()
    write = sys.stdout.write
    write(form(*titles).rstrip() + "\n")
    for row in rows:
        if painting:
            # Escape codes count in a column's width, but take no space: pad before colouring.
            row = [by_meaning(f"{cell:{widths[at]}}") if at in coloured else cell for at, cell in enumerate(row)]
        write(form(*row).rstrip() + "\n")


def arguments(row: dict[str, Any]) -> str:
    """A job's arguments as typed in a shell; new-style quoting is removed where it is not needed."""
    new = row.get("Arguments")
    if not isinstance(new, str):
        return str(row.get("Args") or "")
    words, word, quoted, begun, at = [], "", False, False, 0
    while at < len(new):
        sign = new[at]
        if sign == "'":
            begun = True
            if quoted and new[at + 1 : at + 2] == "'":
                word += "'"
                at += 1
            else:
                quoted = not quoted
        elif sign.isspace() and not quoted:
            words += [word] if begun else []
            word, begun = "", False
        else:
            word, begun = word + sign, True
        at += 1
    words += [word] if begun else []
    return " ".join(each if each and not any(c.isspace() for c in each) else f"'{each}'" for each in words)


def job_name(row: Mapping[str, Any]) -> str:
    """``12.0``, the name of the job of a row."""
    return f"{row['ClusterId']}.{row['ProcId']}"


def no_such_job(name: str) -> CommandError:
    """The error for a job or cluster that is in neither the queue nor the history."""
    return CommandError(
        f"there is no job {name} in the queue or in the history; `roost queue` and `roost history` list the jobs"
    )


def duration(seconds: float) -> str:
    """``3+04:05:06``, without days if there are none."""
    whole = max(0, int(seconds))
    days, rest = divmod(whole, 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}+{clock}" if days else clock


def counted(number: int, noun: str) -> str:
    """``1 job``, ``2 jobs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
