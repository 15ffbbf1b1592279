"""The single objects of a cell: complexes and the scheduler's configuration; and the configurations of the cell and its
hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from roost.gridengine import changes
from roost.gridengine.cell import COMPLEXES_FILE, SCHEDULER_FILE, parse_scheduler
from roost.gridengine.changes import complex_refusals
from roost.gridengine.edits.said import placed, unread
from roost.gridengine.edits.work import QconfOption, Stop, Work
from roost.gridengine.objects import kinds
from roost.gridengine.objects.complex import Complex, parse_complexes
from roost.gridengine.objects.configuration import GLOBAL, Configuration
from roost.gridengine.objects.text import logical_lines
from roost.gridengine.problems import ProblemCode, Refused


def complexes(work: Work, order: QconfOption) -> None:
    """``-Mc``."""
    present = work.cell.complexes
    wanted = {one.name: one for one in _parsed(order)}
    changed = [name for name in {**present, **wanted} if present.get(name) != wanted.get(name)]
    if not changed:
        work.say("Complex attribute configuration has not been changed")
        return
    # Grid Engine refuses removed, changed and added ones, with one line each.
    work.each({(name in present, name in wanted): name for name in changed}.values(), lambda name: work.needs())
    if work.denied:
        return
    if problems := changes.built_in_problems(work.cell, wanted):
        raise Stop(*problems)
    kept = dict(wanted)
    for name in sorted(set(present) - set(wanted)):
        refusals = complex_refusals(work.cell, name)
        for each in refusals:
            work.say(each)
            work.status = 1
        if refusals:
            kept[name] = present[name]
    work.take(lambda: changes.put_complexes(work.cell, kept.values()))
    order_of = {line.split()[0]: number for number, (line, _) in enumerate(logical_lines(order.text, ""))}
    _tell(work, present, dict(sorted(kept.items(), key=lambda item: order_of.get(item[0], 0))))


def _parsed(order: QconfOption) -> tuple[Complex, ...]:
    try:
        found = parse_complexes(order.text, order.file or COMPLEXES_FILE)
    except Refused as refused:
        problem = refused.problems[0]
        message = placed(problem)
        if problem.message.startswith(("unknown complex attribute type", "each value in the attribute")):
            raise Stop(f"error: {message}", _closing(order)) from None
        raise Stop(*(each.message for each in refused.problems)) from None
    if not found:
        raise Stop(_closing(order))
    return found


def _closing(order: QconfOption) -> str:
    return "error reading in file" if order.edited else f'Complex attribute file "{order.file}" is not correct'


def _tell(work: Work, before: Mapping[str, Complex], after: Mapping[str, Complex]) -> None:
    for name in sorted(set(before) - set(after)):
        work.say(f'{work.asker.who} removed "{name}" from complex list')
    for name, one in after.items():
        if name in before and before[name] != one:
            work.done("modified", name, "complex entry")
    for name in after:
        if name not in before:
            work.done("added", name, "complex entry")


def scheduler(work: Work, order: QconfOption) -> None:
    """``-Msconf``."""
    try:
        found = parse_scheduler(order.text, order.file or SCHEDULER_FILE)
    except Refused as refused:
        lines = unread(refused, order.file) or [f"error: {refused.problems[0].message}"]
        closing = "can't read configuration: can't parse config" if order.edited else "error reading in file"
        raise Stop(*lines, closing) from None
    work.needs()
    work.take(lambda: changes.put_scheduler(work.cell, found))
    work.say("changed scheduler configuration")


def add_configuration(work: Work, order: QconfOption) -> None:
    """``-Aconf`` of one host: the word is its name."""
    name = _host(work, order.words[0], () if order.edited else ('can\'t resolve hostname "{}"',))
    if name in work.cell.configurations:
        raise Stop(f"configuration {name} already exists")
    _put(work, order, name, "added")


def modify_configuration(work: Work, order: QconfOption) -> None:
    """``-Mconf`` of one host, or of the cell."""
    name = _host(work, order.words[0], ("configuration {} does not exist",))
    if name not in work.cell.configurations:
        raise Stop(f"configuration {name} does not exist")
    _put(work, order, name, "modified")


def _host(work: Work, word: str, more: Iterable[str]) -> str:
    name = word.rpartition("/")[2].lower()
    if name != GLOBAL and not work.asker.known_host(name):
        lines = (each.format(name) for each in more)
        raise Stop(f"can't resolve hostname \"{name}\": can't resolve host name", *lines)
    return name


def _put(work: Work, order: QconfOption, name: str, verb: str) -> None:
    text = "".join(line for line in order.text.splitlines(keepends=True) if not line.startswith("#"))
    try:
        found: Configuration = kinds.CONFIGURATION.parse(text, name)
    except Refused as refused:
        raise Stop(*_unread(refused, order)) from None
    work.needs()
    work.take(lambda: changes.put(work.cell, found, known_host=work.asker.known_host))
    work.done(verb, name, "configuration")


def _unread(refused: Refused, order: QconfOption) -> list[str]:
    problem = refused.problems[0]
    if problem.code is ProblemCode.SYNTAX:
        last = "error reading temp file" if order.edited else f"error reading configuration from file {order.file}"
        return [f'error: error reading file: "{order.file}"', last]
    return [problem.message]


def drop_configurations(work: Work, order: QconfOption) -> None:
    """``-dconf``."""
    names = [name if name == GLOBAL else name.lower() for name in order.words[0].split(",") if name]
    work.each(names, lambda name: _drop(work, name))


def _drop(work: Work, name: str) -> None:
    refused = f'can\'t delete configuration "{name}" from list'
    if name == GLOBAL:
        raise Stop(refused, status=0)
    if not work.asker.known_host(name):
        raise Stop(f'can\'t resolve hostname "{name}"', f"{refused}: configuration does not exist")
    work.needs(status=0)
    if name not in work.cell.configurations:
        # Grid Engine reports that it has removed it.
        raise Stop(f"{refused}: configuration does not exist")
    work.take(lambda: changes.remove(work.cell, kinds.CONFIGURATION, name))
    work.done("removed", name, "configuration")
