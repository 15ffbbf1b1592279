"""``roost lab test``: scenario files against the policies that they name.

What is printed is made for a person who has just changed a policy: one line a scenario, and for a failure the line of
the file, the slot's timeline around the instant and the expression that decided. With ``--real`` the same happens to
real daemons, and where they do otherwise both timelines are printed. ``--json`` has all that for programs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roost.cli.terminal import CommandError, Exit, say, width

if TYPE_CHECKING:
    from roost.lab.coverage import Coverage
    from roost.lab.replay.comparison import Difference
    from roost.lab.scenario import Scenario
    from roost.lab.scenario_run import Failure, Verdict

    #: What a scenario came to, and where real daemons do otherwise; None where they were not asked.
    Outcome = tuple[Verdict, Sequence[Difference] | None]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    text = "run scenario files against the policies that they name"
    parser = commands.add_parser("test", help=text, description=text[0].upper() + text[1:] + ".")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a scenario file (TOML), or a directory of them")
    parser.add_argument(
        "--config", "-c", action="append", metavar="FILE", help="test this configuration instead of the one named"
    )
    parser.add_argument("--only", action="append", metavar="TEXT", help="only scenarios whose name contains TEXT")
    parser.add_argument("--coverage", action="store_true", help="say which clauses no scenario exercised")
    parser.add_argument(
        "--min-coverage", type=float, metavar="PERCENT", help="fail if fewer clauses of a file were seen both ways"
    )
    parser.add_argument(
        "--real",
        action="store_true",
        help="let the same happen to real daemons and processes whose time is driven, and compare",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Carry out the command. Raises LabError, CommandError."""
    from roost.lab.scenario_run import run_scenario
    from roost.runtime.machine import SystemHost

    if args.min_coverage is not None and not 0 <= args.min_coverage <= 100:
        raise CommandError("--min-coverage is a percentage, from 0 to 100")
    host, columns = SystemHost(), max(40, width() - 8)
    if not args.real:
        return _run(args, lambda scenario, coverage: (run_scenario(scenario, host, coverage, columns), None))
    from roost.lab.replay.worlds import BothWorlds, NoReplay

    try:
        with BothWorlds(host) as worlds:
            return _run(args, lambda scenario, coverage: worlds.run(scenario, coverage, columns))
    except NoReplay as problem:
        raise CommandError(f"real daemons can't be started: {problem}") from None


def _run(args: argparse.Namespace, outcome: Callable[[Scenario, Coverage], Outcome]) -> int:
    from roost.lab.coverage import Coverage

    files = []
    counts = {"scenarios": 0, "expectations": 0, "failed": 0}
    short = False
    for file, scenarios in _chosen(args):
        coverage, outcomes = Coverage(), []
        if not args.json and scenarios:
            say(str(file))
        for scenario in scenarios:
            verdict, differences = outcome(scenario, coverage)
            outcomes.append((verdict, differences))
            counts["scenarios"] += 1
            counts["expectations"] += verdict.checked
            counts["failed"] += not verdict.passed or bool(differences)
            if not args.json:
                _show_outcome(verdict, differences)
                sys.stdout.flush()
        short |= args.min_coverage is not None and 100 * coverage.share < args.min_coverage
        files.append(_file_data(file, outcomes, coverage))
        if not args.json and (args.coverage or args.min_coverage is not None):
            _show_coverage(coverage)
    if not counts["scenarios"]:
        raise CommandError("no scenario was chosen" + (f"; none contains {args.only}" if args.only else ""))
    if args.json:
        say(json.dumps({"version": 1, **counts, "files": files}, indent=2))
    else:
        say(_summary(counts, short, args.min_coverage))
    return Exit.NO if counts["failed"] or short else Exit.OK


def _summary(counts: dict[str, int], short: bool, minimum: float | None) -> str:
    def many(count: int, word: str) -> str:
        return f"{count} {word}" + ("" if count == 1 else "s")

    text = f"{many(counts['scenarios'], 'scenario')}, {many(counts['expectations'], 'expectation')}: "
    text += f"{counts['failed']} failed" if counts["failed"] else "all as expected"
    return text + (f"; coverage below {minimum:g} %" if short else "")


def _chosen(args: argparse.Namespace) -> Iterator[tuple[Path, list[Scenario]]]:
    """The scenarios of each file, as the options want them."""
    from dataclasses import replace

    from roost.lab.scenario_file import read_scenarios

    for file in _files(args.files):
        scenarios = read_scenarios(file)
        if args.config:
            configs = tuple(str(Path(each)) for each in args.config)
            scenarios = [replace(each, configs=configs, policy=None) for each in scenarios]
        if args.only:
            scenarios = [each for each in scenarios if any(text in each.name for text in args.only)]
        yield file, scenarios


def _files(names: list[str]) -> Iterator[Path]:
    for name in names:
        path = Path(name)
        if not path.is_dir():
            yield path
            continue
        found = sorted(path.rglob("*.toml"))
        if not found:
            raise CommandError(f"{path}: there is no .toml file in this directory")
        yield from found


# -- text ------------------------------------------------------------------------------------------------------


def _show_outcome(verdict: Verdict, differences: Sequence[Difference] | None) -> None:
    passed = verdict.passed and not differences
    say(f"  {'pass' if passed else 'FAIL'}  {verdict.scenario.name}")
    shown: tuple[float, str] | None = None
    for failure in verdict.failures:
        instant = (failure.at_s, failure.expectation.slot)
        _show_failure(verdict.scenario, failure, again=instant == shown)
        shown = instant
    for each in differences or ():
        _show_difference(verdict.scenario, each)


def _show_failure(scenario: Scenario, failure: Failure, *, again: bool) -> None:
    """A failure; without the timeline if the one before it was of the same instant."""
    from roost.lab.scenario_run import shown_at

    say("")
    say(f"        {scenario.file}:{failure.expectation.line}: at {shown_at(failure)}")
    say(f"        expected {failure.wanted}")
    say(f"        found    {failure.found}")
    if not again:
        say("")
        for line in failure.timeline:
            say(f"        | {line}")
    if failure.explanation:
        say("")
    for line in failure.explanation.splitlines():
        say(f"        {line}".rstrip())
    say("")


def _show_difference(scenario: Scenario, each: Difference) -> None:
    """Where the two worlds part."""
    from roost.lab.durations import shown

    say("")
    say(f"        {scenario.file}:{scenario.line}: {each.slot} differs at {shown(each.at_s)}")
    say("")
    for line in each.lines:
        say(f"        | {line}")
    say("")


def _show_coverage(coverage: Coverage) -> None:
    untried = coverage.untried
    say(f"  coverage: {len(coverage.seen) - len(untried)} of {len(coverage.seen)} clauses were seen both ways")
    named = ""
    for each in untried:
        if each.name != named:
            named = each.name
            place = "" if each.origin is None else f"  ({each.origin.file}:{each.origin.line})"
            say(f"        {each.name}{place}")
        say(f"          {each.side:<13}{each.clause}")


# -- data ------------------------------------------------------------------------------------------------------


def _file_data(file: Path, outcomes: Sequence[Outcome], coverage: Coverage) -> dict[str, Any]:
    return {
        "file": str(file),
        "scenarios": [_outcome_data(*each) for each in outcomes],
        "coverage": {
            "clauses": len(coverage.seen),
            "share": round(coverage.share, 4),
            "untried": [
                {
                    "expression": each.name,
                    "clause": each.clause,
                    "side": each.side,
                    "origin": None if each.origin is None else str(each.origin),
                }
                for each in coverage.untried
            ],
        },
    }


def _outcome_data(verdict: Verdict, differences: Sequence[Difference] | None) -> dict[str, Any]:
    real: dict[str, Any] = {}
    if differences is not None:
        shown = ("slot", "at_s", "simulated", "real", "lines")
        real["differences"] = [{name: getattr(each, name) for name in shown} for each in differences]
    return {
        "name": verdict.scenario.name,
        "line": verdict.scenario.line,
        "passed": verdict.passed and not differences,
        **real,
        "expectations": verdict.checked,
        "failures": [
            {
                "line": each.expectation.line,
                "at_s": each.at_s,
                "slot": each.expectation.slot,
                "wanted": each.wanted,
                "found": each.found,
                "timeline": list(each.timeline),
                "explanation": each.explanation,
            }
            for each in verdict.failures
        ],
    }
