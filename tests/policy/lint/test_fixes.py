"""Corrections: a file that --fix has changed can be read, says what it said where that had a value, and is at rest.

Expressions are put together by chance from what the rules correct, partly in macros, by ``&&``, ``||``, ``!`` and
``?:``. Corrections turn UNDEFINED and ERROR into an answer, never an answer into another: where the old text is TRUE
or FALSE, the new one is the same.
"""

from __future__ import annotations

import random

import pytest

from roost.classad import ClassAd, Expr, FixedWorld, Syntax, evaluate, parse_expression
from roost.classad.values import Value
from roost.config import load_text
from roost.policy.lint import lint_text
from roost.policy.lint.edits import corrected, edits_by_file
from roost.runtime.machine import SystemHost

HOST = SystemHost()
ATOMS = (
    "TARGET.NiceUser == True",
    "TARGET.NiceUser != True",
    "IsDesktop == False",
    "!IsDesktop",
    "!TARGET.WantCheckpoint",
    "TARGET.WantCheckpoint == true",
    "TARGET.Foo == True",
    "!TARGET.Foo",
    "TARGET.Foo == UNDEFINED",
    "undefined != TARGET.Foo",
    'TARGET.Foo == "undefined"',
    'TARGET.RequestMemory > "1024"',
    '"0100" < TARGET.RequestMemory',
    'TARGET.RequestCpus == "2"',
    'member(TARGET.Owner, "ada,bob")',
    'member(TARGET.ClusterId, "1,2")',
    "KeyboardIdle > 900 & LoadAvg < 0.3",
    "KeyboardIdle > 900 | LoadAvg < 0.3",
    "(KeyboardIdle > 900 | LoadAvg < 0.3) & TARGET.Foo",
    "TARGET.Foo | KeyboardIdle > 900 & LoadAvg < 0.3",
    "VirtualMachineID == 1",
    "KeyboardIdle > 900",
    "TARGET.RequestMemory < 2048",
)


def an_expression(chance: random.Random, macros: dict[str, str], depth: int = 0) -> str:
    what = chance.random()
    if depth > 2 or what < 0.35:
        return chance.choice(ATOMS)
    left, right = an_expression(chance, macros, depth + 1), an_expression(chance, macros, depth + 1)
    if what < 0.45:
        macros[name := f"Macro{len(macros)}"] = left
        return f"$({name})" if chance.random() < 0.5 else f"($({name}))"
    if what < 0.6:
        return f"{left} && {right}"
    if what < 0.75:
        return f"{left} || {right}"
    if what < 0.85:
        return f"!({left})"
    return f"(({left}) && {right})" if what < 0.95 else f"({left} ? {right} : {chance.choice(ATOMS)})"


def an_ad(chance: random.Random, values: dict[str, tuple[Value, ...]]) -> ClassAd:
    return ClassAd({name: chance.choice(some) for name, some in values.items() if chance.random() < 0.7})


SLOT: dict[str, tuple[Value, ...]] = {
    "KeyboardIdle": (0, 5000),
    "LoadAvg": (0.1, 0.9),
    "IsDesktop": (True, False),
    "SlotID": (1, 2),
}
JOB: dict[str, tuple[Value, ...]] = {
    "NiceUser": (True, False),
    "WantCheckpoint": (True, False),
    "Foo": (True, False, 0, 1, 7, "x"),
    "RequestMemory": (64, 90, 1024, 4096),
    "RequestCpus": (1, 2),
    "Owner": ("ada", "cy"),
    "ClusterId": (1, 3),
}


def start_of(text: str) -> Expr:
    return parse_expression(load_text(text, HOST).get("START") or "", Syntax.OLD)


def fixed(text: str) -> tuple[str, int]:
    findings = lint_text(text, HOST, file="pool").findings
    return corrected(text, edits_by_file(findings).get("pool", []))


@pytest.mark.parametrize("batch", range(4))
def test_corrections_change_no_answer_and_come_to_rest(batch: int) -> None:
    changed = 0
    for seed in range(batch * 25, batch * 25 + 25):
        chance, macros = random.Random(seed), dict[str, str]()
        start = an_expression(chance, macros)
        before = "".join(f"{name} = {value}\n" for name, value in macros.items()) + f"START = {start}\n"
        after, edits = fixed(before)
        if not edits:
            continue
        changed += 1
        old, new = start_of(before), start_of(after)
        for _ in range(60):
            slot, job = an_ad(chance, SLOT), an_ad(chance, JOB)
            # An old name is UNDEFINED today; what it stood for is the new one.
            if "SlotID" in slot:
                slot["VirtualMachineID"] = slot["SlotID"]
            answer = evaluate(old, slot, job, FixedWorld(instant=1))
            if answer is True or answer is False:
                assert evaluate(new, slot, job, FixedWorld(instant=1)) is answer, (before, after, str(slot), str(job))
        # A test behind a corrected one may no longer be sheltered by it.
        for _ in range(3):
            after, edits = fixed(after)
        assert edits == 0, (before, after)
    assert changed


def test_an_old_name_whose_successor_is_in_the_other_ad_is_not_replaced() -> None:
    """The policy of checkpoint platforms compares an attribute of the job with one of the machine."""
    text = "START = TARGET.LastCheckpointPlatform =?= MY.CheckpointPlatform || VirtualMachineID == 1\n"
    fixes = [each.fix for each in lint_text(text, HOST).findings if each.code == "RST207"]
    assert [fix is None for fix in fixes] == [True, True, False]
