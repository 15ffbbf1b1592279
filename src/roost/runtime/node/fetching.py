"""The fetch-work hooks of a machine: running them as the core orders.

A slot has hooks if a keyword is configured for it; `<KEYWORD>_HOOK_FETCH_WORK` brings jobs, the other two report what
happens to them. Each call is a separate process below the fork server: one that hangs delays only its own slot. Hooks
run as the daemon's user, in /, with the daemon's environment except the variables that configure the daemon.
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
from roost.runtime.processes.fork_server import ForkServer
from roost.runtime.processes.hook_programs import HookCall, HookFailed, HookResult, ads_text, printed_ad, run_hook
from roost.runtime.role import must_go_on
from roost.startd.configured import fetch_hook
from roost.startd.fetched_job import fetched_job

_log = logging.getLogger("roost.fetch")

#: Default time limit of a hook, s; a hook that is not listed has none. Nothing waits for the others, but without a
#: limit, hanging ones would accumulate.
TIMEOUT_S: Final = {"REPLY_FETCH": 300.0, "EVICT_CLAIM": 300.0}

#: Maximum length of the problem of a call in a slot's ad, characters.
PROBLEM_CHARS_MAX: Final = 500
_OWN: Final = ("_CONDOR_", "_ROOST_")


class Spawn(Protocol):
    """Starts a background task."""

    def __call__(self, work: Coroutine[Any, Any, None], name: str | None = None) -> asyncio.Task[None]:
        """Start it."""


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
        self.fork_server: ForkServer | None = None

    def reconfigure(self, config: Config) -> None:
        """Use other programs from now on; keywords stay as they were at startup."""
        self._config = config

    def perform(self, slot: NodeSlot, effect: ef.Effect) -> bool:
        """Carry out an effect about fetched work; False for any other effect."""
        match effect:
            case ef.FetchWork():
                # The core's processing of a fetched job must not be left half done.
                must_go_on(self._spawn(self._fetch(slot), f"fetching work for {slot.name}"))
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
        assert self.fork_server is not None
        self._calls += 1
        call = HookCall(
            key=f"fetch.{os.getpid()}.{time.time_ns()}.{self._calls}",
            path=path,
            arguments=arguments,
            text=text,
            environment=own_environment(os.environ),
            timeout_s=self._limit_s(slot, hook),
        )
        result = await run_hook(self.fork_server, self._execute, call)
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
            # A slot that never learns its hook's result would never call it again.
            _log.exception("%s: internal error: the hook's result is unknown; treated as no work", slot.name)
            said = traceback.format_exception_only(error)[-1].strip()
            found = HookFailed(text=f"internal error; see the machine's log: {said}")
        if isinstance(found, HookFailed):
            self._offer(slot, FetchedWorkOffered(problem=found.text[:PROBLEM_CHARS_MAX]))
        else:
            self._offer(slot, FetchedWorkOffered(job_ad=found))

    async def _fetched(self, slot: NodeSlot, path: Path) -> ClassAd | HookFailed | None:
        """The job that the hook brings, or why its result counts as no work; None if it has none."""
        text = ads_text(self._machine.ad(slot, self._clock.now()))
        result = await self._call(slot, "FETCH_WORK", path, (), text)
        if isinstance(result, HookFailed):
            return HookFailed(text=f"{path}: {result.text}")
        if result.status < 0:
            # The output may be incomplete.
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
        _log.warning("%s: %s; treated as no work", slot.name, text)
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
    """The variables of a daemon's environment that its hooks inherit: all except its own settings."""
    return {name: value for name, value in environment.items() if not name.upper().startswith(_OWN)}
