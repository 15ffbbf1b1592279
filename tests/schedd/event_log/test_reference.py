"""The reference library's reader understands every event as it was meant."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from roost.classad import unparse_value
from roost.schedd import event_log as log
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
