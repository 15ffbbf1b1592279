"""``qconf -cq`` and ``-tsm``: what runs is removed, and what the scheduling run said is written down."""

from __future__ import annotations

import re

from tests.cli.gridengine.kit import ME, Desk, node
from tests.cli.gridengine.test_qmod import started
from tests.integration.kit import eventually

from roost.runtime.identity import host_name


def _listed(desk: Desk, job: int) -> bool:
    return re.search(rf"^ *{job} ", desk("qstat", "-u", "*").out, re.MULTILINE) is not None


def test_a_queue_is_cleaned_of_its_jobs(desk: Desk) -> None:
    runs, waits = desk.qsub("-b", "y", "sleep", "600"), desk.qsub("-h", "-b", "y", "true")
    started(desk, runs)
    out = desk("qconf", "-cq", "all.q").out
    assert out == f'{ME}@{host_name()} purged queue "all.q@{node(desk.pool)}"\n'
    eventually(lambda: not _listed(desk, runs), "the job gone")
    assert _listed(desk, waits)
    assert desk("qconf", "-cq", "nosuch", status=1).err == 'invalid queue or job "nosuch"\n'


def test_others_clean_no_queues_and_write_no_runs(desks: tuple[Desk, Desk]) -> None:
    root, user = desks
    runs = root.qsub("-o", "/dev/null", "-j", "y", "-b", "y", "sleep", "600")
    started(root, runs)
    instance = f"all.q@{node(root.pool)}"
    done = user("qconf", "-cq", "all.q", status=1)
    assert done.out == f'nobody - you have no permission to modify queue "{instance}"\n'
    assert _listed(root, runs)
    assert user("qconf", "-tsm").err == "starting scheduler monitoring requires manager privileges\n"
    assert root("qconf", "-cq", "all.q").out == f'{ME}@{host_name()} purged queue "{instance}"\n'
    eventually(lambda: not _listed(root, runs), "the job gone")


def test_the_reasons_of_the_last_run_are_added_to_its_log(desk: Desk) -> None:
    (desk.root / "default/common").mkdir(parents=True, exist_ok=True)
    path = desk.root / "default/common/schedd_runlog"
    path.unlink(missing_ok=True)
    held, big = desk.qsub("-h", "-b", "y", "true"), desk.qsub("-l", "h_rt=1", "-q", "all.q", "-h", "-b", "y", "true")
    assert desk("qconf", "-tsm").out == f"{ME}@{host_name()} triggers scheduler monitoring\n"
    lines = [line.partition("|")[2] for line in path.read_text().splitlines()]
    assert lines[0] == "-------------START-SCHEDULER-RUN-------------"
    assert lines[-1] == "--------------STOP-SCHEDULER-RUN-------------"
    assert {f"Job {job} Jobs dropped because of hold state" for job in (held, big)} <= set(lines)
    desk("qconf", "-tsm")
    assert path.read_text().count("START-SCHEDULER-RUN") == 2
