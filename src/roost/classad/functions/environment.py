"""Functions on the two text forms of a job's arguments and environment.

Form 1 is plain: arguments between blanks, environment entries between semicolons, no quoting. Form 2
separates by blanks and quotes with single quotes, doubled to stand for themselves. Results are in form 2 unless form 1
is requested.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roost.classad.argument_quoting import quote_argument
from roost.classad.functions.conversion import wrap32
from roost.classad.functions.registry import builtin
from roost.classad.limits import LIST_ITEMS_MAX, STRING_BYTES_MAX
from roost.classad.values import ERROR, UNDEFINED, ListValue, Value, to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roost.classad.state import State

_BLANKS: Final = " \t\n\r"
_BLANK_RUN: Final = re.compile(r"[ \t\n\r]+")
#: One argument in form 2: plain characters and quoted sections, in which two quotes are one.
_ARGUMENT: Final = re.compile(r"(?:[^ \t\n\r']+|'[^']*(?:''[^']*)*'(?!'))+")
#: Characters that stand for the delimiter when a form 1 environment begins with one of them.
_ENVIRONMENT_DELIMITERS: Final = "!#$%&*+,-/:;<>?@^`|~"
_QUOTED: Final = re.compile(r"'([^']*(?:''[^']*)*)'(?!')")


# -- arguments -----------------------------------------------------------------------------------


def split_arguments(ctx: State, text: str) -> list[str] | None:
    """The arguments of a text in form 2; None if a quote is not closed."""
    found: list[str] = []
    at = 0
    ctx.spend(len(text) // 4 + 1)
    while at < len(text):
        blanks = _BLANK_RUN.match(text, at)
        if blanks is not None:
            at = blanks.end()
            continue
        argument = _ARGUMENT.match(text, at)
        if argument is None:
            return None
        at = argument.end()
        if at < len(text) and text[at] not in _BLANKS:
            return None
        ctx.spend(1)
        found.append(_QUOTED.sub(lambda quoted: quoted[1].replace("''", "'"), argument[0]))
    return found


def _join_quoted(arguments: Iterable[str]) -> Value:
    text = " ".join(map(quote_argument, arguments))
    return text if len(text) <= STRING_BYTES_MAX else ERROR


def _form(version: Value) -> int | None:
    """1 or 2; None for anything else."""
    if not isinstance(version, int) or version.__class__ is bool:
        return None
    form = wrap32(version)
    return form if form in (1, 2) else None


@builtin("argsToList", least=1, most=2)
def arguments_to_list(ctx: State, text: Value, version: Value = 2) -> Value:
    """argsToList(s[, form])."""
    form = _form(version)
    if form is None or not isinstance(text, str):
        return ERROR
    if form == 1:
        ctx.spend(len(text) // 4 + 1)
        found: list[str] | None = [part for part in _BLANK_RUN.split(text) if part]
    else:
        found = split_arguments(ctx, text)
    if found is None or len(found) > LIST_ITEMS_MAX:
        return ERROR
    return ListValue(tuple(found))


@builtin("listToArgs", least=1, most=2)
def list_to_arguments(ctx: State, arguments: Value, version: Value = 2) -> Value:
    """listToArgs(list[, form]): ERROR if an item is not a string, or has a blank and the form is 1."""
    form = _form(version)
    if form is None or not isinstance(arguments, ListValue):
        return ERROR
    texts: list[str] = []
    size = 0
    for item in ctx.items_here(arguments):
        if not isinstance(item, str):
            return ERROR
        texts.append(item)
        size += len(item)
    if size > STRING_BYTES_MAX:
        return ERROR
    ctx.spend(size // 16 + len(texts))
    if form == 2:
        return _join_quoted(texts)
    if any(_BLANK_RUN.search(text) for text in texts):
        return ERROR
    first = next((at for at, text in enumerate(texts) if text), len(texts))
    # Nothing separates empty arguments at the start, as in the reference library.
    return " ".join(texts[first:])


# -- environment ---------------------------------------------------------------------------------


def _add_entry(environment: dict[str, str], entry: str) -> bool:
    """Put ``NAME=value`` into `environment`; False if it is not an entry. An unexpanded ``$$(…)`` has no
    value."""
    name, equals, _ = entry.partition("=")
    if not equals and "$$" in entry:
        environment[entry] = entry
        return True
    if not name or not equals:
        return False
    environment[name] = entry
    return True


def _environment_text(environment: dict[str, str]) -> Value:
    return _join_quoted(environment[name] for name in sorted(environment, key=to_bytes))


@builtin("envV1ToV2", least=1, most=1)
def environment_to_form_2(ctx: State, text: Value) -> Value:
    """envV1ToV2(s)."""
    if text is UNDEFINED:
        return UNDEFINED
    if not isinstance(text, str):
        return ERROR
    ctx.spend(len(text) // 4 + 1)
    delimiter = text[0] if text[:1] and text[0] in _ENVIRONMENT_DELIMITERS else ";"
    environment: dict[str, str] = {}
    for part in text.replace("\n", delimiter).split(delimiter):
        ctx.spend(1)
        entry = part.lstrip(_BLANKS)
        if entry and not _add_entry(environment, entry):
            return ERROR
    return _environment_text(environment)


@builtin("mergeEnvironment", least=0, most=None)
def merge_environment(ctx: State, *texts: Value) -> Value:
    """mergeEnvironment(s, …): of entries with the same name the last; UNDEFINED arguments are left out."""
    environment: dict[str, str] = {}
    for text in texts:
        if text is UNDEFINED:
            continue
        if not isinstance(text, str):
            return ERROR
        entries = split_arguments(ctx, text)
        if entries is None or not all(_add_entry(environment, entry) for entry in entries):
            return ERROR
    return _environment_text(environment)
