"""A configuration value that is kept and means nothing.

What: A configuration has an attribute that does not exist, or a value that is not of the attribute's type.

Why: Grid Engine keeps both without a word, and goes on with a default or with 0.

Example::

    configurations/global: max_u_jobs many

Instead::

    configurations/global: max_u_jobs 500
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell
from roost.gridengine.objects.configuration import BY_NAME
from roost.gridengine.objects.values import number, seconds


@cell_rule("RGE801", Severity.WARNING)
def check(site: CheckedCell) -> Iterator[CellHit]:
    for configuration in site.cell.configurations.values():
        for name, text in configuration.values:
            complaint = _complaint(name, text)
            if complaint:
                yield CellHit(
                    message=complaint,
                    remedy="Correct the name or the value, or take the line out.",
                    file=f"configurations/{configuration.name}",
                    attribute=name,
                )


def _complaint(name: str, text: str) -> str | None:
    if name not in BY_NAME:
        return f"{name} is not an attribute of configurations"
    kind = BY_NAME[name].kind
    if kind == "time" and seconds(text) is None:
        return f"{name} is {text!r}, which is not a time"
    if kind in ("number", "flag") and number(text) is None and text.casefold() not in ("true", "false", "none"):
        return f"{name} is {text!r}, which is not a number"
    if "|" in kind and text.casefold() not in kind.split("|"):
        return f"{name} is {text!r}, and not one of {kind.replace('|', ', ')}"
    return None
