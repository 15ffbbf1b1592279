"""Batches and cells as JSON, and back.

The data may come from any client. It is checked here, so that every job of an accepted batch can be built.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from roost.base.records import replace
from roost.classad import ClassAd, parse_expression
from roost.classad.ad import Cell, cell_of
from roost.classad.unparse import item_node, unparse
from roost.config.expand import Found
from roost.config.limits import DEFAULT_LIMITS
from roost.schedd.submit.batch import PLANNED, Batch, PlanHost
from roost.schedd.submit.diagnostics import Findings
from roost.schedd.submit.job import Defaults, PlannedJob
from roost.schedd.submit.macros import Macros
from roost.schedd.submit.queue_statement import ITEMS_MAX, JOBS_MAX
from roost.schedd.submit.sections import run, section_named


def cell_to_data(cell: Cell) -> str:
    """A cell as the text of an expression."""
    return unparse(item_node(cell), exact=True)


def cell_from_data(text: str, ad: ClassAd | None = None) -> Cell:
    """The cell of such a text."""
    expression = parse_expression(text)
    return cell_of(expression.tree, ClassAd() if ad is None else ad, expression=expression)


def batch_to_data(batch: Batch) -> dict[str, Any]:
    """A batch as JSON; definitions that its jobs do not need are left out."""
    needed = _needed(batch)
    defaults = batch.defaults
    return {
        "per_row": batch.per_row,
        "variables": list(batch.variables),
        "rows": [list(row) for row in batch.rows] if batch.variables else len(batch.rows),
        "indices": None if batch.indices is None else list(batch.indices),
        "first": batch.first,
        "cluster": batch.cluster,
        "macros": {key: [found.name, found.text] for key, found in batch.macros.defined.items() if key in needed},
        "built_in": {key: text for key, text in batch.macros.built_in.items() if key in needed},
        "cwd": batch.macros.cwd,
        "environment": batch.host.variables,
        "seed": batch.host.seed,
        "sections": list(batch.sections),
        "by_cluster": list(batch.by_cluster),
        "own": {name: cell_to_data(cell) for name, cell in batch.own.items()},
        "steady": {name: cell_to_data(cell) for name, cell in batch.steady.items()},
        "columns": batch.columns,
        "overridden": sorted(batch.overridden),
        "defaults": _defaults_to_data(defaults) if batch.sections or batch.by_cluster else None,
        "now": defaults.now,
    }


def _needed(batch: Batch) -> frozenset[str]:
    """Folded names that the sections still look up, directly or indirectly."""
    if not batch.sections and not batch.by_cluster:
        return frozenset()
    sections = tuple(section_named(name) for name in (*batch.sections, *batch.by_cluster))
    pending: list[str] = []
    for index in {0, batch.count - 1} if batch.count else ():
        job = PlannedJob(batch.macros_at(index), batch.position(index), batch.defaults, Findings())
        for _ in run(job, sections):
            pass
        pending += sorted(job.commands | job.used)
    unsure: set[str] = set()
    seen = set(pending)
    while pending:
        found = batch.macros.defined.get(pending.pop())
        for inner in batch.macros.names_in(found.text, unsure) if found is not None else ():
            if inner not in seen:
                seen.add(inner)
                pending.append(inner)
    if "?" in unsure:
        return frozenset((*batch.macros.defined, *batch.macros.built_in))
    return frozenset(seen)


_DEFAULT_TEXTS: Final = (
    "owner",
    "uid_domain",
    "filesystem_domain",
    "cwd",
    "arch",
    "opsys",
    "request_cpus",
    "request_memory",
    "request_disk",
    "rank",
    "append_rank",
    "append_requirements",
    "should_transfer",
)


def _defaults_to_data(defaults: Defaults) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(defaults, name) for name in _DEFAULT_TEXTS}
    return {
        **found,
        "lease_s": defaults.lease_s,
        "retries_max": defaults.retries_max,
        "attributes": [list(pair) for pair in defaults.attributes],
        "inherited": dict(defaults.inherited),
    }


class BadBatch(ValueError):
    """Data is not a batch."""


def batch_from_data(data: Mapping[str, Any]) -> Batch:
    """The batch of such JSON. Raises `BadBatch`, or KeyError for a missing key."""
    variables = _texts(data, "variables")
    per_row, rows = _whole(data, "per_row", JOBS_MAX), _rows(data, variables)
    if per_row * len(rows) > JOBS_MAX:
        raise BadBatch(f"{per_row * len(rows)} jobs exceed JOBS_MAX = {JOBS_MAX}")
    now = _whole(data, "now", 2**40)
    host = PlanHost(variables=_text_map(data, "environment"), seed=_whole(data, "seed", 2**63), now=float(now))
    macros = Macros(
        defined={key: Found(_text(pair, 0), _text(pair, 1), PLANNED) for key, pair in _mapping(data, "macros").items()},
        variables=variables,
        built_in=_text_map(data, "built_in"),
        host=host,
        limits=DEFAULT_LIMITS,
        cwd=_text(data, "cwd"),
    )
    batch = Batch(
        per_row=per_row,
        variables=variables,
        rows=rows,
        indices=_indices(data, len(rows)),
        first=_whole(data, "first", JOBS_MAX),
        cluster=_whole(data, "cluster", 2**62),
        macros=macros,
        host=host,
        defaults=_defaults(data["defaults"], now),
        sections=_sections(data, "sections"),
        by_cluster=_sections(data, "by_cluster"),
        own={name: cell_from_data(text) for name, text in _text_map(data, "own").items()},
        steady={name: cell_from_data(text) for name, text in _text_map(data, "steady").items()},
        columns=_columns(data, per_row * len(rows)),
        overridden=frozenset(_texts(data, "overridden")),
    )
    if batch.count:
        batch.differences(0)
    return batch


def _text(data: Any, key: str | int) -> str:
    value = data[key]
    if not isinstance(value, str):
        raise BadBatch(f"{key} is not a string")
    return value


def _whole(data: Mapping[str, Any], key: str, most: int) -> int:
    value = data[key]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise BadBatch(f"{key} is not a number from 0 to {most}")
    return value


def _mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data[key]
    if not isinstance(value, dict):
        raise BadBatch(f"{key} is not an object")
    return value


def _text_map(data: Mapping[str, Any], key: str) -> dict[str, str]:
    found = _mapping(data, key)
    return {name: _text(found, name) for name in found}


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = data[key]
    if not isinstance(value, list) or not all([isinstance(one, str) for one in value]):
        raise BadBatch(f"{key} is not a list of strings")
    return tuple(value)


def _rows(data: Mapping[str, Any], variables: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    if not variables:
        return ((),) * _whole(data, "rows", ITEMS_MAX)
    value = data["rows"]
    if not isinstance(value, list) or len(value) > ITEMS_MAX:
        raise BadBatch("rows is not a list of rows")
    width = len(variables)
    for row in value:
        if not isinstance(row, list) or len(row) != width or not all([isinstance(one, str) for one in row]):
            raise BadBatch(f"a row is not a list of {width} strings")
    return tuple(map(tuple, value))


def _indices(data: Mapping[str, Any], count: int) -> tuple[int, ...] | None:
    value = data["indices"]
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != count or not all([type(one) is int for one in value]):
        raise BadBatch("indices is not a list of numbers, one per row")
    return tuple(value)


def _sections(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = _texts(data, key)
    for name in names:
        section_named(name)
    return names


def _columns(data: Mapping[str, Any], count: int) -> dict[str, list[Any]]:
    found = _mapping(data, "columns")
    for name, values in found.items():
        if not isinstance(values, list) or len(values) != count or not _plain(values):
            raise BadBatch(f"the column {name} does not have one value per job")
    return dict(found)


def _plain(values: Iterable[Any]) -> bool:
    return all([isinstance(value, int | float | str) for value in values])


def _defaults(data: Any, now: int) -> Defaults:
    nothing = Defaults(owner="", uid_domain="", filesystem_domain="", cwd="", now=now)
    if data is None:
        return nothing
    texts: dict[str, Any] = {name: _text(data, name) for name in _DEFAULT_TEXTS}
    return replace(
        nothing,
        **texts,
        lease_s=_whole(data, "lease_s", 2**31),
        retries_max=_whole(data, "retries_max", 2**31),
        attributes=tuple((_text(pair, 0), _text(pair, 1)) for pair in data["attributes"]),
        inherited=_text_map(data, "inherited"),
    )
