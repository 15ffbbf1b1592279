"""The reference library's reader understands every event as it was meant."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from roost.classad import unparse_value
from roost.schedd.event_log import log
from tests.schedd.event_log.events import EVERY, TABLE

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("htcondor2") is None, reason="the reference library is not installed"
)
NOW = 1_795_256_430.0

#: Kind to attributes that the reference's reader does not give, though the text has them (see differences.md).
NOT_READ: dict[str, set[str]] = {
    "RemoteError": {"CriticalError"},
    "AttributeUpdate": {"OldValue", "Attribute", "Value"},
    "ClusterSubmit": {"LogNotes", "UserNotes"},
    "JobEvicted": set(TABLE.attributes()),
}


def reference_events(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setenv("CONDOR_CONFIG", "ONLY_ENV")
    reference = importlib.import_module("htcondor2")
    return list(reference.JobEventLog(str(path)).events(stop_after=0))


def test_the_reference_reads_every_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    path.write_text("".join(log.format_event(event, 12, 3, NOW) for event in EVERY), encoding="utf-8")
    events = reference_events(path, monkeypatch)
    assert [int(event["EventTypeNumber"]) for event in events] == [event.NUMBER for event in EVERY]
    for ours, theirs in zip(EVERY, events, strict=True):
        assert (theirs.cluster, theirs.proc) == (12, 3)
        differing = {
            name: (unparse_value(value), str(theirs.get(name)))
            for name, value in ours.attributes().items()
            if name not in NOT_READ.get(type(ours).__name__, ()) and not same(value, theirs.get(name))
        }
        assert not differing, type(ours).__name__


def same(ours: object, theirs: object) -> bool:
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return float(ours) == float(theirs)
    return str(ours) == str(theirs).strip('"')


#: The parts of an eviction's text behind its first line, by a letter.
EVICTION = {
    "k": "\t(0) CPU times\n",
    "u": "\t\tUsr 0 00:00:01, Sys 0 00:00:00  -  Run Remote Usage\n"
    "\t\tUsr 0 00:00:00, Sys 0 00:00:00  -  Run Local Usage\n",
    "b": "\t5  -  Run Bytes Sent By Job\n\t10  -  Run Bytes Received By Job\n",
    "r": "\tReason: gone away\n",
    "t": "".join(f"{line}\n" for line in TABLE.lines()),
}


@pytest.mark.parametrize("order", ["kubrt", "kubtr", "kutbr", "kubt", "kutb"])
def test_no_order_makes_the_reference_read_the_table_of_an_eviction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    path = tmp_path / "log"
    head = "004 (012.003.000) 2026-11-21 12:00:30 Job was evicted. Code 1011 Subcode 7\n"
    path.write_text(head + "".join(EVICTION[letter] for letter in order) + "...\n", encoding="utf-8")
    (event,) = reference_events(path, monkeypatch)
    assert not set(TABLE.attributes()).intersection(event)
    # What stands behind the table is lost as well: so the reason goes before it.
    assert (event.get("Reason") == "gone away") == (order == "kubrt")


@pytest.mark.parametrize(("code", "subcode"), [(0, 0), (1004, 0), (1011, 7), (0, 5)])
def test_an_evictions_event_has_the_attributes_that_the_references_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, subcode: int
) -> None:
    path = tmp_path / "log"
    evicted = log.JobEvicted(code=code, subcode=subcode, reason="gone away", resources=TABLE)
    path.write_text(log.format_event(evicted, 12, 3, NOW), encoding="utf-8")
    (theirs,) = reference_events(path, monkeypatch)
    outside = {"Cluster", "Proc", "Subproc", "EventTime", "EventTypeNumber", "MyType"}
    assert set(evicted.attributes()) - set(TABLE.attributes()) == set(theirs) - outside
