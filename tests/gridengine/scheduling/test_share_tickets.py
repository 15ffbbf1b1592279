"""Share tree tickets: the figures are those that Grid Engine 8.1.9 printed for the same trees, jobs and usage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

import pytest

from roost.gridengine.objects.share_tree import ShareNode, show_share_tree
from roost.gridengine.scheduling import Grant, RunningTask, UsageOwner, run
from tests.gridengine.scheduling.cells import NOW, cell, job, request, snapshot

_PEOPLE = ShareNode(
    name="Root", shares=1, children=(ShareNode(name="alice", shares=60), ShareNode(name="bob", shares=40))
)
_PROJECTS = ("p1", "p2")


def _deep(below: tuple[int, int] = (30, 70), people: tuple[int, int] = (60, 40)) -> ShareNode:
    """Root with A (B with alice and bob, project p1) and project p2."""
    alice, bob = (ShareNode(name=name, shares=shares) for name, shares in zip(("alice", "bob"), people, strict=True))
    team = ShareNode(name="B", shares=below[0], children=(alice, bob))
    first = ShareNode(name="A", shares=50, children=(team, ShareNode(name="p1", type=1, shares=below[1])))
    return ShareNode(name="Root", shares=1, children=(first, ShareNode(name="p2", type=1, shares=50)))


def _given(
    tree: ShareNode,
    waiting: Iterable[str],
    *,
    ran: Iterable[str] = (),
    usage: Mapping[str, float] | None = None,
    factor: float = 5,
    total: int = 1_000_000_000,
) -> list[float]:
    """Tickets of jobs, those that run first; each is written as user or user/project, and so is usage of cpu."""
    users = {
        f"users/{name}": f"name {name}\noticket 0\nfshare 0\ndelete_time 0\ndefault_project NONE\n"
        for name in ("alice", "bob")
    }
    projects = {f"projects/{name}": f"name {name}\noticket 0\nfshare 0\nacl NONE\nxacl NONE\n" for name in _PROJECTS}
    edits = f"schedconf: weight_tickets_share {total}\nschedconf: compensation_factor {factor}"
    one = cell(edits, files={**users, **projects, "sharetree": show_share_tree(tree)})
    accounts = {text: UsageOwner(*text.split("/")) for text in (*waiting, *ran, *(usage or {}))}
    numbers = count(1)
    running = tuple(
        RunningTask(
            job=number,
            task=0,
            request=request(user=user, project=project),
            grants=(Grant("all.q@node1", 1),),
            submitted=NOW - 100,
            started=NOW - 100,
        )
        for number, (user, project) in zip(numbers, [accounts[text] for text in ran], strict=False)
    )
    pending = [
        job(number, user=user, project=project)
        for number, (user, project) in zip(numbers, [accounts[text] for text in waiting], strict=False)
    ]
    used = {accounts[text]: {"cpu": seconds} for text, seconds in (usage or {}).items()}
    found = run(snapshot(one, *pending, running=running, usage=used)).priorities
    return [found[number].share for number in sorted(found)]


def _rounded(*tickets: int) -> object:
    """Grid Engine cuts fractions off, and computes with fewer digits."""
    return pytest.approx([each + 0.5 for each in tickets], abs=2)


def test_without_usage_shares_count() -> None:
    assert _given(_PEOPLE, ["alice"] * 3 + ["bob"] * 2, total=10_000) == _rounded(6000, 3000, 1999, 4000, 2000)


def test_users_without_jobs_do_not_count() -> None:
    assert _given(_PEOPLE, ["alice"] * 3, total=10_000) == _rounded(10_000, 5000, 3333)


def test_jobs_that_run_divide_what_users_with_running_jobs_get() -> None:
    found = _given(_PEOPLE, ["alice", "bob"], ran=["alice"] * 2, total=10_000)
    assert found == _rounded(5000, 5000, 1999, 4000)


@pytest.mark.parametrize(
    ("bob", "factor", "tickets"),
    [
        (0, 0, (4_074_470, 995_925_529)),
        (0, 0.5, (19_965_606, 980_034_393)),
        (0, 1, (10_083_464, 989_916_535)),
        (0, 2.4, (4_226_302, 995_773_697)),
        (0, 2.5, (4_074_470, 995_925_529)),
        (34, 0, (258_020_913, 741_979_086)),
        (34, 0.5, (563_338_716, 436_661_283)),
        (34, 1.5, (300_716_345, 699_283_654)),
        (34, 2, (258_020_913, 741_979_086)),
    ],
)
def test_usage_and_the_bound_on_compensation(bob: float, factor: float, tickets: tuple[int, int]) -> None:
    found = _given(_PEOPLE, ["alice", "bob"], usage={"alice": 219.987595, "bob": bob}, factor=factor)
    assert found == _rounded(*tickets)


@pytest.mark.parametrize(
    ("scale", "tickets"),
    [
        (0.01, (290_334_198, 709_665_801)),
        (0.003, (576_936_840, 423_063_159)),
        (0.001, (600_000_000, 400_000_000)),
    ],
)
def test_usage_counts_as_no_less_than_the_share(scale: float, tickets: tuple[int, int]) -> None:
    usage = {"alice": 219.987595 * scale, "bob": 34 * scale}
    assert _given(_PEOPLE, ["alice", "bob"], usage=usage) == _rounded(*tickets)


def test_jobs_are_ranked_below_the_first_nodes_that_share() -> None:
    waiting = ["alice", "alice", "alice", "bob", "alice/p1", "alice/p1", "bob/p1", "bob/p2", "bob", "bob"]
    found = _given(_deep(), waiting, usage={"alice": 219.987595, "bob": 34})
    assert found == _rounded(
        327_455, 245_591, 218_303, 491_183, 1_964_732, 982_366, 654_910, 998_035_267, 392_946, 280_676
    )


def test_a_node_with_one_child_that_has_jobs_is_passed_through() -> None:
    million = 1_000_000
    found = _given(_deep((60, 40), (50, 50)), ["alice"] * 3 + ["alice/p1"] * 2 + ["bob"] * 3)
    assert found == _rounded(*[each * million for each in (600, 200, 120, 400, 200, 300, 150, 100)])


def test_a_bound_below_the_top_is_that_of_the_whole_tree() -> None:
    usage = {"alice": 187.0, "bob": 94.0, "bob/p1": 73.0, "bob/p2": 28.0}
    found = _given(_deep(), [], ran=["alice", "bob", "bob/p1", "bob/p2"], usage=usage, factor=0.5)
    assert found == _rounded(6_704_223, 5_927_611, 214_088_812, 773_279_352)


def test_default_stands_for_each_user_without_a_node() -> None:
    everyone = ShareNode(
        name="Root",
        shares=1,
        children=(ShareNode(name="default", shares=60), ShareNode(name="p1", type=1, shares=40)),
    )
    usage = {"alice": 424.987595, "bob": 82.0, "bob/p1": 47.0}
    waiting = ["alice", "alice", "alice", "alice/p2", "bob", "bob", "bob/p1"]
    assert _given(everyone, waiting, usage=usage) == _rounded(
        98_024_120, 49_012_060, 32_674_706, 0, 508_037_013, 254_018_506, 393_938_866
    )
    assert _given(everyone, ["alice"], ran=["bob", "bob", "bob/p1"], usage=usage) == _rounded(
        281_624_500, 281_624_500, 436_750_998, 98_024_120
    )


def test_users_of_a_project_take_turns() -> None:
    people = ShareNode(name="staff", shares=30, children=_PEOPLE.children)
    project = ShareNode(name="p1", type=1, shares=70, children=(ShareNode(name="default", shares=10),))
    tree = ShareNode(name="Root", shares=1, children=(people, project))
    waiting = ["alice", "alice", "alice", "bob", "alice/p1", "alice/p1", "bob/p1", "bob/p2"]
    assert _given(tree, waiting, usage={"alice": 219.987595, "bob": 34}) == _rounded(
        252_977, 168_651, 126_488, 505_955, 999_494_044, 333_164_681, 499_747_022, 0
    )


@pytest.mark.parametrize("shares", [(0, 0), (0, 40)])
def test_nodes_without_shares_get_no_tickets(shares: tuple[int, int]) -> None:
    people = (ShareNode(name=name, shares=each) for name, each in zip(("alice", "bob"), shares, strict=True))
    tree = ShareNode(name="Root", shares=1, children=tuple(people))
    found = _given(tree, ["alice", "bob"], usage={"alice": 10.0}, total=100)
    assert found == [0.0, 100.0 if shares[1] else 0.0]
