"""What users may have of the pool at most at once, and what they have of that.

A user is the one that the queue vouches for: the job's User, which a slot in use names in RemoteOwner. What the user
writes about accounts (accounting_group, accounting_group_user, nice_user, +AccountingGroup) does not matter to it.

A ceiling of USER_CEILINGS holds for a user. One that `roost userprio --ceiling` sets under a name holds for the user of
that name in the same way, and besides for the account of that name, for all users whose jobs are charged to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.negotiator.accounts import Accounts, ceiling_of, person_of
from roost.negotiator.settings import Settings

#: What sets ceilings.
CONFIGURED: Final = "USER_CEILINGS"
COMMANDED: Final = "roost userprio --ceiling"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """A ceiling that holds for a job."""

    #: The user or the account.
    name: str
    #: Weight of slots.
    limit: float
    in_use: float
    set_by: str

    @property
    def left(self) -> float:
        """Weight that may still be given."""
        return self.limit - self.in_use


class Ceilings:
    """All ceilings of a cycle, and what their users have."""

    def __init__(self, settings: Settings, accounts: Accounts) -> None:
        self._settings = settings
        self._by_account = {name: user.ceiling for name, user in accounts.users.items() if user.ceiling is not None}
        self._by_person = {name.lower(): ceiling for name, ceiling in self._by_account.items()}
        #: User, folded, to weight in use.
        self._used: dict[str, float] = {}

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._settings.ceilings or self._by_account)

    def person(self, job: ClassAd, submitter: str) -> str:
        """The user whose job it is. Only ads that no queue has made lack User; then it is read from the submitter."""
        user = job.cell("user")
        return user if isinstance(user, str) and user else person_of(submitter, self._settings.groups)

    def charge(self, usage: Mapping[str, tuple[float, int]]) -> None:
        """Count what users have before the cycle."""
        for person, (weight, _) in usage.items():
            self.spend(person, weight)

    def spend(self, person: str, weight: float) -> None:
        """A user has so much more."""
        key = person.lower()
        self._used[key] = self._used.get(key, 0.0) + weight

    def of(self, person: str, submitter: str, charged: float) -> Iterator[Ceiling]:
        """The ceilings that hold for a user's jobs under a submitter, to whom `charged` is charged in all."""
        used = self._used.get(person.lower(), 0.0)
        configured = ceiling_of(person.lower(), self._settings.ceilings)
        if configured is not None:
            yield Ceiling(name=person, limit=configured, in_use=used, set_by=CONFIGURED)
        commanded = self._by_person.get(person.lower())
        if commanded is not None:
            yield Ceiling(name=person, limit=commanded, in_use=used, set_by=COMMANDED)
        of_account = self._by_account.get(submitter)
        if of_account is not None and (submitter.lower() != person.lower() or charged > used):
            yield Ceiling(name=submitter, limit=of_account, in_use=charged, set_by=COMMANDED)
