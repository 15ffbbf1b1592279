"""The random cases that are compared in both worlds: a seed is a scenario file.

A seed draws a policy, a machine, jobs with their farewell times, leases, retirement and policy, and what owners, users
and administrators do. Seeds above `PLAIN_SEEDS` also change the policy, submit jobs by descriptions, and have
several machines. Those above `WIDE_SEEDS` have a DAG besides, and those above `DAG_SEEDS` have a Grid Engine cell
instead of all that.

Things happen some seconds away from polls and from one another, and so do jobs end that began with them: the two worlds
need not share the order of what happens at the same instant.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

from roost.base.records import dataclass
from roost.lab.scenario.file import read_scenarios
from roost.lab.scenario.values import Scenario
from roost.sim.chance import stream
from tests.differential.cells import HOST, draw_cell
from tests.differential.dags import DAG_KNOBS, NODE_JOBS, NODE_RUNS, DrawnDag, draw_dag

#: Seeds up to this one have one machine, one policy as it is written, and jobs by tables alone.
PLAIN_SEEDS: Final = 1000
#: Seeds up to this one have no DAG.
WIDE_SEEDS: Final = 10_000
#: Seeds up to this one have no Grid Engine cell; those above have nothing but one.
DAG_SEEDS: Final = 20_000

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
#: A job that leaves as late as it may does not do so at a look at policies, nor does a claim's time end with a job's.
_AWAY_FROM_POLLS: Final = {"MachineMaxVacateTime": "607", "CLAIM_WORKLIFE": "1217"}
#: Knobs that a case may set, with their values.
_KNOBS: Final[Mapping[str, Sequence[str]]] = {
    "MAXJOBRETIREMENTTIME": ("0", "600", "3600"),
    "MachineMaxVacateTime": ("21", "121", "601"),
    "CLAIM_WORKLIFE": ("0", "617", "1217"),
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
#: Changes of a policy, by the knob that is set again. Times that a job has run are passed two seconds before a poll or
#: sooner: messages take a second in the simulation, and none on a driven clock.
_MUTATIONS: Final[tuple[tuple[str, str], ...]] = (
    ("START", '($(START)) && TARGET.Group =!= "b"'),
    ("START", "($(START)) && KeyboardIdle > 421"),
    ("START", '($(START)) || TARGET.Owner == "boss"'),
    ("IS_OWNER", "START =?= False"),
    ("SUSPEND", "($(SUSPEND)) || (TotalJobRunTime > 306 && TotalJobRunTime < 906)"),
    ("SUSPEND", "False"),
    ("WANT_SUSPEND", "True"),
    ("WANT_SUSPEND", "False"),
    ("CONTINUE", "KeyboardIdle > 133"),
    ("PREEMPT", "($(PREEMPT)) || TotalJobRunTime > 1506"),
    ("PREEMPT", '($(PREEMPT)) || (Activity == "Suspended" && time() - EnteredCurrentActivity > 193)'),
    ("WANT_VACATE", "False"),
    ("WANT_VACATE", "TARGET.JobPrio > 0"),
    ("KILL", "time() - EnteredCurrentActivity > 27"),
    ("WANT_HOLD", 'TARGET.Owner == "eve"'),
    ("RANK", '(Owner == "eve") * 5'),
    ("RANK", "TARGET.JobPrio"),
    ("STARTER_EVICT", "TotalJobRunTime > 1111 && TARGET.NumJobStarts < 2"),
    ("MAXJOBRETIREMENTTIME", "ifThenElse(TARGET.JobPrio > 0, 1200, 60)"),
    ("CLAIM_WORKLIFE", "ifThenElse(PartitionableSlot =?= True, 1200, 300)"),
    ("SLOT_WEIGHT", "2"),
)
#: Lines of submit descriptions, some of which a job has.
_LINES: Final = (
    "priority = $(Process) + 2",
    "request_cpus = 2",
    "request_memory = 300",
    "max_retries = 2",
    "requirements = TARGET.Cpus >= 1",
    "rank = TARGET.Memory",
    '+Group = "b"',
    "concurrency_limits = license",
    "job_lease_duration = 1200",
    "job_max_vacate_time = 31",
    "keep_claim_idle = 120",
    "nice_user = true",
    "on_exit_hold = ExitCode =!= 0",
    "on_exit_remove = NumJobCompletions > 1",
    'periodic_hold = JobStatus == 2 && time() - JobCurrentStartDate > 1013\nperiodic_hold_reason = "too long"',
    "periodic_release = NumHolds < 3 && time() - EnteredCurrentStatus > 377",
    "periodic_remove = JobStatus == 5 && time() - EnteredCurrentStatus > 1999",
    "periodic_vacate = JobStatus == 2 && time() - JobCurrentStartDate > 811",
    "allowed_execute_duration = 1501",
    "leave_in_queue = time() - CompletionDate < 600",
    "hold = true",
)
#: Lines by which jobs of a description come into the queue a few at a time.
_LATE: Final = ("max_materialize = 1", "max_idle = 1")
#: How long a case lasts, min, unless more happens.
_END_MIN: Final = 100
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
    if seed > DAG_SEEDS:
        return _cell_case(seed)
    if seed > PLAIN_SEEDS:
        return _wide_case(seed)
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


def _wide_case(seed: int) -> Case:
    """A case with changes of its policy, jobs by descriptions, and often several machines; perhaps with a DAG."""
    has_dag = seed > WIDE_SEEDS
    chance = stream(seed, "differential with a DAG" if has_dag else "wide differential")
    policy = chance.choice(sorted(POLICIES))
    cpus, layout = chance.choice(_LAYOUTS)
    changes = chance.sample(_MUTATIONS, chance.randrange(4))
    text = POLICIES[policy] + layout + "".join(f"{name} = {value}\n" for name, value in changes)
    knobs = _AWAY_FROM_POLLS | {name: chance.choice(_KNOBS[name]) for name in sorted(_KNOBS) if chance.random() < 0.2}
    lines = [f"# {policy}", "policy = '''", text + "'''", f"machine = {{ cpus = {cpus} }}"]
    if has_dag:
        knobs |= {name: chance.choice(DAG_KNOBS[name]) for name in sorted(DAG_KNOBS) if chance.random() < 0.15}
    # What a change of the policy has set stays.
    for name, _ in changes:
        knobs.pop(name, None)
    lines += ["[settings]", *(f'{name} = "{value}"' for name, value in knobs.items())]
    machines = _machines(chance, cpus) if chance.random() < 0.6 else {}
    for name, given in machines.items():
        lines += [f"[machines.{name}]", *given]
    names = list("abcd"[: chance.randrange(1, 5)])
    for name in names:
        lines.append(f"[jobs.{name}]")
        if chance.random() < 0.6:
            # Either of two jobs that end together may be the first to run a program whose exit codes differ by its run.
            lines += _description(chance, several=policy != "hooked")
        else:
            lines += [f"{k} = {v}" for k, v in _job(chance).items()]
    dag = draw_dag(chance, _node_jobs(chance, several=policy != "hooked")) if has_dag else DrawnDag()
    lines += dag.lines
    steps = [_placed(chance, step, list(machines)) for step in _steps(chance, names, dag.steps)]
    if policy == "hooked":
        lines += ["[hooks]", chance.choice(_HOOKS)]
    lines += ["[[scenario]]", f'name = "case {seed}"', "steps = [", *(f"  {step}," for step in steps), "]"]
    return Case(seed, "\n".join(lines) + "\n")


def _cell_case(seed: int) -> Case:
    """A case of a Grid Engine cell."""
    chance = stream(seed, "differential with a cell")
    cell = draw_cell(chance)
    steps = [_on(HOST, step) if "expect" in step else step for step in _timed(chance, cell.steps, _END_MIN)]
    lines = ["# cell", *cell.lines, "[[scenario]]", f'name = "case {seed}"']
    lines += ["steps = [", *(f"  {step}," for step in steps), "]"]
    return Case(seed, "\n".join(lines) + "\n")


def _machines(chance: Random, cpus: int) -> dict[str, list[str]]:
    """Two or three machines with policies of their own, none of which is like another to the matchmaker."""
    found = {}
    for place in range(chance.choice((2, 2, 3))):
        changes = dict(chance.sample(_MUTATIONS, chance.choice((0, 1, 2))))
        given = [f"cpus = {cpus}", f"memory = {2048 + 512 * place}"]
        if chance.random() < 0.3:
            given.append('idle = "0s"')
        if changes:
            settings = ", ".join(f"{name} = '''{value}'''" for name, value in changes.items())
            given.append(f"settings = {{ {settings} }}")
        found[f"m{place}"] = given
    return found


def _placed(chance: Random, step: str, machines: Sequence[str]) -> str:
    """A step, on one of several machines if it is about a machine; only some that could be are about all of them."""
    everywhere = "reconfig" in step and chance.random() < 0.5
    if not machines or everywhere or not any(f", {word} =" in step for word in _OF_MACHINES):
        return step
    return _on(chance.choice(machines), step)


def _on(machine: str, step: str) -> str:
    return step.replace("{ at", f'{{ on = "{machine}", at', 1)


def _description(chance: Random, *, several: bool) -> list[str]:
    """A job by a submit description; what no policy sees, and whose it is, stand next to it."""
    given = {name: value for name, value in _job(chance).items() if name in _BESIDE}
    lines = [line for line in _LINES if chance.random() < 0.15]
    count = chance.choice((1, 1, 2))
    # Drawn apart, so that what else the seeds draw stays as it is.
    late = Random(f"{count} {lines}")
    lines += [late.choice(_LATE)] if several and count > 1 and late.random() < 0.5 else []
    described = ["executable = x", *lines, f"queue {count if several else 1}"]
    return [*(f"{key} = {value}" for key, value in given.items()), "description = '''", *described, "'''"]


def _node_jobs(chance: Random, *, several: bool) -> dict[str, list[str]]:
    """The tables of jobs of nodes. The first makes one process."""
    found = {}
    for name in NODE_JOBS[: chance.randrange(1, len(NODE_JOBS) + 1)]:
        if chance.random() < 0.5:
            table = _description(chance, several=several and name != NODE_JOBS[0])
        else:
            table = [f"{key} = {value}" for key, value in _job(chance).items()]
        own = [f'run = "{chance.choice(NODE_RUNS)}"']
        own += ["exit_code = [1, 0]"] if chance.random() < 0.3 else []
        keys = tuple(line.partition("=")[0] for line in own)
        found[name] = [*own, *(line for line in table if not line.startswith(keys))]
    return found


#: Steps about a machine.
_OF_MACHINES: Final = (
    "keys", "remote_keys", "load", "vacate", "checkpoint", "reconfig", "drain", "cancel_drain", "restart",
    "expect",
)  # fmt: skip
#: What stands in the table of a job that has a description.
_BESIDE: Final = frozenset(("run", "farewell", "Owner", "stubborn", "checkpoints", "exit_code"))


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


def _steps(chance: Random, jobs: list[str], others: Iterable[tuple[int, str]] = ()) -> list[str]:
    """What happens; `others` are things that are drawn already, with their minutes."""
    found = list(others)
    submitted = {name: chance.randrange(1, 40) for name in jobs}
    found += [(at, f'submit = "{name}"') for name, at in submitted.items()]
    for _ in range(chance.randrange(0, 5)):
        name = chance.choice(jobs)
        at = chance.randrange(submitted[name] + 1, _END_MIN - 20)
        found.append((at, _deed(chance, name)))
    if chance.random() < 0.2:
        at = chance.randrange(20, 60)
        found += chance.choice(_DRAINS)(at, chance.choice(("graceful", "quick", "fast")))
    if chance.random() < 0.2:
        at, away_min = chance.randrange(10, 60), chance.choice((2, 15, 30))
        found += [(at, 'queue = "away"'), (at + away_min, 'queue = "back"')]
    if chance.random() < 0.15:
        found.append((chance.randrange(10, 70), "restart = true"))
    return _timed(chance, found, _END_MIN)


def _timed(chance: Random, found: Iterable[tuple[int, str]], end_min: int) -> list[str]:
    """Steps, no two of which happen in the same minute; at the end something is expected."""
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
