"""The load values that a machine reports of itself to a Grid Engine cell."""

from __future__ import annotations

import os

from roost.classad import ClassAd
from roost.gridengine.pool.hosts import load_values
from roost.runtime.node.host_loads import HostLoads, letters
from roost.startd.load import LoadReading

LOAD = LoadReading(one_minute=1.0, five_minutes=2.0, fifteen_minutes=3.0)
MEMORY = {"MemTotal": 1000, "MemAvailable": 600, "MemFree": 100, "SwapTotal": 50, "SwapFree": 20}


def test_memory_and_averages_are_told() -> None:
    found = HostLoads().read(LOAD, MEMORY)
    assert found.items() >= {
        "load_medium": "2.000000", "load_long": "3.000000", "mem_free": "614400", "mem_used": "409600",
        "swap_free": "20480", "swap_used": "30720", "virtual_free": "634880", "virtual_used": "440320",
    }.items()  # fmt: skip
    assert not {name for name in HostLoads().read(LOAD, {}) if name.startswith(("mem", "swap", "virtual"))}


def test_the_use_of_processors_is_that_since_the_last_look() -> None:
    loads = HostLoads()
    assert "cpu" not in loads.read(LOAD, {})
    for _ in range(2_000_000):
        pass
    os.sched_yield()
    found = loads.read(LOAD, {})
    assert "cpu" not in found or 0 <= float(found["cpu"]) <= 100


def test_topologies_have_letters() -> None:
    assert letters({(0, 0): 1, (0, 1): 1})["m_topology"] == "SCC"
    two = letters({(0, 0): 2, (0, 1): 2, (1, 0): 2, (1, 1): 2})
    assert two == {
        "m_socket": "2", "m_core": "4", "m_thread": "8", "m_topology": "SCTTCTTSCTTCTT",
        "m_topology_inuse": "SCTTCTTSCTTCTT",
    }  # fmt: skip


def test_a_cell_reads_them_and_load_sensors_go_before_them() -> None:
    ad = ClassAd(
        {
            "DetectedCpus": 2,
            "TotalLoadAvg": 1.0,
            "CellHostLoads": "load_medium=2.000000,mem_used=409600,m_topology=SCC",
            "CellLoads": "mem_used=1",
        }
    )
    found = load_values(ad, ("mem_used", "m_topology", "load_medium"))
    assert (found["mem_used"], found["m_topology"], found["load_medium"]) == ("1", "SCC", "2.000000")
    assert (found["np_load_medium"], found["np_load_short"]) == ("1.000000", "0.500000")
