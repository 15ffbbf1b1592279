"""Functions have few parameters: what belongs together is one value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).resolve().parents[1] / "src" / "roost"
#: Parameters of a function, `self` and `cls` aside.
PARAMETERS_MAX: Final = 7
#: Functions that have more, and why.
STATED: Final = {
    "policy/catalogue/rows.py:__call__": "a row of a table, whose columns are named",
    "policy/attributes/rows.py:__call__": "a row of a table, whose columns are named",
    "config/knob.py:knob": "a row of a table, whose columns are named",
    "compat/dags/node.py:__init__": "the bindings' own class",
    "cli/condor/chirp_client.py:write": "the bindings' own method",
    "classad/vector/vectors.py:__init__": "fields of a record that is made very often: of most, two are given",
    "schedd/jobs/idle.py:__init__": "fields of a record",
    "policy/explain/__init__.py:explain": "what is known of an expression, of which most callers know little",
}


def found() -> Iterator[tuple[str, int]]:
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
                number = len([name for name in names if name not in ("self", "cls")])
                if number > PARAMETERS_MAX:
                    yield f"{path.relative_to(SOURCE)}:{node.name}", number


def test_functions_have_few_parameters_but_for_those_that_are_stated() -> None:
    assert {name for name, _ in found()} == set(STATED)
