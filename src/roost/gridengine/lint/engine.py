"""Runs the rules over the files of a cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from roost.base.diagnostics import Diagnostic
from roost.base.records import dataclass
from roost.gridengine.cell import Cell, read_cell
from roost.gridengine.lint.registry import CellHit, CellRule, all_rules
from roost.gridengine.lint.site import CheckedCell
from roost.gridengine.places import Places
from roost.gridengine.problems import Refused
from roost.gridengine.references import settle_cell
from roost.policy.lint.allow import allowances
from roost.policy.lint.findings import Finding, SourcePlace, in_order

#: codes of the findings that come from reading rather than a rule's function
UNREADABLE: Final = "RGE001"
DANGLING: Final = "RGE002"


@dataclass(frozen=True, slots=True)
class Report:
    """What was found in a cell."""

    #: the cell, None if a file of it could not be read
    cell: Cell | None
    findings: tuple[Finding, ...]
    #: findings that a comment allows
    allowed: tuple[Finding, ...]


def check(files: Mapping[str, str], under: str = "", program: Callable[[str], str | None] | None = None) -> Report:
    """Check a cell.

    `files` are texts by file name as in a cell's directory, `under` is the prefix of their names in findings, and
    `program` returns the text of a program by its path. If a file cannot be read, only such files are reported.
    """
    rules = {rule.code: rule for rule in all_rules()}
    try:
        cell = read_cell(files)
    except Refused as refused:
        found = [_of_reading(rules[UNREADABLE], problem, under) for problem in refused.problems]
        return Report(None, tuple(in_order(found)), ())
    places = Places(files, under)
    settled, problems = settle_cell(cell, places)
    found = [_of_reading(rules[DANGLING], problem, "") for problem in problems]
    site = CheckedCell(cell=settled, program=program) if program else CheckedCell(cell=settled)
    for rule in rules.values():
        for hit, more in _merged(rule.check(site)):
            span = places.line(hit.file, hit.attribute, hit.number)
            place = SourcePlace(span.file, span.line)
            found.append(
                Finding(
                    code=rule.code,
                    severity=rule.severity,
                    message=f"{hit.message} (and {more} more)" if more else hit.message,
                    place=place,
                    remedy=hit.remedy,
                    knob=hit.attribute,
                )
            )
    allowed = allowances({f"{under}{file}": text for file, text in files.items()})
    ordered = in_order(found)
    return Report(
        settled,
        tuple(one for one in ordered if not allowed.cover(one)),
        tuple(one for one in ordered if allowed.cover(one)),
    )


def alone(files: Mapping[str, str]) -> Report:
    """Check an object by itself: only whether it can be read, because its references and most rules need the cell."""
    rules = {rule.code: rule for rule in all_rules()}
    try:
        return Report(read_cell(files), (), ())
    except Refused as refused:
        return Report(None, tuple(_of_reading(rules[UNREADABLE], problem, "") for problem in refused.problems), ())


def _merged(hits: Iterable[CellHit]) -> list[tuple[CellHit, int]]:
    """The hits, each with the number of equal ones for other hosts."""
    found: dict[object, tuple[CellHit, int]] = {}
    for number, hit in enumerate(hits):
        key = (hit.file, hit.same) if hit.same else number
        first, more = found.get(key, (hit, -1))
        found[key] = first, more + 1
    return list(found.values())


def _of_reading(rule: CellRule, problem: Diagnostic, under: str) -> Finding:
    return Finding(
        code=rule.code,
        severity=rule.severity,
        message=problem.message,
        place=SourcePlace(f"{under}{problem.span.file}", problem.span.line),
        remedy=problem.remedy,
        knob=problem.name,
    )
