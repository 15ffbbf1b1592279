"""Reads and writes arguments and environments in the syntax of submit files and job ads.

There are two forms of each. The new one separates by blanks; single quotes hold together what is between them, two of
them there are one. A submit file puts it into double quotes, two of which are one; a job's ad has it without: raw
(Arguments, Environment). The old form has no quoting: arguments (Args) stand between blanks, entries of the environment
(Env) between semicolons; a submit file writes a double quote of an argument as ``\\"``.

    >>> arguments_from_submit('"3 simple \\'a b\\' it\\'\\'\\'\\'s"')
    ('3', 'simple', 'a b', "it's")
    >>> join_raw(("one", "two words", ""))
    "one two' 'words ''"

Reading raises `CommandLineError`, which says where and what to do. What this module does not do: expand macros or
``$$(…)``, or decide which part of the submitter's environment a job inherits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from roost.classad import ClassAd
from roost.classad.argument_quoting import quote_argument

_BLANKS: Final = " \t\r\n"
_BLANK_RUN: Final = re.compile(r"[ \t\r\n]+")
#: A piece of a raw text: plain characters, or a quoted section in which two quotes stand for one.
_STRETCH: Final = re.compile(r"(?P<plain>[^ \t\r\n']+)|'(?P<quoted>[^']*(?:''[^']*)*)'(?!')")
#: Length of the excerpt in an error, characters.
_SHOWN_MAX: Final = 40

#: Separator between entries of an environment in the old form.
OLD_DELIMITER: Final = ";"


class CommandLineError(ValueError):
    """A text that is neither a list of arguments nor an environment."""

    def __init__(self, problem: str, text: str, at: int, remedy: str) -> None:
        shown = text[at : at + _SHOWN_MAX]
        super().__init__(f"{problem} at character {at + 1}: {shown!r}; {remedy}")
        self.problem = problem
        self.text = text
        #: Offset into `text`, from 0.
        self.at = at
        self.remedy = remedy


# -- lists of words ----------------------------------------------------------------------------------------------


def split_raw(text: str) -> tuple[str, ...]:
    """The words of a text in the new form without its double quotes."""
    found: list[str] = []
    at = 0
    while True:
        blanks = _BLANK_RUN.match(text, at)
        at = blanks.end() if blanks else at
        if at == len(text):
            return tuple(found)
        word: list[str] = []
        while at < len(text) and text[at] not in _BLANKS:
            stretch = _STRETCH.match(text, at)
            if stretch is None:
                raise CommandLineError("A single quote is not closed", text, at, "close it, or write '' for one quote")
            at = stretch.end()
            plain = stretch["plain"]
            word.append(stretch["quoted"].replace("''", "'") if plain is None else plain)
        found.append("".join(word))


def join_raw(words: Iterable[str]) -> str:
    """The words in the new form without double quotes: what `split_raw` reads."""
    return " ".join(map(quote_argument, words))


def is_quoted(text: str) -> bool:
    """Whether the value in a submit file is in the new form."""
    return text.lstrip(_BLANKS).startswith('"')


def unquote(text: str) -> str:
    """The raw text from a submit file's value in the new form."""
    begin = text.find('"')
    if begin < 0 or text[:begin].strip(_BLANKS):
        raise CommandLineError("Double quotes are missing", text, 0, "put the whole value into double quotes")
    at = begin + 1
    while True:
        end = text.find('"', at)
        if end < 0:
            raise CommandLineError("The double quote is not closed", text, begin, 'add " at the end of the value')
        if text[end + 1 : end + 2] != '"':
            break
        at = end + 2
    if text[end + 1 :].strip(_BLANKS):
        raise CommandLineError(
            "Something follows the closing double quote", text, end, 'write "" for a double quote within the value'
        )
    return text[begin + 1 : end].replace('""', '"')


def quote(raw: str) -> str:
    """A raw text in the form of a submit file."""
    return '"' + raw.replace('"', '""') + '"'


# -- arguments -----------------------------------------------------------------------------------------------------


def arguments_from_submit(text: str) -> tuple[str, ...]:
    """The arguments in the value of ``arguments`` in a submit file, in either form."""
    return split_raw(unquote(text)) if is_quoted(text) else split_old(unescape_old(text))


def unescape_old(text: str) -> str:
    r"""The old form in a job's ad, from a submit file's value, in which ``\"`` is a double quote."""
    bare = re.search(r'(?<!\\)"', text)
    if bare is not None:
        raise CommandLineError(
            "A double quote stands in arguments of the old form",
            text,
            bare.start(),
            r"write \", or put the whole value into double quotes",
        )
    return text.replace(r"\"", '"')


def split_old(text: str) -> tuple[str, ...]:
    """The arguments of a text in the old form."""
    return tuple(word for word in _BLANK_RUN.split(text) if word)


def arguments_of(job_ad: ClassAd) -> tuple[str, ...]:
    """The arguments of a job: from Arguments, else from Args, else none."""
    new, old = job_ad.cell("arguments"), job_ad.cell("args")
    if isinstance(new, str):
        return split_raw(new)
    return split_old(old) if isinstance(old, str) else ()


# -- environment -----------------------------------------------------------------------------------------------------


def environment_from_submit(text: str) -> dict[str, str]:
    """The environment in the value of ``environment`` in a submit file, in either form."""
    return environment_from_raw(unquote(text)) if is_quoted(text) else environment_from_old(text)


def environment_from_raw(text: str) -> dict[str, str]:
    """Names and values of an environment in the new form; the last entry for a name wins."""
    return dict(_entry(word, text) for word in split_raw(text))


def environment_from_old(text: str, delimiter: str = OLD_DELIMITER) -> dict[str, str]:
    """Names and values of an environment in the old form. A newline separates entries, too."""
    entries = (entry.lstrip(_BLANKS) for entry in text.replace("\n", delimiter).split(delimiter))
    return dict(_entry(entry, text) for entry in entries if entry)


def environment_to_raw(environment: Mapping[str, str]) -> str:
    """The environment in the new form, sorted by name."""
    return join_raw(f"{name}={environment[name]}" for name in sorted(environment))


def environment_of(job_ad: ClassAd) -> dict[str, str]:
    """The environment of a job: from Environment, else from Env (entries separated by EnvDelim), else empty."""
    new, old, delimiter = (job_ad.cell(name) for name in ("environment", "env", "envdelim"))
    if isinstance(new, str):
        return environment_from_raw(new)
    if not isinstance(old, str):
        return {}
    return environment_from_old(old, delimiter if isinstance(delimiter, str) and delimiter else OLD_DELIMITER)


def _entry(entry: str, text: str) -> tuple[str, str]:
    name, equals, value = entry.partition("=")
    at = max(0, text.find(entry))
    if not equals:
        raise CommandLineError(f"{entry} has no value", text, at, "write NAME=value; quote blanks as in NAME='a b'")
    if not name:
        raise CommandLineError("A value has no name", text, at, "write NAME=value")
    return name, value
