"""The negotiator in the central manager: its settings, the users' accounts on disk, and its state between cycles.

`roost.negotiator` makes the decisions; this module stores its values. Accountant are one JSON file in the state
directory, replaced as a whole; a file that cannot be read is renamed, and all users start over.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, assert_never

from roost.classad import ClassAd
from roost.collector.table import AdTable
from roost.config import Config
from roost.model.audit import AuditRecord
from roost.negotiator.accountant import CHARGED_EVERY_S, Accountant
from roost.negotiator.audit import Recurrence, recurring, single
from roost.negotiator.cycle import negotiation
from roost.negotiator.memory import Memory
from roost.negotiator.pool_policy import identity, lines, restricted
from roost.negotiator.reach import significant
from roost.negotiator.rehearsal import rehearse
from roost.negotiator.settings import NegotiatorSettings, settings_from
from roost.negotiator.snapshot import Plan, Snapshot
from roost.negotiator.timing import Steps
from roost.negotiator.view import usage_of
from roost.runtime.central.policy_log import PolicyLog, policy_log_path
from roost.runtime.files.whole_files import write_whole
from roost.wire.requests.central import ChangeUser

_log = logging.getLogger("roost.matchmaker")

#: Interval of saves in an idle pool, s.
SAVED_EVERY_S: Final = 300.0
#: Interval at which a policy on trial is evaluated for all slots, s; for matches it always is.
TRIED_EVERY_S: Final = 5.0


class Matchmaker:
    """Cycles, and the state between them."""

    def __init__(self, config: Config, path: Path, logs: Path | None = None) -> None:
        self.settings: NegotiatorSettings = settings_from(config)
        self.memory = Memory()
        self.recurrence = Recurrence()
        self.path = path
        self._logs = path.parent if logs is None else logs
        self.policy_log = PolicyLog(policy_log_path(config, self._logs))
        self.accounts = _read(path)
        #: The job attributes on which matching depends, and whether all queues have received them.
        self.significant: tuple[str, ...] = ()
        self.told = False
        self._charged_at = self._saved_at = self._tried_at = 0.0
        #: Number of rehearsals of a policy on trial so far.
        self._turn = 0
        self._seen: tuple[object, ...] = ()

    def configure(self, config: Config) -> None:
        """Use other settings. If some cannot be read, raises `ConfigError` and changes nothing."""
        self.settings = settings_from(config)
        self.policy_log.close()
        self.policy_log = PolicyLog(policy_log_path(config, self._logs))
        self.significant, self.told, self._seen = (), False, ()
        self._tried_at = 0.0

    # -- cycles ------------------------------------------------------------------------------------

    def cycle(self, snapshot: Snapshot, table: AdTable) -> Steps[Plan]:
        """Run a cycle in steps, between which its input must not change."""
        self.charge(table, snapshot.now)
        plan = yield from negotiation(snapshot, settings=self.settings, accounts=self.accounts, memory=self.memory)
        table.watch(self.memory.names)
        self.policy_log.write(lines(plan.findings, f"{snapshot.now:.3f}"))
        return plan

    def forget(self) -> None:
        """Forget the state between cycles after a failed one: it may be half changed."""
        self.memory, self.recurrence = Memory(), Recurrence()

    def decisions(self, plan: Plan, snapshot: Snapshot) -> list[AuditRecord]:
        """The decisions of a cycle for the audit record."""
        now = snapshot.now
        causes = recurring(plan.causes.items(), self.settings, now)
        if self.settings.dry_run is not None:
            pairs = not 0 <= now - self._tried_at < TRIED_EVERY_S
            self._tried_at = now if pairs else self._tried_at
            causes += rehearse(snapshot, self.settings, plan, self.memory, pairs=pairs, turn=self._turn)
            self._turn += pairs
        return [*single(plan, snapshot, self.settings, self.accounts), *self.recurrence.fresh(causes, now)]

    def charge(self, table: AdTable, now: float, *, at_once: bool = False) -> bool:
        """Charge users for their usage, every few seconds; return whether any user uses anything, or did before.

        In an idle pool, accounts are written only every few minutes.
        """
        if not at_once and 0 <= now - self._charged_at < CHARGED_EVERY_S:
            return False
        self._charged_at = now
        usage = usage_of(table.slots, self.settings, now)
        busy = bool(usage) or any(user.in_use for user in self.accounts.users.values())
        self.accounts.update(usage, now, self.settings)
        if busy or at_once or now - self._saved_at > SAVED_EVERY_S:
            self._saved_at = now
            self.save()
        return busy

    def handed_out(self, slot: ClassAd) -> ClassAd:
        """A slot's ad in the form in which its new user gets it."""
        return restricted(slot, self.settings.policy, self.settings.in_force)

    @property
    def policy(self) -> str:
        """Identifier of the pool policy in force; "" for none."""
        return identity(self.settings.policy)

    def news(self, table: AdTable) -> tuple[str, ...] | None:
        """The significant attributes if a queue has not received them yet, otherwise None.

        Significant attributes stay so until the settings change: attributes that slots have only while they are claimed
        would otherwise make queues renumber their autoclusters with every job.
        """
        seen = (*(id(expression) for _, expression in table.slots.expressions()), table.slots.everywhere())
        if seen != self._seen:
            self._seen = seen
            found = tuple(sorted({*self.significant, *significant(table.slots, self.settings)}))
            if found != self.significant:
                self.significant, self.told = found, False
        if self.told or not self.significant:
            return None
        self.told = True
        return self.significant

    # -- outside -----------------------------------------------------------------------------------

    def ads(self, plan: Plan | None, name: str, cycles: int, seconds: float) -> list[ClassAd]:
        """The ads of the negotiator and of the accounts."""
        record = {} if plan is None else plan.record
        about: dict[str, Any] = {"MyType": "Negotiator", "Name": name, "Cycles": cycles}
        about["LastNegotiationCycleDuration0"] = seconds
        for key, shown in _RECORD.items():
            if isinstance(record.get(key), int | float):
                about[shown] = record[key]
        in_use = record.get("limits_in_use")
        if isinstance(in_use, Mapping):
            about.update({f"ConcurrencyLimit_{key.replace('.', '_')}": used for key, used in in_use.items()})
        return [ClassAd(about), *(ClassAd(each) for each in self.accounts.ads(self.settings))]

    def users(self) -> list[Any]:
        """Accountant of all users."""
        return list(self.accounts.ads(self.settings))

    def change_user(self, asked: ChangeUser) -> None:
        """Change a user's account on an administrator's request. Raises AccountError."""
        accounts, name = self.accounts, asked.user
        match asked.action:
            case "set-factor":
                accounts.set_factor(name, asked.value)
            case "set-priority":
                assert asked.value is not None, "the request could not have been parsed"
                accounts.set_priority(name, asked.value)
            case "set-bounds":
                accounts.set_bounds(name, floor=asked.floor, ceiling=asked.ceiling)
            case "set-usage":
                accounts.set_usage(name, used_s=asked.used_s, began=asked.began, last=asked.last)
            case "reset":
                accounts.reset(name)
            case "delete":
                accounts.delete(name)
            case _:
                assert_never(asked.action)
        self.save()

    def save(self) -> None:
        """Save the accounts."""
        try:
            write_whole(self.path, json.dumps(self.accounts.to_json()), sync=True)
        except OSError as error:
            _log.error("cannot write the accounts to %s: %s", self.path, error)


#: Value of a cycle's record to its attribute.
_RECORD: Final = {
    "slots": "LastNegotiationCycleTotalSlots0",
    "available": "LastNegotiationCycleCandidateSlots0",
    "matches": "LastNegotiationCycleMatches0",
    "rejected": "LastNegotiationCycleRejections0",
    "submitters": "LastNegotiationCycleActiveSubmitterCount0",
    "spins": "LastNegotiationCyclePies0",
}


def _read(path: Path) -> Accountant:
    try:
        return Accountant.from_json(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Accountant()
    except (OSError, ValueError, TypeError) as error:
        aside = path.with_suffix(".unreadable")
        _log.error("the accounts in %s cannot be read (%s); the file was renamed to %s", path, error, aside.name)
        try:
            path.replace(aside)
        except OSError:
            _log.exception("and cannot be renamed either")
        return Accountant()
