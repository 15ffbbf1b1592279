"""Checks the arguments of a ``use`` statement.

They are checked at the `use` statement, so that a mistake is reported there and not in the lines of the template. An
hour or a day must be a number then; a number of seconds or a slot may also be an expression that only a machine can
evaluate, which is accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from roost.config.expressions import ExpressionProblem
from roost.config.functions import split
from roost.config.host import Host
from roost.config.references import NAME
from roost.config.template import Argument, ArgumentKind, Template

#: For each kind of number: minimum, maximum, whether whole, and its description.
_RANGES: dict[ArgumentKind, tuple[float, float, bool, str]] = {
    ArgumentKind.HOUR: (0, 24, False, "an hour must be a number from 0 to 24"),
    ArgumentKind.DAY: (0, 6, True, "a day must be a number from 0 (Sunday) to 6 (Saturday)"),
    ArgumentKind.POSITIVE: (1, float("inf"), True, "it must be a whole number from 1"),
    ArgumentKind.SECONDS: (0, float("inf"), False, "it must be a number of seconds"),
    ArgumentKind.AMOUNT: (0, float("inf"), False, "it must be a number above 0"),
}
_CONSTANT = (ArgumentKind.HOUR, ArgumentKind.DAY)
_INSTANT = "write date and time as in 2030-12-24T18:00:00Z, or with an offset such as +01:00 instead of Z"
#: Removes characters that would end the string that contains an instant.
_UNQUOTED = str.maketrans("", "", '"\\')


def argument_problem(template: Template, arguments: str | None, expand: Callable[[str], str], host: Host) -> str | None:
    """The first thing that is wrong with the arguments of a ``use``, in words. `expand` follows macros silently."""
    given = split(arguments) if arguments and arguments.strip() else []
    if len([one for one in given if one]) < template.required:
        return f"{template.name} needs {_arguments(template.required)}"
    if len(given) > len(template.arguments) and not template.rest:
        most = len(template.arguments)
        return f"{template.name} takes " + (f"at most {_arguments(most)}" if most else "no arguments")
    values: dict[str, object] = {}
    if template.rest and len(given) > len(template.arguments):
        last = len(template.arguments) - 1
        given = [*given[:last], ", ".join(given[last:])]
    for argument, text in zip(template.arguments, [*given, *[""] * len(template.arguments)], strict=False):
        problem = _problem(argument, text, expand, host, values)
        if problem is not None:
            return f"{template.name}: {argument.name} is {_shown(text)}: {problem}"
    if "begin" in values and values["begin"] == values.get("end"):
        return f"{template.name}: begin and end are the same hour"
    if "since" in values and values["since"] >= values["until"]:  # type: ignore[operator]
        return f"{template.name}: it ends before it begins"
    return None


def _problem(
    argument: Argument, text: str, expand: Callable[[str], str], host: Host, values: dict[str, object]
) -> str | None:
    wanted = text or argument.default
    if not wanted or argument.kind is ArgumentKind.TEXT:
        return None
    expanded = expand(wanted).strip() if "$" in wanted else wanted
    if argument.kind is ArgumentKind.NAME:
        return None if not expanded or NAME.match(expanded) else "it must be the name of a macro"
    if argument.kind is ArgumentKind.WORD:
        return "write it without quotes and spaces" if set(expanded) & set("\"' \t") else None
    if argument.kind is ArgumentKind.CONDITION:
        return _condition_problem(expanded, host)
    if argument.kind is ArgumentKind.INSTANT:
        return _instant_problem(argument, expanded, host, values)
    return next(_number_problems(argument, wanted, expanded, host, values), None)


def _condition_problem(expanded: str, host: Host) -> str | None:
    try:
        host.parse_expression(expanded)
    except ExpressionProblem as problem:
        return f"it cannot be parsed as an expression: {problem}"
    return None


def _instant_problem(argument: Argument, expanded: str, host: Host, values: dict[str, object]) -> str | None:
    try:
        values[argument.name] = found = host.evaluate(f'int(absTime("{expanded.translate(_UNQUOTED)}"))')
    except ExpressionProblem:
        return _INSTANT
    return None if isinstance(found, int) else _INSTANT


def _number_problems(
    argument: Argument, wanted: str, expanded: str, host: Host, values: dict[str, object]
) -> Iterator[str]:
    low, high, whole, words = _RANGES[argument.kind]
    try:
        value = host.evaluate(expanded) if expanded else None
    except ExpressionProblem:
        yield words
        return
    if value is None and argument.kind in _CONSTANT:
        yield f"{words}, and its value must be known at this line" + (" (define it above)" if "$(" in wanted else "")
    if value is None:
        return
    values[argument.name] = value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not low <= value <= high or (whole and value != int(value)):  # type: ignore[operator,call-overload]
        yield words


def _arguments(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")
