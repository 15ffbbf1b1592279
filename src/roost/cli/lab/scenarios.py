"""``roost lab test``: scenario files against the policies that they name.

The output is made for a person who has just changed a policy: one line per scenario, and for a failure the line in the
file, the slot's timeline around the instant and the deciding expression. With ``--real`` the scenarios also run on real
daemons, several at a time, and where these behave differently both timelines are printed. ``--json`` prints all of that
for programs.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.lab.scenario_report import Report
from roost.cli.parsing import also
from roost.cli.terminal import CommandError, Exit, complain, width

if TYPE_CHECKING:
    from roost.lab.scenario.outcome import Outcome
    from roost.lab.scenario.values import Scenario

#: Time limit of a scenario, s of real time.
LIMIT_S: Final = 600.0
#: Maximum number of scenarios at a time.
JOBS_MAX: Final = 64


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    text = "run scenario files against the policies that they name"
    parser = commands.add_parser("test", help=text, description=text[0].upper() + text[1:] + ".")
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="scenario file (TOML), or a directory of scenario files"
    )
    parser.add_argument(
        "-c",
        "--config",
        action="append",
        metavar="PATH",
        help="test this configuration instead of the one that the scenario names",
    )
    parser.add_argument("--only", action="append", metavar="TEXT", help="only scenarios whose name contains TEXT")
    parser.add_argument("--coverage", action="store_true", help="list the clauses that no scenario exercised")
    parser.add_argument(
        "--min-coverage",
        type=float,
        metavar="PERCENT",
        help="fail if fewer clauses of a file evaluated both true and false",
    )
    parser.add_argument(
        "--real",
        action="store_true",
        help="replay each scenario with real daemons and processes in driven time, and compare",
    )
    processes = parser.add_argument(
        "-j",
        "--processes",
        type=int,
        metavar="N",
        help="number of scenarios to run at a time, each in its own process (default: with --real the number "
        "of cores, otherwise 1)",
    )
    also(parser, processes, "--jobs")
    timeout = parser.add_argument(
        "--timeout",
        metavar="DURATION",
        help="time limit for each scenario with --real or --processes, in real time (default: 10m)",
    )
    also(parser, timeout, "--limit")
    parser.add_argument("--no-progress", action="store_true", help="do not show the progress")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Carry out the command. Raises LabError, CommandError."""
    if args.min_coverage is not None and not 0 <= args.min_coverage <= 100:
        raise CommandError("--min-coverage is a percentage, from 0 to 100")
    chosen, unread = _chosen(args)
    if unread and not chosen:
        raise CommandError("\n".join(unread))
    for problem in unread:
        complain(problem)
    if not any(scenarios for _, scenarios in chosen):
        raise CommandError("no scenario was chosen" + (f"; none contains {args.only}" if args.only else ""))
    report = Report(
        sum(len(scenarios) for _, scenarios in chosen),
        as_json=args.json,
        shows_progress=not args.no_progress,
        unread=unread,
    )
    outcomes = _outcomes(args, [scenario for _, scenarios in chosen for scenario in scenarios], report)
    try:
        with _sigterm_interrupts(), contextlib.closing(outcomes):
            for file, scenarios in chosen:
                report.begin(file, len(scenarios))
                for _ in scenarios:
                    report.add(next(outcomes))
                report.end(coverage=args.coverage, minimum=args.min_coverage)
    except KeyboardInterrupt:
        report.interrupted()
        return Exit.INTERRUPTED
    report.summarise()
    if unread:
        return Exit.BAD
    return Exit.OK if report.passed else Exit.NO


def _outcomes(args: argparse.Namespace, scenarios: list[Scenario], report: Report) -> Generator[Outcome]:
    """The outcomes of scenarios, in order. Raises LabError, CommandError."""
    from roost.runtime.machine import SystemHost

    host, columns, size = SystemHost(), max(40, width() - 8), _size(args, len(scenarios))
    if not args.real and size == 1:
        from roost.lab.scenario.outcome import simulated

        for scenario in scenarios:
            yield simulated(scenario, host, columns)
        return
    from roost.lab.scenario.outcome import NoReplay
    from roost.lab.worker_pool import RunOptions, WorkerPool

    options = RunOptions(real=args.real, limit_s=_limit_s(args), width=columns)
    try:
        with WorkerPool(options, size) as workers:
            yield from workers.outcomes(scenarios, report.progress)
    except NoReplay as problem:
        raise CommandError(f"cannot start real daemons: {problem}") from None


def _size(args: argparse.Namespace, scenarios: int) -> int:
    if args.processes is None:
        return min(scenarios, JOBS_MAX, len(os.sched_getaffinity(0))) if args.real else 1
    if not 1 <= args.processes <= JOBS_MAX:
        raise CommandError(f"--processes must be from 1 to {JOBS_MAX}")
    return min(scenarios, int(args.processes))


def _limit_s(args: argparse.Namespace) -> float:
    from roost.lab.inputs.durations import seconds_of

    limit_s = LIMIT_S if args.timeout is None else seconds_of(args.timeout)
    if not limit_s:
        raise CommandError(f"--timeout must be a duration above 0 such as 90s or 10m, not {args.timeout!r}")
    return limit_s


@contextlib.contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Let SIGTERM end whatever was started, like Ctrl-C; only the main thread receives it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _chosen(args: argparse.Namespace) -> tuple[list[tuple[Path, list[Scenario]]], list[str]]:
    """The scenarios of each file selected by the options, and the errors of files that cannot be read."""
    from roost.base.records import replace
    from roost.lab.machines import LabError
    from roost.lab.scenario.file import read_scenarios

    chosen, unread = [], []
    for file in _files(args.files):
        try:
            scenarios = read_scenarios(file)
        except LabError as error:
            unread.append(str(error))
            continue
        if args.config:
            configs = tuple(str(Path(each)) for each in args.config)
            scenarios = [replace(each, configs=configs, policy=None) for each in scenarios]
        if args.only:
            scenarios = [each for each in scenarios if any(text in each.name for text in args.only)]
        chosen.append((file, scenarios))
    return chosen, unread


def _files(names: list[str]) -> Iterator[Path]:
    for name in names:
        path = Path(name)
        if not path.is_dir():
            yield path
            continue
        found = sorted(path.rglob("*.toml"))
        if not found:
            raise CommandError(f"{path}: this directory contains no .toml file")
        yield from found
