"""``roost lab``: simulate a policy, test it with scenarios, compare it with another.

Exit codes: 0 when all is well, 1 when a scenario failed or an invariant was violated, 2 for input that can't be used.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from roost.cli import lab_test
from roost.cli.terminal import CommandError, Exit, complain, say, width
from roost.lab.machines import Hardware, LabError
from roost.lab.simulate import Request
from roost.sim.bus import Faults
from roost.sim.workload import MIXES


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
    parser.add_argument(
        "--config", "-c", action="append", required=True, metavar="FILE", help="configuration of the machines"
    )
    _add_world(parser)
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the seed of everything (1)")
    parser.add_argument("--out", required=True, metavar="DIR", help="directory for records, summary and report")
    parser.add_argument(
        "--exhaustive", action="store_true", help="poll even where polls can't matter: same run, slower"
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("--no-progress", action="store_true", help="do not show how far it is")


def _add_world(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--machines", type=int, default=20, metavar="N", help="number of machines (20)")
    parser.add_argument("--days", type=float, default=7.0, metavar="D", help="simulated days, from a Monday on (7)")
    parser.add_argument("--jobs", metavar="FILE.swf", help="jobs of a Standard Workload Format file")
    parser.add_argument("--mix", default="desktop", choices=sorted(MIXES), help="kind of generated jobs (desktop)")
    parser.add_argument("--count", type=int, metavar="N", help="number of generated jobs (3 a machine and day)")
    parser.add_argument("--owners", metavar="FILE.csv", help="recorded owners: machine,time,keyboard,load")
    parser.add_argument("--cpus", type=int, default=1, metavar="N", help="cores of each machine (1)")
    parser.add_argument("--memory", type=int, default=2048, metavar="MB", help="memory of each machine (2048)")
    for name, meaning in (("lost", "lost"), ("doubled", "delivered twice"), ("late", "late")):
        parser.add_argument(
            f"--{name}", type=float, default=0.0, metavar="P", help=f"chance of a message to be {meaning}"
        )
    parser.add_argument(
        "--machine-death", type=float, default=0.0, metavar="S", help="mean time between deaths of a machine"
    )
    parser.add_argument(
        "--queue-death", type=float, default=0.0, metavar="S", help="mean time between deaths of the queue"
    )


def _add_compare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "run two policies over the same owners and jobs"
    parser = commands.add_parser("compare", help=text, description=text[0].upper() + text[1:] + ".")
    parser.add_argument("old", metavar="OLD", help="configuration of today")
    parser.add_argument("new", metavar="NEW", help="configuration to come")
    _add_world(parser)
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the first seed (1)")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="number of seeds (5)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Carry out the command; the exit code. Raises what `terminal.guarded` handles."""
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "simulate": _simulate,
        "test": lab_test.run,
        "compare": _compare,
    }
    try:
        return commands[args.lab_command](args)
    except LabError as error:
        raise CommandError(str(error)) from None


def _request(args: argparse.Namespace, configs: list[str]) -> Request:
    if args.machines < 1 or not args.days > 0 or args.cpus < 1 or args.memory < 1:
        raise CommandError("--machines, --days, --cpus and --memory must be more than 0")
    return Request(
        configs=tuple(configs),
        machines=args.machines,
        days=args.days,
        seed=args.seed,
        workload=args.jobs,
        mix=args.mix,
        jobs=args.count,
        owners=args.owners,
        hardware=Hardware(cpus=args.cpus, memory_mb=args.memory),
        faults=Faults(
            lost=args.lost,
            doubled=args.doubled,
            late=args.late,
            machine_death_s=args.machine_death,
            queue_death_s=args.queue_death,
        ),
        exhaustive=getattr(args, "exhaustive", False),
    )


def _simulate(args: argparse.Namespace) -> int:
    from roost.lab.simulate import simulate
    from roost.runtime.machine import SystemHost

    request = _request(args, args.config)
    result = simulate(request, SystemHost(), Path(args.out), None if args.no_progress else _progress())
    outcome = result.outcome
    if args.json:
        say(json.dumps({"digest": outcome.digest, "summary": outcome.summary}, indent=2))
    else:
        _show_summary(outcome.summary)
        say(f"digest {outcome.digest}")
        for path in result.files:
            say(f"wrote {path}")
    for problem in outcome.problems:
        complain(f"violated: {problem}")
    if outcome.problems:
        complain(f"repeat it with: {request.command} --out DIR")
        return Exit.NO
    return Exit.OK


def _progress() -> Callable[[float], None] | None:
    """A line on a terminal that says how far it is; nothing where nobody looks."""
    if not sys.stderr.isatty():
        return None

    def show(share: float) -> None:
        filled = round(share * 40)
        sys.stderr.write(f"\r[{'#' * filled}{'.' * (40 - filled)}] {share:4.0%}" + ("\n" if share >= 1 else ""))
        sys.stderr.flush()

    return show


def _show_summary(summary: dict[str, object]) -> None:
    for name, value in summary.items():
        if isinstance(value, dict):
            continue
        say(f"{name:<24}{value:>14,}" if isinstance(value, int | float) else f"{name:<24}{value!s:>14}")
    causes = summary["badput_h_by_cause"]
    assert isinstance(causes, dict)
    for cause, hours in causes.items():
        say(f"  lost {hours:,.1f} h: {cause}")


def _compare(args: argparse.Namespace) -> int:
    from roost.lab.compare import compare, comparison_data, comparison_text
    from roost.runtime.machine import SystemHost

    old, new = _request(args, [args.old]), _request(args, [args.new])
    seeds = range(args.seed, args.seed + max(1, args.seeds))
    found = compare(old, new, seeds, SystemHost(), width(), None if args.json else _progress())
    say(json.dumps(comparison_data(found), indent=2) if args.json else comparison_text(found))
    return Exit.OK
