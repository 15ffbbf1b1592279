"""Modules of a room import one another in one direction, but for the knots that are stated here.

Three kinds of imports are looked at: those that run when a module is loaded, late ones (within functions), and those
for type checkers alone. A knot is a set of modules that reach each other; each kind adds its imports to those before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import IntEnum
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Final

import pytest

SOURCE: Final = Path(__file__).resolve().parents[1] / "src"


class Kind(IntEnum):
    """When an import takes place."""

    LOADED = 1
    LATE = 2
    TYPES = 3


#: A knot, as its room and patterns that all its modules are of, and why it stays.
STATED: Final[dict[Kind, dict[str, str]]] = {
    Kind.LOADED: {
        "classad: ad evaluation state": "an ad evaluates its attributes, and an evaluation walks through ads; a late "
        "import would cost each of the millions of evaluations of a cycle a look-up",
    },
    Kind.LATE: {
        "classad: ad closures compiler conversion evaluation expr forms forms.* functions functions.* lookup parser "
        "partial pretty refs state translator unparse": "`ClassAd` and `Expr` have, as the classes of the bindings, "
        "methods that parse, unparse, flatten and look for references; what they need is imported with the first call, "
        "so that commands start at once",
        "compat: classad2.*": "ads hold expressions, expressions evaluate to ads, and values of Python become either; "
        "the bindings have both as classes with constructors",
    },
    Kind.TYPES: {
        "classad: *": "lists hold expressions, and attributes hold ads: values name the types of both",
        "compat: dags.*": "a node of a graph knows its DAG, and the DAG its nodes, as in the bindings",
        "compat: htcondor2.submit*": "the class of the bindings, and how it is filled",
        "dag: ending node_jobs past rules run scripts": "rules of a run, which are given the run",
        "lab: replay.*": "parts of a pool, which are given the pool",
        "lab: scenario.*": "a scenario, and the description that one of its DAGs has",
        "negotiator: *": "a snapshot keeps the memory of its users; only the type is named",
        "node: accounts drains host relayouts": "parts of a host, which are given the host",
        "runtime: node.runs.*": "parts of a runner, which are given the runner",
        "runtime: processes.*": "a family, and the reader of what its shepherd says",
        "schedd: jobs.book events runs.local": "the book holds runs that wait, which are events",
        "sim: *": "parts of a simulated pool, which are given the pool",
        "startd: attributes policy_inputs": "attributes are made of the inputs of a policy, which name them",
        "starter: *": "limits look at the work that a starter has",
    },
}


def modules() -> dict[str, Path]:
    """Name to file of all modules."""
    found = {}
    for path in sorted(SOURCE.glob("roost/**/*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES: Final = modules()


def imports(body: list[ast.stmt], kind: Kind) -> Iterator[tuple[str, Kind]]:
    """The modules of ours that statements import, and when."""
    for node in body:
        match node:
            case ast.Import():
                yield from ((each.name, kind) for each in node.names)
            case ast.ImportFrom(module=str(module)):
                for each in node.names:
                    name = f"{module}.{each.name}"
                    yield (name if name in MODULES else module), kind
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from imports(node.body, Kind.TYPES)
                yield from imports(node.orelse, kind)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from imports(node.body, max(kind, Kind.LATE))
            case _:
                for field in ("body", "orelse", "finalbody"):
                    yield from imports(getattr(node, field, []), kind)
                for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                    yield from imports(part.body, kind)


@cache
def edges() -> dict[str, set[tuple[str, Kind]]]:
    """Module to the modules that it imports."""
    return {
        name: {(target, kind) for target, kind in imports(ast.parse(path.read_text("utf-8")).body, Kind.LOADED)
               if target in MODULES and target != name}
        for name, path in MODULES.items()
    }  # fmt: skip


def knots(graph: dict[str, set[str]]) -> list[set[str]]:
    """The sets of two nodes or more that reach each other (Tarjan)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in order:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == order[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(set(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def is_of(knot: set[str], stated: str) -> bool:
    """Whether the patterns of a stated knot cover a knot."""
    room, patterns = stated.split(": ")
    return all(
        any(fnmatchcase(each, f"roost.{room}.{pattern}") or each == f"roost.{room}" for pattern in patterns.split())
        for each in knot
    )


def knots_of(kind: Kind) -> list[set[str]]:
    """The knots that imports of a kind, and of those before, make."""
    return knots({name: {target for target, when in found if when <= kind} for name, found in edges().items()})


@pytest.mark.parametrize("kind", Kind)
def test_modules_import_one_another_in_one_direction(kind: Kind) -> None:
    stated = [each for before in STATED if before <= kind for each in STATED[before]]
    assert [sorted(knot) for knot in knots_of(kind) if not any(is_of(knot, each) for each in stated)] == []


@pytest.mark.parametrize("kind", Kind)
def test_a_knot_that_is_stated_is_there(kind: Kind) -> None:
    assert [each for each in STATED[kind] if not any(is_of(knot, each) for knot in knots_of(kind))] == []


def test_a_circle_is_found() -> None:
    assert knots({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d"}}) == [{"b", "c"}]
