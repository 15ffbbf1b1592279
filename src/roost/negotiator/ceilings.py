"""Ceilings: how much of the pool each user may have at once, and how much of that is in use.

A user is the one that the queue vouches for: the job's User, which a slot in use names in RemoteOwner. Accounting
commands of the job (accounting_group, accounting_group_user, nice_user, +AccountingGroup) do not affect it.

A ceiling of USER_CEILINGS applies to a user. A ceiling that `roost userprio --ceiling` sets for a name applies to the
user of that name, and also to the account of that name, that is, to all jobs charged to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.negotiator.accountant import Accountant, ceiling_of, person_of
from roost.negotiator.settings import NegotiatorSettings

#: The knob and the command that set ceilings.
CONFIGURED: Final = "USER_CEILINGS"
COMMANDED: Final = "roost userprio --ceiling"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """A ceiling that applies to a job."""

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
    """All ceilings of a cycle, and their current use."""

    def __init__(self, settings: NegotiatorSettings, accounts: Accountant) -> None:
        self._settings = settings
        self._by_account = {name: user.ceiling for name, user in accounts.users.items() if user.ceiling is not None}
        self._by_person = {name.lower(): ceiling for name, ceiling in self._by_account.items()}
        #: User, folded, to weight in use.
        self._used: dict[str, float] = {}

    def __bool__(self) -> bool:
        """Whether any ceiling is set."""
        return bool(self._settings.ceilings or self._by_account)

    def person(self, job: ClassAd, submitter: str) -> str:
        """The user who owns a job. Only ads that no queue made lack User; then the submitter's name is used."""
        user = job.cell("user")
        return user if isinstance(user, str) and user else person_of(submitter, self._settings.groups)

    def charge(self, usage: Mapping[str, tuple[float, int]]) -> None:
        """Count the use before the cycle."""
        for person, (weight, _) in usage.items():
            self.spend(person, weight)

    def spend(self, person: str, weight: float) -> None:
        """Add to the use of a user."""
        key = person.lower()
        self._used[key] = self._used.get(key, 0.0) + weight

    def of(self, person: str, submitter: str, charged: float) -> Iterator[Ceiling]:
        """The ceilings that apply to a user's jobs under a submitter, which has been charged `charged` in total."""
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
