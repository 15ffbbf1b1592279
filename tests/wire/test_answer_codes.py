"""The table of the codes of answers has every code that a daemon answers with."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from roost.schedd import commands
from roost.wire.answer_codes import MEANINGS

SRC = Path(__file__).resolve().parents[2] / "src" / "roost"


def codes(tree: ast.Module) -> Iterator[str]:
    """The codes of the answers that a module makes; constants are looked up in the module."""
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "Answer":
            continue
        for each in node.keywords:
            if each.arg == "code" and isinstance(each.value, ast.Constant):
                yield str(each.value.value)
            elif each.arg == "code" and isinstance(each.value, ast.Name) and each.value.id in constants:
                yield str(constants[each.value.id])


def test_every_code_of_an_answer_has_a_meaning() -> None:
    found = {code for path in (SRC / "runtime").rglob("*.py") for code in codes(ast.parse(path.read_text("utf-8")))}
    assert {"bad-request", "busy", "permission-denied", "cell-refused"} <= found
    assert found - set(MEANINGS) == set()


def test_every_reason_why_a_job_was_not_acted_upon_has_a_meaning() -> None:
    assert {commands.ABSENT, commands._DENIED, commands._DONE, commands._WRONG} <= set(MEANINGS)
