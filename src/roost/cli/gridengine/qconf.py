"""``qconf -s…``: the objects of the pool's cell, as Grid Engine prints them; and ``-clearusage``.

It only shows a cell: `roost cell import` and `roost cell apply` change one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pwd import getpwuid
from typing import TYPE_CHECKING, Final, NamedTuple

from roost.cli.gridengine.asking import ask, cell_files
from roost.cli.gridengine.errors import FAILED, Failure
from roost.cli.gridengine.options import Option
from roost.wire.requests.cell import ClearUsage

if TYPE_CHECKING:
    from roost.cli.pool import Pool

Files = Mapping[str, str]


class _Kind(NamedTuple):
    """Objects that are shown by name."""

    directory: str
    #: What is said of a name that no object has.
    absent: str
    #: What is said where there are no objects.
    none: str = ""
    #: The option of the list; "" for none.
    listing: str = ""
    #: Exit status for a name that no object has.
    status: int = FAILED


_OBJECTS: Final = {
    "sp": _Kind("pe", "{} is not a parallel environment", "no parallel environment defined", "spl"),
    "se": _Kind("execution", 'can\'t resolve hostname "{}"', "no execution host defined", "sel"),
    "shgrp": _Kind("hostgroups", 'Host group "{}" does not exist', "no host group list defined", "shgrpl"),
    "su": _Kind("usersets", 'denied: access list "{}" does not exist', "no userset list defined", "sul"),
    "sprj": _Kind("projects", "{} is not known as a project", "no project list defined", "sprjl"),
    "scal": _Kind("calendars", "{} is not a calendar", "no calendar defined", "scall"),
    "sckpt": _Kind("ckpt", "{} is not a checkpointing interface definition",
                   "no ckpt interface definition defined", "sckptl"),
    "suser": _Kind("users", "{} is not known as a user", "no user list defined", "suserl", status=0),
}  # fmt: skip
_LISTS: Final = {each.listing: each for each in _OBJECTS.values()} | {
    "sql": _Kind("cqueues", "", "no cluster queue list defined"),
    "srqsl": _Kind("resource_quotas", "", "no resource quota set list defined"),
    "sconfl": _Kind("configurations", "", "no local configuration defined"),
}
#: Files with a name a line, and what is said where they are empty.
_NAMES: Final = {
    "sm": ("managers", "no manager defined"),
    "so": ("operators", "no operator defined"),
    "sh": ("admin_hosts", "no administrative host defined"),
    "ss": ("submit_hosts", "no submit host defined"),
}
_WHOLE: Final = {"sc": "centry", "ssconf": "schedconf", "sstree": "sharetree"}
#: Objects that are in no list.
_GLOBAL: Final = "global"

OPTIONS: Final = (
    Option("clearusage", "forget what users and projects have used"),
    Option("sc", "complexes"),
    Option("scal", "calendars", "calendar_name"),
    Option("scall", "names of all calendars"),
    Option("sckpt", "checkpointing interfaces", "ckpt_name"),
    Option("sckptl", "names of all checkpointing interfaces"),
    Option("sconf", "the configuration of hosts, or the global one", "[host_list|global]"),
    Option("sconfl", "hosts that have a configuration"),
    Option("se", "execution hosts", "server"),
    Option("sel", "names of all execution hosts"),
    Option("sh", "administrative hosts"),
    Option("shgrp", "host groups", "group"),
    Option("shgrpl", "names of all host groups"),
    Option("shgrp_resolved", "the hosts of a group", "group"),
    Option("shgrp_tree", "a group with the groups in it", "group"),
    Option("sm", "managers"),
    Option("so", "operators"),
    Option("sp", "parallel environments", "pe-name"),
    Option("spl", "names of all parallel environments"),
    Option("sprj", "projects", "project"),
    Option("sprjl", "names of all projects"),
    Option("sq", "cluster queues, queue instances, or what a new queue begins with", "[wc_queue_list]"),
    Option("sql", "names of all cluster queues"),
    Option("srqs", "resource quota sets", "[rqs_list]"),
    Option("srqsl", "names of all resource quota sets"),
    Option("ss", "submit hosts"),
    Option("ssconf", "the scheduler's configuration"),
    Option("sstree", "the share tree"),
    Option("su", "user lists", "listname_list"),
    Option("sul", "names of all user lists"),
    Option("suser", "users", "user_list"),
    Option("suserl", "names of all users"),
)
_OPTIONAL: Final = frozenset(("sconf", "sq", "srqs"))


def run(name: str, arguments: list[str]) -> int:
    """Run ``qconf``."""
    if not arguments:
        from roost.cli.gridengine.options import usage

        raise Failure(f"{usage(name, OPTIONS)}ERROR! no option argument")
    wanted = list(_wanted(arguments))
    return ask(name, lambda pool: _show_all(pool, wanted))


def _wanted(arguments: list[str]) -> Iterator[tuple[str, str | None]]:
    """Options with what they name. Raises Failure."""
    known = {option.name: option for option in OPTIONS}
    at = 0
    while at < len(arguments):
        word = arguments[at].removeprefix("-")
        option = known.get(word)
        if option is None or not arguments[at].startswith("-"):
            text = f'error: invalid option argument "{arguments[at]}"\nUsage: qconf -help'
            if arguments[at][1:2] in ("a", "A", "d", "D", "m", "M", "r", "R", "p"):
                text += "\nRoost changes a cell with `roost cell import` and `roost cell apply`"
            raise Failure(text)
        at += 1
        following = arguments[at] if at < len(arguments) and not arguments[at].startswith("-") else None
        if not option.takes:
            yield word, None
        elif following is None and word not in _OPTIONAL:
            raise Failure(f'error: no option argument provided to "-{word}"')
        else:
            at += following is not None
            yield word, following


def _show_all(pool: Pool, wanted: list[tuple[str, str | None]]) -> int:
    files = cell_files(pool)
    if not files:
        raise Failure("the pool has no Grid Engine cell; `roost cell import` gives it one")
    status = 0
    for option, name in wanted:
        if option == "clearusage":
            _clear_usage(pool, files)
            continue
        for text, error in _shown(files, option, name):
            if error is None:
                sys.stdout.write(text)
            else:
                sys.stdout.flush()
                sys.stderr.write(f"{text}\n")
                status = status or error
    return status


def _clear_usage(pool: Pool, files: Files) -> None:
    pool.ask(ClearUsage())
    who = f"{getpwuid(os.getuid()).pw_name}@{os.uname().nodename}"
    for directory, kind in (("users", "user"), ("projects", "project")):
        for name in _names(files, directory):
            print(f'{who} modified "{name}" in {kind} list')


#: What is printed, and None; or what is said on standard error, with the exit status that it gives.
_Said = tuple[str, int | None]


def _shown(files: Files, option: str, name: str | None) -> Iterator[_Said]:
    if option in _LISTS:
        yield _list(_names(files, _LISTS[option].directory), _LISTS[option].none)
    elif option in _NAMES:
        file, none = _NAMES[option]
        yield _list(files.get(file, "").split(), none)
    elif option in _WHOLE:
        text = files.get(_WHOLE[option], "")
        yield (_printed(text), None) if text else ("no sharetree element", FAILED)
    elif option == "sq":
        yield from _queues(files, name)
    elif option == "sconf":
        yield from _configurations(files, name or _GLOBAL)
    elif option == "srqs":
        yield from _quotas(files, name)
    elif option in ("shgrp_resolved", "shgrp_tree"):
        yield _group(files, name or "", as_tree=option == "shgrp_tree")
    else:
        yield from _objects(files, _OBJECTS[option], name or "")


def _names(files: Files, directory: str) -> list[str]:
    begin = f"{directory}/"
    found = (file.removeprefix(begin) for file in files if file.startswith(begin))
    return sorted(name for name in found if name != _GLOBAL)


def _list(names: list[str], none: str) -> _Said:
    return ("".join(f"{name}\n" for name in names), None) if names else (none, FAILED)


def _printed(text: str, indent: int | None = None) -> str:
    """A text with its long lines broken, unless SGE_SINGLE_LINE is set."""
    if os.environ.get("SGE_SINGLE_LINE"):
        return text
    from roost.gridengine.text import wrapped

    return wrapped(text, indent)


def _objects(files: Files, kind: _Kind, names: str) -> Iterator[_Said]:
    begun = False
    for name in names.split(","):
        text = files.get(f"{kind.directory}/{name}")
        if text is None:
            yield kind.absent.format(name), kind.status
            continue
        yield ("\n" if begun else "") + _printed(text), None
        begun = True


def _configurations(files: Files, names: str) -> Iterator[_Said]:
    for name in names.split(","):
        text = files.get(f"configurations/{name}")
        if text is None:
            yield f"can't resolve hostname \"{name}\": can't resolve host name", FAILED
        else:
            yield f"{_printed(text)}\n", None


def _quotas(files: Files, names: str | None) -> Iterator[_Said]:
    known = _names(files, "resource_quotas")
    chosen = known if names is None else [name for name in known if name in names.split(",")]
    if not chosen:
        yield "No resource quota set found", FAILED
    for name in chosen:
        yield _printed(files[f"resource_quotas/{name}"], 3), None


def _queues(files: Files, names: str | None) -> Iterator[_Said]:
    from roost.gridengine.queue import ClusterQueue, show_queue

    if names is None:
        yield _printed(show_queue(ClusterQueue(name="template"))), None
        return
    begun = False
    known = _names(files, "cqueues")
    for pattern in names.split(","):
        texts = _instances(files, pattern) if "@" in pattern else [
            files[f"cqueues/{name}"] for name in known if fnmatchcase(name, pattern)
        ]  # fmt: skip
        if not texts:
            yield f'No cluster queue or queue instance matches the phrase "{pattern}"', FAILED
        for text in texts:
            yield ("\n" if begun else "") + _printed(text), None
            begun = True


def _instances(files: Files, pattern: str) -> list[str]:
    """The texts of the queue instances that a pattern means."""
    from roost.gridengine.cell import read_cell
    from roost.gridengine.instances import resolve
    from roost.gridengine.queue import SETTINGS, WIDTH
    from roost.gridengine.scheduling.patterns import QueuePatterns
    from roost.gridengine.text import show, shown

    cell = read_cell(files)
    patterns = QueuePatterns(cell)
    return [
        show([("qname", one.queue), ("hostname", one.host), *shown(SETTINGS, one.settings)], WIDTH)
        for one in resolve(cell)
        if patterns.any_instance((pattern,), one)
    ]


def _group(files: Files, name: str, *, as_tree: bool) -> _Said:
    from roost.gridengine.cell import read_cell
    from roost.gridengine.instances import hosts_of

    groups = read_cell({file: text for file, text in files.items() if file.startswith("hostgroups/")}).host_groups
    if name not in groups:
        return _OBJECTS["shgrp"].absent.format(name), FAILED

    def tree(member: str, depth: int) -> Iterator[str]:
        yield f"{'   ' * depth}{member}\n"
        for each in groups[member].hostlist if member in groups else ():
            yield from tree(each, depth + 1)

    return "".join(tree(name, 0)) if as_tree else f"{' '.join(hosts_of((name,), groups))}\n", None
