"""The central manager's part in the audit trail: its own decisions, and the storage of all daemons' records."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from roost.config import Config, ConfigError
from roost.config.in_force import configuration_record
from roost.model.audit import AuditKind, AuditRecord, Effect, clipped, some
from roost.model.digests import digest
from roost.runtime.audit_sender import AuditSender
from roost.runtime.causes import present_request
from roost.runtime.central.audit_keeper import AuditKeeper, audit_settings
from roost.runtime.role import ConfigurationRefused, must_go_on
from roost.wire import messages as m
from roost.wire.audit import audit_data

if TYPE_CHECKING:
    import asyncio

    from roost.runtime.bus.client import Bus
    from roost.runtime.clock import Clock
    from roost.runtime.role import RoleContext
    from roost.wire.subjects import Subjects


class AuditDaemon(Protocol):
    """The interface of the central manager's daemon for the trail."""

    context: RoleContext
    clock: Clock
    started_at: float
    bus: Bus
    subjects: Subjects

    def spawn(self, work: Coroutine[Any, Any, None], name: str | None = None) -> asyncio.Task[None]:
        """Start a background task."""


class CentralAudit:
    """See the module."""

    def __init__(self, daemon: AuditDaemon, config: Config) -> None:
        self._daemon = daemon
        self._config = config
        self._name = daemon.context.name
        home = daemon.context.home
        try:
            self.keeper = AuditKeeper(
                audit_settings(config, home), self._on_record, daemon.clock, partial(home.note_problem, "central")
            )
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from None
        path = home.run / "central-audit.jsonl"
        self._sender = AuditSender(self._hand_over, role=daemon.context.role, now=daemon.started_at, path=path)
        self.configuration = ""

    def start(self) -> None:
        """Begin to store records."""
        self._sender.load()
        self._note(None, self._config)
        must_go_on(self._daemon.spawn(self.keeper.keep_all(), "keeping of the audit trail"))
        must_go_on(self._daemon.spawn(self._sender.send_all(), "sending of decisions"))

    def reconfigure(self, config: Config) -> None:
        """Use another configuration from now on, but the same database."""
        try:
            self.keeper.settings = audit_settings(config, self._daemon.context.home)
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from None
        self._note(self._config, config)
        self._config = config

    def close(self) -> None:
        """Close the database."""
        self.keeper.close()

    def _note(self, before: Config | None, after: Config) -> None:
        record = configuration_record(before, after, self._daemon.clock.now(), role=self._daemon.context.role)
        self.configuration = record.configuration
        self.record([record])

    def record(self, records: Iterable[AuditRecord]) -> None:
        """Record decisions."""
        found = [audit_data(each) for each in records]
        if found:
            self._sender.add(found)

    def command(self, what: str, actor: str, *, user: str = "", refusal: str = "", names: Sequence[str] = ()) -> None:
        """Record a user's command to the central manager."""
        now = self._daemon.clock.now()
        record = AuditRecord(
            id=f"command/{digest(actor, what)}/{round(now * 1000)}",
            kind=AuditKind.COMMAND,
            at=now,
            until=now,
            effect=Effect.REFUSED if refusal else Effect.DONE,
            actor=actor,
            user=user,
            request=present_request(),
            configuration=self.configuration,
            reason=clipped(f"{what}: {refusal}" if refusal else what),
            count=max(1, len(names)),
            samples=some(names),
        )
        self.record([record])

    async def _hand_over(self, message: m.Audit) -> None:
        self.keeper.take(message, self._name)

    async def _on_record(self, kept: dict[str, int]) -> None:
        self._sender.kept(kept.pop(f"{self._daemon.context.role} {self._name}", 0))
        if kept:
            await self._daemon.bus.send(self._daemon.subjects.everybody(self._name), m.AuditKept(kept=kept))
