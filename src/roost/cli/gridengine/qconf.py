"""``qconf``: show and change the objects of the pool's cell, with Grid Engine's options, wording and exit statuses.

Options are carried out one after the other, each as a separate change; an invalid one ends the command, and earlier
changes remain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from roost.cli.gridengine.asking import ask
from roost.cli.gridengine.qconf_options import OPTIONS
from roost.cli.gridengine.qconf_showing import Showing
from roost.gridengine.commands.errors import Failure
from roost.gridengine.commands.options import Option, usage

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

__all__ = ["OPTIONS", "run"]
_OPTIONS: Final = {option.name: option for option in OPTIONS}
#: Options with their own message for a missing argument.
_MISSING: Final = {"Aq": "no file argument given", "Mq": "no file argument given", "Mc": "no file argument given",
                   "dconf": "Need hostname to delete local configuration",
                   "ke": 'Need a hostname or the keyword "all"',
                   "kej": 'Need a hostname or the keyword "all"'}  # fmt: skip
#: Options that concern the whole cell if they name nothing.
_GLOBAL: Final = {"aconf": "global", "mconf": "global", "sconf": "global"}
_OBJECTS: Final = "obj_id_list"


def run(name: str, arguments: list[str]) -> int:
    """Run ``qconf``."""
    if not arguments:
        raise Failure(f"{usage(name, OPTIONS)}ERROR! no option argument")
    # The first option is checked before the pool is contacted.
    _option(arguments[0])
    return ask(name, lambda pool: _run(pool, arguments))


def _run(pool: Pool, arguments: Sequence[str]) -> int:
    showing = Showing(pool)
    status = at = 0
    while at < len(arguments):
        try:
            option = _option(arguments[at])
            words, at = _words(option, arguments, at + 1)
            done = _act(pool, showing, option.name, words)
        except Failure as failure:
            if not status:
                raise
            raise Failure(str(failure), status) from None
        status = status or done
    return status


def _act(pool: Pool, showing: Showing, option: str, words: list[str]) -> int:
    if showing.has(option):
        return showing.show(option, words)
    from roost.cli.gridengine import qconf_running, qconf_stopping

    done = qconf_running.ACTIONS.get(option) or qconf_stopping.ACTIONS.get(option)
    return _edit(pool, option, words) if done is None else done(pool, words)


def _edit(pool: Pool, option: str, words: list[str]) -> int:
    from roost.cli.gridengine.qconf_editing import Editing

    return Editing(pool).edit(option, words)


def _option(word: str) -> Option:
    """The option in a word. Raises Failure."""
    option = _OPTIONS.get(word.removeprefix("-")) if word.startswith("-") else None
    if option is None:
        raise Failure(f'error: invalid option argument "{word}"\nUsage: qconf -help')
    return option


def _words(option: Option, arguments: Sequence[str], at: int) -> tuple[list[str], int]:
    """The arguments of an option, and the position of the next one. Raises Failure."""
    wanted = option.takes.split()
    words: list[str] = []
    for number, what in enumerate(wanted):
        if what in (_OBJECTS, "objectname"):
            while at < len(arguments) and not arguments[at].startswith("-"):
                words.append(arguments[at])
                at += 1
            continue
        # Values of attributes may begin with a dash.
        free = number > 0 and len(wanted) > 2
        if at == len(arguments) or (arguments[at].startswith("-") and not free):
            if option.name in _GLOBAL:
                return [_GLOBAL[option.name]], at
            if what.startswith("["):
                return words, at
            raise Failure(_missing(option, words))
        words.append(arguments[at])
        at += 1
    if wanted[-1:] in ([_OBJECTS], ["objectname"]) and len(words) < len(wanted):
        raise Failure(_missing(option, words))
    return words, at


def _missing(option: Option, words: Sequence[str]) -> str:
    name, wanted = option.name, option.takes.split()
    if name in _MISSING:
        return _MISSING[name]
    if name in ("au", "du") and words:
        return f'error: no list_name provided to "-{name} {words[0]}"\n{usage("qconf", OPTIONS)}'
    if words and name in ("aattr", "dattr", "mattr", "rattr"):
        from roost.gridengine.edits.attributes import incomplete

        if lines := incomplete(name, words):
            return "\n".join(lines)
    if wanted[-1] == _OBJECTS and len(words) == len(wanted) - 1:
        return "qconf: missing filename as option argument" if name[0].isupper() else "qconf: missing object list"
    return f'error: no option argument provided to "{words[-1] if words else f"-{name}"}"\n{usage("qconf", OPTIONS)}'
