"""The pool behind the bindings, found by ROOST_HOME like in all programs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from roost.classad import ClassAd as Ad
from roost.compat.classad2 import ClassAd
from roost.compat.htcondor2.errors import HTCondorException
from roost.model.compatible import CONDOR_VERSION
from roost.runtime.bus.pool_client import PoolClient, refusal_text
from roost.runtime.home import Home
from roost.wire.ads import ad_from
from roost.wire.plain import PlainAnswer

#: Attribute of a location's ad: the state directory of its pool.
HOME = "RoostHome"


class RefusedByPool(HTCondorException):
    """The pool refused a request."""

    def __init__(self, answer: PlainAnswer) -> None:
        super().__init__(refusal_text(answer))
        self.answer = answer


class Pool(PoolClient):
    """A running pool. Raises HTCondorException."""

    error_class = HTCondorException
    refused_class = RefusedByPool


@contextmanager
def connected(home: Home | None = None) -> Iterator[Pool]:
    """A connection to the pool of a state directory; None for the environment's. Raises HTCondorException."""
    context = Pool.connected(home or Home.find(None))
    try:
        pool = context.__enter__()
    except HTCondorException as error:
        raise HTCondorException(f"Unable to locate local daemon.\n{error}") from None
    try:
        yield pool
    finally:
        context.__exit__(None, None, None)


def wrapped(data: Any) -> ClassAd:
    """An ad from the pool's reply."""
    return ClassAd._of_ad(ad_from(data))


def home_of(location: ClassAd | None) -> Home:
    """The state directory that a location's ad names, or the environment's. Raises KeyError, TypeError.

    A daemon's object stays with the pool that it was created for, even if the environment changes.
    """
    if location is None:
        return Home.find(None)
    if not isinstance(location, ClassAd):
        raise TypeError("location must be a ClassAd")
    for name in ("MyAddress", "CondorVersion"):
        location[name]
    found = location.get(HOME)
    return Home.find(found if isinstance(found, str) else None)


def located(pool: Pool, kind: str, name: str) -> ClassAd:
    """The location ad of a daemon."""
    ad = Ad({"MyType": kind, "Name": name, "Machine": str(pool.contact["schedd"]), "CondorVersion": CONDOR_VERSION})
    return with_home(ClassAd._of_ad(ad), pool)


def with_home(ad: ClassAd, pool: Pool) -> ClassAd:
    """A daemon's ad, with the location of its pool."""
    if "MyAddress" not in ad:
        ad["MyAddress"] = f"<{address(pool)}>"
    ad[HOME] = str(pool.home.path)
    return ad


def address(pool: Pool) -> str:
    """Host and port of the pool's bus."""
    return str(pool.contact["urls"][0]).rpartition("//")[2].rpartition("@")[2]
