"""`Startd`: an execute machine."""

from __future__ import annotations

from typing import Any, TypeVar

from roost.compat.classad2 import ClassAd
from roost.compat.htcondor2.asking import connected, home_of
from roost.compat.htcondor2.enums import CompletionType, DrainType, VacateType
from roost.compat.htcondor2.errors import HTCondorException
from roost.wire.requests import machine
from roost.wire.requests.verb import Request

R = TypeVar("R")


class Startd:
    """This machine, or the one that a location ad names."""

    def __init__(self, location: ClassAd | None = None) -> None:
        self._home = home_of(location)
        self._machine = "" if location is None else str(location.get("Machine", location.get("Name", "")))
        with self._pool():
            pass

    def _pool(self) -> Any:
        return connected(self._home)

    def _ask(self, request: Request[R]) -> R:
        with self._pool() as pool:
            reply: R = pool.ask(request, machine=self._machine.rpartition("@")[2])
        return reply

    def drainJobs(
        self,
        drain_type: DrainType = DrainType.Graceful,
        on_completion: CompletionType = CompletionType.Nothing,
        check_expr: str | None = None,
        start_expr: str | None = None,
        reason: str | None = None,
    ) -> str:
        """Drain the machine, and return the id by which the drain can be cancelled."""
        with self._pool() as pool:
            words = reason or f"by command: the Python bindings of {pool.user}"
        order = machine.Drain(
            schedule=int(drain_type),
            on_completion=int(on_completion),
            check=None if check_expr is None else str(check_expr),
            start=None if start_expr is None else str(start_expr),
            reason=words,
        )
        return self._ask(order).request_id

    def cancelDrainJobs(self, request_id: str | None = None) -> None:
        """Cancel a drain."""
        self._ask(machine.CancelDrain(request_id=request_id or ""))

    def vacate(self, vacate_fast: VacateType = VacateType.Graceful) -> None:
        """Vacate all jobs."""
        self._ask(machine.Vacate(fast=vacate_fast == VacateType.Fast))

    def vacateSlot(self, slot_name: str | None = None, vacate_fast: VacateType = VacateType.Graceful) -> None:
        """Vacate the job of a slot."""
        self._ask(machine.Vacate(slot=slot_name or "", fast=vacate_fast == VacateType.Fast))

    def history(
        self, constraint: Any = None, projection: list[str] | None = None, match: int = -1, since: Any = None
    ) -> list[ClassAd]:
        """Empty: the machine's jobs are in the queue's history."""
        return []

    def rehome(self, *args: Any, **kwargs: Any) -> None:
        """Not possible in Roost."""
        raise HTCondorException("a machine of Roost belongs to the pool whose bus it is connected to")
