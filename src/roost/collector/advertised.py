"""Ads that users publish with a command, in addition to those of the daemons.

An ad belongs to the user who advertised it: only that user and administrators may replace or withdraw it. The ad says
who that is (AuthenticatedIdentity), and whether that user was an administrator of the pool (AdvertisedByAdministrator),
so that a policy that relies on the ad can check it. Types are compared ignoring case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.collector.table import AdTable, Kept

#: MyType of ads that only daemons publish, folded: Roost's own, and HTCondor's that clients take for a daemon's.
OF_DAEMONS: Final = frozenset(
    (
        "machine", "slot", "startd", "startdaemon", "startdpvt", "submitter", "accounting", "scheduler", "schedd",
        "daemonmaster", "master", "collector", "negotiator", "job", "machineprivate",
    )
)  # fmt: skip

#: The attribute that names the user who advertised an ad.
ADVERTISER: Final = "AuthenticatedIdentity"
BY_ADMINISTRATOR: Final = "AdvertisedByAdministrator"


class Unnamed(ValueError):
    """An ad has no MyType or no Name."""


class NotYours(Exception):
    """A user may not publish or withdraw an ad."""

    def __init__(self, text: str, remedy: str) -> None:
        super().__init__(text)
        self.remedy = remedy


def advertise(
    table: AdTable, ads: Sequence[ClassAd], *, user: str, administrators: Collection[str], now: float
) -> None:
    """Publish a user's ads: all of them, or none. Raises NotYours or Unnamed."""
    for ad in ads:
        kind, name = ad.eval("MyType"), ad.eval("Name")
        if not isinstance(kind, str) or not kind or not isinstance(name, str) or not name:
            raise Unnamed("an ad needs MyType and Name, both strings")
        # Stored as literals: an expression could give a different value each time.
        ad["MyType"], ad["Name"] = kind, name
        if fold(kind) in OF_DAEMONS:
            raise NotYours(f"only daemons publish ads of the type {kind}", "give the ad a MyType of your own")
        _check(table.get(kind, name), user, administrators, "replace")
    for ad in ads:
        ad[ADVERTISER], ad[BY_ADMINISTRATOR] = user, user in administrators
        table.put(ad, sender=user, now=now)


def withdraw(
    table: AdTable, names: Iterable[str], *, kind: str = "", user: str, administrators: Collection[str]
) -> int:
    """Remove ads by name, of one type or of all, and return their number. Raises NotYours, and then removes none."""
    wanted = tuple(dict.fromkeys(names))
    if wanted and fold(kind) in OF_DAEMONS:
        raise NotYours(f"only daemons withdraw ads of the type {kind}", "an ad expires when its daemon stops")
    kinds = [kind] if kind else [each for each in table.kinds() if wanted and fold(each) not in OF_DAEMONS]
    found = [kept for each in kinds for name in wanted if (kept := table.get(each, name)) is not None]
    for kept in found:
        _check(kept, user, administrators, "withdraw")
    return sum(table.remove(*_place(kept.ad)) for kept in found)


def _place(ad: ClassAd) -> tuple[str, str]:
    return str(ad.eval("MyType")), str(ad.eval("Name"))


def _check(kept: Kept | None, user: str, administrators: Collection[str], what: str) -> None:
    if kept is None or kept.sender == user or user in administrators:
        return
    kind, name = _place(kept.ad)
    raise NotYours(
        f"{user} may not {what} the {kind} ad {name!r}, which belongs to {kept.sender}",
        "choose another Name, or ask that user or an administrator of the pool",
    )
