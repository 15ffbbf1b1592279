"""One edit of the pool's cell by `qconf`: the result of an order, ready to be stored and reported.

Wording and permissions are the room's (`roost.gridengine.edits`). Known hosts are those in the cell, those whose
address resolves, and those that the requester has found among the machines of the pool.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, NamedTuple

from roost.runtime.bus.request_answers import BadRequest
from roost.runtime.identity import account_name, host_name
from roost.wire.messages import Answer
from roost.wire.requests.cell import EditCell, EditedCell, EditLine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roost.gridengine.cell import Cell
    from roost.gridengine.difference import Change
    from roost.gridengine.edits import Edited


class Rights(NamedTuple):
    """A requester's permissions in the cell."""

    user: str
    manages: bool
    operates: bool


class Done(NamedTuple):
    """An edit that was made, and not stored yet."""

    edited: Edited
    #: The whole cell after it; empty if nothing changed.
    files: dict[str, str]
    changes: tuple[Change, ...]
    #: Names of the queue instances after it.
    instances: frozenset[str]
    #: Settings of the changed cell that pools do not implement.
    warnings: tuple[str, ...]

    @property
    def denied(self) -> bool:
        """Whether anything was refused because of the requester."""
        return self.edited.denied

    def reply(self, revision: int) -> EditedCell:
        """The reply to the requester."""
        lines = tuple(EditLine(text=line.text, out=line.out) for line in self.edited.lines)
        return EditedCell(revision=revision, lines=lines, status=self.edited.status, warnings=self.warnings)


class _Hosts:
    """Which names are host names."""

    def __init__(self, cell: Cell, given: tuple[str, ...] | None) -> None:
        self._known = {
            *(name for one in cell.queues.values() for name in one.hostlist),
            *(name for one in cell.host_groups.values() for name in one.hostlist),
            *(cell.hosts.keys() | cell.configurations.keys()),
            *(cell.admin_hosts + cell.submit_hosts),
            *(given or ()),
            host_name().lower(),
        }
        #: Names that were looked up and are unknown.
        self.unknown: dict[str, None] = {}

    def knows(self, name: str) -> bool:
        """Whether a name is a host name."""
        if name not in self._known and not _resolves(name):
            self.unknown[name] = None
            return False
        self._known.add(name)
        return True


def _resolves(name: str) -> bool:
    try:
        return bool(name) and bool(socket.getaddrinfo(name, None))
    except (OSError, UnicodeError):
        return False


def edited(cell: Cell, asked: EditCell, rights: Rights) -> Done | Answer:
    """Carry out an edit; an answer if there is nothing to store or record. Raises BadRequest."""
    # A pool without a cell does not need this room, which takes a while to import.
    from roost.gridengine.cell import write_cell
    from roost.gridengine.difference import difference
    from roost.gridengine.edits import Asker, QconfOption, edit, malformed
    from roost.gridengine.instances import resolve
    from roost.gridengine.pool.lacking import not_carried_out

    order = QconfOption(option=asked.option, words=asked.words, text=asked.text, file=asked.file, edited=asked.edited)
    if problem := malformed(order):
        raise BadRequest(problem)
    hosts = _Hosts(cell, asked.hosts)
    asker = Asker(
        user=rights.user,
        host=asked.host or host_name(),
        manages=rights.manages,
        operates=rights.operates,
        lasting=frozenset(("root", account_name())),
        master=host_name().lower(),
        known_host=hosts.knows,
    )
    found = edit(cell, order, asker)
    if hosts.unknown and asked.hosts is None:
        return Answer(data=EditedCell(revision=0, unknown_hosts=tuple(hosts.unknown)))
    changes = difference(cell, found.cell)
    files: Mapping[str, str] = write_cell(found.cell) if changes else {}
    instances = frozenset(one.name for one in resolve(found.cell)) if changes else frozenset[str]()
    before = set(not_carried_out(cell)) if changes else set()
    warnings = tuple(each for each in (not_carried_out(found.cell) if changes else ()) if each not in before)
    return Done(found, dict(files), changes, instances, warnings)
