"""``qconf -s…``: the objects of the pool's cell, as Grid Engine prints them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, NamedTuple

from roost.cli.gridengine.asking import cell_files
from roost.gridengine.commands.errors import FAILED, Failure

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool
    from roost.gridengine.instances import QueueInstance
    from roost.gridengine.objects.host import HostGroup
    from roost.gridengine.objects.share_tree import ShareNode

Files = Mapping[str, str]


class _Kind(NamedTuple):
    """Objects that can be shown by name."""

    directory: str
    #: The message for an unknown name.
    absent: str
    #: The message if there are no objects.
    none: str = ""
    #: The option of the list; "" for none.
    listing: str = ""
    #: Exit status for an unknown name.
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
#: Files with one name per line, and the message if they are empty.
_NAMES: Final = {
    "sm": ("managers", "no manager defined"),
    "so": ("operators", "no operator defined"),
    "sh": ("admin_hosts", "no administrative host defined"),
    "ss": ("submit_hosts", "no submit host defined"),
}
_WHOLE: Final = {"sc": "centry", "ssconf": "schedconf", "sstree": "sharetree"}
#: The option that shows where the scheduler runs.
_SCHEDULER: Final = "sss"
#: Objects that have no list option.
_GLOBAL: Final = "global"


class Showing:
    """The options that show the cell of a pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @staticmethod
    def has(option: str) -> bool:
        """Whether this is an option that shows something."""
        return option in _SHOWN or option == _SCHEDULER

    def show(self, option: str, words: list[str]) -> int:
        """Show the objects of an option; return its exit status. Raises Failure."""
        if option == _SCHEDULER:
            from roost.runtime.cell_root import central_name
            from roost.wire.requests.central import CellScheduling

            if not self._pool.ask(CellScheduling()).active:
                raise Failure("no scheduling host defined")
            sys.stdout.write(f"{central_name(self._pool.home)}\n")
            return 0
        files = cell_files(self._pool)
        if not files:
            raise Failure("the pool has no Grid Engine cell; `roost cell import` gives it one")
        status = 0
        for text, error in _shown(files, option, words):
            if error is None:
                sys.stdout.write(text)
            else:
                sys.stdout.flush()
                sys.stderr.write(f"{text}\n")
                status = status or error
        sys.stdout.flush()
        return status


#: The output, and None; or an error message, with its exit status.
_Said = tuple[str, int | None]


def _shown(files: Files, option: str, words: list[str]) -> Iterator[_Said]:
    name = words[0] if words else None
    if option in _LISTS:
        yield _list(_names(files, _LISTS[option].directory), _LISTS[option].none)
    elif option in _NAMES:
        file, none = _NAMES[option]
        yield _list(files.get(file, "").split(), none)
    elif option in _WHOLE:
        text = files.get(_WHOLE[option], "")
        # The table of complexes is never wrapped: `qconf -sc > FILE` is edited and read back.
        shown = text if option == "sc" else _printed(text)
        yield (shown, None) if text else ("no sharetree element", FAILED)
    elif option in _OBJECTS:
        yield from _objects(files, _OBJECTS[option], name or "")
    else:
        yield from _OTHERS[option](files, words)


def _names(files: Files, directory: str) -> list[str]:
    begin = f"{directory}/"
    found = (file.removeprefix(begin) for file in files if file.startswith(begin))
    return sorted(name for name in found if name != _GLOBAL)


def _list(names: list[str], none: str) -> _Said:
    return ("".join(f"{name}\n" for name in names), None) if names else (none, FAILED)


def _printed(text: str, indent: int | None = None) -> str:
    """A text with its long lines wrapped, unless SGE_SINGLE_LINE is set."""
    if os.environ.get("SGE_SINGLE_LINE"):
        return text
    from roost.gridengine.objects.text import wrapped

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


def _configurations(files: Files, words: list[str]) -> Iterator[_Said]:
    begun = False
    for name in (words[0] if words else _GLOBAL).split(","):
        text = files.get(f"configurations/{name}")
        if text is None:
            yield f"can't resolve hostname \"{name}\": can't resolve host name", FAILED
            continue
        yield ("\n" if begun else "") + _printed(text), None
        begun = True


def _quotas(files: Files, words: list[str]) -> Iterator[_Said]:
    known = _names(files, "resource_quotas")
    chosen = [name for name in known if name in words[0].split(",")] if words else known
    if not chosen:
        yield "No resource quota set found", FAILED
    for name in chosen:
        yield _printed(files[f"resource_quotas/{name}"], 3), None


def _queues(files: Files, words: list[str]) -> Iterator[_Said]:
    from roost.gridengine.objects.queue import ClusterQueue, show_queue

    if not words:
        yield _printed(show_queue(ClusterQueue(name="template"))), None
        return
    begun = False
    known = _names(files, "cqueues")
    for pattern in words[0].split(","):
        texts = _instances(files, pattern) if "@" in pattern else [
            files[f"cqueues/{name}"] for name in known if fnmatchcase(name, pattern)
        ]  # fmt: skip
        if not texts:
            yield f'No cluster queue or queue instance matches the phrase "{pattern}"', FAILED
        for text in texts:
            yield ("\n" if begun else "") + _printed(text), None
            begun = True


def _instances(files: Files, pattern: str) -> list[str]:
    """The texts of the queue instances that a pattern matches."""
    from roost.gridengine.cell import read_cell
    from roost.gridengine.instances import resolve
    from roost.gridengine.objects.queue import SETTINGS, WIDTH
    from roost.gridengine.objects.text import show, shown
    from roost.gridengine.scheduling.patterns import QueuePatterns

    def settings(one: QueueInstance) -> Iterator[tuple[str, str]]:
        for name, text in shown(SETTINGS, one.settings):
            # Grid Engine prints a space after the last type.
            yield name, f"{text} " if name == "qtype" else text

    cell = read_cell(files)
    patterns = QueuePatterns(cell)
    return [
        show([("qname", one.queue), ("hostname", one.host), *settings(one)], WIDTH)
        for one in resolve(cell)
        if patterns.any_instance((pattern,), one)
    ]


def _groups(files: Files, name: str) -> Mapping[str, HostGroup]:
    """The host groups of the cell. Raises Failure for an unknown name."""
    from roost.gridengine.cell import read_cell

    groups = read_cell({file: text for file, text in files.items() if file.startswith("hostgroups/")}).host_groups
    if name not in groups:
        raise Failure(_OBJECTS["shgrp"].absent.format(name))
    return groups


def _resolved_group(files: Files, words: list[str]) -> Iterator[_Said]:
    (name,) = words
    groups = _groups(files, name)
    found: dict[str, None] = {}
    left = [name]
    # The hosts of a group come before those of its nested groups.
    for group in left:
        members = groups[group].hostlist if group in groups else ()
        found.update(dict.fromkeys(one for one in members if not one.startswith("@")))
        left += [one for one in members if one.startswith("@") and one not in left]
    yield f"{' '.join(found)}\n", None


def _group_tree(files: Files, words: list[str]) -> Iterator[_Said]:
    (name,) = words
    groups = _groups(files, name)

    def tree(member: str, depth: int) -> Iterator[str]:
        yield f"{'   ' * depth}{member}\n"
        for each in groups[member].hostlist if member in groups else ():
            yield from tree(each, depth + 1)

    yield "".join(tree(name, 0)), None


# -- the share tree ------------------------------------------------------------------------------------------------


def _tree(files: Files) -> ShareNode | None:
    from roost.gridengine.objects.share_tree import parse_share_tree

    return parse_share_tree(files.get("sharetree", ""), "sharetree")


_NO_TREE: Final = "No sharetree"


def _drawn_tree(files: Files, words: list[str]) -> Iterator[_Said]:
    root = _tree(files)

    def lines(node: ShareNode, depth: int) -> Iterator[str]:
        yield f"{'   ' * depth}{node.name}={node.shares}\n"
        for child in node.children:
            yield from lines(child, depth + 1)

    yield (_NO_TREE, 0) if root is None else ("".join(lines(root, 0)), None)


def _nodes(files: Files, words: list[str]) -> Iterator[_Said]:
    """Nodes, each with its direct children."""
    yield from _node_lines(files, words, deep=False)


def _nodes_deep(files: Files, words: list[str]) -> Iterator[_Said]:
    """Nodes, each with all its descendants."""
    yield from _node_lines(files, words, deep=True)


def _node_lines(files: Files, words: list[str], *, deep: bool) -> Iterator[_Said]:
    from roost.gridengine.edits.trees import find, path_of

    root = _tree(files)
    if root is None:
        yield _NO_TREE, 0
        return

    def lines(node: ShareNode, path: str, *, below: bool) -> Iterator[str]:
        yield f"{path or '/'}={node.shares}\n"
        for child in node.children if below else ():
            yield from lines(child, f"{path}/{child.name}", below=deep)

    for word in words[0].split(","):
        path = path_of(word)
        node = find(root, path)
        if node is None:
            yield f"Unable to locate {word} in sharetree", FAILED
        else:
            yield "".join(lines(node, "".join(f"/{name}" for name in path), below=True)), None


# -- settings of queues --------------------------------------------------------------------------------------------


def _detached(files: Files, words: list[str]) -> Iterator[_Said]:
    """Settings of queues for hosts and groups that the queues do not have."""
    from roost.gridengine.cell import read_cell
    from roost.gridengine.instances import hosts_of

    cell = read_cell(files)
    for queue in cell.queues.values():
        hosts = set(hosts_of(queue.hostlist, cell.host_groups))
        for attribute, special in queue.overrides.items():
            for domain in special:
                group = domain.startswith("@")
                if not hosts.isdisjoint(hosts_of((domain,), cell.host_groups)):
                    continue
                where = f'host {"group " if group else ""}"{domain}"'
                yield f'unused setting for attribute "{attribute}" and {where} in queue "{queue.name}".\n', None


def _matching(files: Files, words: list[str]) -> Iterator[_Said]:
    """Objects of which an attribute has a value."""
    from roost.gridengine.cell import read_cell
    from roost.gridengine.instances import resolve
    from roost.gridengine.objects import kinds
    from roost.gridengine.objects.queue import SETTINGS

    what, attribute, wanted = words
    cell = read_cell(files)
    found: list[str] = []
    rows = {row.name: row for row in (kinds.HOST.rows if what == "exechost" else SETTINGS)}
    row = rows.get(attribute)

    def fits(value: object) -> bool:
        return row is not None and fnmatchcase(row.type.show(value), wanted)

    if row is not None:
        match what:
            case "queue":
                found = [name for name, one in cell.queues.items() if fits(getattr(one.defaults, attribute))]
            case "queue_domain":
                found = [
                    f"{name}@{domain}"
                    for name, one in cell.queues.items()
                    for domain, value in one.overrides.get(attribute, {}).items()
                    if domain.startswith("@") and fits(value)
                ]
            case "queue_instance":
                found = [one.name for one in resolve(cell) if fits(getattr(one.settings, attribute))]
            case "exechost":
                found = [name for name, one in cell.hosts.items() if fits(getattr(one, attribute))]
            case _:
                pass
    yield "".join(f"{name}\n" for name in found), None


def _clients(files: Files, words: list[str]) -> Iterator[_Said]:
    yield "no event clients registered", 0


_OTHERS: Final[Mapping[str, Callable[[Files, list[str]], Iterator[_Said]]]] = {
    "rsstnode": _nodes_deep,
    "sconf": _configurations,
    "sds": _detached,
    "secl": _clients,
    "shgrp_resolved": _resolved_group,
    "shgrp_tree": _group_tree,
    "sobjl": _matching,
    "sq": _queues,
    "srqs": _quotas,
    "sst": _drawn_tree,
    "sstnode": _nodes,
}
_SHOWN: Final = frozenset((*_LISTS, *_NAMES, *_WHOLE, *_OBJECTS, *_OTHERS))
