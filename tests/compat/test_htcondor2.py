"""`htcondor2` on a real pool: what programs do with it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from roost.compat import htcondor1
from roost.compat import htcondor2 as htcondor
from roost.compat.classad2 import ClassAd, ExprTree
from roost.compat.htcondor2 import htchirp
from roost.compat.htcondor2._utils import ansi
from roost.compat.htcondor2.personal import PersonalPool
from tests.integration.kit import PATIENCE_S, Pool, eventually


def waiting(**more: str) -> htcondor.Submit:
    """A job that no slot takes."""
    return htcondor.Submit({"executable": "/bin/sleep", "arguments": "60", "requirements": "false", **more})


def test_jobs_are_submitted_followed_in_their_log_and_found_in_the_history(pool: Pool) -> None:
    submit = htcondor.Submit("executable = /bin/echo\narguments = $(x)\noutput = o.$(ProcId)\nlog = follow.log\n")
    schedd = htcondor.Schedd()
    result = schedd.submit(submit, itemdata=iter([{"x": "one, two"}, {"x": "three"}]))
    assert (result.first_proc(), result.num_procs(), int(result)) == (0, 2, result.cluster())
    ad = result.clusterad()
    assert ad is not None and ad["Cmd"] == "/bin/echo" and ad["JobSubmitMethod"] == 2

    ends = []
    with htcondor.JobEventLog("follow.log") as log:
        for event in log.events(stop_after=PATIENCE_S):
            assert event.cluster == result.cluster()
            if event.type is htcondor.JobEventType.JOB_TERMINATED:
                ends.append((event.proc, event["ReturnValue"], event["TerminatedNormally"]))
            if len(ends) == 2:
                break
    assert sorted(ends) == [(0, 0, True), (1, 0, True)]
    assert [(pool.work / f"o.{proc}").read_text() for proc in (0, 1)] == ["one, two\n", "three\n"]

    where, names = f"ClusterId == {int(result)}", ["ProcId", "Args"]
    pool.wait(int(result))
    past = eventually(lambda: two if len(two := schedd.history(where, names, match=5)) == 2 else None)
    assert sorted((each["ProcId"], each["Args"]) for each in past) == [(0, "one, two"), (1, "three")]
    last, first = (each["ProcId"] for each in past)
    assert [each["ProcId"] for each in schedd.history(where, names, since=f"{int(result)}.{first}")] == [last]
    assert schedd.history(where, names, match=1, since=ExprTree("false")) == past[:1]

    runs = eventually(
        lambda: two if len(two := schedd.jobEpochHistory(where, [*names, "NumShadowStarts"])) == 2 else None
    )
    assert sorted((each["ProcId"], each["NumShadowStarts"]) for each in runs) == [(0, 1), (1, 1)]
    assert schedd.jobEpochHistory(where, match=1)[0]["ProcId"] == runs[0]["ProcId"]


def test_queries_give_the_expressions_that_are_asked_for(pool: Pool) -> None:
    schedd = htcondor.Schedd()
    cluster = schedd.submit(waiting(**{"+Note": '"hello"', "MY.Two": "1 + 1"}), count=3).cluster()
    rows = schedd.query(f"ClusterId == {cluster}", ["ProcId", "Note", "Two", "Nothing"])
    assert [(row["ProcId"], row["Note"], str(row["Two"]), row.eval("Two")) for row in rows] == [
        (proc, "hello", "1 + 1", 2) for proc in range(3)
    ]
    assert list(rows[0]) == ["Two", "Note", "ProcId"]
    assert len(schedd.query(ExprTree(f"ClusterId == {cluster}"), limit=2)) == 2
    assert schedd.query(f"ClusterId == {cluster}", callback=lambda ad: ad["ProcId"]) == [0, 1, 2]
    summary = schedd.query(f"ClusterId == {cluster}", opts=htcondor.QueryOpts.SummaryOnly)
    assert [(ad["MyType"], ad["Jobs"], ad["Idle"]) for ad in summary] == [("Summary", 3, 3)]
    assert {ad["Owner"] for ad in schedd.query(opts=htcondor.QueryOpts.DefaultMyJobsOnly)} == {rows and _me(schedd)}
    assert schedd.query("ClusterId == -1") == []
    with pytest.raises(htcondor.HTCondorException, match="Invalid constraint"):
        schedd.query("ClusterId ==")
    with pytest.raises(htcondor.HTCondorException, match="Failed to edit two words: bad-name"):
        schedd.edit(f"ClusterId == {cluster}", "two words", "1")
    with pytest.raises(ValueError, match="count must not be negative"):
        schedd.submit(waiting(), count=-1)
    schedd.act(htcondor.JobAction.Remove, str(cluster))


def _me(schedd: htcondor.Schedd) -> object:
    return schedd.query(limit=1)[0]["Owner"]


def test_actions_count_what_became_of_the_jobs(pool: Pool) -> None:
    schedd = htcondor.Schedd()
    cluster = schedd.submit(waiting(), count=2).cluster()
    held = schedd.act(htcondor.JobAction.Hold, [f"{cluster}.0", "9999.0"], reason="not now")
    assert {name: held[name] for name in held if held[name]} == {
        "TotalSuccess": 1,
        "TotalNotFound": 1,
        "TotalJobAds": 2,
        "TotalChangedAds": 1,
    }
    job = schedd.query(f"ClusterId == {cluster} && JobStatus == {htcondor.JobStatus.HELD}")[0]
    assert (job["ProcId"], job["HoldReason"]) == (0, "not now")
    assert schedd.act(htcondor.JobAction.Release, f"ClusterId == {cluster}")["TotalSuccess"] == 1
    assert schedd.edit([f"{cluster}.1"], "Mine", '"x"') == 1
    assert schedd.edit(f"ClusterId == {cluster}", "Mine", ExprTree("ProcId + 1")) == 2
    rows = schedd.query(f"ClusterId == {cluster}", ["ProcId", "Mine"])
    assert [(str(row["Mine"]), row.eval("Mine")) for row in rows] == [("ProcId + 1", 1), ("ProcId + 1", 2)]
    with pytest.raises(htcondor.HTCondorException):
        schedd.edit(["9999.0"], "Mine", "1")
    with pytest.raises(htcondor.HTCondorException, match="empty"):
        schedd.act(htcondor.JobAction.Remove, "")
    with pytest.raises(TypeError):
        schedd.act(htcondor.JobAction.Remove, 1.5)  # type: ignore[arg-type]
    assert schedd.act(htcondor.JobAction.Remove, [])["TotalSuccess"] == 0
    assert schedd.act(htcondor.JobAction.Remove, cluster)["TotalSuccess"] == 2


def test_daemons_are_located_and_asked(pool: Pool) -> None:
    collector = htcondor.Collector()
    slots = collector.query(htcondor.AdType.Startd, "Cpus > 0", ["Name", "Start", "State"])
    assert slots and {ad["State"] for ad in slots} <= {"Unclaimed", "Claimed", "Owner"}
    ad = collector.locate(htcondor.DaemonType.Schedd)
    assert ad["MyType"] == "Scheduler" and str(ad["CondorVersion"]).startswith("$CondorVersion: ")
    assert htcondor.Schedd(ad).query("false") == []
    assert htcondor.Schedd(pickle.loads(pickle.dumps(ad))).query("false") == []
    assert [each["Name"] for each in collector.locateAll(htcondor.DaemonType.Schedd)] == [ad["Name"]]
    assert htcondor.Collector(str(ad["Name"])).query(htcondor.AdType.Schedd)
    for kind in (htcondor.DaemonType.Collector, htcondor.DaemonType.Negotiator, htcondor.DaemonType.Startd):
        assert collector.locate(kind)["MyAddress"]
    assert collector.directQuery(htcondor.DaemonType.Startd)["MyType"] == "Machine"
    assert htcondor.ping(ad)["AuthorizationSucceeded"] is True
    with pytest.raises(htcondor.HTCondorException, match="nowhere"):
        collector.locate(htcondor.DaemonType.Schedd, "nowhere")
    with pytest.raises(htcondor.HTCondorException, match="Failed communication with collector"):
        htcondor.Collector("elsewhere.example").query()


def test_programs_tell_ads_of_their_own(pool: Pool) -> None:
    collector = htcondor.Collector()
    ad = ClassAd({"MyType": "Weather", "Name": "mast", "Wind": ExprTree("3 * 2")})
    collector.advertise([ad])
    found = collector.query(constraint='MyType == "Weather"')
    assert [(each["Name"], str(each["Wind"]), each.eval("Wind")) for each in found] == [("mast", "3 * 2", 6)]
    collector.advertise(
        [ClassAd({"MyType": "Query", "TargetType": "Weather", "Requirements": True})], "INVALIDATE_ADS_GENERIC"
    )
    assert collector.query(constraint='MyType == "Weather"') == []
    with pytest.raises(htcondor.HTCondorException, match="Invalid advertise command FLY"):
        collector.advertise([ad], "FLY")
    with pytest.raises(htcondor.HTCondorException, match="only daemons publish ads of the type Machine"):
        collector.advertise([ClassAd({"Name": "mine"})], "UPDATE_STARTD_AD")


def test_a_machine_is_emptied_and_taken_back(pool: Pool) -> None:
    startd = htcondor.Startd(htcondor.Collector().locate(htcondor.DaemonType.Startd))
    number = startd.drainJobs(htcondor.DrainTypes.Graceful, reason="a new disk")
    assert number
    startd.cancelDrainJobs(number)
    with pytest.raises(htcondor.HTCondorException):
        startd.cancelDrainJobs("no such")


def test_priorities_are_read_and_set(pool: Pool) -> None:
    negotiator = htcondor.Negotiator()
    negotiator.setFactor("ann@here", 50)
    negotiator.setPriority("ann@here", 4)
    ann = next(ad for ad in negotiator.getPriorities() if ad["Name"] == "ann@here")
    assert (ann["PriorityFactor"], ann["Priority"]) == (50, pytest.approx(200, rel=0.1))
    negotiator.setCeiling("ann@here", 7)
    assert next(ad for ad in negotiator.getPriorities() if ad["Name"] == "ann@here")["Ceiling"] == 7
    assert negotiator.getResourceUsage("ann@here") == []
    negotiator.setUsage("ann@here", 60)
    negotiator.setBeginUsage("ann@here", 1000)
    negotiator.setLastUsage("ann@here", 2000)
    ann = next(ad for ad in negotiator.getPriorities() if ad["Name"] == "ann@here")
    assert (ann["WeightedAccumulatedUsage"], ann["BeginUsageTime"], ann["LastUsageTime"]) == (60, 1000, 2000)
    negotiator.deleteUser("ann@here")
    assert "ann@here" not in [ad["Name"] for ad in negotiator.getPriorities()]
    with pytest.raises(htcondor.HTCondorException):
        negotiator.setFactor("ann", 2)


def test_the_configuration_is_a_mapping_with_types(pool: Pool) -> None:
    htcondor.reload_config()
    param = htcondor.param
    assert (param["NUM_CPUS"], param["polling_interval"], param.get("NO_SUCH")) == (2, 1, None)
    assert "ROOST_SENSORS_FILE" in param and len(param) == len(list(param)) > 100
    param["MINE"] = "$(NUM_CPUS) slots"
    assert param["MINE"] == "2 slots"
    del param["MINE"]
    assert "MINE" not in param
    remote = htcondor.RemoteParam(htcondor.Collector().locate(htcondor.DaemonType.Startd))
    assert remote["POLLING_INTERVAL"] == "1"
    with pytest.raises(htcondor.HTCondorException, match="configured by files"):
        remote["POLLING_INTERVAL"] = "2"


def test_a_dag_is_submitted(pool: Pool) -> None:
    Path("one.sub").write_text("executable = /bin/true\nlog = nodes.log\nqueue\n")
    Path("two.dag").write_text("JOB A one.sub\nJOB B one.sub\nPARENT A CHILD B\n")
    submit = htcondor.Submit.from_dag("two.dag", {"MaxJobs": 1, "force": True})
    cluster = htcondor.Schedd().submit(submit).cluster()
    pool.wait(cluster)
    assert pool.job(cluster)["ExitCode"] == 0
    with pytest.raises(htcondor.HTCondorException, match="already exist"):
        htcondor.Submit.from_dag("two.dag")
    with pytest.raises(KeyError):
        htcondor.Submit.from_dag("two.dag", {"NoSuchOption": 1})
    Path("kept").write_text("DONE A\n")
    go_on = htcondor.Submit.from_dag("two.dag", {"RescueFile": "kept"})
    assert "-load_save kept" in go_on["arguments"]
    pool.wait(again := htcondor.Schedd().submit(go_on).cluster())
    assert pool.job(again)["DAG_JobsSubmitted"] == 1
    with pytest.raises(htcondor.HTCondorException, match="no such file to go on from"):
        htcondor.Submit.from_dag("two.dag", {"SaveFile": "x"})
    with pytest.warns(UserWarning, match="DebugLevel has no effect"):
        htcondor.Submit.from_dag("two.dag", {"force": True, "DebugLevel": 4})
    for name in ("LockFile", "OutfileDir"):
        with pytest.raises(htcondor.HTCondorException, match=f"{name} is not possible in a Roost pool"):
            htcondor.Submit.from_dag("two.dag", {"force": True, name: "x"})


def test_jobs_of_a_spooled_submission_stay_when_they_are_retrieved_until_they_are_removed(pool: Pool) -> None:
    schedd = htcondor.Schedd()
    result = schedd.submit(htcondor.Submit({"executable": "/bin/true", "log": "spooled.log"}), spool=True)
    schedd.spool(result)
    pool.seen(result.cluster(), JobStatus=4)
    assert len(schedd.query(f"ClusterId == {int(result)}")) == 1
    schedd.retrieve(f"ClusterId == {int(result)}")
    assert "StageOutFinish" in schedd.query(f"ClusterId == {int(result)}")[0]
    assert Path("spooled.log").read_text().count("Job terminated") == 1
    schedd.act(htcondor.JobAction.Remove, f"ClusterId == {int(result)}")
    eventually(lambda: not schedd.query(f"ClusterId == {int(result)}"))


def test_other_interpreters_find_the_modules_and_nothing_else_of_this_one(pool: Pool, tmp_path: Path) -> None:
    from roost.cli.shims import write_modules

    write_modules(tmp_path / "modules")
    program = (
        "import htcondor2, classad2, htcondor, classad, sys\n"
        "import htcondor2.dags; from htcondor import dags\n"
        "assert not [p for p in sys.path if 'site-packages' in p]\n"
        "print(htcondor2.Schedd().query('false'), classad2.ExprTree('1+1').eval(), classad.ClassAd('[a=1]')['a'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={**pool.environment, "PYTHONPATH": str(tmp_path / "modules"), "ROOST_HOME": str(pool.home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.stdout) == ("", "[] 2 1\n")


def test_objects_keep_to_the_pool_that_they_were_made_for(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    made = htcondor.Schedd(), htcondor.Collector(), htcondor.Negotiator()
    monkeypatch.setenv("ROOST_HOME", "/nowhere")
    assert made[0].query(constraint="false") == []
    assert made[1].locate(htcondor.DaemonType.Schedd)["MyType"] == "Scheduler"
    assert isinstance(made[2].getPriorities(), list)


def test_values_of_submit_are_those_that_the_bindings_take() -> None:
    path = Path("/bin/true")
    assert dict(htcondor.Submit({"executable": path, "a": 1, "b": 2.5})) == {
        "executable": "/bin/true",
        "a": "1",
        "b": "2.5",
    }
    for value in (b"x", None, [1]):
        with pytest.raises(TypeError):
            htcondor.Submit({"a": value})
    first = htcondor1.Submit({"a": b"x", "b": None, "c": path})
    assert (first["a"], first["b"], first["c"]) == ("x", "undefined", "/bin/true")


def test_job_sets_are_refused(pool: Pool) -> None:
    with pytest.raises(htcondor.HTCondorException, match="keeps no job sets"):
        htcondor.Schedd().query(opts=htcondor.QueryOpt.IncludeJobsetAds)


def test_what_is_left_out_says_what_to_use() -> None:
    with pytest.raises(AttributeError, match="has no LogReader: follow the file that JOB_QUEUE_LOG names"):
        htcondor1.LogReader  # noqa: B018


def test_htchirp_outside_of_a_job_says_what_gives_a_job_its_line() -> None:
    with pytest.raises(ValueError, match="a job has it that says want_io_proxy = true"):
        htchirp.HTChirp()
    with pytest.raises(TypeError, match="Command must be one of: access, chmod"):
        htchirp.condor_chirp("frobnicate x")


def test_a_personal_pool_begins_and_ends_with_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_HOME", "/nowhere")
    with PersonalPool(tmp_path / "own", config={"NUM_CPUS": "3"}, use_config=False) as own:
        assert own.state == "READY" and own.who()["IsReady"] is True
        assert own.get_config_val("NUM_CPUS") == "3"
        assert own.schedd.query() == []
        assert PersonalPool.attach(tmp_path / "own").detach().state == "READY"
    assert own.state == "STOPPED" and os.environ["ROOST_HOME"] == "/nowhere" and not own.who()


def test_styles_are_those_of_the_wheel() -> None:
    wheel = pytest.importorskip("htcondor2._utils.ansi")
    for of in (
        lambda module: {"bold": True, "color_id": 300},
        lambda module: {"color": module.Color.RED, "highlight": 5},
        lambda module: {"style": module.Style.BLINK},
        lambda module: {},
    ):
        assert str(ansi.AnsiOptions(**of(ansi))) == str(wheel.AnsiOptions(**of(wheel)))
    assert ansi.strip_ansi("\033[1mx\033[0m") == "x"
    assert set(ansi.__all__) <= set(dir(wheel))
