"""A running Grid Engine is asked, if there is one: recorded answers again, and values drawn at random.

ROOST_GRIDENGINE_CELL names a program that starts commands in a cell of Grid Engine 8.1.9 with hosts node1 to node3:
``PROGRAM run sgehub root -- COMMAND``. Without it these tests are skipped; the recorded answers are compared anyway.
"""

from __future__ import annotations

import json
import os
import random

import pytest

from roost.gridengine.problems import Refused
from tests.gridengine import questions
from tests.gridengine.questions import ANSWERS, QUESTIONS, Question
from tests.gridengine.test_answers import plain, shown_by_roost

PROGRAM = os.environ.get("ROOST_GRIDENGINE_CELL", "")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="ROOST_GRIDENGINE_CELL does not name a running Grid Engine")
SEED = int(os.environ.get("ROOST_GRIDENGINE_SEED", "1"))
#: attributes by the values that are tried for them
DRAWN = {
    ("queue", ("slots", "seq_no", "nsuspend")): [
        "0",
        "7",
        "0x1f",
        "1e2",
        "010",
        "-3",
        "2.5",
        "k",
        "",
        "4k",
        "99999999",
    ],
    ("queue", ("h_rt", "s_cpu", "notify", "suspend_interval")): [
        "0",
        "1:2:3",
        "::",
        "1:",
        "2k",
        "inf",
        "x",
        "-5",
        "1e3",
    ],
    ("queue", ("h_vmem", "s_stack", "h_fsize")): ["0", "1.5G", "2t", "0x10", "010k", "G", "1 G", "1K1", "infinity"],
    ("queue", ("pe_list", "user_lists", "owner_list")): ["make", "arusers", "make arusers", "NONE", "make,,make", ","],
    ("queue", ("load_thresholds", "suspend_thresholds")): ["a=1", "a=1,b=2", "a", "NONE", "a=1 b=2", "=1", "a=,b=1"],
    ("queue", ("subordinate_list",)): ["all.q", "all.q=3", "slots=1(all.q)", "slots=x(all.q)", "all.q=-1", "NONE"],
    ("queue", ("qtype",)): ["BATCH", "B", "INTERACTIVE", "NONE", "batch interactive", "BATCH,"],
    ("calendar", ("week",)): ["mon", "mon-sun=1-2", "mon=1:2:3-4:5:6=on", "tue=24-1", "mon=1-2,3-4=off", "sun=", "1-2"],
    ("calendar", ("year",)): ["1.1.2030", "29.2.2031=1-2=off", "1.1.2030-2.1.2030,5.5.2030", "1/1/2030", "1.1.2030="],
    ("pe", ("slots", "urgency_slots", "allocation_rule")): ["0", "5", "min", "$fill_up", "x", "-2", "1.5"],
    ("scheduler", ("halftime", "maxujobs", "max_reservation")): ["0", "12", "x", "-1", "1.5", "0x10"],
    ("scheduler", ("load_formula",)): [
        "slots",
        "slots*2",
        "slots-np_load_avg*0.5",
        "2",
        "-slots",
        "nosuch*2",
        "slots*x",
    ],
    ("scheduler", ("weight_user", "compensation_factor")): ["0", "1.25", "x", "-1", "1e-3"],
}


def drawn(number: int) -> list[Question]:
    dice = random.Random(SEED)
    found = []
    for _ in range(number):
        (kind, attributes), values = dice.choice(list(DRAWN.items()))
        attribute, value = dice.choice(attributes), dice.choice(values)
        if kind == "queue" and attribute != "hostlist" and dice.random() < 0.4:
            others = dice.sample(["node1", "node2", "@g1", "@g2"], dice.randint(1, 3))
            value = ",".join([value, *(f"[{other}={dice.choice(values)}]" for other in others)])
        found.append(Question(kind, attribute, value))
    return [question for question in dict.fromkeys(found) if question.value]


def difference(question: Question, answer: dict[str, object]) -> str:
    """What Roost does otherwise than Grid Engine; empty if it is the same."""
    said = [plain(str(line)) for line in answer["said"]]  # type: ignore[attr-defined]
    try:
        shown = question.relevant(shown_by_roost(question))
    except Refused as refused:
        message = plain(refused.problems[0].message)
        return "" if "shown" not in answer and message in said else f"{question}: refused: {message}; real: {answer}"
    return "" if answer.get("shown") == shown else f"{question}: {shown!r}; real: {answer}"


def test_grid_engine_still_answers_as_recorded() -> None:
    assert questions.answers(PROGRAM) == json.loads(ANSWERS.read_text())


def test_values_drawn_at_random_come_out_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = drawn(250)
    monkeypatch.setattr(questions, "QUESTIONS", asked)
    answers = questions.answers(PROGRAM)
    assert len(answers) == len(asked)
    pairs = zip(asked, answers, strict=True)
    assert [text for text in (difference(question, answer) for question, answer in pairs) if text] == []


def test_the_recorded_questions_are_those_that_are_asked() -> None:
    assert [Question(*each["question"]) for each in json.loads(ANSWERS.read_text())] == QUESTIONS
