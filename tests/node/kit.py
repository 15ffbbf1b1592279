"""A machine of a pool without a daemon: its orders are looked at, and answered by the test."""

from __future__ import annotations

import json
from typing import Any

from roost.classad import ClassAd
from roost.model import effects as ef
from roost.model import starter_effects as sef
from roost.model import starter_events as sev
from roost.model.claims import ClaimRequest
from roost.node.machine import Machine, NodeSlot, Outs
from roost.node.plan import NodePlan, Reading, make_plan
from roost.node.records import machine_record, restore, slot_record
from roost.startd.idleness import Idleness
from roost.startd.load import LoadReading
from roost.startd.slot_ad.ad import host_identity
from tests.startd.layout_cases import configured, reading

NOW = 1_767_263_400.0
_PLATFORM = {"Arch": "X86_64", "OpSys": "LINUX", "HasFileTransfer": True}


class Silent:
    """Watches without a word."""

    def stepped(self, slot: Any, before: Any, taken: Any, now: float) -> None:
        """A slot has taken a step."""

    def starter_stepped(self, slot: Any, starter: Any, taken: Any, now: float) -> None:
        """A starter has taken a step."""


def machine(text: str = "", cores: int = 2) -> Machine:
    """A machine that takes jobs whenever there is room, unless `text` says otherwise."""
    config = configured("START = True\nSUSPEND = False\nPREEMPT = False\nRUNBENCHMARKS = False\n" + text, cores, 4096)
    identity = host_identity(config, machine="here", address="<here>", started_at=NOW - 100, platform=_PLATFORM)
    plan = make_plan(config, reading(cores, 4096), identity, zone_offset_s=0)
    assert isinstance(plan, NodePlan), str(plan)
    made = Machine(plan, Silent(), birth=1, key=b"k" * 32, now=NOW)
    made.poll(SENSED, NOW)
    return made


SENSED = Reading(load=LoadReading(one_minute=0.0), idleness=Idleness(keyboard_s=10_000, console_s=None))


def request(asked: str, **attributes: Any) -> ClaimRequest:
    """A queue's request."""
    ad = ClassAd({"RequestCpus": 1, "RequestMemory": 100, "RequestDisk": 10, "User": "ann@x", **attributes})
    return ClaimRequest(job_ad=ad, schedd="q", client_machine="q", alive_interval_s=300.0, reply_to=f"q|{asked}")


def granted(made: Machine, slot: NodeSlot, now: float = NOW, **attributes: Any) -> str:
    """Claim a slot; the claim."""
    claim_id = slot.state.claim.id.text
    assert made.claim(slot.name, claim_id, request(claim_id, **attributes), now) is not None
    return claim_id


def started(made: Machine, claim_id: str, run: str, now: float = NOW) -> None:
    """Have a job run until its program runs."""
    job = ClassAd(
        {
            "Cmd": "/bin/true",
            "ShouldTransferFiles": "NO",
            "JobUniverse": 5,
            "User": "ann@x",
            "RequestCpus": 1,
            "RequestMemory": 100,
            "RequestDisk": 10,
        }
    )
    outs = made.activate(claim_id, run, job, now)
    assert outs
    while outs:
        orders = [out.effect for out in outs]
        outs = []
        for order in orders:
            match order:
                case sef.MakeSandbox():
                    outs += starter_hears(made, run, sev.SandboxMade(), now)
                case sef.TransferInput():
                    outs += starter_hears(made, run, sev.InputTransferred(), now)
                case sef.StartJob(run=number):
                    outs += starter_hears(made, run, sev.JobStarted(run=number, pid=7), now)
                case ef.SendActivationReply(accepted=accepted):
                    assert accepted
                case _:
                    pass


def starter_hears(made: Machine, run: str, event: sev.StarterEvent, now: float) -> Outs:
    """Something has happened to the starter of a run."""
    found = made.slot_of_run(run)
    assert found is not None
    return made.host.receive_starter(*found, event, now)


def reborn(made: Machine, alive: set[str], now: float, text: str = "", cores: int = 2) -> tuple[Machine, list[str]]:
    """Another machine that goes on from what one wrote down; what could not be used."""
    from roost.node.records import is_kept

    shared = json.loads(json.dumps(machine_record(made)))
    records = {slot.name: json.loads(json.dumps(slot_record(slot))) for slot in made.slots if is_kept(slot)}
    again = machine(text, cores)
    _, problems = restore(again, shared, records, frozenset(alive), now)
    return again, problems
