"""The parsers of `roost`: argparse's, with error messages that suggest what was probably meant.

They do not guess. A misspelt command or option is refused; the hint names the most similar one.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NoReturn

from roost.cli.terminal import CommandError

_JOB: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
_SLOT: Final = re.compile(r"slot[0-9]|.+@.", re.IGNORECASE)
#: The prefix of argparse's message about missing arguments.
_MISSING: Final = "the following arguments are required"


class Parser(argparse.ArgumentParser):
    """A parser of `roost` or of one of its commands."""

    def error(self, message: str) -> NoReturn:
        """Refuse a command line. `message` is argparse's; raises CommandError."""
        inner = subparsers_of(self)
        name = self.prog.removeprefix("roost").strip()
        if inner is not None and message.startswith(_MISSING):
            raise CommandError(
                f"{name} needs a command: {_listed(inner.choices)}\n    hint: `{self.prog} --help` describes them"
            )
        hint = f"    hint: `{self.prog} --help` lists its options and arguments"
        raise CommandError(f"{name and f'{name}: '}{_readable(message)}\n{hint}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            kind = "job" if _JOB.fullmatch(str(value)) else "slot" if _SLOT.match(str(value)) else ""
            about = f"try `{self.prog} {kind} {value}`; " if kind in action.choices else ""
            raise CommandError(
                f"{value!r} is not a command of {self.prog}\n"
                f"    hint: {about or meant(str(value), action.choices)}`{self.prog} --help` lists the commands"
            )
        if action.choices is not None and value not in action.choices:
            text = f"{value!r} is not {_listed(map(str, action.choices))}"
            raise argparse.ArgumentError(action if action.option_strings else None, text)


def also(parser: argparse.ArgumentParser, action: argparse.Action, name: str) -> None:
    """Also accept a former name of an option, which no help and no documentation shows."""
    parser._option_string_actions[name] = action


def _readable(message: str) -> str:
    """argparse's message about an argument, in plain words."""
    text = message.removeprefix("argument ")
    for kind, name in (("int", "a whole number"), ("float", "a number")):
        text = re.sub(rf"invalid {kind} value: (.*)", rf"\1 is not {name}", text)
    return text


def _listed(names: Iterable[str]) -> str:
    """Names in a sentence: ``a, b or c``."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def subparsers_of(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[argparse.ArgumentParser] | None:
    """The action that holds the commands of a parser; None for one that has none."""
    return next((action for action in parser._actions if isinstance(action, argparse._SubParsersAction)), None)


def deepest(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the command that the arguments name."""
    for argument in arguments:
        inner = subparsers_of(parser)
        if inner is None:
            break
        parser = inner.choices.get(argument, parser)
    return parser


def refusal(parser: argparse.ArgumentParser, unknown: Sequence[str]) -> CommandError:
    """The message about arguments that a command does not have."""
    known = [option for action in parser._actions for option in action.option_strings]
    first = next((each for each in unknown if each.startswith("-")), "")
    name = first.partition("=")[0]
    told = f"{name} is not an option" if first else f"{unknown[0]!r} is not an argument"
    return CommandError(
        f"{told} of {parser.prog}\n"
        f"    hint: {meant(name, known) if first else ''}`{parser.prog} --help` lists its options and arguments"
    )


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The known name that is most similar to an unknown one; None if none is similar."""
    # Only after an error: modules that import this must start quickly.
    from difflib import get_close_matches

    by_folded = {each.lower(): each for each in names}
    found = get_close_matches(name.lower(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def meant(name: str, names: Iterable[str]) -> str:
    """A question with the name that was probably meant, followed by a space; empty if there is none."""
    found = nearest(name, names)
    return f"did you mean {found}? " if found else ""


def commands_of(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser, str]]:
    """Every command below a parser: its words, its parser, and its description in one line."""
    inner = subparsers_of(parser)
    if inner is None:
        return
    about = {choice.dest: choice.help or "" for choice in inner._choices_actions}
    for name, each in inner.choices.items():
        yield (*words, name), each, about.get(name, "")
        yield from commands_of(each, (*words, name))
