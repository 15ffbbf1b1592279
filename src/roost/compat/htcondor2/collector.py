"""`Collector`: the ads of a pool."""

from __future__ import annotations

import re
from typing import Any, Final

from roost.classad import parse_expression
from roost.compat.classad2 import ClassAd
from roost.compat.htcondor2.asking import HOME, Pool, connected, located, with_home, wrapped
from roost.compat.htcondor2.enums import AdType, DaemonType
from roost.compat.htcondor2.errors import HTCondorException
from roost.compat.htcondor2.job_spec import constraint_text
from roost.compat.htcondor2.security import SecurityContext
from roost.runtime.bus.pool_client import is_called, is_pool
from roost.runtime.home import Home
from roost.wire.ads import ad_data
from roost.wire.requests import central, machine

#: Kind of ad to its MyType.
_TYPES: Final = {
    AdType.Startd: "Machine",
    AdType.Slot: "Machine",
    AdType.StartDaemon: "StartDaemon",
    AdType.StartdPrivate: "MachinePrivate",
    AdType.Schedd: "Scheduler",
    AdType.Master: "DaemonMaster",
    AdType.Submitter: "Submitter",
    AdType.Collector: "Collector",
    AdType.Negotiator: "Negotiator",
    AdType.Any: "",
    AdType.Generic: "Generic",
    AdType.Accounting: "Accounting",
    AdType.Defrag: "Defrag",
    AdType.Credd: "CredD",
    AdType.Grid: "Grid",
    AdType.HAD: "HAD",
    AdType.License: "License",
    AdType.Placementd: "Placementd",
}
_OF_DAEMONS: Final = {
    DaemonType.Any: AdType.Any,
    DaemonType.Master: AdType.Master,
    DaemonType.Schedd: AdType.Schedd,
    DaemonType.Startd: AdType.Startd,
    DaemonType.Collector: AdType.Collector,
    DaemonType.Negotiator: AdType.Negotiator,
    DaemonType.Credd: AdType.Credd,
    DaemonType.Placementd: AdType.Placementd,
    DaemonType.HAD: AdType.HAD,
    DaemonType.Generic: AdType.Generic,
}
#: Daemons that are part of the central manager and do not advertise themselves.
_CENTRAL: Final = frozenset(("Collector", "Negotiator"))


class Collector:
    """The ads of the environment's pool; a query under another pool's name is refused."""

    def __init__(
        self,
        pool: str | ClassAd | list[str] | tuple[str, ...] | None = None,
        security: SecurityContext | None = None,
    ) -> None:
        self._names: list[str] = []
        self._home = Home.find(None)
        match pool:
            case None:
                pass
            case str():
                self._names = [pool] if pool else []
            case ClassAd():
                found = pool.get(HOME)
                self._home = Home.find(found if isinstance(found, str) else None)
                pool["MyAddress"]
            case list() | tuple():
                self._names = [str(each) for each in pool]
            case _:
                raise TypeError("pool must be a string, a ClassAd, or a list of strings")

    def _pool(self) -> Any:
        return _checked(connected(self._home), self._names)

    # -- queries ---------------------------------------------------------------------------------

    def query(
        self,
        ad_type: AdType = AdType.Any,
        constraint: str | None = None,
        projection: list[str] | None = None,
        statistics: str | None = None,
    ) -> list[ClassAd]:
        """The ads of a kind for which a constraint is true."""
        with self._pool() as pool:
            return self._ads(pool, AdType(ad_type), constraint_text(constraint), list(projection or ()))

    def _ads(self, pool: Pool, kind: AdType, constraint: str | None, names: list[str]) -> list[ClassAd]:
        wanted = _TYPES[kind]
        rows = pool.ask(central.Ads(kind=wanted, constraint=constraint, projection=tuple(names)))
        found = [wrapped(row) for row in rows]
        if wanted == "Accounting" and not found:
            found = [ClassAd(row) for row in pool.ask(central.Users())]
        if wanted in _CENTRAL and not found:
            found = [located(pool, wanted, str(pool.contact["pool"]))]
        if constraint is not None and (wanted in _CENTRAL or wanted == "Accounting"):
            test = parse_expression(constraint)
            found = [ad for ad in found if ad._ad.eval_expr(test) is True]
        if names and (wanted in _CENTRAL or wanted == "Accounting"):
            return [ClassAd({name: ad[name] for name in names if name in ad}) for ad in found]
        return found

    def locateAll(self, daemon_type: DaemonType) -> list[ClassAd]:
        """The locations of the daemons of a kind."""
        with self._pool() as pool:
            return [with_home(ad, pool) for ad in self._ads(pool, _kind(daemon_type), None, [])]

    def locate(self, daemon_type: DaemonType, name: str | None = None) -> ClassAd:
        """The location of a daemon: the one of that name, else this machine's. Raises HTCondorException."""
        kind = _kind(daemon_type)
        with self._pool() as pool:
            ads = self._ads(pool, kind, None, [])
            local = str(pool.contact["schedd"])
            for ad in ads:
                names = [str(ad.get(each)) for each in ("Name", "Machine") if ad.get(each) is not None]
                if any(is_called(name or local, each) for each in names):
                    return with_home(ad, pool)
            if ads and name is None:
                return with_home(ads[0], pool)
        if name is None:
            raise HTCondorException("Unable to locate local daemon.")
        raise HTCondorException(f"Unable to find daemon {name!r}.")

    def directQuery(
        self,
        daemon_type: DaemonType,
        name: str | None = None,
        projection: list[str] | None = None,
        statistics: str | None = None,
    ) -> ClassAd:
        """The ad of a daemon, queried directly if it is an execute machine."""
        ad = self.locate(daemon_type, name)
        if daemon_type == DaemonType.Startd:
            with self._pool() as pool:
                own = [wrapped(row) for row in pool.ask(machine.Ads(), machine=str(ad.get("Machine", "")))]
            ad = next((each for each in own if each.get("Name") == ad.get("Name")), ad)
        return ad if not projection else ClassAd({each: ad[each] for each in projection if each in ad})

    # -- advertising -----------------------------------------------------------------------------------

    def advertise(self, ad_list: list[ClassAd], command: str = "UPDATE_AD_GENERIC", use_tcp: bool = True) -> None:
        """Advertise ads to the pool, or invalidate them (``INVALIDATE_…``)."""
        if not isinstance(ad_list, list | tuple) or not all(isinstance(ad, ClassAd) for ad in ad_list):
            raise TypeError("ad_list must be a list of ClassAds")
        known = _ADVERTISED.fullmatch(command.upper())
        if known is None:
            raise HTCondorException(f"Invalid advertise command {command}: UPDATE_AD_GENERIC is one")
        with self._pool() as pool:
            if known["back"]:
                pool.ask(central.Advertise(gone=tuple(name for ad in ad_list for name in _gone(pool, ad))))
                return
            # Only daemons advertise their own ads; the pool refuses others.
            kind = _OF_COMMANDS.get(known["kind"] or "", "Generic")
            pool.ask(central.Advertise(ads=tuple({"MyType": kind, **ad_data(ad._ad)} for ad in ad_list)))


#: Commands of HTCondor's collector that update or invalidate ads.
_ADVERTISED: Final = re.compile(
    r"(?:UPDATE_(?:(?P<kind>[A-Z]+)_)?AD(?:_GENERIC|_WITH_ACK)?|(?P<back>INVALIDATE_)(?:[A-Z]+_)?ADS(?:_GENERIC)?)"
)
#: The type in a command's name to MyType.
_OF_COMMANDS: Final = {
    "STARTD": "Machine", "SCHEDD": "Scheduler", "MASTER": "DaemonMaster", "SUBMITTOR": "Submitter",
    "COLLECTOR": "Collector", "NEGOTIATOR": "Negotiator", "ACCOUNTING": "Accounting", "LICENSE": "License",
    "STORAGE": "Storage", "GRID": "Grid", "HAD": "HAD", "DEFRAG": "Defrag",
}  # fmt: skip


def _gone(pool: Pool, ad: ClassAd) -> list[str]:
    """Names of the ads selected by an ad's Requirements or Name."""
    if "Name" in ad and "Requirements" not in ad:
        return [str(ad["Name"])]
    kind = str(ad.get("TargetType", ad.get("MyType", "")))
    kind = "" if kind in ("Any", "Query") else kind
    constraint = repr(ad.lookup("Requirements")) if "Requirements" in ad else None
    return [str(row["Name"]) for row in pool.ask(central.Ads(kind=kind, constraint=constraint)) if "Name" in row]


def _kind(daemon_type: DaemonType) -> AdType:
    try:
        return _OF_DAEMONS[DaemonType(daemon_type)]
    except (KeyError, ValueError):
        raise HTCondorException("Unable to locate local daemon.") from None


class _checked:
    """A connection, which is refused if another pool was named."""

    def __init__(self, connection: Any, names: list[str]) -> None:
        self._connection = connection
        self._names = names

    def __enter__(self) -> Pool:
        pool: Pool = self._connection.__enter__()
        if self._names and not any(is_pool(name, pool.contact) for name in self._names):
            self._connection.__exit__(None, None, None)
            raise HTCondorException(
                f"Failed communication with collector.\n{', '.join(self._names)} is not the pool "
                f"{pool.contact['pool']!r} in {pool.home.path}; another pool is chosen by ROOST_HOME."
            )
        return pool

    def __exit__(self, *about: Any) -> None:
        self._connection.__exit__(*about)
