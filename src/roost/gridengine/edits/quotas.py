"""``-Arqs``, ``-Mrqs`` and ``-drqs``: resource quota sets."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from roost.gridengine import changes
from roost.gridengine.edits.said import placed
from roost.gridengine.edits.work import QconfOption, Stop, Work
from roost.gridengine.objects import kinds
from roost.gridengine.objects.quota import QuotaSet, parse_quota_sets
from roost.gridengine.problems import Refused

_LIST = "resource quota set"


def _parsed(order: QconfOption) -> tuple[QuotaSet, ...]:
    try:
        return parse_quota_sets(order.text, order.file)
    except Refused as refused:
        all_of_them = order.edited and order.option == "Mrqs" and not order.words
        raise Stop(placed(refused.problems[0]), *(["error reading in file"] if all_of_them else [])) from None


def add(work: Work, order: QconfOption) -> None:
    """``-Arqs``."""
    found = _parsed(order)
    if not found:
        raise Stop(f'error reading file: "{order.file}"')
    work.needs()
    for one in found:
        work.tried(partial(_put, work, one, "added", new=True, out=True))


def _put(work: Work, one: QuotaSet, verb: str, *, new: bool, out: bool = False) -> None:
    work.take(lambda: changes.put(work.cell, one, new=new, known_host=work.asker.known_host))
    work.done(verb, one.name, _LIST, out=out)


def modify(work: Work, order: QconfOption) -> None:
    """``-Mrqs``: the named sets; without a name, all of the cell."""
    found = {one.name: one for one in _parsed(order)}
    if not found:
        return
    if not order.words:
        _replace_all(work, found.values())
        return
    names = [name for name in order.words[0].split(",") if name]
    if not order.edited:
        for name in names:
            if name not in found:
                raise Stop(f'resource quota set "{name}" not found in file "{order.file}"')
    work.needs()
    for one in found.values() if order.edited else (found[name] for name in names):
        work.tried(partial(_put, work, one, "modified", new=False))


def _replace_all(work: Work, wanted: Iterable[QuotaSet]) -> None:
    work.needs()
    before = list(work.cell.quota_sets)
    cell, lines = work.cell, list(work.lines)
    try:
        for name in before:
            work.take(partial(changes.remove, work.cell, kinds.QUOTA_SET, name))
            work.done("removed", name, _LIST)
        for one in wanted:
            _put(work, one, "added", new=True)
    except Stop:
        # One wrong set leaves all unchanged.
        work.cell, work.lines[:] = cell, lines
        raise


def delete(work: Work, order: QconfOption) -> None:
    """``-drqs``."""
    names = [name for name in order.words[0].split(",") if name]
    work.each(names, lambda name: _delete(work, name))


def _delete(work: Work, name: str) -> None:
    work.needs()
    work.take(lambda: changes.remove(work.cell, kinds.QUOTA_SET, name))
    work.done("removed", name, _LIST)
