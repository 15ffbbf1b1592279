"""Orders of a scenario to a pool with a cell: `qmod` and `qconf`, carried out as the queue does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.gridengine.scheduling.patterns import QueuePatterns
from roost.lab.machines import LabError
from roost.lab.scenario.cell_view import CellView
from roost.lab.scenario.values import Order, ScheduledAction
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
    if action.order is Order.QCONF:
        _qconf(action.how, action.user or OPERATOR, world)
    else:
        option, *words = action.how.split()
        _Qmod(world, names, action.user or OPERATOR, now).all_of(option.removeprefix("-"), words)
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


class _Qmod:
    def __init__(self, world: World, names: Mapping[str, str], user: str, now: float) -> None:
        self._world, self._names, self._user, self._now = world, names, user, now
        assert world.cell is not None
        self._cell = world.cell

    def all_of(self, option: str, words: list[str]) -> None:
        """Carry out an option. Raises LabError for what does not exist, or may not be done."""
        kind = option[-1] if option[-1] in "jq" and len(option) > 1 else ""
        verb = option.removesuffix(kind) if kind else option
        for word in words:
            jobs = [] if kind == "q" or verb in ("d", "e") else self._jobs(word)
            if jobs:
                self._each(jobs, _JOBS[verb])
            elif kind == "j":
                raise LabError(f'qmod -{option}: invalid job "{word}"')
            elif verb == "r":
                self._reschedule(word)
            else:
                self._instances(_INSTANCES[verb], word)

    def _jobs(self, word: str) -> list[str]:
        """The queue's names of the jobs that a name of the scenario means."""
        called = {name: job for job, name in self._names.items()}
        return [job for name, job in called.items() if word in (name, name.partition("/")[0], name.rpartition(".")[0])]

    def _each(self, jobs: list[str], action: Action) -> None:
        for job in jobs:
            self._world.queue.act(action, job, self._now)

    def _reschedule(self, pattern: str) -> None:
        patterns, tasks = QueuePatterns(self._cell.cell), CellView(self._world, self._names, self._now).tasks()
        instances = {one.name for one in self._cell.active.instances if patterns.any_instance((pattern,), one)}
        if not instances:
            raise LabError(f'qmod -rq: invalid queue "{pattern}"')
        by_name = {name: job for job, name in self._names.items()}
        self._each(
            [by_name[name] for name, task in tasks.items() if instances & task.grants.keys()], Action.VACATE_FAST
        )

    def _instances(self, action: InstanceAction, word: str) -> None:
        free = self._cell.operates(self._user)
        done = self._cell.change_instances(action, [word], self._user, free=free)
        for name, outcome in done.outcomes:
            if outcome == "unknown":
                raise LabError(f'qmod: invalid queue "{name}"')
            if outcome == "denied":
                raise LabError(f'qmod: {self._user} - you have no permission to modify queue "{name}"')
