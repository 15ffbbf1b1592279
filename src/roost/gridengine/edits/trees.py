"""Edits of the share tree, as a whole and by node.

A node is named by its path, as ``/projects/alice``; ``/`` is the root.
"""

from __future__ import annotations

import re
from typing import Final

from roost.base import records
from roost.gridengine import changes
from roost.gridengine.cell import SHARE_TREE_FILE, Cell
from roost.gridengine.edits.said import unread
from roost.gridengine.edits.work import QconfOption, Stop, Work
from roost.gridengine.objects.share_tree import ShareNode, parse_share_tree
from roost.gridengine.problems import Refused

_SHARES: Final = re.compile(r"([^=]+)=(\d+)")
_NO_CHANGE: Final = "no modifications to sharetree"
_CHANGED: Final = "modified sharetree"


def put(work: Work, order: QconfOption) -> None:
    """``-Astree`` and ``-Mstree``."""
    try:
        root = parse_share_tree(order.text, order.file or SHARE_TREE_FILE)
    except Refused as error:
        lines = unread(error, order.file)
        if not lines:
            raise Stop(error.problems[0].message, status=0 if order.option == "Astree" else 1) from None
        raise Stop(*lines, "cant read sharetree: " if order.edited else "error reading in file") from None
    # Grid Engine exits with 0 if the master refuses a new tree.
    refused = 0 if order.option == "Astree" else 1
    work.needs(status=refused)
    work.take(lambda: changes.put_share_tree(work.cell, root), status=refused)
    work.say("changed sharetree")


def drop(work: Work, order: QconfOption) -> None:
    """``-dstree``."""
    work.needs()
    if work.cell.share_tree is None:
        raise Stop("sharetree does not exist")
    work.take(lambda: changes.put_share_tree(work.cell, None))
    work.say(f"{work.asker.who} removed sharetree list")


def path_of(text: str) -> tuple[str, ...]:
    """The path to a node; empty for the root."""
    return tuple(part for part in text.split("/") if part)


def find(root: ShareNode | None, path: tuple[str, ...]) -> ShareNode | None:
    """The node of a path."""
    for name in path:
        root = next((one for one in root.children if one.name == name), None) if root else None
    return root


def _placed(root: ShareNode, path: tuple[str, ...], new: ShareNode | None) -> ShareNode:
    """A tree with another node, or none, at the end of a path."""
    if not path:
        return root if new is None else new
    name, *rest = path
    children: list[ShareNode] = []
    met = False
    for child in root.children:
        if child.name != name:
            children.append(child)
            continue
        met = True
        if rest:
            children.append(_placed(child, tuple(rest), new))
        elif new is not None:
            children.append(new)
    if not met and not rest and new is not None:
        children.append(new)
    return records.replace(root, children=tuple(children))


def _shown(path: tuple[str, ...]) -> str:
    return "/" + "/".join(path)


def nodes(work: Work, order: QconfOption) -> None:
    """``-astnode``, ``-mstnode`` and ``-dstnode``."""
    add, remove = order.option[0] == "a", order.option[0] == "d"
    root = work.cell.share_tree or (ShareNode(name="Root", shares=1) if add else None)
    if root is None:
        raise Stop(_NO_SUCH)
    changed = False
    for part in (each for each in order.words[0].split(",") if each):
        found = None if remove else _SHARES.fullmatch(part)
        if not remove and found is None:
            raise Stop(f"{part} is not a valid argument, see node_shares_list format", _NO_CHANGE)
        path = path_of(found[1] if found else part)
        at = path[:-1] if add else path
        if not path or find(root, at) is None:
            work.say(f"Unable to locate {_shown(at)} in sharetree")
            continue
        work.say(f"removing \n{_shown(path)}" if remove else f"setting \n{_shown(path)}={found[2] if found else ''}")
        root, changed = _placed(root, path, None if remove else _node(work.cell, root, path, found)), True
    if not changed:
        raise Stop(_NO_CHANGE)
    # Grid Engine exits with 0 if the master refuses shares.
    refused = 1 if remove else 0
    work.needs(status=refused)
    work.take(lambda: changes.put_share_tree(work.cell, root), status=refused)
    work.say(_CHANGED)


_NO_SUCH: Final = "No sharetree"


def _node(cell: Cell, root: ShareNode, path: tuple[str, ...], found: re.Match[str] | None) -> ShareNode:
    shares = int(found[2]) if found else 0
    present = find(root, path)
    if present is not None:
        return records.replace(present, shares=shares)
    return ShareNode(name=path[-1], type=int(path[-1] in cell.projects and path[-1] not in cell.users), shares=shares)
