"""The context of a job: variables that users attach to it by `-ac`, `-dc` and `-sc`, as ``name=value,name,...``.

Roost keeps them and shows them in `qstat -j`; the job itself does not see them, as in Grid Engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.gridengine.commands.errors import BAD_VALUE, Failure
from roost.gridengine.commands.options import Given

#: Add variables, delete some, and replace all.
OPTIONS: Final = ("ac", "dc", "sc")
#: Longest context, characters.
LENGTH_MAX: Final = 10_000


def changed(context: str, steps: Iterable[Given]) -> str:
    """A context after applying options. Raises Failure."""
    found = variables(context)
    for each in steps:
        given = variables(each.value)
        if not given or "" in given:
            raise Failure(f'qsub: Wrong context list format -{each.name} "{each.value}"', BAD_VALUE)
        match each.name:
            case "ac":
                found |= given
            case "dc":
                found = {name: value for name, value in found.items() if name not in given}
            case _:
                found = given
    text = ",".join(name if value is None else f"{name}={value}" for name, value in sorted(found.items()))
    if len(text) > LENGTH_MAX:
        raise Failure(f"qsub: the context of a job has at most {LENGTH_MAX} characters", BAD_VALUE)
    return text


def variables(context: str) -> dict[str, str | None]:
    """The variables of a context; None for one without a value."""
    words = (word.partition("=") for word in context.split(",") if word)
    return {name: value if equals else None for name, equals, value in words}


def told(context: str) -> str:
    """A context as `qstat -j` shows it."""
    return ",".join(f"{name}={value or 'NONE'}" for name, value in variables(context).items())
