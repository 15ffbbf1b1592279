"""Managers, operators, and the lists of administrative and submit hosts."""

from __future__ import annotations

from typing import Final, NamedTuple

from roost.gridengine import changes
from roost.gridengine.edits.work import QconfOption, Stop, Work


class _Names(NamedTuple):
    field: str
    #: The name of the list in messages about removal.
    where: str
    #: The name of a member in messages about duplicates.
    called: str


_USERS: Final = {"m": _Names("managers", "manager", "manager"), "o": _Names("operators", "operator", "operator")}
_HOSTS: Final = {
    "h": _Names("admin_hosts", "administrative host", "adminhost"),
    "s": _Names("submit_hosts", "submit host", "submithost"),
}


def _split(text: str) -> list[str]:
    return text.replace(",", " ").split()


def users(work: Work, order: QconfOption) -> None:
    """``-am``, ``-dm``, ``-ao``, ``-do``."""
    names = _USERS[order.option[1]]
    step = _add_user if order.option[0] == "a" else _drop_user
    work.each(_split(order.words[0]), lambda name: step(work, names, name))


def _add_user(work: Work, names: _Names, name: str) -> None:
    work.needs()
    present = getattr(work.cell, names.field)
    if name in present:
        raise Stop(f'{names.called} "{name}" already exists')
    work.take(lambda: changes.put_names(work.cell, names.field, (*present, name)))
    work.done("added", name, names.where)


def _drop_user(work: Work, names: _Names, name: str) -> None:
    work.needs()
    present = getattr(work.cell, names.field)
    if name in work.asker.lasting:
        raise Stop(f'may not remove user "{name}" from {names.where} list')
    if name not in present:
        raise Stop(f'denied: {names.called} "{name}" does not exist')
    work.take(lambda: changes.put_names(work.cell, names.field, (each for each in present if each != name)))
    work.done("removed", name, names.where)


def hosts(work: Work, order: QconfOption) -> None:
    """``-ah``, ``-dh``, ``-as``, ``-ds``."""
    names = _HOSTS[order.option[1]]
    step = _add_host if order.option[0] == "a" else _drop_host
    work.each([name.lower() for name in _split(order.words[0])], lambda name: step(work, names, name))


def _check_host(work: Work, name: str) -> None:
    if name.startswith("@") or not work.asker.known_host(name):
        raise Stop(f'can\'t resolve hostname "{name}"')


def _add_host(work: Work, names: _Names, name: str) -> None:
    _check_host(work, name)
    # Grid Engine ends with 0 where it adds nothing.
    work.needs(status=0)
    present = getattr(work.cell, names.field)
    if name in present:
        raise Stop(f'{names.called} "{name}" already exists', status=0)
    work.take(lambda: changes.put_names(work.cell, names.field, (*present, name)))
    work.say(f"{name} added to {names.where} list")


def _drop_host(work: Work, names: _Names, name: str) -> None:
    _check_host(work, name)
    work.needs()
    present = getattr(work.cell, names.field)
    if name not in present:
        raise Stop(f'denied: {names.where} "{name}" does not exist')
    if names.field == "admin_hosts" and name == work.asker.master:
        raise Stop(f'denied: can\'t delete master host "{name}" from admin host list')
    work.take(lambda: changes.put_names(work.cell, names.field, (each for each in present if each != name)))
    work.done("removed", name, names.where)
