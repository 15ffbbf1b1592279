"""The page of the security model: each claim in its tables names a test, and that test exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "reference" / "security.md"


@cache
def _functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _rows() -> list[list[str]]:
    """The cells of tables whose last column is `test`."""
    found, wanted = [], False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            wanted = False
        elif cells[-1] == "test":
            wanted = True
        elif wanted and not set(line) <= set("|- "):
            found.append(cells)
    return found


def test_each_claim_names_a_test_that_exists() -> None:
    rows, wrong = _rows(), []
    assert len(rows) >= 40
    for cells in rows:
        named = re.fullmatch(r"`(tests/[\w/]+\.py)::(test_\w+)`", cells[-1])
        if named is None:
            # What C would do wrong has no test here.
            if not cells[0].startswith("Format strings"):
                wrong.append(f"{cells[0]}: names no test")
        elif not (ROOT / named[1]).is_file() or named[2] not in _functions(ROOT / named[1]):
            wrong.append(f"{cells[0]}: {named[0]} does not exist")
    assert wrong == []


def test_each_file_of_tests_of_members_and_isolation_is_named() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in ("test_members", "test_users", "test_isolation", "test_subjects", "test_permission", "test_budgets"):
        assert f"{name}.py::" in text
