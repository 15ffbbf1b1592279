"""Functions that ask about users: userHome and userMap. The answers come from the evaluation's world."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.classad.functions.registry import builtin
from roost.classad.values import ERROR, UNDEFINED, Value, fold

if TYPE_CHECKING:
    from roost.classad.state import State


@builtin("userHome", least=0, most=None, pure=False)
def user_home(ctx: State, *arguments: Value) -> Value:
    """userHome(user[, default]): the home directory, else the default if that is text that is not empty."""
    if not 1 <= len(arguments) <= 2:
        from roost.classad.state import EvaluationFailed

        raise EvaluationFailed
    user = arguments[0]
    default = arguments[1] if len(arguments) == 2 else ""
    instead: Value = default if isinstance(default, str) and default else UNDEFINED
    if isinstance(user, str):
        home = ctx.world.home_of(user)
        return instead if home is None else home
    if instead is UNDEFINED and user is not UNDEFINED:
        return ERROR
    return instead


@builtin("userMap", least=2, most=4, pure=False)
def user_map(ctx: State, name: Value, user: Value, *more: Value) -> Value:
    """userMap(map, user[, preferred[, default]]): the groups of a user as text, or one group of them.

    With two arguments all groups, comma-separated; with three the preferred one if the user is in it (in any
    case), else the first; with four the default where the user has no group.
    """
    default = more[1] if len(more) == 2 else UNDEFINED
    if not isinstance(name, str) or not isinstance(user, str):
        return ERROR if name is ERROR or user is ERROR else default
    mapping = ctx.world.user_map(name)
    text = None if mapping is None else mapping.get(user)
    if text is None:
        return default
    if not more:
        return text
    groups = [group for part in text.split(",") if (group := part.strip())]
    if not groups:
        return default
    if isinstance(more[0], str):
        wanted = fold(more[0])
        for group in groups:
            if fold(group) == wanted:
                return group
    return groups[0]
