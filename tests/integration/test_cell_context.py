"""What a queue instance gives its jobs on a real pool: limits, nice value, TMPDIR and environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from roost.runtime.cell_root import arc
from tests.integration.kit import Pool, eventually
from tests.integration.test_cell_jobs import cell, explained, node, why

#: Shell functions of a script that burns CPU time.
BURN = "while :; do :; done"


def test_run_time_limits_warn_and_kill(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start(cpus=4)
    cell(pool, tmp_path / "cell", h_rt="00:00:03")
    hello = f"trap 'echo got USR1' USR1; (trap 'echo child got USR1' USR1; {BURN.replace(':;', 'sleep 0.1;')}) & "
    over = pool.submit("output = over\ncell_resources = s_rt=1", f"{hello} while :; do wait; done")
    # What the job asks for is stricter than what the queue has, and the other way round.
    asked = pool.submit("cell_resources = h_rt=1", "sleep 60")
    well = pool.submit("", "exit 3")
    pool.wait(over, asked, well, status=1)
    assert set((pool.work / "over").read_text().splitlines()) == {"got USR1", "child got USR1"}
    instance = f"all.q@{node(pool)}"
    words = "qmaster enforced h_rt, h_cpu, or h_vmem limit"
    for cluster, limit in ((over, 3), (asked, 1)):
        ad = pool.job(f"{cluster}.0")
        assert (ad["JobStatus"], ad["ExitBySignal"], ad["ExitSignal"], ad["CellFailed"]) == (4, True, 9, 37)
        assert ad["CellFailedReason"] == f"{words}: h_rt={limit} s of {instance}"
        assert limit <= ad["JobDuration"] < limit + 60
    assert (pool.job(f"{well}.0")["CellFailed"], pool.job(f"{well}.0")["ExitCode"]) == (0, 3)
    rows = {line.split()[0]: line for line in pool("history").splitlines()[1:]}
    assert "limit h_rt" in rows[f"{over}.0"]
    assert "008" in pool.events(over) and f"Job was killed: {words}" in (pool.work / "log").read_text()


def test_limits_of_processes_are_set_as_grid_engine_sets_them(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start()
    cell(pool, tmp_path / "cell", s_cpu="0:1:40", h_fsize="10M", h_core="0")
    # The figures of Grid Engine 8.1.9 for these requests.
    asked = "h_cpu=60,s_fsize=5M,h_data=200M,s_data=100M,h_vmem=600M,s_vmem=300M,h_stack=10M"
    script = "for each in t f d s v c; do ulimit -S -$each; ulimit -H -$each; done"
    cluster = pool.submit(f"output = out\ncell_resources = {asked}", script)
    pool.wait(cluster)
    found = (pool.work / "out").read_text().split()
    block = 512 if found[3] == "20480" else 1024
    mib = 2**20
    assert found == [
        "60", "60", str(5 * mib // block), str(10 * mib // block), "102400", "204800", "10240", "10240", "307200",
        "614400", "0", "0",
    ]  # fmt: skip


def test_limits_on_all_processes_of_a_job_together(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start(cpus=4)
    cell(pool, tmp_path / "cell")
    # Neither of them reaches the limit alone before both do together.
    both = pool.submit("cell_resources = h_cpu=8", f"({BURN}) & ({BURN}) & ({BURN}) & ({BURN}) & wait")
    soft = pool.submit("output = soft\ncell_resources = s_cpu=1", f"trap 'echo XCPU; exit 5' XCPU; {BURN}")
    pool.wait(both, soft, status=1)
    assert pool.job(f"{both}.0")["CellFailed"] == 37
    assert pool.job(f"{both}.0")["CellFailedReason"].endswith(f"h_cpu=8 s of all.q@{node(pool)}")
    assert (pool.work / "soft").read_text() == "XCPU\n"
    assert pool.job(f"{soft}.0")["ExitCode"] == 5


def test_nice_value_tmpdir_and_environment(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start(cpus=4)
    (tmp_path / "scratch").mkdir(mode=0o777)
    (tmp_path / "scratch").chmod(0o1777)
    cell(pool, tmp_path / "cell", priority="7", tmpdir=str(tmp_path / "scratch"))
    gate = tmp_path / "gate"
    script = (
        "nice; echo $JOB_ID $QUEUE $NSLOTS $ENVIRONMENT $RESTARTED $SGE_TASK_ID $SGE_TASK_FIRST $SGE_TASK_LAST "
        "$SGE_TASK_STEPSIZE $SGE_O_LOGNAME $SGE_O_WORKDIR; echo $HOSTNAME; echo $TMPDIR; echo $TMP; echo $PATH; "
        f"mkdir -p $TMPDIR/a/b; touch $TMPDIR/a/b/c; while [ ! -e {gate} ]; do sleep 0.05; done"
    )
    cluster = pool.submit("output = out$(Process)\nqueue 2", script)
    place = tmp_path / "scratch" / f"{cluster}.2.all.q"
    eventually((place / "a/b/c").exists, "the second task has its TMPDIR")
    assert place.stat().st_mode & 0o777 == 0o700
    gate.touch()
    pool.wait(cluster)
    eventually(lambda: not list((tmp_path / "scratch").iterdir()), "no TMPDIR is left")
    owner = pool.job(f"{cluster}.0")["Owner"]
    nice, line, host, tmpdir, tmp, path = (pool.work / "out1").read_text().splitlines()
    assert int(nice) == min(19, os.nice(0) + 7)
    assert line == f"{cluster} all.q 1 BATCH 0 2 1 2 1 {owner} {pool.work}"
    assert (host, tmpdir, tmp) == (node(pool), str(place), str(place))
    assert path == f"{place}:{pool.home}/gridengine/bin/{arc()}:/usr/local/bin:/bin:/usr/bin"


def test_tmpdir_of_another_is_left_alone_and_goes_with_a_daemon_that_was_killed(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    pool = start()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    cell(pool, tmp_path / "cell", tmpdir=str(scratch))
    (scratch / "1.1.all.q").mkdir()
    (scratch / "1.1.all.q" / "precious").touch()
    gate = tmp_path / "gate"
    first = pool.submit("output = out", f"echo $TMPDIR; while [ ! -e {gate} ]; do sleep 0.05; done")
    assert first == 1
    eventually(lambda: (scratch / "1.1.all.q.2").is_dir(), "it has a TMPDIR")
    pool.kill("node")
    gate.touch()
    pool.wait(first)
    assert (pool.work / "out").read_text() == f"{scratch}/1.1.all.q.2\n"
    eventually(lambda: [each.name for each in scratch.rglob("*")] == ["1.1.all.q", "precious"], "it is gone")


def test_limits_hold_over_a_restart_of_the_machine(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start()
    cell(pool, tmp_path / "cell", h_rt="00:00:04")
    gate = tmp_path / "began"
    cluster = pool.submit("", f"touch {gate}; sleep 600")
    eventually(gate.exists, "it runs")
    pool.kill("node")
    pool.wait(cluster, status=1)
    assert pool.job(f"{cluster}.0")["CellFailed"] == 37


PROLOG = """\
#!/bin/sh
echo "prolog $*"
exit $(cat {place}/prolog.status 2>/dev/null || echo 0)
"""
EPILOG = """\
#!/bin/sh
echo "epilog $* $SGE_JOBEXIT_STAT"
exit $(cat {place}/epilog.status 2>/dev/null || echo 0)
"""


def scripts(place: Path) -> Path:
    place.mkdir(mode=0o755)
    for name, text in (("prolog", PROLOG), ("epilog", EPILOG)):
        (place / name).write_text(text.format(place=place))
        (place / name).chmod(0o755)
    return place


def test_prolog_and_epilog_of_queue_host_and_global_configuration(start: Callable[..., Pool], tmp_path: Path) -> None:
    site, place = scripts(tmp_path / "site"), tmp_path / "cell"
    pool = start(f"STARTER_PROLOG = {site}/prolog of the machine\n")
    words = "$host $job_owner $job_id $ja_task_id $job_name $processors $queue"
    cell(pool, place, prolog=f"{site}/prolog {words}", epilog=f"{site}/epilog $job_id")
    host = node(pool)

    def printed(name: str = "") -> list[str]:
        cluster = pool.submit("output = out\n" + (f"batch_name = {name}" if name else ""), "echo job; exit 77")
        pool.wait(cluster, status=1)
        return (pool.work / "out").read_text().replace(f" {cluster}", " ID").splitlines()

    owner = pool.job(f"{pool.submit('hold = true', 'true')}.0")["Owner"]
    line = f"prolog {host} {owner} ID undefined my UNDEFINED all.q"
    assert printed("my") == [line, "job", "epilog ID 77"]
    # Without one of its own the queue has that of its host's configuration, which goes before the global one.
    queue = (place / "cqueues/all.q").read_text()
    without = "\n".join("prolog NONE" if line.split()[0] == "prolog" else line for line in queue.splitlines()) + "\n"
    (place / "cqueues/all.q").write_text(without)
    configuration = (place / "configurations/global").read_text().splitlines()
    changed = [f"prolog {site}/prolog global" if line.startswith("prolog") else line for line in configuration]
    (place / "configurations/global").write_text("\n".join(changed) + "\n")
    pool("cell", "apply", str(place))
    assert printed() == ["prolog global", "job", "epilog ID 77"]
    (place / f"configurations/{host}").write_text(f"prolog {site}/prolog of the host\n")
    pool("cell", "apply", str(place))
    assert printed() == ["prolog of the host", "job", "epilog ID 77"]
    (place / f"configurations/{host}").write_text("prolog none\n")
    pool("cell", "apply", str(place))
    # If the cell has none, the machine's own is run.
    assert printed() == ["prolog of the machine", "job", "epilog ID 77"]


def test_the_status_of_a_prolog_decides_about_job_and_queue_instance(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    site = scripts(tmp_path / "site")
    pool = start()
    cell(pool, tmp_path / "cell", prolog=f"{site}/prolog", epilog=f"{site}/epilog")
    instance = f"all.q@{node(pool)}"

    def states() -> list[str]:
        return pool("cell", "queues").splitlines()[1:]

    (site / "prolog.status").write_text("100")
    held = pool.submit("", "true")
    ad = pool.seen(f"{held}.0", JobStatus=5, HoldReasonCode=43, HoldReasonSubCode=100)
    assert (ad["CellFailed"], ad["CellErrorReason"]) == (30, "exit_status of prolog = 100")
    assert not states()[0].endswith("E")

    (site / "prolog.status").write_text("99")
    again = pool.submit("", "true")
    eventually(lambda: pool.job(f"{again}.0").get("CellFailed") == 25, "it is tried again")
    (site / "prolog.status").unlink()
    pool.wait(again)

    (site / "prolog.status").write_text("1")
    waits = pool.submit("", "true")
    reason = f"queue all.q marked QERROR as result of job {waits}'s failure at host {node(pool)}"
    wanted = f"\t{reason}: exit_status of prolog = 1"
    eventually(lambda: wanted in states(), lambda: str(states()))
    assert states()[0].endswith(" E")
    (site / "prolog.status").unlink()
    # Nobody forgets it, and no job is started there.
    for role in ("schedd", "central", "node"):
        pool.kill(role)
    eventually(lambda: wanted in pool.try_("cell", "queues").stdout, lambda: str(states()))
    dropped = f'queue instance "{instance}" dropped because it is temporarily not available'
    eventually(lambda: dropped in why(pool, f"{waits}.0"), lambda: str(explained(pool, f"{waits}.0")))
    assert "\n" not in pool("cell", "clear", "all.q@*").rstrip() and not states()[0].endswith("E")
    assert pool("cell", "clear", "all.q") == f"{instance} is not in the error state\n"
    unknown = pool.try_("cell", "clear", "nosuch.q")
    assert (unknown.returncode, unknown.stderr) == (1, 'invalid queue "nosuch.q"\n')
    pool.wait(waits)
    # No slot was closed.
    assert pool.try_("reopen", node(pool)).returncode != 0

    (site / "epilog.status").write_text("1")
    ended = pool.submit("", "true")
    eventually(lambda: any("exit_status of epilog = 1" in line for line in states()), lambda: str(states()))
    assert pool.seen(f"{ended}.0", JobStatus=1)["CellFailed"] == 15
    (site / "epilog.status").unlink()
    pool("cell", "clear", "*")
    pool.wait(ended)
    assert "error state cleared" in pool("audit")


def test_a_command_that_is_not_there_or_may_not_act_as_another_user_closes_the_instance(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    pool = start()
    cell(pool, tmp_path / "cell", prolog="daemon@/bin/true")
    job = pool.submit("", "true")
    ad = pool.seen(f"{job}.0", CellFailed=7)
    assert ad["CellErrorReason"] == 'cannot run prolog "daemon@/bin/true"'
    assert "STARTER_SCRIPT_USERS does not name daemon" in pool.logs()
