"""Users' priorities: heavier recent use means a worse priority.

A user's real priority is the slot weight that the user has used, decayed so that use one half-life ago counts half; at
least 0.5. The effective priority is the real priority times the user's factor, and lower is better. The factor is the
one set for the user, else the one for nice users, for the user's group, for remote users, or the default.

`Accountant` keeps what must survive a restart and converts to and from JSON. It reads no clock: each update passes the
time. The caller reports the use of claims that began and ended between two updates, as weight times seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from roost.base.records import dataclass
from roost.negotiator.settings import ROOT, GroupSettings, NegotiatorSettings, PriorityFactors

#: The best real priority, which is also the initial one.
BEST: Final = 0.5
#: Version of the JSON form.
VERSION: Final = 1
#: How often users are charged for their current use, s.
CHARGED_EVERY_S: Final = 5.0
#: Most accounts kept; those unused for longest are dropped first.
USERS_MAX: Final = 100_000


@dataclass(slots=True, kw_only=True)
class User:
    """The account of one user."""

    priority: float = BEST
    #: Set by an administrator; None to use the configuration.
    factor: float | None = None
    #: Weight of the slots in use at the last update.
    in_use: float = 0.0
    #: Number of slots in use at the last update.
    slots: int = 0
    #: Weight times time used since `began`, s.
    used_s: float = 0.0
    #: Epoch s of the first and last use; None before any.
    began: float | None = None
    last: float | None = None
    #: Weight that the user gets before fair share, and never exceeds; None for neither.
    floor: float | None = None
    ceiling: float | None = None


class AccountError(ValueError):
    """An invalid change of an account; the text says why."""


class Accountant:
    """All users of a pool."""

    def __init__(self) -> None:
        self.users: dict[str, User] = {}
        #: Epoch s of the last update; None before the first.
        self.updated_at: float | None = None

    # -- use ---------------------------------------------------------------------------------------

    def update(
        self,
        usage: Mapping[str, tuple[float, int]],
        now: float,
        settings: NegotiatorSettings,
        uncharged: Mapping[str, float] | None = None,
    ) -> None:
        """Charge the time since the last update.

        `usage` is user to weight and number of slots in use now; `uncharged` is user to weight times seconds of claims
        that began and ended since.
        """
        elapsed = 0.0 if self.updated_at is None else max(0.0, now - self.updated_at)
        self.updated_at = now if self.updated_at is None else max(now, self.updated_at)
        uncharged = uncharged or {}
        kept = 0.5 ** (elapsed / settings.halflife_s)
        for name in dict.fromkeys((*self.users, *usage, *uncharged)):
            user = self.user(name)
            weight, slots = usage.get(name, (0.0, 0))
            extra = uncharged.get(name, 0.0)
            if elapsed:
                user.priority = max(BEST, kept * user.priority + (1 - kept) * (weight + extra / elapsed))
            user.used_s += weight * elapsed + extra
            user.in_use, user.slots = weight, slots
            if weight or extra:
                user.began = now if user.began is None else user.began
                user.last = now
        self._forget()

    def _forget(self) -> None:
        if len(self.users) <= USERS_MAX:
            return
        idle = [name for name, user in self.users.items() if not user.in_use and user.factor is None]
        idle.sort(key=lambda name: self.users[name].last or 0.0)
        for name in idle[: len(self.users) - USERS_MAX]:
            del self.users[name]

    def user(self, name: str) -> User:
        """A user's account, created on first access."""
        found = self.users.get(name)
        if found is None:
            found = self.users[name] = User()
        return found

    # -- priorities --------------------------------------------------------------------------------

    def real(self, name: str) -> float:
        """The user's real priority."""
        found = self.users.get(name)
        return BEST if found is None else found.priority

    def factor(self, name: str, settings: NegotiatorSettings) -> float:
        """The user's factor, at least 1."""
        found = self.users.get(name)
        if found is not None and found.factor is not None:
            return max(1.0, found.factor)
        return max(1.0, configured_factor(name, settings.factors, settings.groups))

    def effective(self, name: str, settings: NegotiatorSettings) -> float:
        """The user's effective priority; the lower one goes first."""
        return self.real(name) * self.factor(name, settings)

    # -- commands ----------------------------------------------------------------------------------

    def set_factor(self, name: str, factor: float | None) -> None:
        """Give a user a factor of its own, or None to use the configuration's. Raises AccountError below 1."""
        if factor is not None and not (math.isfinite(factor) and factor >= 1.0):
            raise AccountError(f"a priority factor is a number from 1 up, not {factor}")
        self.user(name).factor = factor

    def set_priority(self, name: str, priority: float) -> None:
        """Set a user's real priority. Raises AccountError below 0.5."""
        if not (math.isfinite(priority) and priority >= BEST):
            raise AccountError(f"a priority is a number from {BEST} up, not {priority}")
        self.user(name).priority = priority

    def set_bounds(self, name: str, *, floor: float | None = None, ceiling: float | None = None) -> None:
        """Set a user's floor and ceiling, weights of slots. Raises AccountError for negative ones."""
        for value in (floor, ceiling):
            if value is not None and not value >= 0:
                raise AccountError(f"a floor or ceiling is a number from 0 up, not {value}")
        user = self.user(name)
        user.floor, user.ceiling = floor, ceiling

    def reset(self, name: str) -> None:
        """Reset a user's use: priority and sums; the factor stays."""
        user = self.user(name)
        user.priority, user.used_s, user.began, user.last = BEST, 0.0, None, None

    def set_usage(
        self, name: str, *, used_s: float | None = None, began: float | None = None, last: float | None = None
    ) -> None:
        """Set a user's recorded use (weight times s) and its first and last time (epoch s); None leaves a figure
        unchanged.

        Raises AccountError for negative ones.
        """
        for value in (used_s, began, last):
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise AccountError(f"use and its times are numbers from 0 up, not {value}")
        user = self.user(name)
        user.used_s = user.used_s if used_s is None else used_s
        user.began = user.began if began is None else began
        user.last = user.last if last is None else last

    def delete(self, name: str) -> None:
        """Delete a user's account; a user who still uses or requests slots starts over. Raises AccountError if it is
        unknown."""
        if self.users.pop(name, None) is None:
            raise AccountError(f"there is no account of {name}")

    # -- outside -----------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """The accounts as plain data."""
        users = {name: _plain(user) for name, user in sorted(self.users.items())}
        return {"version": VERSION, "updated_at": self.updated_at, "users": users}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Accountant:
        """Accountant from the output of `to_json`. Raises ValueError for anything else."""
        if not isinstance(data, Mapping) or data.get("version") != VERSION:
            raise ValueError(f"accounts of another version than {VERSION}")
        found = cls()
        at = data.get("updated_at")
        found.updated_at = None if at is None else float(at)
        users = data.get("users")
        if not isinstance(users, Mapping):
            raise ValueError("accounts without users")
        for name, fields in users.items():
            if not isinstance(fields, Mapping) or not set(fields) <= set(User.__slots__):
                raise ValueError(f"the account of {name!r} has fields that accounts don't have")
            found.users[str(name)] = User(**fields)
        return found

    def ads(self, settings: NegotiatorSettings) -> Iterable[dict[str, Any]]:
        """The attributes of an Accounting ad for each user."""
        for name, user in sorted(self.users.items()):
            attributes: dict[str, Any] = {
                "MyType": "Accounting",
                "Name": name,
                "Priority": self.effective(name, settings),
                "PriorityFactor": self.factor(name, settings),
                "AccountingGroup": group_of(name, settings.groups),
                "IsAccountingGroup": False,
                "ResourcesUsed": user.slots,
                "WeightedResourcesUsed": user.in_use,
                "WeightedAccumulatedUsage": user.used_s,
            }
            optional = {"BeginUsageTime": user.began, "LastUsageTime": user.last, "Floor": user.floor}
            optional["Ceiling"] = user.ceiling
            attributes.update({key: value for key, value in optional.items() if value is not None})
            yield attributes


def _plain(user: User) -> dict[str, Any]:
    fresh = User()
    return {key: value for key in User.__slots__ if (value := getattr(user, key)) != getattr(fresh, key)}


def group_of(submitter: str, groups: Iterable[GroupSettings]) -> str:
    """The group of a submitter ``group.user@domain``: the longest configured one, else ``<none>``."""
    local = submitter.partition("@")[0].lower()
    best = ROOT
    for group in groups:
        if local.startswith(group.name.lower() + ".") and (best == ROOT or len(group.name) > len(best)):
            best = group.name
    return best


def person_of(submitter: str, groups: Iterable[GroupSettings]) -> str:
    """The user of a submitter, folded: ``user@domain`` without the group."""
    group = group_of(submitter, groups)
    return submitter.lower() if group == ROOT else submitter[len(group) + 1 :].lower()


def ceiling_of(person: str, ceilings: Mapping[str, float]) -> float | None:
    """The ceiling of a user, looked up with and without the domain; None for no limit."""
    return ceilings.get(person, ceilings.get(person.partition("@")[0]))


#: Prefix of the submitters of NiceUser jobs, whatever the group of nice jobs is called.
OLD_NICE: Final = "nice-user."


def configured_factor(name: str, factors: PriorityFactors, groups: Iterable[GroupSettings]) -> float:
    """The factor that the configuration gives a user."""
    local, _, domain = name.lower().partition("@")
    if local.startswith((f"{factors.nice_name}.", OLD_NICE)):
        return factors.nice
    group = group_of(name, groups)
    for each in groups:
        if each.name == group and each.prio_factor:
            return each.prio_factor
    if factors.local_domain and domain and domain != factors.local_domain:
        return factors.remote
    return factors.default
