"""``-A…``, ``-M…`` and ``-d…`` of named objects with their own text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from roost.base import records
from roost.gridengine import changes
from roost.gridengine.edits.said import unread
from roost.gridengine.edits.work import QconfOption, Stop, Work
from roost.gridengine.objects import kinds
from roost.gridengine.objects.people import UserList
from roost.gridengine.problems import ProblemCode, Refused


@records.dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """The messages of `qconf` for a kind of objects."""

    kind: kinds.ObjectKind
    #: Its last line about a file that it cannot read; "" for none.
    closing: str = "error reading in file"
    #: The same about the text from the editor.
    closing_edited: str = "error reading in file"
    #: Whether operators may change it, too, but not in the editor.
    operator: bool = False
    #: The name of its list in messages about removal, if different.
    removed_from: str = ""
    #: Whether several may be deleted, separated by commas.
    several: bool = False
    #: The message for changing an object that does not exist; "" for the master's message.
    unknown: str = ""
    #: Whether success is reported on standard output.
    out: bool = False
    #: Whether `qconf` itself checks the values.
    checks: bool = False


#: The letters that follow -A, -M, -d and, for an editor, -a and -m.
SPOKEN: Final = {
    "q": Spoken(kind=kinds.QUEUE, closing=""),
    "hgrp": Spoken(kind=kinds.HOST_GROUP, closing="", removed_from="host group entry"),
    "e": Spoken(kind=kinds.HOST, closing="invalid format", closing_edited="invalid format", several=True,
                removed_from="execution host"),
    "p": Spoken(kind=kinds.ENVIRONMENT, checks=True),
    "ckpt": Spoken(kind=kinds.CHECKPOINT, removed_from="checkpointing environment", checks=True),
    "cal": Spoken(kind=kinds.CALENDAR),
    "u": Spoken(kind=kinds.USER_LIST, closing_edited="error reading userset from file {}", operator=True,
                several=True, unknown="{} is not known as a project"),
    "prj": Spoken(kind=kinds.PROJECT, closing_edited="cant read project", several=True,
                  unknown="{} is not known as a project"),
    "user": Spoken(kind=kinds.USER, closing_edited="cant read user", several=True,
                   unknown="{} is not known as a user", out=True),
}  # fmt: skip
#: The option that deletes, if its name differs.
DELETED_BY: Final = {"u": "dul"}


def read(spoken: Spoken, order: QconfOption, modify: bool) -> Any:
    """The object of a text; raise Stop with the message of `qconf` about the text."""
    try:
        return spoken.kind.parse(order.text, order.file)
    except Refused as refused:
        is_name = refused.problems[0].code is ProblemCode.BAD_NAME and not spoken.checks
        if words := _absent(spoken, order, modify) if is_name else "":
            raise Stop(words) from None
        status = 1 if modify else _status(spoken, refused, order)
        raise Stop(*_unread(spoken, refused, order, modify), status=status) from None


def _name_in(spoken: Spoken, order: QconfOption) -> str:
    found = re.search(rf"^{spoken.kind.key}[ \t]+(.*\S)", order.text, re.MULTILINE)
    return found[1] if found else ""


def _absent(spoken: Spoken, order: QconfOption, modify: bool) -> str:
    """The message for an impossible name, if Grid Engine looks up the object first; "" if it does not."""
    name = _name_in(spoken, order)
    if spoken.kind is kinds.HOST:
        return f'can\'t resolve hostname "{name}"'
    if not modify or order.edited:
        return ""
    return spoken.unknown.format(name) or f'denied: {spoken.kind.list_word} "{name}" does not exist'


def _status(spoken: Spoken, refused: Refused, order: QconfOption) -> int:
    # Grid Engine ends with 0 after a file with a new host group that it cannot read.
    return 0 if spoken.kind is kinds.HOST_GROUP and not order.edited and unread(refused, order.file) else 1


def _unread(spoken: Spoken, refused: Refused, order: QconfOption, modify: bool) -> Iterator[str]:
    problem = refused.problems[0]
    lines = unread(refused, order.file, queue=spoken.kind is kinds.QUEUE)
    if not order.text.strip():
        lines = [f'error: error reading file: "{order.file}"']
    if not lines and spoken.checks and not problem.message.startswith('Invalid "when"'):
        lines = [f"error: {problem.message}"]
        if spoken.kind is kinds.CHECKPOINT and problem.code is ProblemCode.BAD_VALUE:
            lines *= 2
        if problem.code is ProblemCode.BAD_NAME and spoken.kind is kinds.ENVIRONMENT:
            lines.append(f'error: Invalid character in pe name of pe "{_name_in(spoken, order)}"')
    if not lines:
        yield problem.message
        return
    yield from lines
    closing = spoken.closing_edited if order.edited else spoken.closing
    if spoken.kind is kinds.QUEUE and modify and not order.edited:
        closing = 'Cluster queue file "{}" is not correct'
    if spoken.kind is kinds.HOST_GROUP and modify and not order.edited:
        closing = 'Host group file "{}" is not correct'
    if closing:
        yield closing.format(order.file)


def add(work: Work, order: QconfOption) -> None:
    """``-A…``."""
    spoken = SPOKEN[order.option[1:]]
    one = read(spoken, order, modify=False)
    work.needs(operator=spoken.operator)
    work.take(lambda: changes.put(work.cell, one, new=True, known_host=work.asker.known_host))
    if spoken.kind is kinds.HOST and order.edited:
        work.say(f"added host {one.name} to exec host list")
    else:
        work.done("added", one.name, spoken.kind.list_word, out=spoken.out)


def modify(work: Work, order: QconfOption) -> None:
    """``-M…``."""
    spoken = SPOKEN[order.option[1:]]
    try:
        _modify(work, order, spoken)
    except Stop as stop:
        if spoken.kind is kinds.USER_LIST and order.edited and not stop.denied:
            # Grid Engine exits with 0 whatever the result.
            raise Stop(*stop.lines, status=0) from None
        raise


def _modify(work: Work, order: QconfOption, spoken: Spoken) -> None:
    present = work.cell.objects(spoken.kind)
    try:
        one = read(spoken, order, modify=True)
    except Stop as stop:
        absent = spoken.kind is kinds.CALENDAR and _name_in(spoken, order) not in present
        if absent and stop.lines[0].startswith("error in disabled_"):
            raise Stop(_absent(spoken, order, modify=True) or stop.lines[0]) from None
        raise
    if spoken.unknown and not order.edited and one.name not in present:
        raise Stop(spoken.unknown.format(one.name))
    work.needs(operator=spoken.operator and not order.edited)
    refuse_shares(one)
    if spoken.kind is kinds.HOST and not work.asker.known_host(one.name):
        raise Stop(f'can\'t resolve hostname "{one.name}"')
    work.take(lambda: changes.put(work.cell, one, new=False, known_host=work.asker.known_host))
    work.done("modified", one.name, spoken.kind.list_word, out=spoken.out)


def refuse_shares(one: kinds.Named) -> None:
    """Raise Stop for shares or tickets of an access list, which only departments have."""
    if isinstance(one, UserList) and not one.is_department:
        for attribute in ("oticket", "fshare"):
            if getattr(one, attribute):
                raise Stop(f'not allowed to set "{attribute}" for ACL lists')


def delete(work: Work, order: QconfOption) -> None:
    """``-d…``."""
    letters = "u" if order.option == "dul" else order.option[1:]
    spoken = SPOKEN[letters]
    names = order.words[0].split(",") if spoken.several else [order.words[0]]
    work.each([name for name in names if name], lambda name: _delete(work, spoken, name))


def _delete(work: Work, spoken: Spoken, name: str) -> None:
    kind = spoken.kind
    work.needs(operator=spoken.operator)
    if kind is kinds.HOST:
        name = name.lower()
        if not work.asker.known_host(name) and name != "global":
            raise Stop(f'can\'t resolve hostname "{name}"')
    if kind is kinds.HOST_GROUP and not name.startswith("@"):
        raise Stop(f'host group name "{name}" is not valid')
    work.take(lambda: changes.remove(work.cell, kind, name))
    work.done("removed", name, spoken.removed_from or kind.list_word)
