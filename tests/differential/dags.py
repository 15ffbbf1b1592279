"""The DAGs of random cases: up to five nodes, which wait for one another, fail, are tried again and have scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from roost.base.records import dataclass

#: Jobs of nodes.
NODE_JOBS: Final = ("p", "q", "r")
#: How long they run: nodes come one after another.
NODE_RUNS: Final = ("3m", "7m", "11m")
#: Knobs of runs of DAGs that a case may set, with their values.
DAG_KNOBS: Final[Mapping[str, Sequence[str]]] = {
    "DAGMAN_MAX_JOBS_SUBMITTED": ("1", "2"),
    "DAGMAN_MAX_JOBS_IDLE": ("1",),
    "DAGMAN_MAX_PRE_SCRIPTS": ("1",),
    "DAGMAN_ALWAYS_RUN_POST": ("True",),
    "DAGMAN_SUBMIT_DEPTH_FIRST": ("True",),
    "DAGMAN_RETRY_NODE_FIRST": ("True",),
}
#: What scripts do.
_SCRIPTS: Final = (
    "{}",
    '{ takes = "33s" }',
    '{ takes = "3m", status = [1, 0] }',
    "{ status = 1 }",
    '{ takes = "11s", status = [0, 2] }',
    '{ takes = "1m", status = [4, 0] }',
)
#: The line with which a description begins in the table of a job.
_DESCRIBED: Final = "description = '''"
#: Orders about the job of the first node, which is in the queue as soon as the DAG is.
_ACTIONS: Final = ("hold", "release", "remove", "vacate_job", "suspend", "continue")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnDag:
    """A DAG of a case."""

    #: Its table, and those of the jobs of its nodes.
    lines: tuple[str, ...] = ()
    #: Minute and what happens then.
    steps: tuple[tuple[int, str], ...] = ()


def draw_dag(chance: Random, jobs: Mapping[str, Sequence[str]]) -> DrawnDag:
    """A DAG whose nodes are the jobs with these tables. The first is one process, and that of the first node."""
    names = list(jobs)
    nodes = list("ABCDE"[: chance.randrange(2, 6)])
    lines = []
    for node in nodes:
        job = names[0] if node == "A" else chance.choice(names)
        lines.append(f"JOB {node} {job}{' NOOP' if node != 'A' and chance.random() < 0.05 else ''}")
        if _DESCRIBED in jobs[job] and chance.random() < 0.5:
            lines.append(f'VARS {node} part="{chance.randrange(9)}"')
    for place, node in enumerate(nodes[1:], 1):
        if chance.random() < 0.8:
            parents = chance.sample(nodes[:place], min(place, chance.choice((1, 1, 2))))
            lines.append(f"PARENT {' '.join(sorted(parents))} CHILD {node}")
    for node in nodes:
        lines += _of_node(chance, node)
    if chance.random() < 0.25:
        lines.append(f"FINAL F {chance.choice(names)}")
        lines += ["SCRIPT POST F last.sh"] if chance.random() < 0.5 else []
    if chance.random() < 0.15:
        lines += [f"CATEGORY {node} few" for node in nodes[1:]] + ["MAXJOBS few 1"]
    programs = sorted({word for line in lines if line.startswith("SCRIPT") for word in line.split() if "." in word})
    scripts = ", ".join(f'"{name}" = {chance.choice(_SCRIPTS)}' for name in programs)
    tables = [line for name, table in jobs.items() for line in (f"[jobs.{name}]", *table)]
    tables += ["[dags.flow]", "text = '''", *lines, "'''", f"scripts = {{ {scripts} }}"]
    return DrawnDag(lines=tuple(tables), steps=tuple(_steps(chance)))


def _of_node(chance: Random, node: str) -> list[str]:
    lines = []
    if chance.random() < 0.4:
        unless = " UNLESS-EXIT 1" if chance.random() < 0.2 else ""
        lines.append(f"RETRY {node} {chance.choice((1, 2))}{unless}")
    # Nothing is ordered about the first node's job before it is in the queue.
    if node != "A" and chance.random() < 0.25:
        defer = "DEFER 4 71 " if chance.random() < 0.3 else ""
        lines.append(f"SCRIPT {defer}PRE {node} pre{chance.randrange(2)}.sh")
        lines += [f"PRE_SKIP {node} 1"] if chance.random() < 0.2 else []
    if chance.random() < 0.3:
        lines.append(f"SCRIPT POST {node} post{chance.randrange(2)}.sh $RETURN")
    if chance.random() < 0.15:
        lines.append(f"SCRIPT HOLD {node} held.sh")
    if chance.random() < 0.1:
        returns = f" RETURN {chance.choice((0, 3, 7))}" if chance.random() < 0.5 else ""
        lines.append(f"ABORT-DAG-ON {node} 1{returns}")
    if chance.random() < 0.15:
        lines.append(f"PRIORITY {node} {chance.choice((-5, 10))}")
    return lines


def _steps(chance: Random) -> list[tuple[int, str]]:
    begins = chance.randrange(1, 15)
    found = [(begins, 'dag = "flow"')]
    if chance.random() < 0.15:
        # The first job has not ended by then.
        return [*found, (begins + 1, 'remove_dag = "flow"')]
    orders = range(chance.choice((0, 0, 1, 2)))
    return [*found, *((begins + chance.randrange(1, 12), f'{chance.choice(_ACTIONS)} = "flow.A"') for _ in orders)]
