"""The shell of `roost.defrag`: it carries out the effects of its core over the bus, in the central manager's daemon.

It runs if DAEMON_LIST names DEFRAG. The pool's ads come directly from the collector's table; machines get drain
requests as from an administrator. The counts of the current hour and day are stored in a file of the state directory,
so that a restarted daemon does not begin the day again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, assert_never

from roost.classad import Expr, ParseError
from roost.collector.table import SLOT, AdTable
from roost.config import Config, ConfigError
from roost.defrag.machine import begin, step
from roost.defrag.policy import DefragPolicy, configured_policy
from roost.defrag.state import (
    DefragEffect,
    DefragEvent,
    DefragState,
    DefragTimer,
    DefragTimerFired,
    DrainAnswered,
    PoolSeen,
    PublishDefragAd,
    QueryPool,
    RequestCancellation,
    RequestDrain,
    SetDefragTimer,
    persisted,
    restored,
)
from roost.model.plain import PlainError
from roost.runtime.background import Background
from roost.runtime.bus.client import Bus, BusError
from roost.runtime.clock import SYSTEM, Clock
from roost.runtime.files.whole_files import write_whole
from roost.startd.draining import OnCompletion
from roost.wire.messages import Ask
from roost.wire.requests.machine import CancelDrain, Drain
from roost.wire.requests.verb import Request
from roost.wire.verbs import ask_of

_log = logging.getLogger("roost.defrag")

#: Delay after an internal error until it starts over, s.
AGAIN_S: Final = 300.0


class Defragmenter:
    """The defragmentation daemon, as part of the central manager."""

    def __init__(
        self, bus: Bus, table: AdTable, config: Config, name: str, record: Path, clock: Clock = SYSTEM
    ) -> None:
        self._bus = bus
        self._table = table
        self._name = name
        self._host = name.rpartition("@")[2]
        self._record = record
        self._clock = clock
        self.policy = self._policy(config)
        self.state = self._kept()
        self._timers: dict[DefragTimer, asyncio.TimerHandle] = {}
        #: When it starts over after an internal error.
        self._again: asyncio.TimerHandle | None = None
        self._background = Background(_log)
        self._chance = random.SystemRandom()

    def _policy(self, config: Config) -> DefragPolicy | None:
        try:
            return configured_policy(config, host=self._host)
        except (ConfigError, ParseError) as error:
            _log.error("defragmentation drains no machines until this is fixed: %s", error)
            return None

    def _kept(self) -> DefragState:
        try:
            return restored(json.loads(self._record.read_text()))
        except FileNotFoundError:
            return DefragState()
        except (OSError, ValueError, PlainError) as error:
            _log.error("%scannot be read and is replaced by an empty one: %s", self._record, error)
            return DefragState()

    def start(self) -> None:
        """Start."""
        with self._contained():
            if self.policy is not None:
                found = begin(self.state, self._clock.now(), self.policy, self._host)
                self.state = found.state
                self._perform(found.effects)

    @contextlib.contextmanager
    def _contained(self) -> Iterator[None]:
        """Start over after an unforeseen failure; the collector, which is in the same process, continues."""
        try:
            yield
        except Exception:
            _log.exception("internal error: defragmentation failed; it restarts in %g s", AGAIN_S)
            self.stop()
            self._again = asyncio.get_running_loop().call_later(AGAIN_S, self.start)

    def reconfigure(self, config: Config) -> None:
        """Use another policy."""
        self.stop()
        self.policy = self._policy(config)
        self.start()

    def stop(self) -> None:
        """Stop; requested drains continue."""
        for timer in (*self._timers.values(), self._again):
            if timer is not None:
                timer.cancel()
        self._background.cancel()

    def _feed(self, event: DefragEvent) -> None:
        with self._contained():
            self._step(event)

    def _step(self, event: DefragEvent) -> None:
        if self.policy is None:
            return
        found = step(self.state, event, self._clock.now(), self.policy, self._host)
        changed, self.state = found.state != self.state, found.state
        if changed:
            try:
                write_whole(self._record, json.dumps(persisted(self.state)))
            except OSError as error:
                _log.error("the state cannot be saved: %s", error)
        self._perform(found.effects)

    def _perform(self, effects: tuple[DefragEffect, ...]) -> None:
        for effect in effects:
            match effect:
                case SetDefragTimer(timer=timer, at=at):
                    self._set(timer, at)
                case QueryPool(constraint=constraint):
                    self._seen(constraint)
                case RequestDrain():
                    self._ask(effect.machine, _drain(effect), begins=True)
                case RequestCancellation(machine=machine, request_id=request_id):
                    self._ask(machine, CancelDrain(request_id=request_id), begins=False)
                case PublishDefragAd(ad=ad):
                    self._table.put(ad, sender=self._name, now=self._clock.now())
                case _:
                    assert_never(effect)

    def _set(self, timer: DefragTimer, at: float) -> None:
        old = self._timers.pop(timer, None)
        if old is not None:
            old.cancel()
        loop = asyncio.get_running_loop()
        self._timers[timer] = loop.call_later(
            max(0.0, at - self._clock.now()), self._feed, DefragTimerFired(timer=timer)
        )

    def _seen(self, constraint: Expr) -> None:
        ads = tuple(self._table.query(SLOT, constraint))
        chance = self._chance.randrange(2**31)
        # The answer is a separate event: a step never re-enters itself.
        asyncio.get_running_loop().call_soon(self._feed, PoolSeen(ads=ads, chance=chance))

    def _ask(self, machine: str, request: Request[Any], *, begins: bool) -> None:
        self._background.spawn(self._asked(machine, ask_of(request), begins))

    async def _asked(self, machine: str, ask: Ask, begins: bool) -> None:
        refusal = ""
        try:
            answer = await self._bus.ask(self._bus.subjects.ask_node(machine, self._name), ask)
            refusal = "" if answer.ok else answer.text or answer.code
        except BusError as error:
            refusal = str(error)
        _log.info("%s of %s: %s", ask.what, machine, refusal or "agreed")
        if begins:
            self._feed(DrainAnswered(machine=machine, refusal=refusal))


def _drain(order: RequestDrain) -> Drain:
    return Drain(
        schedule=int(order.schedule),
        on_completion=int(OnCompletion.RESUME),
        check=None if order.check is None else str(order.check),
        start=None if order.start is None else str(order.start),
        reason=order.reason,
    )
