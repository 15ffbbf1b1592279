"""`Negotiator`: users' priorities."""

from __future__ import annotations

from typing import Any

from roost.compat.classad2 import ClassAd
from roost.compat.htcondor2.asking import connected, home_of, wrapped
from roost.compat.htcondor2.errors import HTCondorException
from roost.wire.requests import central


class Negotiator:
    """The matchmaker of a pool."""

    def __init__(self, location: ClassAd | None = None) -> None:
        self._home = home_of(location)
        with self._pool():
            pass

    def _pool(self) -> Any:
        return connected(self._home)

    def getPriorities(self, rollup: bool = False) -> list[ClassAd]:
        """An ad for each user."""
        with self._pool() as pool:
            return [wrapped(row) for row in pool.ask(central.Users())]

    def getResourceUsage(self, user: str) -> list[ClassAd]:
        """An ad for each slot that runs a job of a user."""
        _check(user)
        with self._pool() as pool:
            quoted = ClassAd({"user": user}).lookup("user")
            constraint = f"RemoteUser =?= {quoted} || AccountingGroup =?= {quoted}"
            return [wrapped(row) for row in pool.ask(central.Ads(kind="Machine", constraint=constraint))]

    def _change(self, action: central.UserAction, user: str, **fields: float | None) -> None:
        _check(user)
        with self._pool() as pool:
            pool.ask(central.ChangeUser(action=action, user=user, **fields))

    def deleteUser(self, user: str) -> None:
        """Delete a user's account."""
        self._change("delete", user)

    def resetUsage(self, user: str) -> None:
        """Reset the usage of a user."""
        self._change("reset", user)

    def resetAllUsage(self) -> None:
        """Reset the usage of all users."""
        for ad in self.getPriorities():
            self._change("reset", str(ad["Name"]))

    def setPriority(self, user: str, priority: float) -> None:
        """Set a user's real priority."""
        self._change("set-priority", user, value=float(priority))

    def setFactor(self, user: str, factor: float) -> None:
        """Set a user's priority factor."""
        self._change("set-factor", user, value=float(factor))

    def setUsage(self, user: str, usage: float) -> None:
        """Set a user's accumulated usage, s."""
        self._change("set-usage", user, used_s=usage)

    def setBeginUsage(self, user: str, when: int) -> None:
        """Set the begin time of a user's usage, epoch s."""
        self._change("set-usage", user, began=when)

    def setLastUsage(self, user: str, when: int) -> None:
        """Set the last time of a user's usage, epoch s."""
        self._change("set-usage", user, last=when)

    def setCeiling(self, user: str, ceiling: int) -> None:
        """Set a user's ceiling; -1 for none."""
        self._bounds(user, "ceiling", ceiling)

    def setFloor(self, user: str, floor: int) -> None:
        """Set a user's floor."""
        self._bounds(user, "floor", floor)

    def _bounds(self, user: str, name: str, number: int) -> None:
        _check(user)
        mine = next((ad for ad in self.getPriorities() if ad.get("Name") == user), ClassAd())
        kept = {each: mine.get(each.title()) for each in ("floor", "ceiling")}
        bounds: dict[str, Any] = {each: value for each, value in kept.items() if isinstance(value, int | float)}
        self._change("set-bounds", user, **{**bounds, name: number if number >= 0 else None})


def _check(user: str) -> None:
    if not isinstance(user, str) or "@" not in user:
        raise HTCondorException("You must specify the submitter (user@uid.domain).")
