"""The hooks of a machine that fetch work from elsewhere: what the core orders about them is run here.

A slot has hooks if a keyword is configured for it; `<KEYWORD>_HOOK_FETCH_WORK` brings jobs, the other two are told what
becomes of them. Each call is a process of its own below the nursery: one that hangs keeps nobody waiting but its slot.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from roost.classad import ClassAd
from roost.config import Config, ConfigError
from roost.model import effects as ef
from roost.model.events import FetchedWorkOffered
from roost.node.machine import Machine, NodeSlot
from roost.runtime.clock import Clock
from roost.runtime.hook_programs import HookCall, HookFailed, HookResult, ads_text, printed_ad, run_hook
from roost.runtime.nursery import Nursery

_log = logging.getLogger("roost.fetch")


class Fetching:
    """The fetch-work hooks of one machine."""

    def __init__(
        self,
        machine: Machine,
        config: Config,
        execute: Path,
        clock: Clock,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
        offer: Callable[[NodeSlot, FetchedWorkOffered], None],
    ) -> None:
        self._machine = machine
        self._config = config
        self._execute = execute
        self._clock = clock
        self._spawn = spawn
        self._offer = offer
        self._calls = 0
        self.nursery: Nursery | None = None

    def reconfigure(self, config: Config) -> None:
        """Other programs from now on; keywords stay what they were at the start."""
        self._config = config

    def perform(self, slot: NodeSlot, effect: ef.Effect) -> bool:
        """Carry out an order about fetched work; False for one about something else."""
        match effect:
            case ef.FetchWork():
                self._spawn(self._fetch(slot))
            case ef.ReplyFetch(accepted=accepted, job_ad=job_ad, claim_id=claim_id):
                claim = "" if claim_id is None else claim_id.text
                word = ("accept",) if accepted else ("reject",)
                self._spawn(self._tell(slot, "REPLY_FETCH", word, job_ad, claim))
            case ef.EvictFetched(job_ad=job_ad, claim_id=claim_id):
                self._spawn(self._tell(slot, "EVICT_CLAIM", (), job_ad, claim_id.text))
            case _:
                return False
        return True

    def _program(self, slot: NodeSlot, hook: str) -> str | None:
        keyword = self._machine.plan.keywords.get(slot.plan.id.number)
        try:
            return self._config.get(f"{keyword}_HOOK_{hook}", subsys="STARTD") if keyword else None
        except ConfigError as error:
            _log.error("%s", error)
            return None

    async def _call(self, path: str, arguments: tuple[str, ...], text: str) -> HookResult | HookFailed:
        assert self.nursery is not None
        self._calls += 1
        call = HookCall(
            key=f"fetch.{os.getpid()}.{time.time_ns()}.{self._calls}",
            path=Path(path),
            arguments=arguments,
            text=text,
            environment=dict(os.environ),
        )
        return await run_hook(self.nursery, self._execute, call)

    async def _fetch(self, slot: NodeSlot) -> None:
        job_ad = None
        path = self._program(slot, "FETCH_WORK")
        if path is not None:
            job_ad = await self._fetched(slot, path)
        self._offer(slot, FetchedWorkOffered(job_ad=job_ad))

    async def _fetched(self, slot: NodeSlot, path: str) -> ClassAd | None:
        text = ads_text(self._machine.ad(slot, self._clock.now()))
        keyword = self._machine.plan.keywords[slot.plan.id.number]
        timeout = self._config.get(f"{keyword}_HOOK_FETCH_WORK_TIMEOUT", subsys="STARTD")
        try:
            async with asyncio.timeout(float(timeout) if timeout else None):
                result = await self._call(path, (), text)
        except TimeoutError:
            _log.warning("%s: %s took longer than %s s and was killed", slot.name, path, timeout)
            return None
        if isinstance(result, HookFailed):
            _log.warning("%s: %s: %s", slot.name, path, result.text)
            return None
        if result.errors.strip():
            _log.warning("%s: %s printed to stderr: %s", slot.name, path, result.errors.strip())
        if not result.output.strip():
            return None
        found = printed_ad(result.output)
        if isinstance(found, HookFailed):
            _log.warning("%s: %s: %s", slot.name, path, found.text)
            return None
        if "HookKeyword" not in found:
            found["HookKeyword"] = keyword
        return found

    async def _tell(
        self, slot: NodeSlot, hook: str, arguments: tuple[str, ...], job_ad: ClassAd, claim_id: str
    ) -> None:
        path = self._program(slot, hook)
        if path is None:
            return
        slot_ad = self._machine.ad(slot, self._clock.now())
        if claim_id:
            slot_ad["ClaimId"] = claim_id
        result = await self._call(path, arguments, ads_text(job_ad, slot_ad))
        if isinstance(result, HookFailed):
            _log.warning("%s: %s: %s", slot.name, path, result.text)
