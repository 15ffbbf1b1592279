"""``roost lab``: simulate a policy, test it with scenarios, compare it with another.

Exit statuses: 0 for success, 1 if a scenario failed or an invariant was violated, 2 for invalid input.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from roost.cli.lab import scenarios as lab_test
from roost.cli.terminal import CommandError, Exit, complain, say, width
from roost.lab.machines import Hardware, LabError
from roost.lab.progress_line import ProgressLine
from roost.lab.simulate import MACHINES, Request
from roost.sim.bus import Faults
from roost.sim.inputs.workload import MIXES

#: Maximum number of simulated days, seeds and machines: more is a typing error.
DAYS_MAX = 3_660.0
SEEDS_MAX = 1_000
MACHINES_MAX = 100_000


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    text = "simulate, test and compare policies"
    parser = subparsers.add_parser("lab", help=text, description=text[0].upper() + text[1:] + ".")
    commands = parser.add_subparsers(dest="lab_command", metavar="COMMAND", title="commands", required=True)
    _add_simulate(commands)
    lab_test.add_parser(commands)
    _add_compare(commands)


def _add_simulate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "run a policy over days of simulated owners and jobs"
    parser = commands.add_parser("simulate", help=text, description=text[0].upper() + text[1:] + ".")
    parser.add_argument("-c", "--config", action="append", metavar="PATH", help="configuration of the machines")
    parser.add_argument("--cell", metavar="DIR", help="simulate the Grid Engine cell in this directory, on its hosts")
    _add_world(parser)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of all random choices (default: 1)")
    parser.add_argument("--out", required=True, metavar="DIR", help="directory for records, summary and report")
    parser.add_argument(
        "--exhaustive",
        action="store_true",
        help="poll even where polls cannot matter; the result is the same, but slower",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("--no-progress", action="store_true", help="do not show the progress")


def _add_world(parser: argparse.ArgumentParser) -> None:
    pool = parser.add_argument_group("machines")
    pool.add_argument("--pool", metavar="FILE", help="groups of machines, in a TOML file")
    pool.add_argument("--machines", type=int, metavar="N", help=f"number of machines (default: {MACHINES})")
    pool.add_argument("--cpus", type=int, metavar="N", help="cores of each machine (default: 1)")
    pool.add_argument("--memory", type=int, metavar="MB", help="memory of each machine (default: 2048)")
    pool.add_argument("--owners", metavar="FILE", help="CSV of owners (machine,time,keyboard,load), or `nobody`")
    jobs = parser.add_argument_group("jobs and time")
    jobs.add_argument(
        "--days", type=float, default=7.0, metavar="DAYS", help="simulated days, from a Monday on (default: 7)"
    )
    jobs.add_argument(
        "--jobs",
        action="append",
        metavar="FILE",
        help="jobs: recorded (.swf, accounting), ads (.ads, .json), submit files (.sub)",
    )
    jobs.add_argument("--pe", metavar="NAME", help="in a cell: parallel environment of jobs with several cores")
    jobs.add_argument("--mix", default="desktop", choices=sorted(MIXES), help="kind of generated jobs (desktop)")
    jobs.add_argument(
        "--count", type=int, metavar="N", help="number of generated jobs (default: 3 per machine and day)"
    )
    faults = parser.add_argument_group("faults")
    for name, meaning in (("lost", "lost"), ("doubled", "delivered twice"), ("late", "late")):
        faults.add_argument(
            f"--{name}", type=float, default=0.0, metavar="P", help=f"probability that a message is {meaning}"
        )
    faults.add_argument(
        "--machine-death", type=float, default=0.0, metavar="SECONDS", help="mean time between crashes of a machine"
    )
    faults.add_argument(
        "--queue-death", type=float, default=0.0, metavar="SECONDS", help="mean time between crashes of the queue"
    )


def _add_compare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "run two policies over the same owners and jobs"
    parser = commands.add_parser("compare", help=text, description=text[0].upper() + text[1:] + ".")
    parser.add_argument("old", metavar="OLD", help="current configuration, or the directory of a Grid Engine cell")
    parser.add_argument("new", metavar="NEW", help="new configuration, or directory of a cell")
    _add_world(parser)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the first seed (default: 1)")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="number of seeds (default: 5)")
    parser.add_argument(
        "--examples", type=int, default=10, metavar="N", help="number of changed decisions to explain (default: 10)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--no-progress", action="store_true", help="do not show the progress")


def run(args: argparse.Namespace) -> int:
    """Carry out the command; return the exit status. Raises what `terminal.guarded` handles."""
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "simulate": _simulate,
        "test": lab_test.run,
        "compare": _compare,
    }
    try:
        return commands[args.lab_command](args)
    except LabError as error:
        raise CommandError(str(error)) from None


# -- what is asked for ---------------------------------------------------------------------------------------


def _request(args: argparse.Namespace, configs: list[str], cell: str | None = None) -> Request:
    _check(args, cell)
    return Request(
        configs=tuple(configs),
        cell=cell,
        environment=args.pe or "",
        pool=args.pool,
        machines=args.machines,
        hardware=Hardware(cpus=args.cpus or 1, memory_mb=args.memory or 2048),
        owners=args.owners,
        days=args.days,
        seed=args.seed,
        workload=tuple(args.jobs or ()),
        mix=args.mix,
        jobs=args.count,
        faults=Faults(
            lost=args.lost,
            doubled=args.doubled,
            late=args.late,
            machine_death_s=args.machine_death,
            queue_death_s=args.queue_death,
        ),
        exhaustive=getattr(args, "exhaustive", False),
    )


def _check(args: argparse.Namespace, cell: str | None) -> None:
    if args.pe and cell is None:
        raise CommandError("--pe requires a Grid Engine cell; name one with --cell")
    if cell is not None:
        for name in ("machines", "cpus", "memory", "owners"):
            if getattr(args, name) is not None:
                raise CommandError(
                    f"the hosts of the cell are the machines; omit --{name}, or describe the machines with --pool"
                )
    for name in ("machines", "cpus", "memory", "count"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise CommandError(f"--{name} must be 1 or more")
        if value is not None and args.pool and name != "count":
            raise CommandError(f"--pool defines the machines; omit --{name}")
    if args.owners and args.pool:
        raise CommandError("--pool defines the machines; name the file of owners in it")
    if args.machines is not None and args.machines > MACHINES_MAX:
        raise CommandError(f"--machines must be at most {MACHINES_MAX}")
    if not 0 < args.days <= DAYS_MAX:
        raise CommandError(f"--days must be more than 0, and at most {DAYS_MAX:g}")
    if args.count is not None and args.jobs:
        raise CommandError("--count applies to generated jobs, but --jobs names files; omit one of them")
    chances = [args.lost, args.doubled, args.late]
    if not all(0 <= each <= 1 for each in chances) or sum(chances) > 1:
        raise CommandError("--lost, --doubled and --late must be probabilities from 0 to 1 whose sum is at most 1")
    for name in ("machine_death", "queue_death"):
        if not (getattr(args, name) == 0 or getattr(args, name) >= 1):
            raise CommandError(f"--{name.replace('_', '-')} must be a time of at least 1 s, or 0 for none")


# -- simulate ------------------------------------------------------------------------------------------------


def _simulate(args: argparse.Namespace) -> int:
    from roost.lab.report.pictures import can_draw
    from roost.lab.simulate import simulate
    from roost.runtime.machine import SystemHost

    if not args.config and args.cell is None:
        raise CommandError("name the configuration of the machines with --config, or a Grid Engine cell with --cell")
    request = _request(args, args.config or [], args.cell)
    with _interruptible(
        None if args.no_progress else _progress(), f"the files in {args.out} are incomplete"
    ) as progress:
        result = simulate(request, SystemHost(), Path(args.out), progress)
    outcome = result.outcome
    if args.json:
        say(json.dumps({"digest": outcome.digest, "notes": list(result.notes), "summary": outcome.summary}, indent=2))
    else:
        from roost.lab.report.cell_figures import cell_lines
        from roost.lab.report.figures import summary_lines

        for line in (*summary_lines(outcome.summary), *cell_lines(outcome.summary)):
            say(line)
        say("")
        for note in result.notes:
            say(f"note: {note}")
        for path in result.files:
            say(f"wrote {path}")
        if not can_draw():
            say(
                "no PNG files were written because matplotlib is not installed; install roost[lab], or see "
                "report.html, which has all pictures"
            )
        say(f"digest {outcome.digest}")
    for problem in outcome.problems:
        complain(f"violated: {problem}")
    if outcome.problems:
        complain(f"reproduce it with: {request.command} --out DIR")
        return Exit.NO
    return Exit.OK


@contextlib.contextmanager
def _interruptible(shown: Callable[[float], None] | None, consequence: str) -> Iterator[Callable[[float], None]]:
    """Returns a callback that shows the progress of a run; a user who interrupts the run is told how far it came."""
    came = 0.0

    def progress(share: float) -> None:
        nonlocal came
        came = share
        if shown is not None:
            shown(share)

    try:
        yield progress
    except KeyboardInterrupt:
        if shown is not None:
            # Below the progress line.
            sys.stderr.write("\n")
        complain(f"interrupted at {came:.0%}: {consequence}")
        raise


def _progress() -> Callable[[float], None] | None:
    """A progress line with the remaining time; None if stderr is not a terminal."""
    line = ProgressLine()
    if not line.visible:
        return None
    begun = time.monotonic()

    def show(share: float) -> None:
        passed_s = time.monotonic() - begun
        left_s = passed_s * (1 - share) / share if share > 0 else 0.0
        line.show(share, f"{share:4.0%}  " + (f"{left_s:,.0f} s left" if share < 1 else f"{passed_s:,.1f} s"))
        if share >= 1:
            line.keep()

    return show


# -- compare -------------------------------------------------------------------------------------------------


def _side(args: argparse.Namespace, path: str) -> Request:
    """One side of a comparison: a directory is a cell."""
    return _request(args, [], path) if Path(path).is_dir() else _request(args, [path])


def _compare(args: argparse.Namespace) -> int:
    from roost.lab.compare import compare
    from roost.lab.report.comparison import comparison_data, comparison_text
    from roost.runtime.machine import SystemHost

    if not 1 <= args.seeds <= SEEDS_MAX or args.examples < 0:
        raise CommandError(f"--seeds must be from 1 to {SEEDS_MAX}, and --examples at least 0")
    old, new = (_side(args, path) for path in (args.old, args.new))
    seeds = range(args.seed, args.seed + args.seeds)
    shown = None if args.json or args.no_progress else _progress()
    with _interruptible(shown, "there is nothing to compare") as progress:
        found = compare(old, new, seeds, SystemHost(), width(), progress)
    say(json.dumps(comparison_data(found), indent=2) if args.json else comparison_text(found, args.examples))
    return Exit.OK
