"""What a change of a cell does, and what is refused in Grid Engine's recorded words because something else needs it."""

from __future__ import annotations

import dataclasses

import pytest

from roost.gridengine import changes
from roost.gridengine.cell import Cell, read_cell, write_cell
from roost.gridengine.changes import put, put_complexes, put_names, put_share_tree, remove
from roost.gridengine.difference import Change, Verb, difference
from roost.gridengine.objects import kinds
from roost.gridengine.objects.host import HostGroup
from roost.gridengine.objects.people import Project, User, UserList
from roost.gridengine.objects.share_tree import ShareNode
from roost.gridengine.problems import Refused
from roost.gridengine.references import settle_cell
from tests.gridengine import dumps


def with_text(cell: Cell, file: str, text: str) -> Cell:
    """A cell with the text of one file changed or added, unchecked."""
    return read_cell({**write_cell(cell), file: text})


def with_attribute(cell: Cell, file: str, attribute: str, value: str) -> Cell:
    lines = write_cell(cell)[file].splitlines()
    return with_text(
        cell,
        file,
        "".join(f"{attribute} {value}\n" if line.split()[:1] == [attribute] else f"{line}\n" for line in lines),
    )


def start() -> Cell:
    """Objects that refer to each other in every way that there is."""
    cell = dumps.cell("plain")
    for name, members in (("@g1", ("node1", "node2")), ("@g2", ("@g1", "node3"))):
        cell = put(cell, HostGroup(name=name, hostlist=members), new=True).cell
    for number in range(1, 8):
        cell = put(cell, UserList(name=f"u{number}"), new=True).cell
    cell = put(cell, Project(name="p1", acl=("u5",)), new=True).cell
    cell = put(cell, Project(name="p2"), new=True).cell
    cell = put(cell, User(name="ann", default_project="p1"), new=True).cell
    cell = with_text(cell, "calendars/c", "calendar_name c\nyear NONE\nweek mon\n")
    cell = with_text(
        cell,
        "cqueues/o.q",
        write_cell(cell)["cqueues/all.q"]
        .replace("all.q", "o.q")
        .replace("hostlist              @allhosts", "hostlist              node1"),
    )
    for attribute, value in (
        ("slots", "4,[@g2=2]"),
        ("calendar", "NONE,[node1=c]"),
        ("user_lists", "u1"),
        ("xuser_lists", "NONE,[node1=u2]"),
        ("projects", "p2"),
        ("subordinate_list", "all.q=1"),
    ):
        cell = with_attribute(cell, "cqueues/o.q", attribute, value)
    cell = with_attribute(cell, "pe/make", "user_lists", "u3")
    cell = with_attribute(cell, "execution/node1", "user_lists", "u4")
    cell = with_attribute(cell, "configurations/global", "user_lists", "u6")
    return put_share_tree(cell, ShareNode(name="Root", shares=1, children=(ShareNode(name="alice", shares=2),))).cell


START = start()


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (kinds.HOST_GROUP, "@g1", 'denied: these hostgroups still reference "@g1": @g2'),
        (kinds.HOST_GROUP, "@allhosts", 'denied: these cluster queues still reference "@allhosts": all.q'),
        (kinds.HOST_GROUP, "@g2", 'denied: these cluster queues still reference "@g2": o.q'),
        (kinds.HOST_GROUP, "@nosuch", 'denied: host group "@nosuch" does not exist'),
        (kinds.ENVIRONMENT, "make", 'denied: Parallel environment "make" is still referenced in queue "all.q".'),
        (kinds.ENVIRONMENT, "nosuch", 'denied: parallel environment "nosuch" does not exist'),
        (kinds.CALENDAR, "c", 'denied: Calendar "c" is still referenced in queue "o.q"'),
        (kinds.CHECKPOINT, "nosuch", 'denied: checkpointing environment "nosuch" does not exist'),
        (kinds.USER_LIST, "u1", 'denied: userset "u1" is still referenced in user list of queue "o.q"'),
        (kinds.USER_LIST, "u2", 'denied: userset "u2" is still referenced in xuser list of queue "o.q"'),
        (kinds.USER_LIST, "u3", 'denied: userset "u3" is still referenced in user list of parallel environment "make"'),
        (kinds.USER_LIST, "u4", 'denied: userset "u4" is still referenced in user list of exechost "node1"'),
        (kinds.USER_LIST, "u5", 'denied: userset "u5" is still referenced in user list of project "p1"'),
        (kinds.USER_LIST, "u6", 'denied: userset "u6" is still referenced in user list of configuration "global"'),
        (kinds.PROJECT, "p2", 'denied: project "p2" is still referenced in projects of queue "o.q"'),
        (kinds.PROJECT, "p1", 'project "p1" is still referenced by user "ann"'),
        (kinds.USER, "alice", 'denied: may not remove user "alice" still referenced in share tree'),
        (
            kinds.QUEUE,
            "all.q",
            'Cluster queue "all.q" is referenced in cluster queue "o.q" as a subordinate. Deletion denied',
        ),
        (kinds.QUEUE, "nosuch", 'denied: cluster queue "nosuch" does not exist'),
        (kinds.HOST, "node1", 'Host object "node1" is still referenced in cluster queue "all.q".'),
        (kinds.HOST, "node3", 'Host object "node3" is still referenced in cluster queue "all.q".'),
        (kinds.HOST, "global", 'denied: pseudo host "global" may not be deleted'),
        (kinds.HOST, "sgehub", 'denied: execution host "sgehub" does not exist'),
        (kinds.CONFIGURATION, "global", 'can\'t delete configuration "global" from list'),
        (kinds.QUOTA_SET, "nosuch", 'denied: resource quota set "nosuch" does not exist'),
    ],
    ids=lambda value: value.word if isinstance(value, kinds.ObjectKind) else None,
)
def test_what_is_needed_cannot_be_deleted(kind: kinds.ObjectKind, name: str, message: str) -> None:
    with pytest.raises(Refused) as caught:
        remove(START, kind, name)
    assert caught.value.problems[0].message == message


def test_what_is_not_needed_is_deleted_and_the_old_cell_stays() -> None:
    changed = remove(START, kinds.USER_LIST, "u7")
    assert changed.changes == (Change(verb=Verb.DELETE, kind="userset", name="u7"),)
    assert "u7" not in changed.cell.user_lists
    assert "u7" in START.user_lists


def test_an_object_is_added_once() -> None:
    with pytest.raises(Refused) as caught:
        put(START, HostGroup(name="@g1"), new=True)
    assert caught.value.problems[0].message == 'host group "@g1" already exists'


def test_groups_may_not_hold_themselves() -> None:
    with pytest.raises(Refused) as caught:
        put(START, HostGroup(name="@g1", hostlist=("node1", "@g2")), new=False)
    assert caught.value.problems[0].message == 'Hostgroup "@g2" in specification of "@g1" would create a cycle'


def test_a_complex_that_is_used_or_built_in_stays() -> None:
    cell = dumps.cell("department")
    left = [one for one in cell.complexes.values() if one.name not in ("matlab", "arch", "scratch")]
    with pytest.raises(Refused) as caught:
        put_complexes(cell, left)
    messages = [problem.message for problem in caught.value.problems]
    assert messages[:2] == [
        'denied: Complex attribute "matlab" is still referenced in queue "gpu.q".',
        'denied: Complex attribute "scratch" is still referenced in host "node1".',
    ]
    plain = dumps.cell("plain")
    with pytest.raises(Refused) as caught:
        put_complexes(plain, [one for one in plain.complexes.values() if one.name != "arch"])
    assert [problem.message for problem in caught.value.problems] == ['The built-in complex "arch" cannot be deleted']


def test_a_change_says_each_attribute_before_and_after() -> None:
    queue = START.queues["o.q"]
    after = dataclasses.replace(queue, overrides={**queue.overrides, "slots": {"@g2": 2, "node1": 9}})
    assert put(START, after).changes == (
        Change(
            verb=Verb.MODIFY,
            kind="cluster queue",
            name="o.q",
            details=(("slots", "4,[@g2=2]", "4,[@g2=2],[node1=9]"),),
        ),
    )
    assert put_names(START, "operators", ["bob"]).changes == (Change(verb=Verb.ADD, kind="operator", name="bob"),)


@pytest.mark.parametrize("name", dumps.NAMES)
def test_real_configurations_settle_unchanged(name: str) -> None:
    cell = dumps.cell(name)
    assert settle_cell(cell) == (cell, [])
    assert difference(cell, cell) == ()


def test_a_whole_cell_is_replaced_at_once_or_not_at_all() -> None:
    plain, department = dumps.cell("plain"), dumps.cell("department")
    assert changes.replace(plain, department).cell == department
    broken = dataclasses.replace(department, calendars={})
    with pytest.raises(Refused) as caught:
        changes.replace(plain, broken)
    assert [str(problem).partition(" [")[0] for problem in caught.value.problems] == [
        'cqueues/gpu.q:33: error: Calendar "office" does not exist',
        'cqueues/idle.q:33: error: Calendar "night" does not exist',
    ]


def test_applying_a_difference_twice_changes_nothing() -> None:
    plain, department = dumps.cell("plain"), dumps.cell("department")
    once = changes.replace(plain, department)
    assert once.changes
    assert changes.replace(once.cell, department).changes == ()
