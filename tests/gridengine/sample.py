"""A small cell in which no rule finds anything, and the edits that the examples of the rules' pages make in it."""

from __future__ import annotations

from collections.abc import Mapping

from tests.gridengine import dumps

_EDITS = """
cqueues/all.q: slots 1
schedconf: max_reservation 8
schedconf: default_duration 24:0:0
schedconf: weight_priority 1
centry: gpu gpu INT <= FORCED YES 0 0
centry: excl excl BOOL EXCL YES YES 0 1000
execution/node1: complex_values excl=true,slots=2
cqueues/low.q: complex_values gpu=1
cqueues/low.q: user_lists staff
cqueues/low.q: pe_list make smp
cqueues/low.q: calendar office
"""


def edited(files: Mapping[str, str], edits: str) -> dict[str, str]:
    """Files after edits, lines ``FILE: ATTRIBUTE VALUE``; several values of one attribute replace all its lines."""
    found = dict(files)
    written: dict[tuple[str, str], list[str]] = {}
    for line in edits.strip().splitlines():
        file, _, rest = line.partition(": ")
        written.setdefault((file, rest.split()[0]), []).append(rest)
    for (file, attribute), values in written.items():
        indent = "   " if file.startswith("resource_quotas/") else ""
        lines = found[file].splitlines()
        places = [number for number, line in enumerate(lines) if line.split()[:1] == [attribute]]
        place = places[0] if places else len(lines) - 1
        kept = [line for number, line in enumerate(lines) if number not in places]
        kept[place:place] = [indent + value for value in values]
        found[file] = "\n".join(kept) + "\n"
    return found


def files() -> dict[str, str]:
    """The files of the sample cell."""
    found = dumps.files("plain")
    found["cqueues/low.q"] = found["cqueues/all.q"].replace("all.q", "low.q")
    found["pe/smp"] = found["pe/make"].replace("make", "smp")
    for name, hosts in (("@left", "node1 node2"), ("@odd", "node1 node3"), ("@empty", "NONE")):
        found[f"hostgroups/{name}"] = f"group_name {name}\nhostlist {hosts}\n"
    for name, entries in (("staff", "ann"), ("none_in", "NONE")):
        found[f"usersets/{name}"] = f"name {name}\ntype ACL\nfshare 0\noticket 0\nentries {entries}\n"
    found["calendars/office"] = "calendar_name office\nyear NONE\nweek sat,sun=off\n"
    found["resource_quotas/limits"] = (
        "{\n   name limits\n   description NONE\n   enabled TRUE\n   limit users @staff to slots=4\n}\n"
    )
    found = edited(found, _EDITS)
    return edited(found, "cqueues/low.q: slots 1")
