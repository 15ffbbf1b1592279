"""What jobs ask a cell for in their ads."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd
from roost.gridengine.pool.requests import Reader, parallel
from roost.gridengine.scheduling import Range
from tests.gridengine.scheduling.cells import cell, environment


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("mpi 4", [(4, 4)]),
        ("mpi 2-8", [(2, 8)]),
        # What Grid Engine 8.1.9 makes of these.
        ("mpi 5-2", [(2, 5)]),
        ("mpi 2-", [(2, 9_999_999)]),
        ("mpi -3", [(1, 3)]),
        ("mpi 3,1-2,2", [(1, 3)]),
        ("mpi 6, 2-3", [(2, 3), (6, 6)]),
    ],
)
def test_ranges_of_slots(text: str, ranges: list[tuple[int, int]]) -> None:
    assert parallel(text) == ("mpi", tuple(Range(*each) for each in ranges))


@pytest.mark.parametrize(
    ("attributes", "complaint"),
    [
        ({"CellParallel": "make 0"}, '"job" rejected: pe range must be greater than zero'),
        ({"CellParallel": "make -0"}, '"job" rejected: pe range must be greater than zero'),
        ({"CellParallel": "make x"}, '"x" is not a range of slots: write n, n-m, n- or -m'),
        ({"CellParallel": "make"}, 'parallel environment "make" is asked for without a number of slots'),
        ({"CellParallel": "make 10000000"}, "asks for more than 9999999 slots"),
        ({"CellParallel": "nosuch 2"}, 'job rejected: the requested parallel environment "nosuch" does not exist'),
        ({"CellMasterQueues": "all.q"},
         "job rejected: specification of master queue is not allowed for non-parallel jobs"),
        ({"CellParallel": "make 2", "CellMasterQueues": "no.q"},
         'Job was rejected because job requests unknown queue "no.q"'),
        ({"CellQueues": "all.q@nosuch"}, 'Job was rejected because job requests unknown queue "all.q@nosuch"'),
        ({"CellQueues": "x*"}, 'Job was rejected because job requests unknown queue "x*"'),
        ({"CellQueues": "all.q@@nosuch"}, 'Job was rejected because job requests unknown queue "all.q@@nosuch"'),
        ({"CellQueues": "*@NODE1,?ll.q@@allhosts,all.*"}, ""),
        ({"CellResources": "h=@allhosts"}, 'can\'t resolve hostname "@allhosts"'),
        ({"CellSoftResources": "mem_free=1G"}, ""),
        ({"CellParallel": "files 2"}, ""),
        ({"CellParallel": "*e 2"}, ""),
        ({"CellParallel": "make 2-8", "CellMasterQueues": "all.q@node1"}, ""),
    ],
)  # fmt: skip
def test_requests_for_parallel_environments_that_cannot_be_met_are_refused(
    attributes: dict[str, str], complaint: str
) -> None:
    files = {"pe/files": environment("files", start_proc_args="/bin/copy $fs_stdin_path")}
    found = list(Reader(cell(files=files), lambda user: ()).complaints(ClassAd(attributes)))
    assert [complaint in each for each in found] == ([True] if complaint else [])


def test_soft_requests_for_consumables_are_refused() -> None:
    one = cell(complexes="lic lic INT <= YES YES 0 0")
    found = list(Reader(one, lambda user: ()).complaints(ClassAd({"CellSoftResources": "mem_free=1G,lic=1"})))
    assert found == ['denied: soft requests on consumables like "lic" are not supported']
