"""What of a cell has no effect in a pool yet is named, and nothing else is."""

from __future__ import annotations

from roost.gridengine.cell import new_cell
from roost.gridengine.pool.lacking import not_carried_out
from tests.gridengine.scheduling.cells import cell


def test_a_new_cell_lacks_nothing() -> None:
    assert list(not_carried_out(new_cell())) == []
    assert list(not_carried_out(cell())) == []


def test_usage_that_does_not_count_as_there_is_named_where_it_counts() -> None:
    edits = (
        "schedconf: weight_tickets_share 100\nschedconf: usage_weight_list cpu=0.5,mem=0.3,io=0.2\n"
        "schedconf: halflife_decay_list cpu=-1:mem=0"
    )
    tree = {"sharetree": "id=0\nname=Root\ntype=0\nshares=1\nchildnodes=NONE\n"}
    assert list(not_carried_out(cell(edits, files=tree))) == []
    # Without a tree it counts nowhere.
    assert [each for each in not_carried_out(cell(edits)) if "list" in each] == []


def test_what_acts_on_jobs_that_run_is_named_with_its_places() -> None:
    found = cell(
        "cqueues/all.q: h_rt 1:0:0,[node1=INFINITY]\ncqueues/b.q: h_rt INFINITY,[node2=60]\n"
        "cqueues/b.q: subordinate_list all.q=1\ncqueues/b.q: prolog none\n"
        "configurations/global: epilog /bin/clean",
        queues=("b.q",),
        files={"calendars/night": "calendar_name night\nyear NONE\nweek mon-fri=8-18=suspended\n"},
    )
    assert list(not_carried_out(found)) == []
