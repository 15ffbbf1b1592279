"""Audit records of changes of a pool's cell, and of changes that were refused because of their author."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from roost.model.audit import AuditKind, AuditRecord, Effect, clipped, some
from roost.model.cell_requests import InstanceAction
from roost.model.digests import digest
from roost.runtime.causes import present_request
from roost.wire.requests.cell import CellChange, ChangedAttribute, ChangedInstance, EditCell

if TYPE_CHECKING:
    from roost.gridengine.difference import Change


def record_of_states(
    action: InstanceAction, rows: Sequence[ChangedInstance], sender: str, now: float
) -> AuditRecord | None:
    """The record of a command on queue instances; None if there is nothing to record."""
    changed = [row.name for row in rows if row.outcome == "changed"]
    denied = [row.name for row in rows if row.outcome == "denied"]
    names = changed or denied
    if not names:
        return None
    words = f"cell {action} {' '.join(names)}"
    return AuditRecord(
        id=f"cell-instances/{digest(sender, words)}/{round(now * 1000)}",
        kind=AuditKind.COMMAND,
        at=now,
        until=now,
        effect=Effect.DONE if changed else Effect.REFUSED,
        actor=sender,
        request=present_request(),
        reason=clipped(words if changed else f"{words}: requires an operator, a manager or an owner of the queue"),
        count=len(names),
        samples=some(names),
    )


def record_of_reservation(words: str, number: int, sender: str, now: float, *, done: bool = True) -> AuditRecord:
    """The record of an event of an advance reservation."""
    return AuditRecord(
        id=f"cell-reservation/{number}/{digest(sender, words)}/{round(now * 1000)}",
        kind=AuditKind.COMMAND,
        at=now,
        until=now,
        effect=Effect.DONE if done else Effect.REFUSED,
        actor=sender,
        request=present_request(),
        reason=clipped(words),
        count=1,
        samples=some([str(number)]),
    )


def told(change: Change) -> CellChange:
    """A change in wire form."""
    attributes = tuple(ChangedAttribute(name=name, before=old, after=new) for name, old, new in change.details)
    return CellChange(verb=str(change.verb), kind=change.kind, name=change.name, attributes=attributes)


def record_of_changes(found: tuple[Change, ...], revision: int, sender: str, now: float) -> AuditRecord:
    """The record of a change of the cell."""
    words = [f"{one.verb} {one.what}" for one in found]
    return AuditRecord(
        id=f"cell/{revision}",
        kind=AuditKind.COMMAND,
        at=now,
        until=now,
        actor=sender,
        request=present_request(),
        reason=clipped(f"cell changed to revision {revision}: {', '.join(words)}"),
        count=max(1, len(found)),
        samples=some(words),
    )


def record_of_denied(asked: EditCell, sender: str, now: float) -> AuditRecord:
    """The record of an edit that the requester is not permitted to make."""
    words = " ".join(("qconf", f"-{asked.option}", *asked.words))
    return AuditRecord(
        id=f"cell-edit/{digest(sender, words)}/{round(now * 1000)}",
        kind=AuditKind.COMMAND,
        at=now,
        until=now,
        effect=Effect.REFUSED,
        actor=sender,
        request=present_request(),
        reason=clipped(f"{words}: requires a manager of the cell; operators may do some of it"),
        count=1,
        samples=some([f"-{asked.option}"]),
    )
