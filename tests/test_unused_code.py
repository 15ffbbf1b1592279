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
    "plan_of": "tests and benchmarks of the lab want the plan of a run, and not the run",
    "overlap": "tests of the ledgers make hosts that several queues share with it",
}

#: Names of modules that no other asks for by their own name, and why they are there.
NAMES_STATED: Final = {
    "KNOBS": "`roost.config.knobs` goes through its modules",
    "STAGES": "the words of what a shepherd tells",
    "_log": "each module of a daemon has one",
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
    # What `getattr` finds by a name put together of a fixed beginning and a word: f"_do_{verb}".
    beginnings = tuple(name for name in mentioned if re.fullmatch(r"_[a-z]+_", name))
    unused = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path, tree in modules().items()
        if path.relative_to(SOURCE).parts[0] != "compat"
        for name in defined(tree)
        if name not in mentioned and name not in STATED and not name.startswith(beginnings)
    }
    assert unused == set()


def test_what_is_stated_is_there() -> None:
    assert set(STATED) <= {name for tree in modules().values() for name in defined(tree)}


def at_the_top(tree: ast.Module) -> Iterator[str]:
    """The names that a module defines for itself and others: functions, classes and constants."""
    for node in tree.body:
        match node:
            case (
                ast.FunctionDef(name=name, decorator_list=list(decorators))
                | ast.ClassDef(name=name, decorator_list=list(decorators))
            ) if all(ast.unparse(each).startswith(_PLAIN) for each in decorators):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name


def taken(tree: ast.Module, names: frozenset[str]) -> Iterator[tuple[str, str]]:
    """What a module takes of others: module and name; `names` are those of all modules."""
    known = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                whole = f"{node.module}.{each.name}"
                if whole in names:
                    known[each.asname or each.name] = whole
                else:
                    yield str(node.module), each.name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in known:
            yield known[node.value.id], node.attr


def test_a_name_at_the_top_of_a_module_is_used_as_that_modules() -> None:
    """Another module's function of the same name does not count."""
    named = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): tree
        for path, tree in modules().items()
    }
    users = [
        *named.values(),
        *(ast.parse(path.read_text("utf-8")) for path in (SOURCE.parents[1] / "website").rglob("*.py")),
    ]
    elsewhere = {each for tree in users for each in taken(tree, frozenset(named))}
    words = {
        word
        for tree in named.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 80
        for word in re.findall(r"\w+", node.value)
    }
    unused = {
        f"{module}: {name}"
        for module, tree in named.items()
        if not module.startswith("roost.compat")
        for name in at_the_top(tree)
        if not name.startswith("__")
        and (module, name) not in elsewhere
        and name not in words
        and name not in STATED.keys() | NAMES_STATED.keys()
        and name
        not in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    }
    assert unused == set()


def test_a_function_without_a_caller_is_found() -> None:
    tree = ast.parse('def f():\n    """Not g."""\n\ndef g():\n    return f()\n\n@rule\ndef h(): ...\n')
    assert set(defined(tree)) - set(used(tree)) == {"g"}
