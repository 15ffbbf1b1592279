"""Modules and folders import one another in one direction, but for the knots that are stated here.

Three kinds of imports are looked at: those that run when a module is loaded, late ones (within functions), and those
for type checkers alone. A knot is a set of parts that reach each other; each kind adds its imports to those before.

The parts of a package are its modules and its folders: an import from anywhere in one folder to anywhere in another is
an import between the two. So no module, and no folder of a room, depends on one that depends on it. Knots of modules
that lie in different folders are looked at as well, and stated one by one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import IntEnum
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


#: Why methods of `ClassAd` and `Expr` import late.
_METHODS: Final = (
    "`ClassAd` and `Expr` have, as the classes of the bindings, methods that parse, unparse, flatten and look for "
    "references; what they need is imported with the first call, so that commands start at once"
)
#: Why types are imported upwards in classad.
_VALUES: Final = "the same, and lists hold expressions, and attributes hold ads: values name the types of both"

#: Kind to the knots of a package's parts: package, names of all parts, and why they stay.
STATED: Final[dict[Kind, tuple[tuple[str, str, str], ...]]] = {
    Kind.LOADED: (
        (
            "classad",
            "ad evaluation state",
            "an ad evaluates its attributes, and an evaluation walks through ads; a late import would cost each of the "
            "millions of evaluations of a cycle a look-up",
        ),
    ),
    Kind.LATE: (
        (
            "classad",
            "ad closures compiler conversion evaluation expr forms functions lookup parser partial pretty refs state "
            "translator unparse",
            _METHODS,
        ),
        (
            "cli",
            "__main__ condor help",
            "help is made of the parser of all commands, which knows its groups; condor_check_config runs a command",
        ),
        (
            "compat.classad2",
            "ad conversion expr",
            "ads hold expressions, expressions evaluate to ads, and values of Python become either; the bindings have "
            "both as classes with constructors",
        ),
        ("gridengine.lint", "registry rules", "a rule registers itself; the registry loads all rules when asked"),
        ("policy.lint", "forwarded registry rules", "a rule registers itself; the registry loads all rules when asked"),
    ),
    Kind.TYPES: (
        (
            "classad",
            "ad closures compiler conversion diagnosis evaluation expr forms functions lexer lookup ops parser partial "
            "pretty refs state syntax translator unparse values",
            _VALUES,
        ),
        ("compat.dags", "dag edges node", "a node of a graph knows its DAG, and the DAG its nodes, as in the bindings"),
        ("compat.htcondor2", "submit submitting", "the class of the bindings, and how it is filled"),
        ("dag", "ending node_jobs past rules run scripts", "rules of a run, which are given the run"),
        ("lab.scenario", "dags described values", "a scenario, and the description that one of its DAGs has"),
        (
            "negotiator",
            "memory single_slots snapshot verdicts view",
            "a snapshot may bring slots that are evaluated one by one; only the type is named",
        ),
        ("node", "drains dynamic_slots host relayouts", "parts of a host, which are given the host"),
        ("runtime.processes", "family shepherd_lines", "a family, and the reader of what its shepherd says"),
        ("schedd.jobs", "book local", "the book knows which jobs are local, and the next one is chosen from the book"),
        ("sim", "checkers world", "invariants are checked in the world that runs the checks"),
        (
            "sim.machine",
            "host own_work polling queue_link run starter_quiescence watcher",
            "parts of a machine, which are given the machine",
        ),
        ("sim.queue", "clock queue", "the clock of a queue, which is given the queue"),
        ("startd", "attributes policy_inputs", "attributes are made of the inputs of a policy, which name them"),
        (
            "starter",
            "failed limits methods policy_inputs starter_ad vacate_time work",
            "limits look at the work that a starter has, and its ad has the limits",
        ),
    ),
}

#: The same for modules of different folders, which are also within a knot above: room, and names of all modules.
_FORMS: Final = "forms forms.building forms.form forms.json forms.new forms.old forms.xml"
_CALLS: Final = (
    "functions functions.control functions.conversion functions.environment functions.lists functions.numbers "
    "functions.regex functions.stringlists functions.strings functions.times functions.users"
)
STATED_ACROSS: Final[dict[Kind, tuple[tuple[str, str, str], ...]]] = {
    Kind.LOADED: (),
    Kind.LATE: (
        (
            "classad",
            "ad closures compiler conversion evaluation expr lookup parser partial pretty refs state translator "
            f"unparse {_FORMS} {_CALLS}",
            _METHODS,
        ),
    ),
    Kind.TYPES: (
        (
            "classad",
            "ad closures compiler conversion diagnosis evaluation expr lexer lookup ops parser partial pretty refs "
            f"state syntax translator unparse values {_FORMS} {_CALLS} functions.pcre.regex functions.registry "
            "functions.strftime functions.types",
            _VALUES,
        ),
    ),
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


def graph_of(kind: Kind) -> dict[str, set[str]]:
    """Module to the modules that imports of a kind, and of those before, name."""
    return {name: {target for target, when in found if when <= kind} for name, found in edges().items()}


def place_of(module: str) -> list[str]:
    """The packages of a module and its own name; what a package itself holds is one of its parts."""
    parts = module.split(".")
    return [*parts, "__init__"] if MODULES[module].name == "__init__.py" else parts


def knots_of_parts(kind: Kind) -> Iterator[tuple[str, set[str]]]:
    """The packages whose parts make a knot, with the names of those parts."""
    packages: dict[str, dict[str, set[str]]] = {}
    for module, targets in graph_of(kind).items():
        source = place_of(module)
        for each in targets:
            target = place_of(each)
            depth = next(at for at, (one, other) in enumerate(zip(source, target, strict=False)) if one != other)
            graph = packages.setdefault(".".join(source[1:depth]), {})
            graph.setdefault(source[depth], set()).add(target[depth])
            graph.setdefault(target[depth], set())
    for package, graph in sorted(packages.items()):
        # Rooms themselves are held to their order by `make check`.
        yield from ((package, knot) for knot in knots(graph) if package)


def knots_across(kind: Kind) -> Iterator[tuple[str, set[str]]]:
    """The rooms with a knot of modules of different folders, with the names of those modules."""
    for knot in knots(graph_of(kind)):
        room = next(iter(knot)).split(".")[1]
        if len({place_of(each)[-2] for each in knot}) > 1:
            yield room, {each.removeprefix(f"roost.{room}.") for each in knot}


def as_stated(stated: dict[Kind, tuple[tuple[str, str, str], ...]], kind: Kind) -> list[tuple[str, list[str]]]:
    """The knots that are stated for a kind; a kind before counts until it is stated with more parts."""
    found: list[tuple[str, list[str]]] = []
    for each in Kind:
        for package, names, _ in stated[each] if each <= kind else ():
            parts = sorted(names.split())
            found = [(other, them) for other, them in found if other != package or not set(them) <= set(parts)]
            found.append((package, parts))
    return sorted(found)


@pytest.mark.parametrize("kind", Kind)
def test_parts_of_a_package_import_one_another_in_one_direction(kind: Kind) -> None:
    assert sorted((package, sorted(knot)) for package, knot in knots_of_parts(kind)) == as_stated(STATED, kind)


@pytest.mark.parametrize("kind", Kind)
def test_modules_of_different_folders_import_one_another_in_one_direction(kind: Kind) -> None:
    assert sorted((room, sorted(knot)) for room, knot in knots_across(kind)) == as_stated(STATED_ACROSS, kind)


def test_every_knot_is_stated_with_its_reason_part_by_part() -> None:
    for stated in (STATED, STATED_ACROSS):
        for _, names, reason in (each for found in stated.values() for each in found):
            assert reason
            assert "*" not in names


def test_a_circle_is_found() -> None:
    assert knots({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d"}}) == [{"b", "c"}]
