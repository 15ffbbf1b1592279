"""``roost cell``: the configuration of a Grid Engine cell as text: check it, and compare two of them.

A cell is a directory as Grid Engine's own `save_sge_config.sh` writes it, a tar archive of one, or a file that
`qconf -s…` printed. Nothing is decided here: the room `roost.gridengine` reads, checks and compares.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from roost.cli.cell_files import CellFiles, Unreadable, program, read_files, read_standard_input
from roost.gridengine.cell import Cell, read_cell
from roost.gridengine.difference import Change, Verb, difference
from roost.gridengine.lint import Report, all_rules, alone, check
from roost.gridengine.problems import Refused
from roost.gridengine.references import settle_cell
from roost.policy.lint.findings import Finding, Severity
from roost.policy.lint.pages import page

#: findings that `check` shows; --json has them all
FINDINGS_SHOWN_MAX = 200
_SIGNS = {Verb.ADD: "+", Verb.MODIFY: "~", Verb.DELETE: "-"}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``cell`` and its commands."""
    parser = subparsers.add_parser("cell", help="check and compare configurations of Grid Engine cells")
    commands = parser.add_subparsers(dest="cell_command", required=True, metavar="COMMAND")
    text = "report what is wrong in a cell, with a status of 1 if there are errors"
    checking = commands.add_parser("check", help=text, description=text)
    checking.add_argument("path", metavar="DIR", help="directory or tar archive; - is standard input")
    checking.add_argument(
        "--level", choices=[str(one) for one in Severity], default="warning", help="least severity shown and counted"
    )
    checking.add_argument("--strict", action="store_true", help="count warnings as errors")
    checking.add_argument("--json", action="store_true", help="print one JSON document")
    text = "what must change for one cell to become the other, with a status of 1 if anything must"
    comparing = commands.add_parser("diff", help=text, description=text)
    comparing.add_argument("before", metavar="OLD", help="directory or tar archive")
    comparing.add_argument("after", metavar="NEW", help="directory or tar archive; - is standard input")
    comparing.add_argument("--json", action="store_true", help="print one JSON document")
    text = "the rules of check, or the page of one"
    rules = commands.add_parser("rules", help=text, description=text)
    rules.add_argument("code", nargs="?", metavar="CODE", help="rule whose page is printed")


def run(args: argparse.Namespace) -> int:
    """Carry out a ``cell`` command; gives the exit status."""
    try:
        status: int = {"check": _check, "diff": _diff, "rules": _rules}[args.cell_command](args)
    except Unreadable as error:
        print(f"roost cell: {error}", file=sys.stderr)
        return 2
    except Refused as refused:
        for problem in refused.problems:
            print(f"roost cell: {problem}", file=sys.stderr)
        return 2
    return status


def _files(path: str) -> CellFiles:
    return read_standard_input(sys.stdin.buffer) if path == "-" else read_files(Path(path))


def _check(args: argparse.Namespace) -> int:
    source = _files(args.path)
    report = check(source.files, source.under, program) if source.whole else alone(source.files)
    least = Severity(args.level).level
    shown = [one for one in report.findings if one.severity.level >= least]
    if args.json:
        print(json.dumps(_document(report, shown), indent=2))
    else:
        for one in shown[:FINDINGS_SHOWN_MAX]:
            print("\n".join(_lines(one)))
        if len(shown) > FINDINGS_SHOWN_MAX:
            print(f"and {len(shown) - FINDINGS_SHOWN_MAX} more; --json lists them all")
        print(_summary(report, shown) if source.whole else f"{', '.join(source.files)}: {_counts(shown)}")
    bad = [one for one in shown if one.severity is Severity.ERROR or (args.strict and one.severity is Severity.WARNING)]
    return int(bool(bad))


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.place}: {finding.severity}: {finding.message} [{finding.code}]"
    yield f"    {finding.remedy}"


def _document(report: Report, shown: list[Finding]) -> dict[str, object]:
    return {
        "readable": report.cell is not None,
        "findings": [one.to_json() for one in shown],
        "allowed": [one.to_json() for one in report.allowed],
    }


def _summary(report: Report, shown: list[Finding]) -> str:
    found = _counts(shown)
    allowed = f"; {len(report.allowed)} allowed by comments" if report.allowed else ""
    if report.cell is None:
        return f"the cell cannot be read: {found}"
    queues, hosts = len(report.cell.queues), len(report.cell.hosts) - 1
    return f"{queues} queue{'s' * (queues != 1)} on {hosts} host{'s' * (hosts != 1)}: {found}{allowed}"


def _counts(shown: list[Finding]) -> str:
    counts = [(sum(one.severity is severity for one in shown), str(severity)) for severity in Severity]
    return ", ".join(
        f"{number} {word}{'s' * (number != 1)}" for number, word in counts if number or word != Severity.NOTE
    )


def _settled(files: Mapping[str, str]) -> Cell:
    """The cell of files; a reference to what does not exist is left to `check`."""
    return settle_cell(read_cell(files))[0]


def _diff(args: argparse.Namespace) -> int:
    changes = difference(_settled(_files(args.before).files), _settled(_files(args.after).files))
    if args.json:
        print(json.dumps([_change(one) for one in changes], indent=2))
    else:
        for one in changes:
            print("\n".join(change_lines(one)))
        print(counted(changes))
    return int(bool(changes))


def change_lines(change: Change) -> Iterator[str]:
    """A change as text."""
    yield f"{_SIGNS[change.verb]} {change.what}"
    for attribute, before, after in change.details:
        yield f"    {attribute}: {before or '(not set)'} -> {after or '(not set)'}"


def counted(changes: tuple[Change, ...]) -> str:
    """How many objects are added, modified and deleted."""
    if not changes:
        return "no difference"
    numbers = [(sum(one.verb is verb for one in changes), verb) for verb in Verb]
    return ", ".join(f"{number} to {verb}" for number, verb in numbers if number)


def _change(change: Change) -> dict[str, object]:
    return {
        "verb": str(change.verb),
        "kind": change.kind,
        "name": change.name,
        "attributes": [
            {"attribute": attribute, "before": before, "after": after} for attribute, before, after in change.details
        ],
    }


def _rules(args: argparse.Namespace) -> int:
    rules = {rule.code: rule for rule in all_rules()}
    if args.code is None:
        for rule in rules.values():
            print(f"{rule.code}  {rule.severity:<8}{rule.title}")
        return 0
    found = rules.get(args.code.upper())
    if found is None:
        print(f"roost cell: {args.code} is not a rule; `roost cell rules` lists them", file=sys.stderr)
        return 2
    print(page(found.as_rule()), end="")
    return 0
