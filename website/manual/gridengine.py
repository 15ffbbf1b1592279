"""The reference pages of cells, made from the tables: objects and their attributes, error codes, lint rules."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from roost.base.diagnostics import code_table
from roost.gridengine import builtin
from roost.gridengine.lint import registry
from roost.gridengine.objects import configuration, kinds
from roost.gridengine.objects.rows import Row, rows_of
from roost.gridengine.objects.scheduler import SchedulerConfiguration
from roost.gridengine.problems import CODES
from roost.gridengine.without_effect import CONFIGURATION, PARAMETERS, SCHEDULER, USER, Idle

PAGE = "reference/cell-objects.md"
_TITLES = {
    "cqueues": "Cluster queues",
    "hostgroups": "Host groups",
    "execution": "Execution hosts",
    "pe": "Parallel environments",
    "ckpt": "Checkpointing interfaces",
    "calendars": "Calendars",
    "usersets": "User lists and departments",
    "projects": "Projects",
    "users": "Users",
}


def _prose(text: str) -> list[str]:
    return textwrap.wrap(text, 118, break_long_words=False, break_on_hyphens=False)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _table(rows: tuple[Row, ...], idle: Mapping[str, Idle] = MappingProxyType({})) -> Iterator[str]:
    yield "| attribute | type | default | meaning |"
    yield "|---|---|---|---|"
    for row in rows:
        reported = " Reported by the host, not configured." if row.reported else ""
        meaning = f"{_cell(row.doc)}{reported}{_without_effect(idle.get(row.name))}"
        yield f"| `{row.name}` | {row.type.name} | `{_cell(row.default)}` | {meaning} |"
    yield ""


def _names(attribute: str) -> str:
    return ", ".join(f"`{name}`" for name in PARAMETERS[attribute])


def _without_effect(one: Idle | None) -> str:
    return "" if one is None else f" *Without effect in a pool:* {one.why}."


def _types() -> Iterator[str]:
    found: dict[str, str] = {}
    classes = [row for kind in kinds.KINDS for row in kind.rows] + list(rows_of(SchedulerConfiguration))
    for row in classes:
        found.setdefault(row.type.name, row.type.syntax)
    yield "## Value types"
    yield ""
    yield "| type | written as |"
    yield "|---|---|"
    for name in sorted(found):
        yield f"| {name} | {_cell(found[name])} |"
    yield ""


def _lines() -> Iterator[str]:
    yield "# Objects of a cell"
    yield ""
    yield from _prose(
        "The objects of a Grid Engine cell, as `roost cell` reads and prints them: the same text as `qconf "
        "-s…` prints and `save_sge_config.sh` writes. Every attribute must be in the text, each once. `#` at "
        "the start of a line begins a comment; a backslash at its end continues the line."
    )
    yield ""
    yield from _prose(
        "An attribute of a cluster queue has a default and overrides, `default,[host=value],[@group=value]`. "
        "An instance has the value for its host; if there is none, the value for the one group that contains the host, "
        "or else the default. If several groups contain the host, the instance is in state c and accepts no new jobs, "
        "even if their values are equal."
    )
    yield ""
    yield from _types()
    for kind in kinds.KINDS:
        if kind.directory in _TITLES:
            yield f"## {_TITLES[kind.directory]}"
            yield ""
            yield f"Files in `{kind.directory}/`; the name is the attribute `{kind.key}`."
            yield ""
            yield from _table(kind.rows, USER if kind.directory == "users" else {})
    yield "## Scheduler configuration"
    yield ""
    yield "The file `schedconf`."
    yield ""
    yield from _table(rows_of(SchedulerConfiguration), SCHEDULER)
    yield from _prose(f"Of `params`, a pool uses only {_names('params')}.")
    yield ""
    yield from _rest()


def _rest() -> Iterator[str]:
    yield "## Global and local configurations"
    yield ""
    yield from _prose(
        "Files in `configurations/`: `global`, and one for each host with the attributes that differ there."
    )
    yield ""
    yield "| attribute | kind | default | meaning |"
    yield "|---|---|---|---|"
    for one in configuration.PARAMETERS:
        meaning = f"{_cell(one.doc)}{_without_effect(CONFIGURATION.get(one.name))}"
        yield f"| `{one.name}` | {_cell(one.kind.replace('|', ', '))} | `{one.default}` | {meaning} |"
    yield ""
    yield from _prose(
        "A pool uses these parameters: "
        + "; ".join(f"of `{name}` {_names(name)}" for name in PARAMETERS if name != "params")
        + ". `roost cell import`, `roost cell apply` and `qconf` warn about others, and about attributes without "
        "effect that jobs or users would miss."
    )
    yield ""
    yield "## Complexes"
    yield ""
    yield from _prose(
        "The file `centry` has a line for each complex, with name, shortcut, type, relation, requestable (YES, NO, "
        "FORCED), consumable (YES, NO, JOB), default and urgency. These cannot be deleted and keep their type: "
        f"{', '.join(f'`{name}`' for name in builtin.COMPLEXES)}."
    )
    yield ""
    yield "## Resource quota sets"
    yield ""
    yield from _prose(
        "Files in `resource_quotas/`, in braces: `name`, `description`, `enabled`, and a line `limit [name N] "
        "[users F] [projects F] [pes F] [queues F] [hosts F] to complex=value[,…]` for each rule. A filter is "
        "a list of names and patterns; `!` excludes the name or pattern after it. For a filter in braces, each member "
        "has a counter of its own. A limit such as `slots=$num_proc*2` needs `hosts` in braces."
    )
    yield ""
    yield "## Share tree and lists"
    yield ""
    yield from _prose(
        "`sharetree` has `id`, `name`, `type`, `shares` and `childnodes` of each node. `managers`, "
        "`operators`, `admin_hosts` and `submit_hosts` have a name on each line."
    )
    yield ""
    yield "## Error codes"
    yield ""
    yield from code_table(CODES)
    yield ""


def pages() -> dict[str, str]:
    """Path below docs/ to text."""
    return {PAGE: "\n".join(_lines()), **registry.pages()}
