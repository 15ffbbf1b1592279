"""The ads of a pool: by name, with expiry, and the slots' also in columns.

An ad that is not heard of again within CLASSAD_LIFETIME is forgotten. The table of slots is kept up to date row by row,
so that a cycle of the matchmaker begins with what changed and not with everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from roost.classad import ClassAd, Expr
from roost.classad.vector import Table

#: CLASSAD_LIFETIME, s.
LIFETIME_S: Final = 900.0
#: Most ads of one pool.
ADS_MAX: Final = 2_000_000

#: MyType of slots.
SLOT: Final = "Machine"


class TooManyAds(ValueError):
    """The pool has more ads than `ADS_MAX`."""


@dataclass(slots=True)
class Kept:
    """An ad and how it came."""

    ad: ClassAd
    heard_at: float
    #: The daemon that sent it.
    sender: str
    #: Id of the claim that the slot offers; "" for other ads.
    claim_id: str = ""


class AdTable:
    """All ads of a pool."""

    def __init__(self, lifetime_s: float = LIFETIME_S) -> None:
        self.lifetime_s = lifetime_s
        #: (MyType, Name) to ad.
        self._kept: dict[tuple[str, str], Kept] = {}
        self.slots = Table()
        #: Counts changes of slots.
        self.changes = 0

    def put(self, ad: ClassAd, *, sender: str, now: float, claim_id: str = "") -> None:
        """An ad has come, new or again. Raises ValueError for one without MyType or Name, and TooManyAds."""
        key = _key(ad)
        if key not in self._kept and len(self._kept) >= ADS_MAX:
            raise TooManyAds(f"the pool has more than ADS_MAX = {ADS_MAX} ads")
        self._kept[key] = Kept(ad, now, sender, claim_id)
        if key[0] == SLOT:
            self.slots.put(key[1], ad)
            self.changes += 1

    def remove(self, kind: str, name: str) -> bool:
        """Forget an ad; whether there was one."""
        if self._kept.pop((kind, name), None) is None:
            return False
        if kind == SLOT:
            self.slots.remove(name)
            self.changes += 1
        return True

    def only(self, kind: str, sender: str, names: Iterable[str]) -> None:
        """Forget all ads of a kind that a daemon has sent, but these."""
        kept = set(names)
        stale = [key for key, each in self._kept.items() if key[0] == kind and each.sender == sender]
        for _, name in stale:
            if name not in kept:
                self.remove(kind, name)

    def expire(self, now: float) -> list[str]:
        """Forget what has not been heard of; the names of it."""
        gone = [key for key, each in self._kept.items() if now - each.heard_at > self.lifetime_s]
        for kind, name in gone:
            self.remove(kind, name)
        return [name for _, name in gone]

    def get(self, kind: str, name: str) -> Kept | None:
        """An ad by its name."""
        return self._kept.get((kind, name))

    def of(self, kind: str) -> Iterator[tuple[str, Kept]]:
        """Name and ad of all of a kind, in the order in which they first came; "" for all kinds."""
        for (mine, name), each in self._kept.items():
            if not kind or mine == kind:
                yield name, each

    def query(self, kind: str, constraint: Expr | None = None, *, limit: int = 0) -> Iterator[ClassAd]:
        """The ads of a kind for which a constraint is true; `limit` 0 for all."""
        found = 0
        for _, each in self.of(kind):
            if constraint is None or each.ad.eval_expr(constraint) is True:
                yield each.ad
                found += 1
                if limit and found >= limit:
                    return

    def __len__(self) -> int:
        return len(self._kept)


def _key(ad: ClassAd) -> tuple[str, str]:
    kind, name = ad.eval("MyType"), ad.eval("Name")
    if not isinstance(kind, str) or not isinstance(name, str) or not name:
        raise ValueError("an ad for the collector has MyType and Name, both texts")
    return kind, name
