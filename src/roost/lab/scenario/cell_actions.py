"""Orders of a scenario to a pool with a cell: `qmod` and `qconf`, carried out like the queue does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from roost.explain.cell_tasks import Task
from roost.gridengine.cell import Cell
from roost.gridengine.instances import resolve
from roost.gridengine.scheduling.patterns import QueuePatterns
from roost.lab.machines import LabError
from roost.lab.scenario.cell_view import CellView
from roost.lab.scenario.values import ScenarioCommand, ScheduledAction
from roost.model.cell_requests import InstanceAction
from roost.schedd.events import Action
from roost.sim.cell import OPERATOR
from roost.sim.negotiation import SOON_S
from roost.sim.world import World

_INSTANCES: Final = {
    "d": InstanceAction.DISABLE,
    "e": InstanceAction.ENABLE,
    "s": InstanceAction.SUSPEND,
    "us": InstanceAction.RESUME,
    "c": InstanceAction.CLEAR,
}
_JOBS: Final = {"s": Action.SUSPEND, "us": Action.CONTINUE, "c": Action.RELEASE, "r": Action.VACATE_FAST}


def do_in_cell(action: ScheduledAction, world: World, names: Mapping[str, str], now: float) -> None:
    """Carry out an order; `names` has the scenario's name of each job by the queue's. Raises LabError for one that is
    refused.
    """
    assert world.cell is not None, "the order was refused when the file was read"
    if action.order is ScenarioCommand.QCONF:
        _qconf(action.how, action.user or OPERATOR, world)
    else:
        _qmod(action.how, action.user or OPERATOR, world, names, now)
    world.matcher.more(SOON_S)


def _qconf(line: str, user: str, world: World) -> None:
    cell = world.cell
    assert cell is not None
    try:
        done = cell.qconf(line, user)
    except ValueError as error:
        raise LabError(str(error)) from None
    if done.status:
        raise LabError(f"qconf {line}: {'; '.join(each.text for each in done.lines)}")


class QmodOrder(NamedTuple):
    """The action of `qmod` on one of its arguments."""

    #: To jobs, by the scenario's names; None for queue instances.
    job_action: Action | None
    jobs: tuple[str, ...] = ()
    #: To queue instances by a name or pattern; None to have their jobs rescheduled.
    action: InstanceAction | None = None
    queue: str = ""


def qmod_orders(line: str, jobs: Iterable[str]) -> Iterator[QmodOrder]:
    """The orders of a `qmod` command line, given the scenario's jobs. Raises LabError."""
    option, *words = line.split()
    option = option.removeprefix("-")
    kind = option[-1] if option[-1] in "jq" and len(option) > 1 else ""
    verb = option.removesuffix(kind) if kind else option
    for word in words:
        meant = tuple(name for name in jobs if word in (name, name.partition("/")[0], name.rpartition(".")[0]))
        if meant and kind != "q" and verb not in ("d", "e"):
            yield QmodOrder(_JOBS[verb], meant)
        elif kind == "j":
            raise LabError(f'qmod -{option}: invalid job "{word}"; the jobs are: {", ".join(jobs) or "none"}')
        elif verb == "r":
            yield QmodOrder(Action.VACATE_FAST, queue=word)
        else:
            yield QmodOrder(None, action=_INSTANCES[verb], queue=word)


def check_outcomes(outcomes: Iterable[tuple[str, str]], user: str) -> None:
    """Raise LabError for queue instances that do not exist or that a user may not change."""
    for name, outcome in outcomes:
        if outcome == "unknown":
            raise LabError(f'qmod: invalid queue "{name}"; name a queue of the cell, an instance or a pattern')
        if outcome == "denied":
            denied = f'{user} - you have no permission to modify queue "{name}"'
            raise LabError(f"qmod: {denied}; let an owner of it, an operator or a manager do that")


def _qmod(line: str, user: str, world: World, names: Mapping[str, str], now: float) -> None:
    cell = world.cell
    assert cell is not None
    by_name = {name: job for job, name in names.items()}
    for order in qmod_orders(line, by_name):
        if order.action is not None:
            done = cell.change_instances(order.action, [order.queue], user, free=cell.operates(user))
            check_outcomes(done.outcomes, user)
            continue
        assert order.job_action is not None
        jobs = order.jobs
        if order.queue:
            jobs = in_queues(cell.cell, order.queue, CellView(world, names, now).tasks())
        for job in jobs:
            world.queue.act(order.job_action, by_name[job], now)


def in_queues(cell: Cell, pattern: str, tasks: Mapping[str, Task]) -> tuple[str, ...]:
    """The jobs in the queue instances that match a pattern. Raises LabError if none matches."""
    patterns = QueuePatterns(cell)
    instances = {one.name for one in resolve(cell) if patterns.any_instance((pattern,), one)}
    if not instances:
        raise LabError(f'qmod -rq: invalid queue "{pattern}"; name a queue of the cell, an instance or a pattern')
    return tuple(name for name, task in tasks.items() if instances & task.grants.keys())
