"""Which queue instances a cell has, and which values they see."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roost.gridengine.cell import Cell
from roost.gridengine.instances import Ambiguity, Resolver, circle, hosts_of, resolve
from roost.gridengine.objects.host import HostGroup
from roost.gridengine.objects.queue import ClusterQueue, QueueSettings
from tests.gridengine import dumps


def test_overrides_by_host_beat_those_of_groups_and_two_groups_are_ambiguous() -> None:
    found = {one.host: one for one in resolve(dumps.cell("oddities")) if one.queue == "all.q"}
    assert {host: one.settings.slots for host, one in found.items()} == {
        "node1": 4,
        "node2": 4,
        "node3": 1,
        "node4": 4,
        "node5": 4,
    }
    assert {host: one.states for host, one in found.items() if one.states} == {"node1": "c", "node2": "c"}
    assert str(found["node1"].ambiguous[0]) == '"slots" has ambiguous value ("@a", "@same")'
    assert found["node2"].ambiguous == (Ambiguity("slots", ("@a", "@b", "@same")),)


def test_instances_follow_the_host_list_with_groups_in_place() -> None:
    cell = dumps.cell("oddities")
    assert [one.host for one in resolve(cell) if one.queue == "odd.q"] == ["node1", "node2", "node3", "node4"]
    assert [one.name for one in resolve(cell) if one.queue in ("empty.q", "ghost.q")] == []


def test_values_of_nested_groups_reach_their_hosts() -> None:
    found = {one.name: one.settings for one in resolve(dumps.cell("department"))}
    assert found["long.q@node3"].slots == 6
    assert found["long.q@node5"].slots == 4
    assert found["long.q@node5"].prolog == "root@/bin/true"
    assert found["long.q@node5"].h_rt.number == 48 * 3600
    assert found["long.q@node1"].h_rt.number == 240 * 3600
    assert found["short.q@node5"].slots == 8


def test_overrides_that_reach_no_instance_are_detached() -> None:
    cell = dumps.cell("oddities")
    resolver = Resolver(cell)
    assert resolver.detached(cell.queues["all.q"]) == [("slots", "sgehub"), ("slots", "nosuchhost")]
    assert resolver.detached(cell.queues["ghost.q"]) == [("slots", "node1")]


def test_an_instance_whose_host_left_stays_as_an_orphan_while_jobs_run_there() -> None:
    cell = dumps.cell("plain")
    found = resolve(cell, {"all.q": ["node9", "node1"]})
    assert [(one.name, one.states) for one in found] == [
        ("all.q@node1", ""),
        ("all.q@node2", ""),
        ("all.q@node3", ""),
        ("all.q@node9", "o"),
    ]


def test_groups_that_hold_themselves_end() -> None:
    groups = {
        "@a": HostGroup(name="@a", hostlist=("n1", "@b")),
        "@b": HostGroup(name="@b", hostlist=("n2", "@a", "@gone")),
    }
    assert hosts_of(("@a", "n1"), groups) == ("n1", "n2")
    assert circle("@a", ("@b",), groups)
    assert not circle("@c", ("@b",), groups)


HOSTS = st.lists(st.sampled_from(["n1", "n2", "n3", "n4"]), max_size=4, unique=True)


@given(
    st.dictionaries(st.sampled_from(["@a", "@b", "@c"]), HOSTS),
    st.dictionaries(st.sampled_from(["n1", "n2", "n3", "@a", "@b", "@c"]), st.integers(1, 9)),
)
def test_precedence_holds_for_all_overrides(members: dict[str, list[str]], overrides: dict[str, int]) -> None:
    groups = {name: HostGroup(name=name, hostlist=tuple(hosts)) for name, hosts in members.items()}
    queue = ClusterQueue(
        name="q", hostlist=("n1", "n2", "n3"), defaults=QueueSettings(slots=0), overrides={"slots": overrides}
    )
    for one in resolve(Cell(queues={"q": queue}, host_groups=groups)):
        applying = [value for name, value in overrides.items() if name in groups and one.host in members[name]]
        expected = overrides.get(one.host, applying[0] if len(applying) == 1 else 0)
        assert one.settings.slots == expected
        assert bool(one.ambiguous) == (one.host not in overrides and len(applying) > 1)
