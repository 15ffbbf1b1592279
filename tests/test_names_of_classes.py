"""Within a room no two public classes have one name, so that a name leads a reader to one thing.

A name that stands twice is stated here with its reason.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).resolve().parents[1] / "src/roost"

#: Room and name to why several classes have it.
STATED: Final = {
    ("compat", "ClassAd"): "classad1 and classad2 of HTCondor each have one",
    ("compat", "ExprTree"): "classad1 and classad2 of HTCondor each have one",
    ("compat", "Collector"): "htcondor1 and htcondor2 of HTCondor each have one",
    ("compat", "Negotiator"): "htcondor1 and htcondor2 of HTCondor each have one",
    ("compat", "Schedd"): "htcondor1 and htcondor2 of HTCondor each have one",
    ("compat", "Submit"): "htcondor1 and htcondor2 of HTCondor each have one",
    ("wire", "Ads"): "a request is named with the module of the daemon that answers it: central.Ads, machine.Ads",
    ("wire", "UnderWay"): "a request is named with the module of the daemon that answers it: queue.UnderWay",
}


def public_classes() -> dict[tuple[str, str], list[str]]:
    """Room and name of each public class to the modules that define one."""
    found = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[module.parts[0], node.name].append(str(module))
    return found


def test_a_name_is_one_class_within_a_room():
    repeated = {name: modules for name, modules in public_classes().items() if len(modules) > 1}
    assert {name: repeated[name] for name in repeated.keys() - STATED.keys()} == {}
    assert STATED.keys() <= repeated.keys(), "stated, and not repeated any longer"
