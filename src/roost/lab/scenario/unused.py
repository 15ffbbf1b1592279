"""Descriptions in a scenario file that none of its scenarios uses: a mistake, or a leftover.

A description in the file is in use if a scenario does not replace it by its own of the same name, and refers to it: a
job in a step or by a DAG, a DAG in a step, a user with groups as an owner of jobs or in a step. Hooks and programs that
nothing can run are refused when they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from roost.lab.inputs.tables import Table
from roost.lab.scenario.values import OWNER, Scenario, ScenarioCommand


def notes_on_unused(root: Table, scenarios: Sequence[tuple[Table, Scenario]]) -> Iterator[str]:
    """Notes on unused descriptions of the file and of each scenario, with their places."""
    every = "every scenario describes its own, so this one has no effect; remove it"
    for owner, here in ((root, scenarios), *((table, ((table, scenario),)) for table, scenario in scenarios)):
        for path, used_by in _USED.items():
            described = _at(owner, path)
            for name in described.values:
                users = [one for table, one in here if table is owner or name not in _at(table, path)]
                why = f"no scenario uses it; {_REMEDIES[path]}, or remove it" if users else every
                if not any(used_by(one, name) for one in users):
                    yield f"{described.file}:{described.line(name)}: {described.what} {name!r}: {why}"
    if scenarios and all("machines" in table for table, _ in scenarios):
        machines = root.child("machines", "machine")
        for name in machines.values:
            yield f"{machines.file}:{machines.line(name)}: machine {name!r}: {every}"


def _at(table: Table, path: str) -> Table:
    *over, last = path.split(".")
    for key in over:
        table = table.child(key, key)
    return table.child(last, _NOUNS[path])


def _uses_job(scenario: Scenario, name: str) -> bool:
    """Whether a step, or a node of a DAG, refers to a job or to one of the jobs of its description."""
    expected = [job.job for each in scenario.expectations for job in each.jobs]
    asked = [word for each in scenario.expectations for word in (each.job, each.against) if word]
    named = [*(each.name for each in (*scenario.jobs, *scenario.fetched)), *expected, *asked]
    bases = {each.partition("/")[0] for each in named}
    if name in bases or any(base.rpartition(".")[0] == name for base in bases):
        return True
    nodes = [node for flow in scenario.dags.values() for node in flow.dag.nodes.values()]
    # A node with a description of its own behaves as the job of its name.
    return any(name == (node.submit if node.text is None else node.name) for node in nodes)


def _uses_dag(scenario: Scenario, name: str) -> bool:
    return any(action.order is ScenarioCommand.DAG and action.how == name for action in scenario.actions)


def _uses_user(scenario: Scenario, name: str) -> bool:
    """Whether a user owns a described job, or gives an order."""
    flows = [template.given for flow in scenario.dags.values() for template in flow.templates.values()]
    owners: list[Mapping[str, object]] = [*scenario.described.values(), *flows]
    return any(each.get("Owner", OWNER) == name for each in owners) or any(
        action.user == name for action in scenario.actions
    )


def _in_effect(scenario: Scenario, name: str) -> bool:
    """A scenario's own descriptions are in use, or they would have been refused."""
    return True


#: The table of a description to the function that decides whether a scenario uses it.
_USED: Final[Mapping[str, Callable[[Scenario, str], bool]]] = {
    "jobs": _uses_job,
    "dags": _uses_dag,
    "hooks": _in_effect,
    "programs": _in_effect,
    "cell.groups": _uses_user,
}
_NOUNS: Final = {"jobs": "job", "dags": "DAG", "hooks": "hook", "programs": "program", "cell.groups": "user"}
_REMEDIES: Final = {
    "jobs": "submit it in a step",
    "dags": "submit it in a step",
    "hooks": "name it",
    "programs": "name it",
    "cell.groups": "make the user the Owner of a job",
}
