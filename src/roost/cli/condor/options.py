"""Arguments as HTCondor's commands read them: ``-constraint``, any sufficiently long prefix of it, ``-af:jt``.

An option has one dash and may be abbreviated to `Option.least` letters; with two dashes it must be written in full.
Some take their own flags after a colon. Everything else is a positional argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from roost.cli.condor.errors import UsageError


class Option(NamedTuple):
    """One option of a command."""

    #: The full name, without the dash.
    name: str
    help: str
    #: The values it takes, one word each; ``"ATTR..."`` takes all words up to the next option.
    takes: str = ""
    #: Minimum number of letters of the name.
    least: int = 1
    #: The flags allowed after a colon; "" for none.
    colon: str = ""

    @property
    def shown(self) -> str:
        """The form in a usage text."""
        least = f"-{self.name}" + (f"[:{self.colon}]" if self.colon else "")
        return f"{least} {self.takes}".rstrip()


class Given(NamedTuple):
    """One option, or one positional argument with the name "", as given."""

    name: str
    values: tuple[str, ...] = ()
    #: The text after the colon; None if there was none.
    colon: str | None = None
    #: The argument as written.
    written: str = ""

    @property
    def value(self) -> str:
        """The first value."""
        return self.values[0]


def given(arguments: Sequence[str], options: Sequence[Option]) -> Iterator[Given]:
    """The arguments one after another. Raises UsageError."""
    at = 0
    while at < len(arguments):
        word = arguments[at]
        at += 1
        if not word.startswith("-") or word == "-":
            yield Given("", (word,), written=word)
            continue
        option, colon = _option(word, options)
        if option.takes.endswith("..."):
            end = at
            while end < len(arguments) and not arguments[end].startswith("-"):
                end += 1
        else:
            end = at + len(option.takes.split())
        if end > len(arguments):
            raise UsageError(f"Error: Argument {word} requires {_what(option)}")
        yield Given(option.name, tuple(arguments[at:end]), colon, word)
        at = end


def before_positional(arguments: Sequence[str], options: Sequence[Option]) -> tuple[list[str], list[str]]:
    """The options before the first positional argument, and the rest from that on. Raises UsageError."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "-":
        option, _ = _option(arguments[at], options)
        at += 1 + len(option.takes.split())
    return list(arguments[:at]), list(arguments[at:])


def number(option: Given) -> int:
    """The numeric value of an option, 0 or more. Raises UsageError."""
    if not option.value.isdecimal():
        raise UsageError(f"Error: {option.written} requires a number, not {option.value}")
    return int(option.value)


def _what(option: Option) -> str:
    words = option.takes.split()
    return "a value" if len(words) == 1 else f"{len(words)} values: {option.takes}"


def _option(word: str, options: Sequence[Option]) -> tuple[Option, str | None]:
    whole = word.startswith("--")
    name, colon_sign, colon = word.lstrip("-").partition(":")
    folded = name.lower()
    for option in options:
        if folded == option.name.lower():
            break
    else:
        fitting = (each for each in options if len(name) >= each.least and each.name.lower().startswith(folded))
        found = None if whole or not folded else next(fitting, None)
        if found is None:
            raise UsageError(f"Error: unrecognized argument {word}")
        option = found
    if colon_sign and not option.colon:
        raise UsageError(f"Error: unrecognized argument {word}")
    return option, colon if colon_sign else None


def usage(name: str, operands: str, options: Sequence[Option]) -> str:
    """What ``-help`` prints; `operands` are the arguments without options."""
    wide = min(40, max((len(option.shown) for option in options), default=0))
    lines = [f"    {option.shown:<{wide}}  {option.help}" for option in options]
    return "\n".join(
        [
            f"Usage: {name} [options] {operands}".rstrip(),
            "",
            "Options:",
            *lines,
            f"    {'-help':<{wide}}  print this",
            "",
        ]
    )
