"""The commands of a pool against a real one: what they print, what they say in JSON, and how they end."""

from __future__ import annotations

import getpass
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.kit import PATIENCE_S, Pool, eventually, running

from roost.cli import down
from roost.cli.__main__ import main
from roost.runtime.bus import pool_client as pool_line
from roost.runtime.bus.command_client import Line
from roost.runtime.bus_settings import BusError, BusSettings
from roost.runtime.home import Home

if sys.platform != "linux":
    pytest.skip("jobs run on Linux only", allow_module_level=True)

POLICY = """
use POLICY : Desktop
StartIdleTime = 10
ContinueIdleTime = 10
MaxSuspendTime = (OwnerStays =?= True ? 1 : 3600)
KeyboardBusy = (KeyboardIdle < 3)
CONTINUE = $(CPUIdle) && (KeyboardIdle > $(ContinueIdleTime))
MachineMaxVacateTime = 2
UPDATE_INTERVAL = 1
"""
JOB = "executable = /bin/sleep\narguments = {}\nrequest_memory = {}\nlog = {}\nqueue {}\n"


class Desk:
    """The pool, and a person at a terminal before it."""

    def __init__(self, pool: Pool, capsys: pytest.CaptureFixture[str]) -> None:
        self.pool = pool
        self._capsys = capsys

    def __call__(self, *words: str, status: int = 0) -> tuple[str, str]:
        """Run a command; what it printed, and what it complained about."""
        self._capsys.readouterr()
        assert main(words) == status, (words, self._capsys.readouterr(), self.pool.logs())
        return tuple(self._capsys.readouterr())

    def said(self, *words: str) -> str:
        """What a command printed, however it ended."""
        self._capsys.readouterr()
        main(words)
        return str(self._capsys.readouterr().out)

    def json(self, *words: str, status: int = 0) -> Any:
        """What a command says in JSON."""
        return json.loads(self(*words, "--json", status=status)[0])

    def submit(self, seconds: int = 0, memory: int = 1, count: int = 1, more: str = "") -> int:
        """Submit jobs that sleep; the cluster."""
        path = self.pool.work / "job.sub"
        path.write_text(more + JOB.format(seconds, memory, self.pool.work / "log", count))
        return int(self.json("submit", str(path))[0]["cluster"])


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool with one slot, on a desktop."""
    with running(tmp_path_factory.mktemp("desk"), POLICY, cpus=1) as pool:
        yield pool


@pytest.fixture
def desk(pool: Pool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    """The pool as a user has it before him; its queue is empty, and its owner away."""
    monkeypatch.setenv("ROOST_HOME", str(pool.home))
    desk = Desk(pool, capsys)
    yield desk
    pool.sense(keyboard_idle_s=100_000, console_idle_s=100_000, attributes={})
    # One that is just leaving may be gone before it is removed.
    if desk.json("queue") and main(("rm", "--all", "--at-once")) != 0:
        eventually(lambda: not desk.json("queue"), "an empty queue")


def test_an_empty_queue_says_so(desk: Desk) -> None:
    out, _ = desk("queue")
    assert out.endswith(": 0 jobs; 0 idle, 0 running\n")
    assert desk.json("queue") == []


def test_few_jobs_are_listed_and_many_counted(desk: Desk) -> None:
    cluster = desk.submit(count=250, more="hold = true\n")
    out, _ = desk("queue")
    assert f"{cluster:>2}" in out and "250" in out and "roost queue --all" in out
    assert len(out.splitlines()) == 4
    out, _ = desk("queue", f"{cluster}.7")
    assert out.splitlines()[1].split()[0] == f"{cluster}.7"
    out, _ = desk("queue", "--all")
    assert len(out.splitlines()) == 253
    assert len(desk.json("queue")) == 250
    assert desk("rm", str(cluster))[0] == "250 jobs removed\n"


def test_a_projection_is_what_whole_ads_say(desk: Desk) -> None:
    desk.submit(count=3, more="hold = true\nMy.Tag = $(Process) * 2\n+Sum = 1 + 1\n")
    names = ["ClusterId", "ProcId", "JobStatus", "GlobalJobId", "Cmd", "Args", "Tag", "Nothing", "HoldReasonCode"]
    whole = desk.json("queue", "--long")
    rows = desk.json("queue", "--attributes", ",".join([*names, "Sum"]))
    assert [
        {name: each[name] for name in names if name in each and name != "Tag"} | {"Tag": 2 * each["ProcId"], "Sum": 2}
        for each in whole
    ] == rows


def test_a_held_job_is_explained_with_what_to_do(desk: Desk) -> None:
    job = f"{desk.submit(more='hold = true' + chr(10))}.0"
    out, _ = desk("explain", "job", job, status=1)
    assert f"Job {job} is on hold" in out and f"roost release {job}" in out
    assert desk.json("explain", "job", job, status=1)["HoldReasonCode"] == 15


def test_a_job_that_fits_nowhere_is_told_the_clause_and_the_nearest_miss(desk: Desk) -> None:
    job = f"{desk.submit(memory=9_999_999)}.0"
    # The matchmaker looks at it within moments.
    eventually(lambda: "TARGET.Memory" in desk.said("explain", "job", job))
    out, _ = desk("explain", "job", job, status=1)
    assert "TARGET.Memory >= RequestMemory" in out and "It would fit if TARGET.Memory were >= 9999999" in out
    said = desk.json("explain", "job", job, status=1)
    assert (said["slots"], [each["side"] for each in said["rejected"]]) == (1, ["job"])
    assert said["nearest"]["slot"].startswith("slot1@")


def test_the_nearest_miss_names_all_that_is_missing_also_where_no_value_is_known_that_would_do(desk: Desk) -> None:
    cluster = desk.submit(memory=9_999_999, more='requirements = regexp("^desk", TARGET.Name)\n')
    job = f"{cluster}.0"
    eventually(lambda: "Closest" in desk.said("explain", "job", job))
    nearest = desk.json("explain", "job", job, status=1)["nearest"]
    slot, changes = nearest["slot"], nearest["changes"]
    assert any(each.endswith(f' (TARGET.Name is "{slot}") were different') for each in changes), changes
    assert nearest["sure"] is False and "It would fit only if" in desk.said("explain", "job", job)


def test_what_is_content_is_not_named_as_the_reason_where_a_constant_refuses(desk: Desk) -> None:
    job = f"{desk.submit(more='requirements = UNDEFINED' + chr(10))}.0"
    eventually(lambda: "Closest" in desk.said("explain", "job", job))
    (refused,) = desk.json("explain", "job", job, status=1)["rejected"]
    assert refused["clause"].startswith("a constant in it is UNDEFINED, in (undefined) && (")
    assert refused["because"] == ""


def test_the_story_of_a_job_whose_machine_its_owner_wanted_back(desk: Desk) -> None:
    job = f"{desk.submit(60)}.0"
    desk.pool.seen(job, JobStatus=2)
    assert desk.json("explain", "job", job)["JobStatus"] == 2
    desk.pool.sense(keyboard_idle_s=0, console_idle_s=0)
    desk.pool.seen(job, JobStatus=7)
    out, _ = desk("explain", "slot", "slot1")
    assert "Claimed/Suspended" in out and "CONTINUE is FALSE" in out and "roost.config:" in out
    desk.pool.sense(attributes={"OwnerStays": True})
    desk.pool.seen(job, JobStatus=1)
    # What the matchmaker last had for it was the slot; that it has no other one it finds within moments.
    eventually(lambda: "rejects the job" in desk.said("explain", "job", job))
    out, _ = desk("explain", "job", job, status=1)
    assert "rejects the job: KeyboardIdle > 10" in out and "KeyboardIdle is 0" in out
    words = " ".join(out.split())
    assert "`roost edit`" not in words and "roost explain slot slot1@" in words
    out, _ = desk("story", "job", job)
    words = [line.split(f"job {job}", 1)[1].split()[0] for line in out.splitlines() if f"  job {job} " in line]
    assert words == ["submitted,", "started", "suspended", "evicted:"]
    assert "KeyboardIdle < 3: KeyboardIdle is 0" in out and "evicted" in out and "suspended" in out
    kinds = {each["kind"] for each in desk.json("story", "job", job)}
    assert kinds == {"job", "slot"}
    slots = desk.json("story", "slot", "slot1", "-n", "3")
    assert 0 < len(slots) <= 3 and all(each["who"].startswith("slot1@") for each in slots)


def test_nothing_is_told_of_what_never_was(desk: Desk) -> None:
    assert "there is no job 999.0" in desk("story", "job", "999.0", status=2)[1]
    assert "is not a job: write 12.0" in desk("story", "job", "x", status=2)[1]
    assert "there is no slot" in desk("explain", "slot", "slot9", status=2)[1]
    assert "no machine named 'nowhere' answers" in desk("drain", "nowhere", status=2)[1]


def test_who_means_a_cluster_means_those_of_its_jobs_that_are_there(desk: Desk) -> None:
    cluster = desk.submit(count=3, more="hold = true\n")
    desk("rm", f"{cluster}.1")
    assert desk("hold", f"{cluster}.x", status=2)[1] == f"roost: '{cluster}.x' is not a job (12.0) or a cluster (12)\n"
    assert desk("hold", f"{cluster}.1", status=1)[1] == f"roost: job {cluster}.1 is not in the queue\n"
    assert desk("rm", str(cluster))[0] == "2 jobs removed\n"


def test_a_machine_tells_of_the_daemons_that_it_is_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = Home(tmp_path / "home")
    home.make()
    # Each daemon is a child of the master.
    (home.run / "contact.json").write_text(json.dumps({"roles": ["node"], "pid": os.getppid()}))
    (home.run / "node.pid").write_text(str(os.getpid()))
    assert main(["status", "--daemons", "--home", str(home.path)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"node     runs, pid {os.getpid()}"
    assert main(["status", "--daemons", "--home", str(home.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"home": str(home.path), "node": os.getpid()}


def test_who_waits_for_the_end_of_jobs_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(down, "SILENT_S", 0.01)
    home = Home(tmp_path / "home")
    home.make()
    script = "trap 'sleep 0.3; exit' TERM; echo; while :; do sleep 0.05; done"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE) as master:
        assert master.stdout is not None
        master.stdout.readline()
        (home.run / "contact.json").write_text(json.dumps({"pid": master.pid}))
        assert main(["down", "--home", str(home.path)]) == 0
    assert "`roost down --fast` kills them" in capsys.readouterr().err


def test_a_bad_constraint_is_called_one(desk: Desk) -> None:
    assert desk("status", "--constraint", "Cpus >", status=2)[1].startswith("roost: the constraint: 1:6: ")


def test_who_means_all_means_those_for_which_it_makes_sense(desk: Desk) -> None:
    held, idle = desk.submit(count=2, more="hold = true\n"), desk.submit(more="requirements = false\n")
    assert desk("release", str(idle), status=1)[1] == "roost: none of these jobs is on hold and off its machine\n"
    assert "is not on hold and off its machine" in desk("release", f"{idle}.0", status=1)[1]
    assert desk("release", "--constraint", f"ClusterId >= {held}") == ("2 jobs released\n", "")
    desk("rm", str(idle), str(held))


def test_jobs_that_are_gone_or_never_were_are_no_mistake_of_the_queue(desk: Desk) -> None:
    gone = f"{desk.submit(more='hold = true' + chr(10))}.0"
    desk("rm", gone)
    assert desk("wait", gone, "--timeout", "1", status=1)[0].startswith(f"job {gone} was removed")
    assert "there is no job" in desk("wait", f"{gone}9", "--timeout", "1", status=2)[1]
    assert "no user named x@y has used the pool" in desk("userprio", "x@y", status=1)[1]
    assert desk("edit", gone, "--set", "A=((", status=2)[1].startswith("roost: --set A: 1:2: this ( is not closed")


def test_a_machine_is_drained_and_comes_back(desk: Desk) -> None:
    assert "is being drained" in desk("drain", "--reason", "new disk")[0]
    assert "hint: `roost drain --cancel` cancels that one" in desk("drain", status=2)[1]
    eventually(lambda: "Drained" in desk("status")[0])
    assert "It is draining: new disk." in desk("explain", "slot", "slot1")[0]
    assert "no longer draining" in desk("drain", "--cancel")[0]
    eventually(lambda: "Unclaimed" in desk("status")[0])


def test_reconfig_tells_what_daemons_made_of_it(desk: Desk) -> None:
    assert {role: answer["ok"] for role, answer in desk.json("reconfig").items()} == {
        "central": True, "schedd": True, "node": True,
    }  # fmt: skip
    config = desk.pool.home / "roost.config"
    before = config.read_text()
    config.write_text(before + "POLLING_INTERVAL = often\n")
    try:
        assert "POLLING_INTERVAL" in desk("reconfig", status=2)[1]
        config.write_text(before + "MEMORY = 1000\nBackgroundLoad = 0.4\n")
        assert "\nMEMORY takes effect at the next start" in desk("reconfig")[0]
    finally:
        config.write_text(before)
    assert "MEMORY" not in desk("reconfig")[0]


def test_ads_of_ones_own_come_and_go(desk: Desk) -> None:
    path = desk.pool.work / "ads"
    path.write_text('Name = "matlab"\nFree = 3\n\nName = "ansys"\nFree = 1\n')
    assert desk("advertise", str(path), "--kind", "License")[0] == "2 ads published\n"
    assert [ad["Name"] for ad in desk.json("advertise", "--list", "License")] == ["matlab", "ansys"]
    assert desk("advertise", "--gone", "matlab")[0] == "1 ad withdrawn\n"
    assert desk("advertise", "--gone", "ansys", "--kind", "Printer", status=1)[0] == "0 ads withdrawn\n"
    (ansys,) = desk.json("advertise", "--list", "license")
    assert (ansys["AuthenticatedIdentity"], ansys["AdvertisedByAdministrator"]) == (getpass.getuser(), True)
    assert "only daemons publish" in desk("advertise", str(path), "--kind", "machine", status=2)[1]
    assert "has no MyType" in desk("advertise", str(path), status=2)[1]


def test_users_are_listed(desk: Desk) -> None:
    desk.submit(more="hold = true\n")
    rows = eventually(lambda: [row for row in desk.json("userprio") if row.get("held")])
    assert rows[0]["held"] == 1
    assert rows[0]["user"] in desk("userprio")[0]
    assert desk("userprio", "--reset", status=2)[1].startswith("roost: --reset requires one user")
    for option in ("--set-factor", "--set-priority", "--floor", "--ceiling"):
        assert f"{option} requires one user" in desk("userprio", option, "0", status=2)[1]
    user = rows[0]["user"]
    assert desk("userprio", user, "--set-factor", "7")[0] == f"{user}: set factor 7\n"
    assert [row["factor"] for row in desk.json("userprio", user)] == [7.0]
    assert desk("userprio", user, "--unset-factor")[0]
    for factor in ("0", "0.2"):
        assert "from 1 up" in desk("userprio", user, "--set-factor", factor, status=2)[1]
    short = user.partition("@")[0]
    out, err = desk("userprio", short, "--set-factor", "9")
    assert out == f"{user}: set factor 9\n"
    assert err == f"roost: {short} stands for {user}\n"
    assert [row["factor"] for row in desk.json("userprio", user)] == [9.0]
    assert not desk.json("userprio", short, status=1)
    assert "the pool has no user named absent yet" in desk("userprio", "absent", "--set-factor", "9")[1]
    assert desk("userprio", user, "--unset-factor")[0]


def test_waiting_says_how_jobs_ended(desk: Desk) -> None:
    cluster = desk.submit(more="")
    assert desk("wait", "--timeout", "30", str(cluster)) == ("", "")
    path = desk.pool.work / "bad.sub"
    path.write_text("executable = /bin/false\nrequest_memory = 1\nqueue\n")
    out, _ = desk("submit", "--wait", str(path), status=1)
    said = out.splitlines()[1:]
    assert said[0].endswith("ended with status 1")
    assert said[1].startswith("1 job ended")
    assert said[2].endswith("runs them again")


def test_a_daemon_that_is_being_started_again_is_waited_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_line, "_BACK_S", PATIENCE_S)
    desk.pool.kill("schedd")
    assert desk("queue")[0]


def test_nobody_asks_in_another_name_or_without_a_password(desk: Desk) -> None:
    settings = Home(desk.pool.home).client()
    subject = Line(settings).subjects
    with Line.connect(settings) as line, pytest.raises(BusError, match="may not"):
        line.ask(subject.ask_central("somebody-else"), "ads", {}, timeout_s=5)
    urls = ("nats://127.0.0.1:1", *settings.urls)
    several = BusSettings(
        urls=urls, pool=settings.pool, name=settings.name, user=settings.user, password=settings.password
    )
    with Line.connect(several) as line:
        assert line.ask(subject.ask_central(settings.name), "cycle", {}).ok
    wrong = BusSettings(urls=settings.urls, pool=settings.pool, name=settings.name, user=settings.user, password="x")
    with pytest.raises(BusError, match="Authorization"):
        Line.connect(wrong)
    with pytest.raises(BusError, match="no pool answers"):
        Line.connect(BusSettings(urls=("nats://127.0.0.1:1",), pool="p", name="n"))


def test_thousands_of_jobs_are_shown_in_a_moment(desk: Desk) -> None:
    cluster = desk.submit(count=5_000, more="hold = true\n")
    # Of this process, at best, for it may collect the garbage of many tests; the queue's own share is bounded by the
    # same kind of work.
    best = math.inf
    for _ in range(3):
        began = time.process_time()
        assert "5000" in desk("queue")[0]
        assert len(desk("queue", "--all")[0].splitlines()) == 5_003
        best = min(best, time.process_time() - began)
    assert best < 0.5
    desk("rm", str(cluster))


def test_files_of_a_pool_are_its_owners_alone(pool: Pool) -> None:
    assert [path for path in pool.home.iterdir() if path.is_dir() and path.stat().st_mode & 0o077] == []
    assert Path(pool.home / "run" / "contact.json").stat().st_mode & 0o077 == 0


def test_what_would_be_submitted_is_told_in_json_too(desk: Desk) -> None:
    path = desk.pool.work / "dry.sub"
    path.write_text(JOB.format("$(Process)", 1, desk.pool.work / "log", 2))
    assert [ad["Args"] for ad in desk.json("submit", "--dry-run", str(path))] == ["0", "1"]
    assert desk.json("queue") == []
