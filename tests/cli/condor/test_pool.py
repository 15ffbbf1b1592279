"""The commands about the pool and its daemons, and those that change and watch jobs, against a real pool."""

from __future__ import annotations

import getpass
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.condor.kit import Desk, Done, run
from tests.integration.kit import Pool, eventually, running

if sys.platform != "linux":
    pytest.skip("jobs run on Linux only", allow_module_level=True)

ME, HOST = getpass.getuser(), socket.gethostname()


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool with two slots."""
    with running(tmp_path_factory.mktemp("condor"), "Answer = 6 * 7\nAlias = $(Answer) + 0", cpus=2) as pool:
        yield pool


@pytest.fixture
def desk(pool: Pool) -> Iterator[Desk]:
    """The pool with an empty queue."""
    desk = Desk(pool)
    yield desk
    if (pool.home / "run" / "contact.json").exists():
        run("condor_rm", "-all", ROOST_HOME=str(pool.home))
        eventually(lambda: not desk("condor_q", "-allusers", "-af", "ClusterId").out, "an empty queue")


# -- jobs ----------------------------------------------------------------------------------------------------------


def test_priorities_are_set_raised_and_lowered(desk: Desk) -> None:
    cluster = desk.submit(count=2)
    assert desk("condor_prio", "-p", "5", f"{cluster}.1") == Done(0, "", "")
    assert desk("condor_prio", "+2", str(cluster)) == Done(0, "", "")
    assert desk.af(str(cluster), "-af", "JobPrio") == ["2", "7"]
    desk("condor_prio", "-10", f"{cluster}.0")
    assert desk.af(f"{cluster}.0", "-af", "JobPrio") == ["-8"]
    assert "Couldn't find any jobs" in desk("condor_prio", "-p", "1", "999999", status=1).err
    assert desk("condor_prio", f"{cluster}.0", status=1).err.startswith("Usage:")


def test_attributes_are_edited(desk: Desk) -> None:
    cluster = desk.submit(count=2)
    assert desk("condor_qedit", f"{cluster}.0", "Tag", '"x"').out == 'Set attribute "Tag".\n'
    done = desk("condor_qedit", str(cluster), "Two=1 + 1", "Three", "3")
    assert done.out == 'Set attribute "Two" for 2 matching jobs.\nSet attribute "Three" for 2 matching jobs.\n'
    assert desk.af(str(cluster), "-af:V", "Tag", "Two", "Three") == ['"x" 2 3', "undefined 2 3"]
    done = desk("condor_qedit", "-constraint", f"ClusterId == {cluster} && ProcId == 1", "Tag", "7")
    assert done.out == 'Set attribute "Tag" for 1 matching jobs.\n'
    assert (
        "it cannot be changed after submission" in desk("condor_qedit", f"{cluster}.0", "Owner", '"me"', status=1).err
    )
    assert "no matching jobs" in desk("condor_qedit", "-constraint", "false", "A", "1", status=1).err
    assert "the value cannot be parsed" in desk("condor_qedit", str(cluster), "A", "1 +", status=1).err


def test_wait_ends_when_the_jobs_of_a_log_have(desk: Desk) -> None:
    cluster = desk.submit(more="", seconds=0)
    assert desk("condor_wait", "-wait", "30", "events", str(cluster)).out == "All jobs done.\n"
    done = desk("condor_wait", "-status", "events", f"{cluster}.0")
    assert done.lines[0] == f"{cluster}.0.0 submitted" and done.lines[-2:] == [
        f"{cluster}.0.0 completed",
        "All jobs done.",
    ]
    held = desk.submit()
    assert desk("condor_wait", "-wait", "1", "events", status=1).out == "Time expired.\n"
    rows = desk("condor_q", "-userlog", "events", "-af:j", "JobStatus").lines
    assert f"{held}.0 5" in rows and not [row for row in rows if row.startswith(f"{cluster}.")]


def test_watch_q_ends_when_a_condition_is_met_and_when_all_are_done(desk: Desk) -> None:
    cluster = desk.submit()
    done = desk("condor_watch_q", "-clusters", str(cluster), "-exit", "any,held,7", status=7)
    assert done.lines[0].split()[:2] == ["OWNER", "BATCH_NAME"]
    assert done.lines[-2] == "Total: 1 jobs; 0 done, 0 idle, 0 running, 1 held"
    submitted = f"000 ({cluster:03}.000.000) 2026-11-22 00:08:00 Job submitted from host: <h>\n...\n"
    (desk.pool.work / "one").write_text(submitted)
    assert desk("condor_watch_q", "-files", "one", "-exit", "any,held,7", status=7).out == done.out
    assert "these logs mention no jobs" in desk("condor_watch_q", "-files", os.devnull, status=1).err
    desk("condor_rm", str(cluster))
    assert "Total: 0 jobs" in desk("condor_watch_q", "-clusters", str(cluster)).out
    assert "write {all|any|none}" in desk("condor_watch_q", "-exit", "some,held", status=1).err


# -- the pool ------------------------------------------------------------------------------------------------------


def test_status_of_slots_queues_users_and_daemons(desk: Desk) -> None:
    desk.submit()
    # What an earlier job had is given back a moment after its end.
    eventually(lambda: desk("condor_status", "-af", "State").lines == ["Unclaimed"] * 2, "free slots")
    lines = desk("condor_status").lines
    assert lines[0].split() == ["Name", "OpSys", "Arch", "State", "Activity", "LoadAv", "Mem", "ActvtyTime"]
    assert [line.split()[0] for line in lines[2:4]] == [f"slot1@{HOST}", f"slot2@{HOST}"]
    assert lines[-1].split()[:2] == ["Total", "2"]
    assert desk("condor_status", "-af", "Name", "SlotWeight").lines == [f"slot1@{HOST} 1", f"slot2@{HOST} 1"]
    assert desk("condor_status", "-af:r", "SlotWeight", "-constraint", "SlotID == 2").out == "Cpus\n"
    assert (
        desk("condor_status", "-format", "%s ", "Requirements", "-format", "%s\\n", "State").lines[0]
        == "START Unclaimed"
    )
    assert json.loads(desk("condor_status", f"slot1@{HOST}", "-json", "-attributes", "Name").out) == [
        {"Name": f"slot1@{HOST}"}
    ]
    assert desk("condor_status", "-direct", HOST, "-af", "SlotID").lines == ["1", "2"]
    assert desk("condor_status", "-compact").lines[2].split()[0] == HOST
    assert len(desk("condor_status", "-avail").lines) == len(lines) and desk("condor_status", "-claimed").out == ""
    eventually(lambda: desk("condor_status", "-schedd", "-af", "TotalHeldJobs").out == "1\n", "the queue's ad")
    assert desk("condor_status", "-schedd").lines[2].split() == [HOST, HOST, "0", "0", "1"]
    assert desk("condor_status", "-master", "-af", "Name").lines == [HOST]
    told = eventually(lambda: desk("condor_status", "-submitters").lines[2:3], "the submitter's ad")
    assert told[0].split()[2:] == ["0", "0", "1"]
    eventually(lambda: desk("condor_status", "-collector", "-af", "Machine", "IdleJobs").out == f"{HOST} 0\n")
    assert desk("condor_status", "-negotiator").lines[2].split() == [f"central@{HOST}", HOST]
    kinds = set(desk("condor_status", "-any", "-af", "MyType").lines)
    assert {"Machine", "Scheduler", "DaemonMaster", "Submitter"} <= kinds
    assert desk("condor_status", "nobody") == Done(0, "", "")
    assert "unrecognized argument" in desk("condor_status", "-bogus", status=1).err


def test_priorities_of_users(desk: Desk) -> None:
    user = f"{ME}@{HOST}"
    desk.submit()
    assert (
        desk("condor_userprio", "-setfactor", user, "20").out == f"The priority factor of {user} was set to 20.000000\n"
    )
    lines = desk("condor_userprio", "-allusers").lines
    assert lines[0].startswith("Last Priority Update:") and lines[2].split()[:2] == ["User", "Name"]
    row = next(line for line in lines if line.startswith(user))
    assert row.split()[2] == "20.00" and lines[-1].startswith("Number of users:")
    assert desk("condor_userprio", "-allusers", "-af", "Name", "PriorityFactor").out == f"{user} 20.0\n"
    assert "full name" in desk("condor_userprio", "-setfactor", ME, "2", status=1).err
    assert "is not a number" in desk("condor_userprio", "-setprio", user, "x", status=1).err
    assert desk("condor_userprio", "-setaccum", user, "7200").out.endswith(f" of {user} was set to 7200.000000\n")
    assert desk("condor_userprio", "-setbegin", user, "1000").out.endswith(f" of {user} was set to 1000\n")
    assert desk("condor_userprio", "-setlast", user, "2000").out.endswith(f" of {user} was set to 2000\n")
    figures = ("WeightedAccumulatedUsage", "BeginUsageTime", "LastUsageTime")
    assert desk("condor_userprio", "-allusers", "-af", *figures).out == "7200.0 1000.0 2000.0\n"
    assert desk("condor_userprio", "-resetusage", user).out == f"The accumulated usage of {user} was reset\n"
    assert desk("condor_userprio", "-delete", user).out == f"The accountant record named {user} was deleted\n"
    assert "there is no account of" in desk("condor_userprio", "-delete", "nobody@x", status=1).err
    assert "Invalid constraint" in desk("condor_userprio", "-const", "==", status=1).err


def test_ads_of_ones_own(desk: Desk) -> None:
    (desk.pool.work / "ad").write_text('MyType = "Licence"\nName = "cad"\nSeats = 3\n')
    assert desk("condor_advertise", "UPDATE_AD_GENERIC", "ad").out.startswith("Sent 1 of 1 ad to <")
    assert desk("condor_status", "-any", "-constraint", "Seats > 2", "-af", "Name", "Seats").out == "cad 3\n"
    assert desk("condor_status", "-generic", "-af", "Name").out == "cad\n"
    (desk.pool.work / "gone").write_text('MyType = "Query"\nTargetType = "Licence"\nRequirements = Seats == 3\n')
    desk("condor_advertise", "-tcp", "INVALIDATE_ADS_GENERIC", "gone")
    assert desk("condor_status", "-generic", "-af", "Name").out == ""
    assert "only daemons publish" in desk("condor_advertise", "UPDATE_STARTD_AD", text='Name = "x"\n', status=1).err
    assert "Unknown command name" in desk("condor_advertise", "UPDATE", "ad", status=1).err


def test_a_machine_is_drained_and_comes_back(desk: Desk) -> None:
    assert desk("condor_drain", "-reason", "repair", HOST).out == (
        f"Sent request to drain the startd <{HOST}> with {HOST}. This only affects the single startd; "
        "any other startds running on the same host will not be drained.\n"
    )
    eventually(lambda: desk("condor_status", "-af", "State").lines == ["Drained"] * 2)
    assert "Attempt to send DRAIN_JOBS request" in desk("condor_drain", HOST, status=1).err
    assert desk("condor_drain", "-cancel", HOST).out == f"Sent request to cancel draining on {HOST}\n"
    eventually(lambda: "Drained" not in desk("condor_status", "-af", "State").out)
    failed = desk("condor_drain", "elsewhere", status=1)
    assert failed.out == "" and "Attempt to send DRAIN_JOBS request to startd elsewhere failed" in failed.err


def test_claims_are_vacated_and_the_queue_rescheduled(desk: Desk) -> None:
    cluster = desk.submit(more="")
    desk.pool.seen(f"{cluster}.0", JobStatus=2)
    assert desk("condor_who").lines[-1].split()[3] == f"{cluster}.0"
    eventually(lambda: desk("condor_status", "-run").lines[2:3], "a claimed slot")
    lines = desk("condor_status", "-run").lines
    assert lines[2].split()[4:] == [f"{ME}@{HOST}", HOST]
    assert lines[-5].split() == ["Machines", "MIPS", "KFLOPS", "AvgLoadAvg"] and len(lines[-1].split()) == 5
    # The ad is as new as the state that it tells of.
    ages = desk("condor_status", "-claimed", "-af", "MyCurrentTime >= EnteredCurrentActivity", "LastHeardFrom > 0")
    assert set(ages.lines) == {"true true"}
    assert desk("condor_vacate", "-fast", HOST).out == f'Sent "Vacate-All-Claims-Fast" command to startd {HOST}\n'
    desk.pool.seen(f"{cluster}.0", NumVacates=1)
    assert "Can't send Vacate-Claim" in desk("condor_vacate", "elsewhere", status=1).err
    assert desk("condor_reschedule").out == 'Sent "Reschedule" command to local schedd\n'


# -- daemons and their configuration ---------------------------------------------------------------------------------


def test_values_of_the_configuration(desk: Desk) -> None:
    assert desk("condor_config_val", "Answer", "NUM_CPUS").out == "6 * 7\n2\n"
    assert desk("condor_config_val", "Nothing_There", status=1) == Done(1, "", "Not defined: Nothing_There\n")
    lines = desk("condor_config_val", "-verbose", "Alias").lines
    assert lines[0] == "Alias = 6 * 7 + 0" and re.fullmatch(r" # at: .*roost\.config:\d+(:\d+)?", lines[1])
    assert lines[2] == " # raw: Alias = $(Answer) + 0"
    assert desk("condor_config_val", "-raw", "Alias").out == "$(Answer) + 0\n"
    assert desk("condor_config_val", "-evaluate", "Alias").out == "42\n"
    assert desk("condor_config_val", "-macro", "<$(Answer)>").out == "<6 * 7>\n"
    assert desk("condor_config_val", "-startd", "SUBSYSTEM").out == "STARTD\n"
    dumped = desk("condor_config_val", "-dump", "^ANSWER").lines
    assert dumped[0].startswith("# Configuration from machine: ") and dumped[-1] == "Answer = 6 * 7"
    assert "roost.config" in desk("condor_config_val", "-config").out
    assert desk("condor_config_val", "use", "role").lines[:2] == ["use ROLE accepts", "  CentralManager"]
    lines = desk("condor_config_val", "use", "ROLE:Personal", "security:strong").lines
    assert lines[0] == "use ROLE:Personal is" and "CONDOR_HOST = 127.0.0.1" in [line.strip() for line in lines]
    assert "# without effect in Roost" in lines
    assert desk("condor_config_val", "use", "POLICY:Foo").out == "Not defined: use POLICY:FOO\n"
    assert "the categories are" in desk("condor_config_val", "use", status=1).err.lower()
    assert desk("condor_config_val", "-schedd", "-name", "elsewhere", "SPOOL", status=1).out == ""
    assert desk("condor_config_val", "-pool", "elsewhere", "SPOOL", status=1).out == ""
    assert "configured only by its files" in desk("condor_config_val", "-rset", "A=1", status=1).err


def test_who_tells_of_daemons(desk: Desk) -> None:
    done = desk("condor_who", "-wait:10", 'IsReady && STARTD_State =?= "Ready"')
    assert {'MASTER = "Alive"', 'SCHEDD = "Alive"', 'STARTD = "Alive"', "IsReady = true"} <= set(done.lines)
    assert desk("condor_who", "-quick").out == done.out
    assert [line.split()[0] for line in desk("condor_who", "-daemons").lines[2:]] == [
        "Master", "Collector", "Negotiator", "Schedd", "Startd",
    ]  # fmt: skip
    desk("condor_who", "-wait:0", "false", status=1)


def test_logs_are_fetched(desk: Desk) -> None:
    assert "schedd" in desk("condor_fetchlog", HOST, "SCHEDD").out
    assert "unknown subsystem" in desk("condor_fetchlog", HOST, "NOBODY", status=1).err
    assert "Couldn't locate daemon on elsewhere" in desk("condor_fetchlog", "elsewhere", "STARTD", status=1).err


def test_a_workflow_is_submitted_and_runs(desk: Desk) -> None:
    work = desk.pool.work
    (work / "n.sub").write_text("executable = /bin/sh\narguments = \"-c 'echo $(JOB) >> ran'\"\nqueue\n")
    (work / "x.dag").write_text("JOB A n.sub\nJOB B n.sub\nPARENT A CHILD B\n")
    assert "-no_submit given" in desk("condor_submit_dag", "-no_submit", "x.dag").out
    assert '"x.dag.condor.sub" already exists' in desk("condor_submit_dag", "x.dag", status=1).err
    done = desk("condor_submit_dag", "-f", "-maxidle", "5", "x.dag")
    assert "Log of DAGMan debugging messages                   : x.dag.dagman.out" in done.lines
    (told,) = [line for line in done.lines if "submitted to cluster" in line]
    cluster = told.rpartition(" ")[2].rstrip(".")
    assert told == f"1 job(s) submitted to cluster {cluster}."
    desk("condor_wait", "x.dag.dagman.log")
    assert (work / "ran").read_text().split() == ["A", "B"]
    history = desk("condor_history", cluster, "-af", "ExitCode", "DAG_NodesDone", "JobUniverse")
    assert history.out.split() == ["0", "2", "7"]


def test_knobs_of_workflows_are_seen_in_the_jobs_of_nodes(desk: Desk) -> None:
    work = desk.pool.work
    (work / "k.config").write_text(
        "DAGMAN_DEFAULT_PRIORITY = 3\nDAGMAN_INHERIT_ATTRS = Department\nDAGMAN_INHERIT_ATTRS_PREFIX = Run_\n"
        "DAGMAN_NODE_RECORD_INFO = RETRY\nDAGMAN_PROHIBIT_MULTI_JOBS = true\nDAGMAN_SUPPRESS_JOB_LOGS = true\n"
        "DAGMAN_SUPPRESS_NOTIFICATION = true\n"
    )
    job = "executable = /bin/sh\nlog = k.log\nnotification = always\narguments = \"-c 'exit $(RETRY)'\"\n"
    (work / "k.sub").write_text(f"{job}queue\n")
    (work / "k2.sub").write_text(f"{job}queue 2\n")
    (work / "k.dag").write_text("CONFIG k.config\nJOB A k.sub\nJOB M k2.sub\nJOB B k.sub\nPRIORITY B 4\n")
    desk("condor_submit_dag", "-append", '+Department = "art"', "k.dag")
    desk("condor_wait", "k.dag.dagman.log")
    names = ("JobPrio", "Run_Department", "DAGManNodeRetry", "JobNotification", "UserLog")
    rows = desk("condor_history", "-constraint", 'Run_Department == "art"', "-af", "DAGNodeName", *names).lines
    # One node that is several jobs fails, the others run.
    assert sorted(rows) == ["A 3 art 0 0 undefined", "B 7 art 0 0 undefined"]
    assert not (work / "k.log").exists()
    log = (work / "k.dag.dagman.out").read_text()
    assert "k2.sub: it queues 2 jobs, and DAGMAN_PROHIBIT_MULTI_JOBS allows one" in log
    assert (work / "k.dag.rescue001").exists()


def test_a_wrong_workflow_is_refused(desk: Desk) -> None:
    (desk.pool.work / "y.dag").write_text("JOB A n.sub\nPARENT A CHILD B\n")
    assert "y.dag:2:16: error: there is no node B" in desk("condor_submit_dag", "y.dag", status=1).err
    assert desk("condor_submit_dag", status=1).err == "ERROR: No DAG file specified\n"
    desk("condor_submit_dag", "-maxjobs", "x", "y.dag", status=1)


def test_the_daemons_are_told_to_read_end_and_begin(desk: Desk) -> None:
    assert desk("condor_reconfig").out == 'Sent "Reconfig" command to local master\n'
    assert "start and stop together" in desk("condor_off", "-schedd", status=1).err
    assert "Can't find address for master elsewhere" in desk("condor_restart", "-name", "elsewhere", status=1).err
    for name, called, words in (
        ("condor_restart", "Restart", ["-fast"]),
        ("condor_off", "Kill-All-Daemons", ["-fast", "-daemon", "master"]),
        ("condor_on", "Spawn-All-Daemons", []),
    ):
        # The daemons are children of whoever starts them, and are to be the pool's own processes.
        done = subprocess.run(
            [sys.executable, "-m", "roost.cli.condor", name, *words],
            cwd=desk.pool.work, env={**desk.pool.environment, "ROOST_HOME": str(desk.pool.home)}, text=True,
            capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, f'Sent "{called}" command to local master\n'), done
    assert desk("condor_q", "-af", "ClusterId") == Done(0, "", "")


def test_a_master_in_the_foreground_starts_again_in_place_and_is_whole_at_once(tmp_path: Path) -> None:
    (tmp_path / "roost.config").write_text("use ROLE : Personal\nNUM_CPUS = 1\n")
    environment = {**os.environ, "ROOST_HOME": str(tmp_path)}

    def command(name: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "roost.cli.condor", name, *words], env=environment, text=True, capture_output=True,
            timeout=60, check=False,
        )  # fmt: skip

    def daemons() -> list[str]:
        return [(tmp_path / "run" / f"{role}.pid").read_text().strip() for role in ("central", "schedd", "node")]

    master = subprocess.Popen(
        [sys.executable, "-m", "roost.cli.condor", "condor_master", "-f"], env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        eventually(lambda: (tmp_path / "run" / "foreground").exists(), "a pool")
        for kind in ("-collector", "-negotiator"):
            assert command("condor_status", kind, "-af", "Machine").stdout == f"{HOST}\n", kind
        quick = dict(line.split(" = ") for line in command("condor_who", "-quick").stdout.splitlines())
        addresses = {name: quick[f"{name}_Addr"].strip('"') for name in ("MASTER", "SCHEDD", "STARTD", "COLLECTOR")}
        assert len(set(addresses.values())) == 4
        for name, address in addresses.items():
            form = rf"<127\.0\.0\.1:(\d+)\?addrs=127\.0\.0\.1-\1&alias={re.escape(HOST)}&sock={name.lower()}>"
            assert re.fullmatch(form, address), address
        for kind, name in (("-schedd", "SCHEDD"), ("-master", "MASTER"), ("-collector", "COLLECTOR")):
            eventually(
                lambda kind=kind, name=name: command(
                    "condor_status", kind, "-af", "MyAddress"
                ).stdout.strip() == addresses[name], f"the address of {name}",
            )  # fmt: skip
        duty = command("condor_status", "-schedd", "-af", "RecentDaemonCoreDutyCycle").stdout
        assert 0 <= float(duty) <= 1
        before = daemons()
        done = command("condor_restart")
        assert (done.returncode, done.stdout) == (0, 'Sent "Restart" command to local master\n'), done
        assert master.poll() is None
        contact = json.loads((tmp_path / "run" / "contact.json").read_text())
        assert contact["pid"] == master.pid
        assert not set(daemons()) & set(before)
        assert command("condor_q", "-af", "ClusterId").returncode == 0
        assert command("condor_off", "-fast").returncode == 0
        assert master.wait(timeout=60) == 0
    finally:
        master.kill()
        master.wait()


def test_every_command_says_what_it_takes(tmp_path: Path) -> None:
    from roost.cli.condor.names import COMMANDS

    # HTCondor's own program has its own options.
    for name in COMMANDS.keys() - {"htcondor"}:
        done = run(name, "-help", ROOST_HOME=str(tmp_path))
        assert done.status == 0 and done.out.startswith(f"Usage: {name}"), name
