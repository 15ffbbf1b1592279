"""The hooks of a machine that fetch work from elsewhere: what the core orders about them is run here.

A slot has hooks if a keyword is configured for it; `<KEYWORD>_HOOK_FETCH_WORK` brings jobs, the other two are told what
becomes of them. Each call is a process of its own below the nursery: one that hangs delays only its own slot. They run
as the daemon's user, in /, with the daemon's environment less what configures the daemon.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
import traceback
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from roost.classad import ClassAd
from roost.config import Config, ConfigError
from roost.model import effects as ef
from roost.model.events import FetchedWorkOffered
from roost.node.machine import Machine, NodeSlot
from roost.runtime.clock import Clock
from roost.runtime.processes.hook_programs import HookCall, HookFailed, HookResult, ads_text, printed_ad, run_hook
from roost.runtime.processes.nursery import Nursery
from roost.runtime.role import must_go_on
from roost.startd.configured import fetch_hook
from roost.startd.fetched_job import fetched_job

_log = logging.getLogger("roost.fetch")

#: How long a hook may take whose time is not configured, s; one that is not here has no limit. Nothing waits for the
#: others: without a limit, those that hang would pile up.
TIMEOUT_S: Final = {"REPLY_FETCH": 300.0, "EVICT_CLAIM": 300.0}

#: Of what is wrong with a call a slot's ad has as much, characters.
PROBLEM_CHARS_MAX: Final = 500
_OWN: Final = ("_CONDOR_", "_ROOST_")


class Spawn(Protocol):
    """Does something beside."""

    def __call__(self, work: Coroutine[Any, Any, None], name: str | None = None) -> asyncio.Task[None]:
        """Begin it."""


class Fetching:
    """The fetch-work hooks of one machine."""

    def __init__(
        self,
        machine: Machine,
        config: Config,
        execute: Path,
        clock: Clock,
        spawn: Spawn,
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
                # What the core does with a job that was fetched may not stay half done.
                must_go_on(self._spawn(self._fetch(slot), f"fetching of work for {slot.name}"))
            case ef.ReplyFetch(accepted=accepted, job_ad=job_ad, claim_id=claim_id, rejection=rejection):
                if not accepted:
                    what = f"the fetched job {job_ad.get('Cmd')} of {job_ad.get('Owner')}"
                    _log.info("%s: %s is rejected: %s", slot.name, what, rejection)
                claim = "" if claim_id is None else claim_id.text
                word = ("accept",) if accepted else ("reject",)
                self._spawn(self._tell(slot, "REPLY_FETCH", word, job_ad, claim))
            case ef.EvictFetched(job_ad=job_ad, claim_id=claim_id):
                self._spawn(self._tell(slot, "EVICT_CLAIM", (), job_ad, claim_id.text))
            case _:
                return False
        return True

    def _program(self, slot: NodeSlot, hook: str) -> Path | None:
        keyword = self._machine.plan.keyword_of(slot.plan.id)
        try:
            path = fetch_hook(self._config, keyword, hook) if keyword else None
        except ConfigError as error:
            _log.error("%s", error)
            return None
        return Path(path) if path else None

    def _limit_s(self, slot: NodeSlot, hook: str) -> float | None:
        keyword = self._machine.plan.keyword_of(slot.plan.id)
        try:
            found = self._config.get_float(f"{keyword}_HOOK_{hook}_TIMEOUT", TIMEOUT_S.get(hook, 0.0), subsys="STARTD")
        except ConfigError as error:
            _log.error("%s", error)
            found = TIMEOUT_S.get(hook, 0.0)
        return found or None

    async def _call(
        self, slot: NodeSlot, hook: str, path: Path, arguments: tuple[str, ...], text: str
    ) -> HookResult | HookFailed:
        assert self.nursery is not None
        self._calls += 1
        call = HookCall(
            key=f"fetch.{os.getpid()}.{time.time_ns()}.{self._calls}",
            path=path,
            arguments=arguments,
            text=text,
            environment=own_environment(os.environ),
            timeout_s=self._limit_s(slot, hook),
        )
        result = await run_hook(self.nursery, self._execute, call)
        if isinstance(result, HookFailed):
            _log.warning("%s: %s: %s", slot.name, path, result.text)
        elif result.errors.strip():
            _log.warning("%s: %s printed to stderr: %s", slot.name, path, result.errors.strip())
        return result

    async def _fetch(self, slot: NodeSlot) -> None:
        try:
            path = self._program(slot, "FETCH_WORK")
            found = None if path is None else await self._fetched(slot, path)
        except Exception as error:
            # A slot that never hears what its hook brings would never have it called again.
            _log.exception("%s: internal error: what the hook brings is not known; taken as no work", slot.name)
            said = traceback.format_exception_only(error)[-1].strip()
            found = HookFailed(text=f"internal error, see the machine's log: {said}")
        if isinstance(found, HookFailed):
            self._offer(slot, FetchedWorkOffered(problem=found.text[:PROBLEM_CHARS_MAX]))
        else:
            self._offer(slot, FetchedWorkOffered(job_ad=found))

    async def _fetched(self, slot: NodeSlot, path: Path) -> ClassAd | HookFailed | None:
        """The job that the hook brings; why what it did counts as no work; None if it has none."""
        text = ads_text(self._machine.ad(slot, self._clock.now()))
        result = await self._call(slot, "FETCH_WORK", path, (), text)
        if isinstance(result, HookFailed):
            return HookFailed(text=f"{path}: {result.text}")
        if result.status < 0:
            # What it printed may be a part of what it was about to print.
            return self._no_work(slot, f"{path} was killed by signal {-result.status}")
        if not result.output.strip():
            if not result.status:
                return None
            said = result.errors.strip().rpartition("\n")[2]
            return self._no_work(slot, f"{path} exited with status {result.status}" + (f": {said}" if said else ""))
        found = printed_ad(result.output, is_job=True)
        if isinstance(found, HookFailed):
            return self._no_work(slot, f"{path}: {found.text}")
        keyword = self._machine.plan.keyword_of(slot.plan.id) or ""
        job = fetched_job(found, keyword=keyword, kind=slot.state.kind)
        for remark in job.remarks:
            _log.info("%s: %s: %s", slot.name, path, remark)
        return job.ad

    @staticmethod
    def _no_work(slot: NodeSlot, text: str) -> HookFailed:
        _log.warning("%s: %s; taken as no work", slot.name, text)
        return HookFailed(text=text)

    async def _tell(
        self, slot: NodeSlot, hook: str, arguments: tuple[str, ...], job_ad: ClassAd, claim_id: str
    ) -> None:
        path = self._program(slot, hook)
        if path is None:
            return
        slot_ad = self._machine.ad(slot, self._clock.now())
        if claim_id:
            slot_ad["ClaimId"] = claim_id
        await self._call(slot, hook, path, arguments, ads_text(job_ad, slot_ad))


def own_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What of a daemon's environment its hooks inherit: not its own settings."""
    return {name: value for name, value in environment.items() if not name.upper().startswith(_OWN)}
