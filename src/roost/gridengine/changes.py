"""Changes of a cell: putting or removing one object returns a new cell with the list of changes.

A change that refers to an object that does not exist, or removes one that another object needs, raises `Refused` with
Grid Engine's message; the given cell is never modified. `difference` compares two cells, and is the plan of an import.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from roost.base import records
from roost.base.diagnostics import Diagnostic, Span
from roost.gridengine.builtin import COMPLEXES
from roost.gridengine.cell import COMPLEXES_FILE, Cell
from roost.gridengine.difference import Change, difference
from roost.gridengine.objects import kinds
from roost.gridengine.objects.complex import Complex
from roost.gridengine.objects.host import GLOBAL
from roost.gridengine.objects.scheduler import SchedulerConfiguration
from roost.gridengine.objects.share_tree import ShareNode
from roost.gridengine.places import Places
from roost.gridengine.problems import ProblemCode, Refused, problem
from roost.gridengine.references import KnownHost, every_host, settle, settle_cell
from roost.gridengine.uses import complex_uses, uses


@records.dataclass(frozen=True, slots=True)
class ChangedCell:
    """A cell after a change, and the differences; empty if nothing changed."""

    cell: Cell
    changes: tuple[Change, ...]


#: words of "… does not exist" where they differ from those of "added … to … list"
_MISSING_WORDS: Final = {
    "pe": "parallel environment",
    "ckpt environment": "checkpointing environment",
    "exechost": "execution host",
}


def _refused(code: ProblemCode, message: str, kind: kinds.ObjectKind, name: str, remedy: str) -> Refused:
    return Refused([problem(code, message, Span(f"{kind.directory}/{name}"), remedy)])


def put(cell: Cell, one: kinds.Named, *, new: bool | None = None, known_host: KnownHost = every_host) -> ChangedCell:
    """Add or change an object; with `new` only add (True) or only change (False). Raise `Refused`."""
    kind = kinds.kind_of_object(one)
    present = cell.objects(kind)
    if new and one.name in present:
        message = f'{kind.list_word} "{one.name}" already exists'
        raise _refused(ProblemCode.EXISTS, message, kind, one.name, "Change it, or choose another name.")
    if new is False and one.name not in present:
        message = f'denied: {kind.list_word} "{one.name}" does not exist'
        raise _refused(ProblemCode.MISSING_OBJECT, message, kind, one.name, "Add it first.")
    settled, problems = settle(cell, one, known_host=known_host)
    if problems:
        raise Refused(problems)
    after = _with_field(cell, kind.field, _with(present, settled))
    return ChangedCell(after, difference(cell, after))


def _with_field(cell: Cell, field: str, value: Any) -> Cell:
    changed: dict[str, Any] = {field: value}
    return records.replace(cell, **changed)


def _with(present: Mapping[str, Any], one: kinds.Named) -> dict[str, Any]:
    return dict(sorted({**present, one.name: one}.items()))


def _does_not_exist(kind: kinds.ObjectKind, name: str) -> str:
    return f'denied: {_MISSING_WORDS.get(kind.word, kind.word)} "{name}" does not exist'


def remove(cell: Cell, kind: kinds.ObjectKind, name: str) -> ChangedCell:
    """Delete an object; raise `Refused` if it does not exist or is still needed."""
    present = cell.objects(kind)
    if name == GLOBAL and kind is kinds.HOST:
        message = 'denied: pseudo host "global" may not be deleted'
        raise _refused(ProblemCode.BUILT_IN, message, kind, name, "Empty its attributes instead.")
    if name == GLOBAL and kind is kinds.CONFIGURATION:
        message = 'can\'t delete configuration "global" from list'
        raise _refused(ProblemCode.BUILT_IN, message, kind, name, "Change its attributes instead.")
    if name not in present:
        raise _refused(
            ProblemCode.MISSING_OBJECT, _does_not_exist(kind, name), kind, name, "Look at the list of names."
        )
    message = next(uses(cell, kind, name), "")
    if message:
        raise _refused(ProblemCode.IN_USE, message, kind, name, "Take the reference out first.")
    after = _with_field(cell, kind.field, {each: one for each, one in present.items() if each != name})
    return ChangedCell(after, difference(cell, after))


def complex_refusals(cell: Cell, name: str) -> list[str]:
    """Why a complex cannot be deleted, in Grid Engine's words; empty if it can."""
    if name in COMPLEXES:
        return [f'The built-in complex "{name}" cannot be deleted']
    return list(complex_uses(cell, name))


def built_in_problems(cell: Cell, complexes: Mapping[str, Complex]) -> list[str]:
    """Built-in complexes whose type would change, in Grid Engine's words."""
    after = records.replace(cell, complexes={**cell.complexes, **complexes})
    _, problems = settle_cell(after)
    return [each.message for each in problems if each.code is ProblemCode.BUILT_IN]


def put_complexes(cell: Cell, complexes: Iterable[Complex]) -> ChangedCell:
    """Replace the table of complexes; raise `Refused` if a removed one is still needed or built in."""
    after = records.replace(cell, complexes={one.name: one for one in sorted(complexes, key=lambda one: one.name)})
    gone = set(cell.complexes) - set(after.complexes)
    problems: list[Diagnostic] = []
    for name in sorted(gone):
        for message in complex_uses(cell, name):
            span = Span(COMPLEXES_FILE)
            problems.append(problem(ProblemCode.IN_USE, message, span, "Take the reference out first.", name))
    if not problems:
        _, problems = settle_cell(after)
    if problems:
        raise Refused(problems)
    return ChangedCell(after, difference(cell, after))


def put_scheduler(cell: Cell, scheduler: SchedulerConfiguration) -> ChangedCell:
    """Replace the scheduler configuration; raise `Refused`."""
    return _whole(cell, records.replace(cell, scheduler=scheduler))


def put_share_tree(cell: Cell, root: ShareNode | None) -> ChangedCell:
    """Replace the share tree; raise `Refused`."""
    return _whole(cell, records.replace(cell, share_tree=root))


def put_names(cell: Cell, field: str, names: Iterable[str]) -> ChangedCell:
    """Replace the managers, operators, administrative hosts or submit hosts."""
    after = _with_field(cell, field, tuple(sorted(set(names))))
    return ChangedCell(after, difference(cell, after))


def _whole(before: Cell, after: Cell) -> ChangedCell:
    settled, problems = settle_cell(after)
    if problems:
        raise Refused(problems)
    return ChangedCell(settled, difference(before, settled))


def replace(before: Cell, after: Cell, places: Places | None = None, known_host: KnownHost = every_host) -> ChangedCell:
    """Replace a whole cell at once, as an import does; raise `Refused` with every problem of the new one."""
    settled, problems = settle_cell(after, places, known_host)
    if problems:
        raise Refused(problems)
    return ChangedCell(settled, difference(before, settled))
