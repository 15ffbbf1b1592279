"""A small pool in a few lines."""

from __future__ import annotations

from typing import Any

from roost.classad import ClassAd, Expr
from roost.classad.vector import Table
from roost.negotiator.accountant import Accountant
from roost.negotiator.cycle import negotiate
from roost.negotiator.settings import NegotiatorSettings
from roost.negotiator.snapshot import Plan, Request, Snapshot, SubmitterDemand

NOW = 1_700_000_000.0


def slot(name: str, **more: Any) -> ClassAd:
    ad = ClassAd(MyType="Machine", Name=name, Cpus=1, Memory=1000, Disk=10_000, SlotID=1, State="Unclaimed", Rank=0.0)
    ad["Requirements"] = True
    return with_attributes(ad, more)


def claimed(name: str, user: str, **more: Any) -> ClassAd:
    ad = slot(name, State="Claimed", Activity="Busy", RemoteUser=user, RemoteOwner=user, CurrentRank=0.0)
    return with_attributes(ad, more)


def job(**more: Any) -> ClassAd:
    ad = ClassAd(MyType="Job", Owner="ann", RequestCpus=1, RequestMemory=100, JobUniverse=5)
    ad["Requirements"] = True
    return with_attributes(ad, more)


def with_attributes(ad: ClassAd, more: dict[str, Any]) -> ClassAd:
    """Texts that begin with ``=`` are expressions."""
    for name, value in more.items():
        expression = isinstance(value, str) and value.startswith("=")
        ad[name] = Expr.parse(value[1:]) if expression else value
    return ad


def demand(submitter: str, *requests: tuple[ClassAd, int], schedd: str = "queue", first: int = 1) -> SubmitterDemand:
    return SubmitterDemand(
        schedd=schedd,
        submitter=submitter,
        requests=tuple(
            Request(autocluster=number, ad=ad, count=count, job=f"{number}.0")
            for number, (ad, count) in enumerate(requests, first)
        ),
    )


def plan(
    slots: list[ClassAd],
    *demands: SubmitterDemand,
    settings: NegotiatorSettings | None = None,
    priorities: dict[str, float] | None = None,
    now: float = NOW,
    zone_offset_s: int = 0,
) -> Plan:
    accounts = Accountant()
    for user, priority in (priorities or {}).items():
        accounts.user(user).priority = priority
    table = Table((str(ad["Name"]), ad) for ad in slots)
    names = [str(ad["Name"]) for ad in slots]
    snapshot = Snapshot(
        slots=table,
        claims={name: f"claim-{name}" for name in names},
        nodes=dict.fromkeys(names, "node"),
        demands=demands,
        now=now,
        zone_offset_s=zone_offset_s,
    )
    return negotiate(snapshot, settings=settings or NegotiatorSettings(), accounts=accounts)


def given(found: Plan) -> dict[str, list[str]]:
    """Submitter to slots."""
    answer: dict[str, list[str]] = {}
    for match in found.matches:
        answer.setdefault(match.submitter, []).append(match.slot)
    return answer
