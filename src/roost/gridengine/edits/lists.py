"""``-au`` and ``-du``: users of access lists."""

from __future__ import annotations

from functools import partial

from roost.base import records
from roost.gridengine import changes
from roost.gridengine.edits.work import QconfOption, Stop, Work
from roost.gridengine.objects.people import DEFAULT_DEPARTMENT, UserList
from roost.gridengine.objects.values import bad_name


def add_users(work: Work, order: QconfOption) -> None:
    """``-au users lists``: missing lists are created."""
    users, lists = (text.replace(",", " ").split() for text in order.words)
    for name in lists:
        work.each(users, partial(_add, work, name))


def _add(work: Work, name: str, user: str) -> None:
    work.needs(operator=True)
    if name == DEFAULT_DEPARTMENT:
        raise Stop(f'all users are assigned to the "{name}" automatically')
    if complaint := bad_name(name):
        raise Stop(complaint)
    present = work.cell.user_lists.get(name) or UserList(name=name)
    if user in present.entries:
        raise Stop(f'"{user}" is already in access list "{name}"')
    changed = records.replace(present, entries=(*present.entries, user))
    work.take(lambda: changes.put(work.cell, changed))
    work.say(f'added "{user}" to access list "{name}"')


def delete_users(work: Work, order: QconfOption) -> None:
    """``-du users lists``."""
    users, lists = (text.replace(",", " ").split() for text in order.words)
    for name in lists:
        work.each(users, partial(_delete, work, name))


def _delete(work: Work, name: str, user: str) -> None:
    work.needs(operator=True)
    present = work.cell.user_lists.get(name)
    if present is None:
        raise Stop(f'access list "{name}" doesn\'t exist')
    if user not in present.entries:
        raise Stop(f'user "{user}" is not in access list "{name}"')
    changed = records.replace(present, entries=tuple(each for each in present.entries if each != user))
    work.take(lambda: changes.put(work.cell, changed))
    work.say(f'deleted user "{user}" from access list "{name}"')
