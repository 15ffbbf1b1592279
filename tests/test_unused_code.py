"""Every function and class of the rooms is used by the rooms, and not by tests alone.

A name counts as used if it stands anywhere in the source but in its own definition: as a name, an attribute, an import
or a word of a string, by which tables and late imports find what they need. Names that a registry is given by a
decorator, and those of the bindings, which other programs use, are left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).resolve().parents[1] / "src/roost"

#: Name to why it is there.
STATED: Final = {
    "collect": "prometheus_client calls it",
    "flaws": "tests of the tables of all machines look for mistakes in them with it",
    "format_help": "argparse calls it",
    "formatTime": "logging calls it",
    "of_event": "the demonstration tells of single events with it",
    "overlap": "tests of the ledgers make hosts that several queues share with it",
}

#: Decorators that do not register what they decorate.
_PLAIN: Final = ("property", "staticmethod", "classmethod", "abstractmethod", "contextmanager", "dataclass", "cache")


def defined(tree: ast.Module) -> Iterator[str]:
    """The functions, methods and classes that a module defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            texts = [ast.unparse(each) for each in node.decorator_list]
            if not node.name.startswith("__") and all(text.startswith(_PLAIN) for text in texts):
                yield node.name


def used(tree: ast.Module) -> Iterator[str]:
    """The names that a module mentions, but for its docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant() if id(node) in docstrings:
                continue
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case ast.ImportFrom(names=names):
                yield from (each.name for each in names)
            case ast.Constant(value=str(text)):
                yield from re.findall(r"\w+", text)


@cache
def modules() -> dict[Path, ast.Module]:
    """All modules of the rooms."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def test_what_is_defined_is_used() -> None:
    mentioned = {name for tree in modules().values() for name in used(tree)}
    unused = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path, tree in modules().items()
        if path.relative_to(SOURCE).parts[0] != "compat"
        for name in defined(tree)
        if name not in mentioned and name not in STATED
    }
    assert unused == set()


def test_what_is_stated_is_there() -> None:
    assert set(STATED) <= {name for tree in modules().values() for name in defined(tree)}


def test_a_function_without_a_caller_is_found() -> None:
    tree = ast.parse('def f():\n    """Not g."""\n\ndef g():\n    return f()\n\n@rule\ndef h(): ...\n')
    assert set(defined(tree)) - set(used(tree)) == {"g"}
