"""The cells of random cases: queues, their limits and orders to them, and jobs as `qsub` submits them.

A seed draws one to three hosts and queues with slots, sequence numbers, subordination and calendars; consumables,
quotas and parallel environments; jobs that are arrays, parallel, on hold, in one another's wake, raised and reserving;
and what users and administrators do to queues and jobs. As in the other cases nothing happens at the same instant as
something else, but for what one thing leads to.

What it does not compare: what measured load decides. A pool knows loads as of the last ads of machines, which are up
to UPDATE_INTERVAL old, the lab as of their last polls. So hosts have no load thresholds here, and one load formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from roost.base.records import dataclass

#: The host that is there in each case.
HOST: Final = "node1"
_QUEUES: Final = ("a.q", "b.q", "c.q")
_RULES: Final = ("$fill_up", "$round_robin", "$pe_slots", "2", "1")
#: Quotas, each of which a case may have.
_QUOTAS: Final = (
    "limit users {*} to slots=2",
    "limit users ada to slots=1",
    "limit queues a.q hosts {*} to slots=1",
    "limit queues {a.q,b.q} to slots=3",
    "limit hosts {*} to slots=2",
    "limit users {ada,boss} to licence=1",
)
#: A load formula whose value does not change: see above.
_CONSTANT: Final = "mem_total"
#: Values of the scheduler's configuration that a case may have.
_SCHEDULING: Final[Mapping[str, Sequence[str]]] = {
    "queue_sort_method": ("seqno",),
    "max_reservation": ("4",),
    "default_duration": ("0:50:0",),
    "job_load_adjustments": ("NONE",),
    "maxujobs": ("2",),
    "weight_waiting_time": ("0.1",),
}
#: Options of qsub, some of which a job has. Names of queues and other jobs are filled in.
_OPTIONS: Final = (
    "-p -200", "-p -7", "-h", "-q {queue}", "-q {queue}", "-hold_jid {other}", "-l lic=1", "-l mem=1500M",
    "-l h_rt=1231", "-R y", "-l excl=true", "-soft -q {queue}", "-js 10", "-r y", "-r n",
)  # fmt: skip
_ARRAYS: Final = ("-t 1-3", "-t 1-4 -tc 2", "-t 2-6:2")
_RUNS: Final = ("3m", "7m", "11m", "29m")
#: Minutes in which things begin to happen, and the whole.
_BEGIN_MIN: Final = 40
_END_MIN: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnCell:
    """The cell of a case."""

    #: Its objects, and the tables of jobs.
    lines: tuple[str, ...]
    #: Minute and what happens then.
    steps: tuple[tuple[int, str], ...]


def draw_cell(chance: Random) -> DrawnCell:
    """A cell, its jobs, and what happens to them."""
    hosts = [f"node{number}" for number in range(1, chance.randrange(2, 5))]
    queues = list(_QUEUES[: chance.randrange(1, len(_QUEUES) + 1)])
    environments = [f"pe{number}" for number in range(chance.randrange(3))]
    calendar = chance.random() < 0.25
    lines = ["[cell.objects]", *_complexes(chance, hosts)]
    for name in environments:
        lines += _object(f"pe/{name}", slots=str(chance.choice((3, 20))), allocation_rule=chance.choice(_RULES))
    if calendar:
        week = chance.choice(("mon-sun=0:{0}-0:{1}=off", "mon-sun=0:{0}-0:{1}=suspended"))
        begin = chance.randrange(10, 30)
        lines += _object("calendars/hour", week=week.format(begin, begin + 17))
    for name in queues:
        lines += _queue(chance, name, hosts, queues, environments, calendar=calendar)
    if chance.random() < 0.3:
        rules = chance.sample(_QUOTAS, chance.choice((1, 2)))
        known = [each for each in rules if "b.q" not in each or "b.q" in queues]
        lines += ["\"resource_quotas/limits\" = '''", "{", " name limits", " enabled TRUE"]
        lines += [*(f" {each}" for each in known or _QUOTAS[:1]), "}", "'''"]
    scheduling = {name: chance.choice(values) for name, values in _SCHEDULING.items() if chance.random() < 0.2}
    lines += _object("schedconf", load_formula=_CONSTANT, **scheduling)
    names = list("abcdef"[: chance.randrange(2, 7)])
    for name in names:
        lines += _job(chance, name, names, queues, environments)
    return DrawnCell(lines=tuple(lines), steps=tuple(_steps(chance, names, queues, hosts)))


def _object(file: str, **values: str) -> list[str]:
    return [f"\"{file}\" = '''", *(f"{name}  {value}" for name, value in values.items()), "'''"]


def _complexes(chance: Random, hosts: Sequence[str]) -> list[str]:
    """The resources that jobs ask for, and how much of them there is."""
    default = chance.choice(("0", "512M"))
    lines = ["\"centry\" = '''", "licence  lic   INT     <=  YES  YES  0   0"]
    lines += [f"mem      mem   MEMORY  <=  YES  YES  {default}   0", "excl excl BOOL EXCL YES YES 0 1000", "'''"]
    lines += _object("execution/global", complex_values=f"licence={chance.choice((1, 2))}")
    for host in hosts:
        lines += _object(f"execution/{host}", complex_values=f"mem={chance.choice((2, 4))}G,excl=true")
    return lines


def _queue(
    chance: Random, name: str, hosts: Sequence[str], queues: Sequence[str], pes: Sequence[str], *, calendar: bool
) -> list[str]:
    where = (
        hosts if chance.random() < 0.6 else sorted({HOST, *chance.sample(hosts, chance.randrange(1, len(hosts) + 1))})
    )
    values = {"load_thresholds": "NONE", "hostlist": " ".join(where), "slots": str(chance.choice((1, 2, 2, 3)))}
    if pes and chance.random() < 0.8:
        values["pe_list"] = " ".join(pes)
    if chance.random() < 0.3:
        values["seq_no"] = str(chance.choice((0, 5, 10)))
    below = queues[queues.index(name) + 1 :]
    if below and chance.random() < 0.4:
        other = chance.choice(below)
        values["subordinate_list"] = chance.choice((other, f"{other}=1", f"slots=2({other}:1:sr)"))
    if calendar and chance.random() < 0.5:
        values["calendar"] = "hour"
    if chance.random() < 0.15:
        values["h_rt"] = "0:13:21"
    if chance.random() < 0.15:
        values["priority"] = "5"
    return _object(f"cqueues/{name}", **values)


def _job(
    chance: Random, name: str, names: Sequence[str], queues: Sequence[str], environments: Sequence[str]
) -> list[str]:
    options = [each for each in _OPTIONS if chance.random() < 0.12]
    if chance.random() < 0.25:
        options.append(chance.choice(_ARRAYS))
    if environments and chance.random() < 0.3:
        options.append(f"-pe {chance.choice(environments)} {chance.choice(('2', '3', '1-4', '4'))}")
    earlier = names[: names.index(name)]
    filled = [
        each.format(queue=chance.choice(queues), other=chance.choice(earlier or ["none"]))
        for each in options
        if earlier or "{other}" not in each
    ]
    lines = [f"[jobs.{name}]", f'run = "{chance.choice(_RUNS)}"', f'qsub = "{" ".join(filled)}"']
    if chance.random() < 0.6:
        lines.append(f'Owner = "{chance.choice(("ada", "boss", "eve"))}"')
    lines += ["exit_code = [99, 0]"] if chance.random() < 0.08 else []
    return lines


def _steps(chance: Random, names: Sequence[str], queues: Sequence[str], hosts: Sequence[str]) -> list[tuple[int, str]]:
    submitted = {}
    at = 0
    # In this order, for later jobs may wait for earlier ones.
    for name in names:
        at += chance.randrange(1, 1 + _BEGIN_MIN // len(names))
        submitted[name] = at
    found = [(at, f'submit = "{name}"') for name, at in submitted.items()]
    for _ in range(chance.randrange(5)):
        name = chance.choice(list(names))
        found.append((chance.randrange(submitted[name] + 1, _END_MIN - 20), _about_job(chance, name)))
    for _ in range(chance.randrange(3)):
        what = chance.choice((chance.choice(list(queues)), f"{chance.choice(list(queues))}@*"))
        begin = chance.randrange(1, _END_MIN - 40)
        one, other = chance.choice((("-d", "-e"), ("-sq", "-usq")))
        found += [(begin, f'qmod = "{one} {what}"'), (begin + chance.choice((3, 9, 25)), f'qmod = "{other} {what}"')]
    if chance.random() < 0.2:
        slots = chance.choice((1, 4))
        line = f"-mattr queue slots {slots} {chance.choice(list(queues))}"
        found.append((chance.randrange(5, _END_MIN - 30), f'qconf = "{line}"'))
    return found


def _about_job(chance: Random, name: str) -> str:
    return chance.choice((
        f'qmod = "-sj {name}"', f'qmod = "-usj {name}"', f'qmod = "-rj {name}"', f'hold = "{name}"',
        f'release = "{name}"', f'remove = "{name}"',
    ))  # fmt: skip
