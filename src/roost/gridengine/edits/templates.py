"""The initial texts of the editor of `qconf -a…`."""

from __future__ import annotations

from typing import Final

from roost.gridengine.edits.objects import SPOKEN
from roost.gridengine.objects import kinds
from roost.gridengine.objects.calendar import Calendar
from roost.gridengine.objects.host import ExecutionHost, HostGroup
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.objects.parallel import Checkpoint, ParallelEnvironment
from roost.gridengine.objects.people import Project, User, UserList
from roost.gridengine.objects.queue import ClusterQueue
from roost.gridengine.objects.quota import QuotaRule, QuotaSet
from roost.gridengine.objects.share_tree import ShareNode, show_share_tree

TEMPLATE: Final = "template"
_REPORTED: Final = tuple(row.name for row in kinds.HOST.rows if row.reported)
_OBJECTS: Final[dict[str, kinds.Named]] = {
    "q": ClusterQueue(name=TEMPLATE),
    "hgrp": HostGroup(name=f"@{TEMPLATE}"),
    "e": ExecutionHost(name=TEMPLATE),
    "p": ParallelEnvironment(name=TEMPLATE),
    "ckpt": Checkpoint(name=TEMPLATE),
    "cal": Calendar(name=TEMPLATE),
    "u": UserList(name=TEMPLATE, type=("ACL", "DEPT")),
    "prj": Project(name=TEMPLATE),
    "user": User(name=TEMPLATE),
    "rqs": QuotaSet(name=TEMPLATE, rules=(QuotaRule(limits=(Pair("slots", "0"),)),)),
}


def without_reports(text: str) -> str:
    """The text of a host without its reported values, which are not edited."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if line.split(None, 1)[0] not in _REPORTED)


def template(letters: str, name: str = "") -> str:
    """The text of a new object; `letters` are those after -a."""
    if letters == "conf":
        return f"#{name}:\n"
    if letters == "stree":
        return show_share_tree(ShareNode(name=TEMPLATE))
    one = _OBJECTS[letters]
    kind = kinds.QUOTA_SET if letters == "rqs" else SPOKEN[letters].kind
    text: str = kind.show(one)
    if letters == "e":
        text = without_reports(text)
    return text.replace(one.name, name, 1) if name else text
