"""Arguments as parsed by Grid Engine's commands: options are written in full, with one dash, and arguments are separate
words.

The first word that is not an option ends the options of `qsub`; for other commands it is one of their operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from roost.gridengine.commands.errors import BAD_VALUE, USAGE, Failure

#: The first line of Grid Engine's help.
VERSION: Final = "SGE 8.1.9"


class Option(NamedTuple):
    """One option of a command."""

    #: As it is written, without the dash.
    name: str
    help: str
    #: Its arguments, one word each.
    takes: str = ""
    #: Why it cannot be used; "" if it can.
    refused: str = ""
    #: First arguments that are followed by another one.
    before: tuple[str, ...] = ()


class Given(NamedTuple):
    """One option as it was given."""

    name: str
    values: tuple[str, ...] = ()

    @property
    def value(self) -> str:
        """The first thing it takes."""
        return self.values[0]


def taken(name: str, arguments: Sequence[str], options: Sequence[Option]) -> tuple[list[Given], list[str]]:
    """The options at the beginning of arguments, and what follows them. Raises Failure."""
    known = {option.name: option for option in options}
    found: list[Given] = []
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "-":
        word = arguments[at]
        option = known.get(word[1:])
        if option is None:
            raise Failure(f'{name}: invalid option argument "{word}"', USAGE)
        end = at + 1 + len(option.takes.split())
        end += end < len(arguments) and arguments[at + 1] in option.before
        if end > len(arguments):
            raise Failure(f"{name}: {word} option must have argument", USAGE)
        if option.refused:
            raise Failure(f"{name}: {word} is not possible in a Roost pool: {option.refused}", USAGE)
        found.append(Given(option.name, tuple(arguments[at + 1 : end])))
        at = end
    return found, list(arguments[at:])


def is_yes(name: str, given: Given) -> bool:
    """The value of ``y[es]`` or ``n[o]``. Raises Failure."""
    word = given.value.lower()
    if word not in ("y", "yes", "n", "no"):
        raise Failure(f'{name}: invalid option argument "-{given.name} {given.value}"', BAD_VALUE)
    return word.startswith("y")


def usage(name: str, options: Sequence[Option], positional: str = "") -> str:
    """What ``-help`` prints."""
    return "\n".join([VERSION, f"usage: {name} [options] {positional}".rstrip(), *_lines(options), ""])


def _lines(options: Sequence[Option]) -> Iterator[str]:
    for option in options:
        shown = f"[-{option.name} {option.takes}".rstrip() + "]"
        yield f"   {shown:<40} {option.help}" + (" (refused)" if option.refused else "")
