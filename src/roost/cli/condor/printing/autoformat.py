"""Output formats on the command line: ``-af[:flags] ATTR…`` and ``-format TEXT ATTR``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.cli.condor.errors import UsageError
from roost.cli.condor.printing.columns import Column, Mask, conversion
from roost.cli.condor.printing.rows import is_name, parsed

#: The flags allowed after the colon of ``-af``.
FLAGS: Final = "jlhVr,tng"


def autoformat(attributes: Sequence[str], flags: str) -> Mask:
    """The mask of ``-af``. Raises UsageError for an invalid expression."""
    for text in attributes:
        if not is_name(text) and parsed(text) is None:
            raise UsageError(f"Error: invalid expression : {text}")
    heads = "h" in flags
    between, behind, opens = " ", "", ""
    for flag in flags:
        between, behind, opens = {
            ",": (between, ",", opens),
            "n": (between, "\n", opens),
            "g": ("", behind, "\n"),
            "t": ("\t", behind, opens),
        }.get(flag, (between, behind, opens))
    columns = [*(_job_id(heads, "l" in flags) if "j" in flags else ())]
    letter = "r" if "r" in flags or "o" in flags else "V" if "V" in flags else "v"
    for text in attributes:
        label = f"{text} = " if "l" in flags and not heads else ""
        form = f"{label.replace('%', '%%')}%{letter}"
        columns.append(Column(text, text, wide=len(text) if heads else 0, left=True, auto=heads, form=form))
    return Mask(tuple(columns), between=between, behind=behind, opens=opens, heads=heads)


def _job_id(heads: bool, labelled: bool) -> tuple[Column, Column]:
    label = "ID = " if labelled else ""
    if heads:
        return (
            Column("ClusterId", " ID", wide=5, auto=True, form=f"{label}%4d.", after=False),
            Column("ProcId", " ", wide=3, auto=True, form="%-3d", before=False),
        )
    return (
        Column("ClusterId", form=f"{label}%d.", after=False),
        Column("ProcId", form="%d", before=False),
    )


def formatted(pairs: Sequence[tuple[str, str]]) -> Mask:
    """The mask of ``-format``: the texts follow each other without separators."""
    columns = tuple(Column(attr if conversion(form) else "", form=form) for form, attr in pairs)
    return Mask(columns, between="", closes="", heads=False)
