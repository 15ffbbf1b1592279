"""``roost cell``: the configuration of a Grid Engine cell, as text and in a pool.

A cell is a directory as written by Grid Engine's `save_sge_config.sh`, a tar archive of one, or a file with the output
of `qconf -s…`. Nothing is decided here: the room `roost.gridengine` reads, checks and compares.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from roost.base.diagnostics import Severity
from roost.cli.cell import in_pool as cell_pool
from roost.cli.cell.changes import change_document, change_lines, counted
from roost.cli.cell.files import Unreadable, program
from roost.cli.pool_connection import add_pool_options
from roost.gridengine.cell import Cell, read_cell
from roost.gridengine.difference import difference
from roost.gridengine.lint import Report, all_rules, alone, check
from roost.gridengine.problems import Refused
from roost.gridengine.references import settle_cell
from roost.policy.lint.findings import Finding
from roost.policy.lint.pages import page

#: maximum number of findings that `check` shows; --json has them all
FINDINGS_SHOWN_MAX = 200

#: Commands about queue instances, and what they do.
_OF_INSTANCES: Final = {
    "disable": "stop queue instances from accepting new jobs",
    "enable": "let queue instances accept jobs again",
    "suspend": "suspend the jobs of queue instances, which then accept no new ones",
    "resume": "resume the jobs of queue instances",
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``cell`` and its commands."""
    parser = subparsers.add_parser("cell", help="check, compare and apply configurations of Grid Engine cells")
    commands = parser.add_subparsers(dest="cell_command", required=True, metavar="COMMAND")
    text = "check a cell; exit with status 1 if there are errors"
    checking = commands.add_parser("check", help=text, description=text)
    checking.add_argument("path", metavar="DIR", help="directory or tar archive; - is standard input")
    checking.add_argument(
        "--level", choices=[str(one) for one in Severity], default="warning", help="lowest severity shown and counted"
    )
    checking.add_argument("--strict", action="store_true", help="count warnings as errors")
    checking.add_argument("--json", action="store_true", help="print one JSON document")
    text = "list the changes from the pool's cell, or OLD, to NEW; exit with status 1 if they differ"
    comparing = commands.add_parser(
        "diff", help=text, description=text, usage="%(prog)s [-h] [--home DIR] [--json] [OLD] NEW"
    )
    comparing.add_argument("before", metavar="OLD", help="directory or tar archive (default: the cell of the pool)")
    comparing.add_argument("after", nargs="?", metavar="NEW", help="directory or tar archive; - is standard input")
    add_pool_options(comparing)
    _add_pool_commands(commands)
    text = "list the rules of check, or print the page of one"
    rules = commands.add_parser("rules", help=text, description=text)
    rules.add_argument("code", nargs="?", metavar="CODE", help="rule to explain")


def _add_pool_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    taking = commands.add_parser("import", help="import a cell, or one object of it, into the pool")
    taking.add_argument(
        "path", metavar="PATH", help="directory, tar archive, or output of a qconf -s… command; - is standard input"
    )
    taking.add_argument("--replace", action="store_true", help="replace the pool's present cell")
    making = commands.add_parser("apply", help="change the pool's cell to match a directory")
    making.add_argument("path", metavar="DIR", help="directory or tar archive; - is standard input")
    making.add_argument("--plan", action="store_true", help="only show what would change")
    writing = commands.add_parser("export", help="write the pool's cell into a directory")
    writing.add_argument("path", metavar="DIR", help="directory; created if it does not exist")
    telling = commands.add_parser("log", help="show who changed the pool's cell, when and how")
    telling.add_argument(
        "-n", "--limit", type=int, default=20, metavar="N", help="at most N changes, newest first (default: 20)"
    )
    text = "clear the error state (E) of queue instances, so that they accept jobs again"
    clearing = commands.add_parser("clear", help=text, description=text)
    clearing.add_argument(
        "instances", nargs="+", metavar="INSTANCE", help="queue, queue@host or queue@@group; wildcards are allowed"
    )
    text = "show the users' usage of the pool's cell, as its share tree counts it"
    using = commands.add_parser("usage", help=text, description=f"{text[0].upper()}{text[1:]}.")
    text = "clear the users' usage, as qconf -clearusage does"
    forgetting = commands.add_parser("clear-usage", help=text, description=f"{text[0].upper()}{text[1:]}.")
    listing = commands.add_parser("queues", help="list the queue instances of the pool's cell, as qstat -f does")
    changing = []
    for name, text in _OF_INSTANCES.items():
        changing.append(commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}."))
        changing[-1].add_argument(
            "names", nargs="+", metavar="INSTANCE", help="queue, queue@host or queue@@group; wildcards are allowed"
        )
    for parser in (taking, making, writing, telling, listing, clearing, using, forgetting, *changing):
        add_pool_options(parser)


def run(args: argparse.Namespace) -> int:
    """Carry out a ``cell`` command; return the exit status."""
    try:
        status: int = _COMMANDS[args.cell_command](args)
    except Unreadable as error:
        print(f"roost cell: {error}", file=sys.stderr)
        return 2
    except Refused as refused:
        for problem in refused.problems:
            print(f"roost cell: {problem}", file=sys.stderr)
        return 2
    return status


def _check(args: argparse.Namespace) -> int:
    source = cell_pool.source(args.path)
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
    """Parse the cell in files; references to missing objects are left to `check`."""
    return settle_cell(read_cell(files))[0]


def _diff(args: argparse.Namespace) -> int:
    if args.after is None:
        changes = cell_pool.difference_with_pool(args)
    else:
        changes = difference(
            _settled(cell_pool.source(args.before).files), _settled(cell_pool.source(args.after).files)
        )
    if args.json:
        print(json.dumps([change_document(one) for one in changes], indent=2))
    else:
        for one in changes:
            print("\n".join(change_lines(one)))
        print(counted(changes))
    return int(bool(changes))


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


_COMMANDS: Final = {
    "apply": cell_pool.apply,
    "check": _check,
    "diff": _diff,
    "export": cell_pool.export,
    "import": cell_pool.take,
    "log": cell_pool.log,
    "clear": cell_pool.clear,
    "clear-usage": cell_pool.clear_usage,
    "queues": cell_pool.queues,
    "rules": _rules,
    "usage": cell_pool.usage,
    **dict.fromkeys(_OF_INSTANCES, cell_pool.change_states),
}
