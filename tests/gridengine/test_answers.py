"""What Grid Engine 8.1.9 made of single values, printed or refused, and that Roost does the same."""

from __future__ import annotations

import json
import re

import pytest

from roost.gridengine import changes
from roost.gridengine.cell import COMPLEXES_FILE, SCHEDULER_FILE, SHARE_TREE_FILE, Cell, parse_scheduler, show_scheduler
from roost.gridengine.objects import kinds, share_tree
from roost.gridengine.objects.complex import parse_complexes, show_complexes
from roost.gridengine.objects.host import HostGroup
from roost.gridengine.problems import Refused
from tests.gridengine import dumps
from tests.gridengine.questions import ANSWERS, DATA, Question

KINDS = {
    "queue": kinds.QUEUE,
    "pe": kinds.ENVIRONMENT,
    "host": kinds.HOST,
    "calendar": kinds.CALENDAR,
    "ckpt": kinds.CHECKPOINT,
    "userset": kinds.USER_LIST,
    "project": kinds.PROJECT,
    "user": kinds.USER,
    "hostgroup": kinds.HOST_GROUP,
    "configuration": kinds.CONFIGURATION,
    "quota": kinds.QUOTA_SET,
}
RECORDED = [(Question(*each["question"]), each.get("shown"), each["said"]) for each in json.loads(ANSWERS.read_text())]
HOSTS = frozenset(("sgehub", "node1", "node2", "node3"))


def base() -> Cell:
    """The cell that was asked."""
    found = dumps.cell("plain")
    for name, hosts in (("@g1", ("node1", "node2")), ("@g2", ("node2", "node3"))):
        found = changes.put(found, HostGroup(name=name, hostlist=hosts)).cell
    return found


BASE = base()


def shown_by_roost(question: Question) -> str:
    """The object as the cell keeps it."""
    text = question.text
    match question.kind:
        case "scheduler":
            scheduler = parse_scheduler(text, SCHEDULER_FILE)
            return show_scheduler(changes.put_scheduler(BASE, scheduler).cell.scheduler)
        case "complex":
            table = (DATA / "plain" / COMPLEXES_FILE).read_text() + text
            complexes = changes.put_complexes(BASE, parse_complexes(table, COMPLEXES_FILE)).cell.complexes
            return show_complexes(complexes.values())
        case "tree":
            root = share_tree.parse_share_tree(text, SHARE_TREE_FILE)
            return share_tree.show_share_tree(changes.put_share_tree(BASE, root).cell.share_tree)
        case word:
            kind = KINDS[word]
            one = kind.parse(text, "configurations/node1")
            new = None if word in ("host", "configuration") else True
            return kind.show(
                changes.put(BASE, one, new=new, known_host=HOSTS.__contains__).cell.objects(kind)[one.name]
            )


def plain(message: str) -> str:
    message = re.sub(r"^(error: )?(reading conf(ig)? file: )?", "", message)
    return re.sub(
        r" in line \d+|line \d+ ", lambda found: "" if found.group().startswith(" in") else "the line ", message
    )


@pytest.mark.parametrize(("question", "shown"), [(q, s) for q, s, _ in RECORDED if s is not None])
def test_what_is_taken_is_printed_the_same(question: Question, shown: str) -> None:
    assert question.relevant(shown_by_roost(question)) == shown


@pytest.mark.parametrize(("question", "said"), [(q, m) for q, s, m in RECORDED if s is None])
def test_what_is_refused_is_refused_with_the_same_words(question: Question, said: list[str]) -> None:
    with pytest.raises(Refused) as caught:
        shown_by_roost(question)
    assert plain(caught.value.problems[0].message) in [plain(line) for line in said]
