"""What Grid Engine 8.1.9 made of single values, printed or refused, and that Roost does the same."""

from __future__ import annotations

import json
import re

import pytest

from roost.gridengine import cell, kinds, share_tree
from roost.gridengine.cell import COMPLEXES_FILE, SCHEDULER_FILE
from roost.gridengine.complex import parse_complexes, show_complexes
from roost.gridengine.problems import Refused
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
#: what only the whole cell can tell
OF_THE_CELL = re.compile(
    "does not exist|not exist|resolve |subordinated by itself|is not a complex attribute|not configured for host|"
    "unknown resource|^attribute .* is|missing value|not existing complex|attributes are not allowed|"
    "unknown user/project|twice under"
)
#: written with the complex's name, and times in seconds, once the cell's complexes are known
SHORTCUT_OR_TIME = re.compile("to s=1|h_rt=1:0:0")


def shown_by_roost(question: Question) -> str:
    match question.kind:
        case "scheduler":
            return cell.show_scheduler(cell.parse_scheduler(question.text, SCHEDULER_FILE))
        case "complex":
            table = (DATA / "plain" / COMPLEXES_FILE).read_text() + question.text
            return show_complexes(parse_complexes(table, COMPLEXES_FILE))
        case "tree":
            return share_tree.show_share_tree(share_tree.parse_share_tree(question.text, "sharetree"))
        case kind:
            return KINDS[kind].show(KINDS[kind].parse(question.text, "configurations/node1"))


def plain(message: str) -> str:
    message = re.sub(r"^(error: )?(reading conf(ig)? file: )?", "", message)
    return re.sub(
        r" in line \d+|line \d+ ", lambda found: "" if found.group().startswith(" in") else "the line ", message
    )


@pytest.mark.parametrize(("question", "shown"), [(q, s) for q, s, _ in RECORDED if s is not None])
def test_what_is_taken_is_printed_the_same(question: Question, shown: str) -> None:
    if question.attribute != "complex_values" and not SHORTCUT_OR_TIME.search(question.value):
        assert question.relevant(shown_by_roost(question)) == shown


@pytest.mark.parametrize(("question", "said"), [(q, m) for q, s, m in RECORDED if s is None])
def test_what_is_refused_is_refused_with_the_same_words(question: Question, said: list[str]) -> None:
    if OF_THE_CELL.search("\n".join(said)):
        return
    with pytest.raises(Refused) as caught:
        shown_by_roost(question)
    assert plain(caught.value.problems[0].message) in [plain(line) for line in said]
