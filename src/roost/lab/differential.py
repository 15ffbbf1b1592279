"""Random cases in both worlds: ``python -m roost.lab.differential --count 500``, which ``make differential`` calls.

A seed draws a scenario: a policy, a machine, jobs with their farewell times, leases, retirement and policy, and what
owners, users and administrators do. It runs in simulation and on real daemons whose time is driven, and what slots and
jobs do has to be the same (`roost.lab.replay.comparison`). A case in which the worlds differ is written as a scenario
file, so that it can be run, cut down and kept.

Things happen some seconds away from polls and from one another, and so do jobs end that began with them: the two worlds
need not share the order of what happens at the same instant.

What it does not do: excuse anything, but by an entry in `EXCUSED`.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from roost.lab.crew import Crew, Way
from roost.lab.outcome import Outcome
from roost.lab.scenario import Scenario
from roost.lab.scenario_file import read_scenarios
from roost.sim.chance import stream

#: Seeds whose differences are known and right, each with the reason.
EXCUSED: Final[Mapping[int, str]] = {}
#: How long a case may take, s of real time.
LIMIT_S: Final = 600.0
#: Cases of one call at most.
COUNT_MAX: Final = 100_000

_ALWAYS: Final = (
    "START = True\nIS_OWNER = False\nSUSPEND = False\nPREEMPT = False\nWANT_SUSPEND = False\nKILL = False\n"
    "RunBenchmarks = False\n"
)
POLICIES: Final[Mapping[str, str]] = {
    "desktop": "use POLICY : Desktop\n",
    "desktop that preempts": "use POLICY : Desktop\nWANT_SUSPEND = False\n",
    "dedicated": _ALWAYS,
    "ranked": _ALWAYS + 'RANK = (Owner == "boss") * 10\n',
    "by owner": _ALWAYS + 'START = TARGET.Group =!= "b"\nIS_OWNER = False\n',
    "limited": _ALWAYS + "PREEMPT = TotalJobRunTime > 1200\n",
    "hooked": _ALWAYS + "STARTER_JOB_HOOK_KEYWORD = SITE\n",
}
#: No job makes room for another one sooner. Users whose jobs take turns without an end do so faster than worlds agree.
_SEDATE: Final = "time() - EnteredCurrentState > 900"
#: A job that leaves as late as it may does not do so at a look at policies.
_AWAY_FROM_POLLS: Final = {"MachineMaxVacateTime": "607"}
#: Knobs that a case may set, with their values.
_KNOBS: Final[Mapping[str, Sequence[str]]] = {
    "MAXJOBRETIREMENTTIME": ("0", "600", "3600"),
    "MachineMaxVacateTime": ("21", "121", "601"),
    "CLAIM_WORKLIFE": ("0", "600", "1200"),
    "MAX_JOBS_RUNNING": ("1", "10"),
    "SYSTEM_PERIODIC_HOLD": ("JobStatus == 2 && time() - JobCurrentStartDate > 1500",),
    "SYSTEM_PERIODIC_VACATE": ("JobStatus == 2 && time() - JobCurrentStartDate > 900",),
    "NEGOTIATOR_CONSIDER_EARLY_PREEMPTION": ("True", "False"),
    "PREEMPTION_REQUIREMENTS": ("False", f"RemoteUserPrio > SubmitterUserPrio && {_SEDATE}", _SEDATE),
    "LICENSE_LIMIT": ("1",),
    "NEGOTIATOR_INFORM_STARTD": ("True",),
    "SITE_HOOK_PREPARE_JOB_TIMEOUT": ("31",),
}
_LAYOUTS: Final = (
    (1, ""),
    (2, ""),
    (2, "SLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = True\nNUM_SLOTS_TYPE_1 = 1\n"),
    (4, "SLOT_TYPE_1 = 75%\nNUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_2 = 25%\nNUM_SLOTS_TYPE_2 = 1\n"),
)  # fmt: skip
#: What the programs around a job do in a case that has some.
_HOOKS: Final = (
    'SITE_HOOK_PREPARE_JOB = { takes = "41s" }',
    'SITE_HOOK_PREPARE_JOB = { takes = "6s", status = [3, 0] }',
    'SITE_HOOK_PREPARE_JOB = { takes = "1s" }\nSITE_HOOK_JOB_EXIT = { takes = "31s" }',
    'SITE_HOOK_VACATE_JOB = { takes = "11s" }\nSTARTER_EPILOG = { takes = "16s", status = [0, 1] }',
)
#: Seconds after full minutes at which things happen: each of a case at another, and none at a poll.
_SECONDS: Final = range(2, 60, 5)


@dataclass(frozen=True, slots=True)
class Case:
    """A seed's scenario, as the text of its file."""

    seed: int
    text: str

    def scenario(self, folder: Path) -> Scenario:
        """The scenario, read from a file in a folder. Raises LabError for a text that means nothing."""
        file = folder / f"case-{self.seed}.toml"
        file.write_text(self.text, encoding="utf-8")
        (found,) = read_scenarios(file)
        return found


def case_of(seed: int) -> Case:
    """The case of a seed."""
    chance = stream(seed, "differential")
    policy = chance.choice(sorted(POLICIES))
    cpus, layout = chance.choice(_LAYOUTS)
    knobs = _AWAY_FROM_POLLS | {name: chance.choice(_KNOBS[name]) for name in sorted(_KNOBS) if chance.random() < 0.25}
    jobs = {name: _job(chance) for name in "abcd"[: chance.randrange(1, 5)]}
    lines = [f"# {policy}", "policy = '''", POLICIES[policy] + layout + "'''", f"machine = {{ cpus = {cpus} }}"]
    lines += ["[settings]", *(f'{name} = "{value}"' for name, value in knobs.items())]
    for name, attributes in jobs.items():
        lines += [f"[jobs.{name}]", *(f"{key} = {value}" for key, value in attributes.items())]
    steps = _steps(chance, list(jobs))
    if policy == "hooked":
        lines += ["[hooks]", chance.choice(_HOOKS)]
    lines += ["[[scenario]]", f'name = "case {seed}"', "steps = [", *(f"  {step}," for step in steps), "]"]
    return Case(seed, "\n".join(lines) + "\n")


def _job(chance: Random) -> dict[str, str]:
    found = {"run": f'"{chance.choice((3, 11, 29, 90))}m"', "farewell": f'"{chance.choice((0, 1, 9, 41))}s"'}
    maybe = {
        "Owner": ('"ada"', '"boss"', '"eve"'),
        "stubborn": ("true",),
        "checkpoints": ("true",),
        "JobLeaseDuration": ("603", "1203"),
        "MaxJobRetirementTime": ("0", "300"),
        "JobMaxVacateTime": ("6", "61"),
        "JobPrio": ("5", "-5"),
        "Group": ('"b"',),
        "exit_code": ("1", "[1, 0]"),
        "OnExitRemove": ('"ExitCode =?= 0 || NumJobCompletions > 2"',),
        "OnExitHold": ('"ExitCode =!= 0"',),
        "PeriodicHold": ('"JobStatus == 2 && time() - JobCurrentStartDate > 730"',),
        "PeriodicRelease": ('"NumHolds < 2 && time() - EnteredCurrentStatus > 400"',),
        "PeriodicRemove": ('"NumJobStarts > 3"',),
        "RequestCpus": ("2",),
        "KeepClaimIdle": ("300",),
        "ConcurrencyLimits": ('"license"',),
        "WantGracefulRemoval": ("true",),
    }
    for name, values in maybe.items():
        if chance.random() < 0.2:
            found[name] = chance.choice(values)
    return found


def _steps(chance: Random, jobs: list[str]) -> list[str]:
    end_min = 100
    found: list[tuple[int, str]] = []
    submitted = {name: chance.randrange(1, 40) for name in jobs}
    found += [(at, f'submit = "{name}"') for name, at in submitted.items()]
    for _ in range(chance.randrange(0, 5)):
        name = chance.choice(jobs)
        at = chance.randrange(submitted[name] + 1, end_min - 20)
        found.append((at, _deed(chance, name)))
    if chance.random() < 0.2:
        at = chance.randrange(20, 60)
        found += chance.choice(_DRAINS)(at, chance.choice(("graceful", "quick", "fast")))
    if chance.random() < 0.2:
        at, away_min = chance.randrange(10, 60), chance.choice((2, 15, 30))
        found += [(at, 'queue = "away"'), (at + away_min, 'queue = "back"')]
    if chance.random() < 0.15:
        found.append((chance.randrange(10, 70), "restart = true"))
    # No two things happen in the same minute.
    minutes: dict[int, str] = {}
    for at, what in sorted(found):
        while at in minutes:
            at += 1
        minutes[at] = what
    seconds = itertools.cycle(chance.sample(_SECONDS, len(_SECONDS)))
    steps = [f'{{ at = "{at}m{next(seconds)}s", {what} }}' for at, what in sorted(minutes.items())]
    return [*steps, f'{{ at = "{max(end_min, *minutes) + 5}m", expect = {{ "1 + 1" = 2 }} }}']


#: How a machine is drained, and what ends that.
_DRAINS: Final[Sequence[Callable[[int, str], list[tuple[int, str]]]]] = (
    lambda at, how: [(at, f'drain = "{how}"'), (at + 20, "cancel_drain = true")],
    lambda at, how: [(at, f'drain = {{ how = "{how}", then = "resume" }}')],
    lambda at, how: [
        (at, f"""drain = {{ how = "{how}", start = 'Owner == "boss"' }}"""),
        (at + 20, "cancel_drain = true"),
    ],
)


def _deed(chance: Random, job: str) -> str:
    return chance.choice((
        f'hold = "{job}"', f'release = "{job}"', f'remove = "{job}"', f'vacate_job = "{job}"', f'suspend = "{job}"',
        f'continue = "{job}"', 'keys = "30s"', 'keys = "12m"', 'remote_keys = "2m"', 'load = 0.9, for = "8m"',
        'vacate = "graceful"', 'vacate = "fast"', "checkpoint = true",
        'reconfig = { MAXJOBRETIREMENTTIME = "900" }', 'reconfig = { START = "False" }',
        'reconfig = { CLAIM_WORKLIFE = "0" }', f'reconfig = {{ PREEMPTION_REQUIREMENTS = "{_SEDATE}" }}',
        """reconfig = { START = "True", RANK = '(Owner == "eve") * 5' }""",
    ))  # fmt: skip


def differing(outcome: Outcome, seed: int) -> bool:
    """Whether a case counts as failed."""
    return bool(outcome.problem or outcome.differences) and seed not in EXCUSED


def shown(outcome: Outcome) -> list[str]:
    """What is different, in lines."""
    lines = [f"  {outcome.problem}"] if outcome.problem else []
    for each in outcome.differences or ():
        lines += [f"  {each.slot}:", *(f"    {line}" for line in each.lines)]
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run seeds; 1 if the worlds differ in one."""
    parser = argparse.ArgumentParser(prog="python -m roost.lab.differential", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the first seed (1)")
    parser.add_argument("--count", type=int, default=20, metavar="N", help="number of cases (20)")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="cases at the same time (1)")
    parser.add_argument("--out", default="differences", metavar="DIR", help="where differing cases go (differences)")
    asked = parser.parse_args(arguments)
    if not 0 < asked.count <= COUNT_MAX:
        parser.error(f"--count is a number from 1 to {COUNT_MAX}")
    failed = 0
    with TemporaryDirectory() as folder, Crew(Way(real=True, limit_s=LIMIT_S), asked.processes) as crew:
        cases = [case_of(seed) for seed in range(asked.seed, asked.seed + asked.count)]
        scenarios = [case.scenario(Path(folder)) for case in cases]
        for case, outcome in zip(cases, crew.outcomes(scenarios, lambda progress: None), strict=True):
            if differing(outcome, case.seed):
                failed += 1
                file = Path(asked.out) / f"case-{case.seed}.toml"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(case.text, encoding="utf-8")
                print(f"seed {case.seed} differs; it is in {file}", *shown(outcome), sep="\n", flush=True)
    print(f"{asked.count} cases from seed {asked.seed}: {failed} differ between simulation and real daemons")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
