"""The ads of a pool, by name and with expiry; slot ads also in columns.

An ad that is not updated within its lifetime (CLASSAD_LIFETIME, or its own ClassAdLifetime) is removed. The table of
slots is updated row by row, and each row has the number of its last change, so that a matchmaking cycle starts with
what changed rather than with everything. Changes of unwatched attributes do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr
from roost.classad.ad import MISSING
from roost.classad.values import Value, fold
from roost.classad.vector import Table
from roost.classad.vector.kinds import Array

#: CLASSAD_LIFETIME, s.
LIFETIME_S: Final = 900.0
#: Most ads of one pool.
ADS_MAX: Final = 2_000_000
#: Most spellings of types that are kept after the last ad of a type is gone.
KINDS_KEPT: Final = 256
#: With at least this many slots, a constraint is evaluated for all of them at once.
COLUMNS_FROM: Final = 64

#: MyType of slots.
SLOT: Final = "Machine"


class TooManyAds(ValueError):
    """The pool has more ads than `ADS_MAX`."""


@dataclass(slots=True)
class Kept:
    """An ad, its sender and its lifetime."""

    ad: ClassAd
    heard_at: float
    #: The daemon that sent it.
    sender: str
    #: Id of the claim that the slot offers; "" for other ads.
    claim_id: str = ""
    #: Time without an update after which the ad expires, s.
    lifetime_s: float = LIFETIME_S


@dataclass(slots=True)
class Counts:
    """What happened to a table since it was made."""

    updates: int = 0
    expired: int = 0
    removed: int = 0
    queries: int = 0
    #: Updates by MyType.
    by_kind: dict[str, int] = field(default_factory=dict)


class AdTable:
    """All ads of a pool."""

    def __init__(self, lifetime_s: float = LIFETIME_S) -> None:
        self.lifetime_s = lifetime_s
        #: (MyType, Name) to ad. An update with another spelling of the name keeps the first spelling.
        self._kept: dict[tuple[str, str], Kept] = {}
        #: (MyType, folded Name) to how the name is spelled here.
        self._names: dict[tuple[str, str], str] = {}
        #: MyType, folded, to how it is spelled here: as in the first ad of it.
        self._kinds: dict[str, str] = {fold(SLOT): SLOT}
        self.slots = Table()
        #: Counts changes of slots.
        self.changes = 0
        #: For each row of `slots`, the number of its last watched change; int64, longer than the table.
        self.versions: Array = np.zeros(64, np.int64)
        #: Name of a slot to the id of the claim that it offers, and to the sender of its ad.
        self.claims: dict[str, str] = {}
        self.senders: dict[str, str] = {}
        self.counts = Counts()
        #: Folded names whose changes count; None for all.
        self._watched: frozenset[str] | None = None

    # -- changes -------------------------------------------------------------------------------------

    def put(self, ad: ClassAd, *, sender: str, now: float, claim_id: str = "") -> None:
        """Store a new or updated ad, and set its LastHeardFrom.

        Raises ValueError for one without MyType or Name, and TooManyAds.
        """
        kind, name = _key(ad)
        key = self._kinds.setdefault(fold(kind), kind), self.spelled(kind, name)
        ad["LastHeardFrom"] = int(now)
        before = self._kept.get(key)
        if before is None and len(self._kept) >= ADS_MAX:
            raise TooManyAds(f"the pool has more than ADS_MAX = {ADS_MAX} ads")
        self._names.setdefault((key[0], fold(name)), name)
        self._kept[key] = Kept(ad, now, sender, claim_id, self._lifetime(ad))
        self.counts.updates += 1
        self.counts.by_kind[key[0]] = self.counts.by_kind.get(key[0], 0) + 1
        if key[0] == SLOT:
            self._put_slot(key[1], ad, None if before is None else before.ad)
            self.senders[key[1]] = sender
            if claim_id:
                self.claims[key[1]] = claim_id
            else:
                self.claims.pop(key[1], None)

    def _lifetime(self, ad: ClassAd) -> float:
        own = ad.get("ClassAdLifetime")
        return float(own) if own.__class__ in (int, float) and own > 0 else self.lifetime_s

    def _put_slot(self, name: str, ad: ClassAd, before: ClassAd | None) -> None:
        self.slots.put(name, ad)
        self.changes += 1
        if before is None or self._differs(before, ad):
            self._touch(self.slots.place(name))

    def _differs(self, before: ClassAd, ad: ClassAd) -> bool:
        """Whether two ads of a slot differ in a watched attribute."""
        if self._watched is None:
            return True
        return any(not _same(before.cell(name), ad.cell(name)) for name in self._watched)

    def _touch(self, row: int) -> None:
        if row >= len(self.versions):
            longer = np.zeros(max(2 * len(self.versions), row + 1), np.int64)
            longer[: len(self.versions)] = self.versions
            self.versions = longer
        self.versions[row] = self.changes

    def watch(self, names: Iterable[str]) -> None:
        """From now on only changes of these attributes, folded names, count for `versions`."""
        names = frozenset(names)
        if self._watched is not None and not names <= self._watched:
            # Attributes that were not watched may have changed.
            self.changes += 1
            self.versions[:] = self.changes
        self._watched = names

    def remove(self, kind: str, name: str) -> bool:
        """Remove an ad, and return whether there was one."""
        kind, name = self._spelled(kind), self.spelled(kind, name)
        if self._kept.pop((kind, name), None) is None:
            return False
        del self._names[kind, fold(name)]
        self.counts.removed += 1
        if kind == SLOT:
            row = self.slots.place(name)
            self.slots.remove(name)
            self.changes += 1
            # The last row has moved into its place.
            self._touch(row)
            self.claims.pop(name, None)
            del self.senders[name]
        return True

    def only(self, kind: str, sender: str, names: Iterable[str]) -> None:
        """Remove all ads of a kind that a daemon sent, except these."""
        kept = {self.spelled(kind, name) for name in names}
        stale = [key for key, each in self._kept.items() if key[0] == kind and each.sender == sender]
        for _, name in stale:
            if name not in kept:
                self.remove(kind, name)

    def aged(self, now: float) -> dict[tuple[str, str], Kept]:
        """The ads that were not updated within their lifetime."""
        return {key: each for key, each in self._kept.items() if now - each.heard_at > each.lifetime_s}

    def expire(self, now: float) -> list[str]:
        """Remove the ads that were not updated within their lifetime, and return their names."""
        gone = list(self.aged(now))
        for kind, name in gone:
            self.remove(kind, name)
        self.counts.expired += len(gone)
        if gone and len(self._kinds) > KINDS_KEPT:
            self._kinds = {fold(SLOT): SLOT, **{fold(kind): kind for kind, _ in self._kept}}
        return [name for _, name in gone]

    # -- questions -----------------------------------------------------------------------------------

    def get(self, kind: str, name: str) -> Kept | None:
        """An ad by its name, ignoring case."""
        return self._kept.get((self._spelled(kind), self.spelled(kind, name)))

    def spelled(self, kind: str, name: str) -> str:
        """The name of an ad as the table spells it."""
        return self._names.get((self._spelled(kind), fold(name)), name)

    def _spelled(self, kind: str) -> str:
        """A type as the table spells it."""
        return self._kinds.get(fold(kind), kind)

    def of(self, kind: str) -> Iterator[tuple[str, Kept]]:
        """Names and ads of a kind, in the order in which they first arrived; "" for all kinds."""
        kind = self._spelled(kind)
        for (mine, name), each in self._kept.items():
            if not kind or mine == kind:
                yield name, each

    def kinds(self) -> list[str]:
        """The kinds of the ads in the table, sorted."""
        return sorted({kind for kind, _ in self._kept})

    def query(
        self, kind: str, constraint: Expr | None = None, *, limit: int = 0, projection: Iterable[str] = ()
    ) -> Iterator[ClassAd]:
        """The ads of a kind for which a constraint is true.

        `limit` 0 is for all; with a `projection` the ads have these attributes only, in that order.
        """
        self.counts.queries += 1
        names = tuple(projection)
        for found, (_, ad) in enumerate(self._found(kind, constraint), 1):
            yield projection_of(ad, names) if names else ad
            if found == limit:
                return

    @staticmethod
    def fits(ad: ClassAd, constraint: Expr) -> bool:
        """Whether a constraint is true of an ad."""
        return _is_true(ad.eval_expr(constraint))

    def has_columns(self, kind: str) -> bool:
        """Whether a constraint on ads of a kind is evaluated for all of them at once."""
        return self._spelled(kind) == SLOT and len(self.slots) >= COLUMNS_FROM

    def _found(self, kind: str, constraint: Expr | None) -> Iterator[tuple[str, ClassAd]]:
        if constraint is not None and self.has_columns(kind):
            fits = self.slots.evaluate(constraint).true
            for name, each in self.of(kind):
                if fits[self.slots.place(name)]:
                    yield name, each.ad
            return
        for name, each in self.of(kind):
            if constraint is None or self.fits(each.ad, constraint):
                yield name, each.ad

    def ad(self, name: str) -> ClassAd:
        """The collector's own ad: the number of ads of each kind, and counters of events."""
        kinds: dict[str, int] = {}
        for kind, _ in self._kept:
            kinds[kind] = kinds.get(kind, 0) + 1
        about: dict[str, Any] = {"MyType": "Collector", "Name": name, "TotalAds": len(self._kept)}
        about.update({f"{kind}Ads": count for kind, count in sorted(kinds.items())})
        machines = {self.slots.value(key, "Machine") for key in self.slots}
        about["HostsTotal"] = len(machines)
        codes, states = self.slots.attribute("State").texts() if len(self.slots) else (np.zeros(0, np.int32), [])
        for code, count in enumerate(np.bincount(codes[codes >= 0], minlength=len(states)).tolist()):
            if count:
                about[f"Hosts{states[code]}"] = count
        for jobs in ("RunningJobs", "IdleJobs"):
            numbers = (each.ad.get(jobs) for _, each in self.of("Submitter"))
            about[jobs] = sum(number for number in numbers if number.__class__ is int)
        counts = self.counts
        about.update(UpdatesTotal=counts.updates, AdsExpired=counts.expired, AdsRemoved=counts.removed)
        about.update({f"Updates{kind}": count for kind, count in sorted(counts.by_kind.items())})
        about["QueriesTotal"] = counts.queries
        return ClassAd(about)

    def __len__(self) -> int:
        return len(self._kept)


def _key(ad: ClassAd) -> tuple[str, str]:
    kind, name = ad.eval("MyType"), ad.eval("Name")
    if not isinstance(kind, str) or not kind or not isinstance(name, str) or not name:
        raise ValueError("an ad for the collector must have MyType and Name, both strings")
    return kind, name


def _same(one: object, other: object) -> bool:
    if one is other:
        return True
    return one.__class__ is other.__class__ and not isinstance(one, ClassAd) and one == other


def _is_true(value: Value) -> bool:
    return value is True or (value.__class__ in (int, float) and value != 0)


def projection_of(ad: ClassAd, names: tuple[str, ...]) -> ClassAd:
    """An ad with some of the attributes of another."""
    found = ClassAd()
    for name in names:
        cell = ad.cell(name.lower())
        if cell is not MISSING:
            found[name] = cell
    return found
