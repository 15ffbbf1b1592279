"""States of queue instances set by command, as by `qmod`: d and s.

An instance without such a state is in its `initial_state`. Names may be those of queues,
instances and queue domains, with wildcards. Operators and managers of the cell may change all instances, and users in
the `owner_list` of an instance that one. The error state E is the queue's (`roost.schedd.cell.errors`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from roost.gridengine.cell import Cell
from roost.gridengine.instances import QueueInstance, resolve
from roost.gridengine.scheduling.patterns import QueuePatterns
from roost.model.cell_requests import InstanceAction

_LETTERS: Final = {
    InstanceAction.DISABLE: ("d", True),
    InstanceAction.ENABLE: ("d", False),
    InstanceAction.SUSPEND: ("s", True),
    InstanceAction.RESUME: ("s", False),
}


class Named(NamedTuple):
    """An instance that a name matches; None if it matches none."""

    name: str
    instance: QueueInstance | None


def named(cell: Cell, names: Iterable[str]) -> Iterator[Named]:
    """The instances that names match, by name, each instance once."""
    patterns, instances, found = QueuePatterns(cell), resolve(cell), set[str]()
    for name in names:
        meant = [one for one in instances if patterns.any_instance((name,), one)]
        if not meant:
            yield Named(name, None)
        for one in meant:
            if one.name not in found:
                found.add(one.name)
                yield Named(name, one)


#: The outcome for an instance, or for a name that matches none.
Outcome: TypeAlias = Literal["changed", "already", "denied", "unknown"]


class InstanceChanges(NamedTuple):
    """The effect of a command on queue instances."""

    #: Instances with their outcomes, and names that match none.
    outcomes: tuple[tuple[str, Outcome], ...]
    #: Instance to its new letters, if they changed.
    letters: Mapping[str, str]
    #: Instances whose error state is cleared.
    cleared: tuple[str, ...]


def changed(
    cell: Cell,
    action: InstanceAction,
    names: Iterable[str],
    *,
    given: Mapping[str, str],
    errors: Collection[str],
    user: str,
    free: bool,
) -> InstanceChanges:
    """The effect of a command on the instances that names match.

    `given` are the letters set by command, `errors` the instances in the error state; `free`: the user may change all
    instances, whatever the cell says.
    """
    outcomes: list[tuple[str, Outcome]] = []
    found: dict[str, str] = {}
    for name, instance in named(cell, names):
        if instance is None:
            outcomes.append((name, "unknown"))
            continue
        before = given.get(instance.name, first_letters(instance))
        outcome: Outcome
        if not free and not may_change(cell, user, instance):
            outcome = "denied"
        elif action is InstanceAction.CLEAR:
            outcome = "changed" if instance.name in errors else "already"
        else:
            # With an `initial_state` the machine may have restarted since: the command counts from now on.
            is_old = has_initial_state(instance) and instance.name in given
            outcome = "changed" if after(before, action) != before or is_old else "already"
        if outcome == "changed" and action is not InstanceAction.CLEAR:
            found[instance.name] = after(before, action)
        outcomes.append((instance.name, outcome))
    clears = action is InstanceAction.CLEAR
    cleared = tuple(name for name, outcome in outcomes if clears and outcome == "changed")
    return InstanceChanges(tuple(outcomes), found, cleared)


def may_change(cell: Cell, user: str, instance: QueueInstance) -> bool:
    """Whether a user may change the state of an instance."""
    return user in cell.managers or user in cell.operators or user in instance.settings.owner_list


def first_letters(instance: QueueInstance) -> str:
    """The initial state of an instance."""
    return "d" if instance.settings.initial_state == "disabled" else ""


def has_initial_state(instance: QueueInstance) -> bool:
    """Whether an instance is enabled or disabled again when the daemon of its machine starts."""
    return instance.settings.initial_state in ("enabled", "disabled")


def letters_of(instance: QueueInstance, given: str | None, given_at: float, started_at: float) -> str:
    """The state of an instance: the letters set by command (None for none) and when, and when its machine's daemon
    started.

    Times are epoch s, 0 if unknown. Of letters set before the start, only s is kept if the queue has an
    `initial_state`.
    """
    if given is None:
        return first_letters(instance)
    if not has_initial_state(instance) or given_at >= started_at:
        return given
    return first_letters(instance) + given.replace("d", "")


def after(letters: str, action: InstanceAction) -> str:
    """The state of an instance after a command."""
    letter, is_set = _LETTERS[action]
    left = letters.replace(letter, "")
    return left + letter if is_set else left
