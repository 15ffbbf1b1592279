"""What goes into a simulation besides its configuration: jobs of files, pools, options; and places in files."""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import pytest

from roost.cli.lab import command as lab
from roost.cli.terminal import CommandError
from roost.config import MemoryHost
from roost.lab.compare import compare
from roost.lab.inputs.places import places
from roost.lab.inputs.submit_files import clusters_of
from roost.lab.machines import LabError
from roost.lab.report.clock_face import clock, ticks
from roost.lab.report.figures import in_words, summary_lines
from roost.lab.report.raster import png
from roost.lab.simulate import Request, plan_of, prepare, simulate

HOST = MemoryHost(files={"/old": "use POLICY : Desktop\n"})


def test_jobs_come_from_submit_files_and_ads(tmp_path: Path) -> None:
    (tmp_path / "sizes").write_text("256\n512\n")
    (tmp_path / "jobs.sub").write_text(
        "executable = /bin/work\narguments = $(Process)\nrequest_memory = $(size)\n"
        "+SimRunTime = 600 * ($(Process) + 1)\n+SimSubmitTime = 60\nqueue size from sizes\n"
    )
    (tmp_path / "more.ads").write_text(
        'Owner = "ben"\nSimRunTime = 50\nSimCheckpoints = true\nSimMemory = {{0, 10}, {60, 20}}\nRequestMemory = 1\n'
    )
    request = Request(
        configs=("/old",), machines=2, days=0.2, workload=(str(tmp_path / "jobs.sub"), str(tmp_path / "more.ads"))
    )
    jobs = plan_of(request, HOST).jobs
    assert [(job.owner, job.truth.run_s, job.ad["RequestMemory"]) for job in jobs] == [
        ("ben", 50, 1),
        ("user", 600, 256),
        ("user", 1200, 512),
    ]
    assert jobs[0].truth.memory == ((0.0, 10), (60.0, 20))
    assert not any(name.lower().startswith("sim") for job in jobs for name in job.ad)
    assert simulate(request, HOST, tmp_path / "out").outcome.summary["jobs_completed"] == 3


def test_jobs_of_a_submit_file_keep_their_clusters(tmp_path: Path) -> None:
    (tmp_path / "a.sub").write_text(
        "executable = /bin/work\n+SimRunTime = 60\n+SimSubmitTime = 100\nqueue 2\nexecutable = /bin/more\nqueue 2\n"
    )
    (tmp_path / "b.ads").write_text("SimRunTime = 60\nProcId = 7\n\nSimRunTime = 60\nSimSubmitTime = 200\n")
    given = {"configs": ("/old",), "machines": 2, "days": 0.2}
    alone = plan_of(Request(**given, workload=(str(tmp_path / "a.sub"),)), HOST).jobs
    assert [job.name for job in alone] == ["1.0", "1.1", "2.0", "2.1"]
    together = Request(**given, workload=(str(tmp_path / "a.sub"), str(tmp_path / "b.ads")))
    jobs = plan_of(together, HOST).jobs
    assert [job.name for job in jobs] == ["1.0", "2.0", "2.1", "3.0", "3.1", "4.0"]
    assert [job.ad["GlobalJobId"] for job in jobs] == [f"sim#{job.name}" for job in jobs]


def test_jobs_that_a_queue_refuses_are_named_with_the_reason(tmp_path: Path) -> None:
    text = "+SimRunTime = 60\n+SimSubmitTime = {}\nexecutable = /bin/a\nqueue 2\nexecutable = /bin/b\nqueue {}\n"
    (tmp_path / "jobs.sub").write_text(text.format(0, 4))
    (tmp_path / "fewer.sub").write_text(text.format(0, 1))
    host = MemoryHost(files={"/m": "use POLICY : Always_Run_Jobs\nMAX_JOBS_PER_SUBMISSION = 3\n"})
    files = (str(tmp_path / "jobs.sub"), str(tmp_path / "fewer.sub"))
    request = Request(configs=("/m",), machines=1, days=0.1, workload=files)
    result = simulate(request, host, tmp_path / "out")
    assert result.outcome.summary["jobs_submitted"] == 3
    (note,) = (each for each in result.notes if each.startswith("refused: "))
    assert note.startswith("refused: 6 of 9 jobs, 1.0 first; ")
    assert "MAX_JOBS_PER_SUBMISSION" in note
    assert note in json.loads((tmp_path / "out" / "summary.json").read_text())["notes"]
    compared = compare(request, request, (1,), host)
    assert note in compared.notes


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("x.sub", "executable = /bin/x\nqueue in (\n", r"x\.sub:2"),
        ("x.ads", "a = = 1\n", r"x\.ads"),
        ("x.ads", "SimRunTme = 1\n", "SimRunTme is not a behaviour"),
        ("x.ads", 'SimRunTime = "long"\n', "must be a number that is not"),
        ("x.ads", "SimMemory = {{9, 1}, {8, 1}}\n", "the times in SimMemory must increase"),
        ("x.ads", "SimMemory = 3\n", "list of times"),
        ("x.ads", "SimStubborn = 3\n", "SimStubborn must be true or false"),
        ("x.txt", "", r"the known suffixes are \.swf"),
        ("x.swf", "1 2 3\n", r"x\.swf:1"),
        ("x.ads", "", "it contains no job"),
        ("x.ads", "SimSubmitTime = 90000\n", r"no job is submitted within 0\.2 days"),
        ("x.swf", "; nothing but comments\n", "it contains no job"),
        ("x.swf", "1 0 1 -1" + " 1" * 14, "it contains no job; it records 1 that never ran"),
        ("x.swf", "; a\n\0\1", r"x\.swf:2: it is not a text file"),
        ("x.swf.gz", "", "it contains no job"),
        ("x.sub", "", r"<end of .*x\.sub>:1:1: error: no executable"),
    ],
)
def test_a_bad_file_of_jobs_is_refused_with_a_remedy(name: str, text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(LabError, match=complaint):
        plan_of(Request(configs=("/old",), machines=1, days=0.2, workload=(str(path),)), HOST)


def test_recorded_jobs_may_be_packed_and_what_is_left_out_is_told(tmp_path: Path) -> None:
    head = "; Computer: a cluster\n"
    rows = ("1 0 1 60 1", "2 9 1 -1 1", "3 9 1 60 8", "4 90000 1 60 1")
    text = head + "".join(f"{row} {'-1 ' * 13}\n" for row in rows)
    (tmp_path / "x.swf.gz").write_bytes(gzip.compress(text.encode("latin-1")))
    request = Request(configs=("/old",), machines=1, days=0.2, workload=(str(tmp_path / "x.swf.gz"),))
    prepared = prepare(request, HOST)
    assert [job.name for job in prepared.plan.jobs] == ["1.0", "3.0"]
    assert compare(request, request, [1], HOST).notes == prepared.notes
    assert prepared.notes == (
        "skipped: 1 of 4 jobs, which are recorded but never ran",
        "skipped: 1 of 3 jobs, which would be submitted after the end; --days is 0.2",
        "too large: 1 of 2 jobs, which request up to 8 cores, but no slot has more than 1; use --cpus or a "
        "pool file to get larger machines",
    )


def test_a_packed_file_that_is_torn_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.swf.gz").write_bytes(gzip.compress(b"; " + b"a comment" * 99)[:-9])
    with pytest.raises(LabError, match=r"x\.swf\.gz: it cannot be unpacked"):
        plan_of(Request(configs=("/old",), machines=1, workload=(str(tmp_path / "x.swf.gz"),)), HOST)


def test_results_need_a_directory(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(LabError, match="taken: this is a file, but the results need a directory"):
        simulate(Request(configs=("/old",), machines=1, days=0.01), HOST, tmp_path / "taken")


def test_results_of_an_earlier_run_do_not_stay_beside_those_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roost.lab.simulate.can_draw", lambda: False)
    (tmp_path / "timeline.png").write_bytes(b"old")
    (tmp_path / "mine.txt").write_text("kept")
    simulate(Request(configs=("/old",), machines=1, days=0.01), HOST, tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "mine.txt",
        "records.jsonl",
        "report.html",
        "summary.json",
    ]


@pytest.mark.parametrize("value", ["-4", "soon"])
def test_a_knob_whose_value_means_nothing_is_named_with_its_place(value: str) -> None:
    host = MemoryHost(files={"/bad": f"POLLING_INTERVAL = {value}\n"})
    with pytest.raises(LabError, match=r"/bad:1:1: error: POLLING_INTERVAL: .*config-"):
        plan_of(Request(configs=("/bad",), machines=1, days=0.1), host)


def test_a_pool_without_slots_is_refused_and_shares_that_count_for_nothing_are_told() -> None:
    request = Request(configs=("/x",), machines=1, days=0.1)
    with pytest.raises(LabError, match="/x: no machine has a slot"):
        plan_of(request, MemoryHost(files={"/x": "NUM_SLOTS = 0\n"}))
    text = "NUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = gpus=50%\nNUM_SLOTS_TYPE_12 = 1\n"
    unknown, beyond = prepare(request, MemoryHost(files={"/x": text})).notes
    assert "/x:2:1: SLOT_TYPE_1: the machine has no resource 'gpus', so it cannot be shared" in unknown
    assert "/x:3:1: NUM_SLOTS_TYPE_12: there is no type 12" in beyond


@pytest.mark.parametrize("value", ["lots", "-1"])
def test_a_bad_number_of_slots_names_its_knob_once(value: str) -> None:
    with pytest.raises(LabError) as caught:
        plan_of(Request(configs=("/x",), machines=1), MemoryHost(files={"/x": f"NUM_SLOTS = {value}\n"}))
    assert str(caught.value).startswith("/x:1:1: error: NUM_SLOTS: ")
    assert str(caught.value).count("NUM_SLOTS") == 1


POOL = """
[[machines]]
name = "desk"
owners = "owners.csv"
[[machines]]
name = "node"
count = 2
cpus = 4
owners = "nobody"
config = "node.config"
settings = { NUM_SLOTS = 2 }
[[machines]]
name = "lap"
habits = { begin = 8, weekday = 1, stretch = "1h" }
"""


def test_a_pool_of_groups_has_machines_of_each(tmp_path: Path) -> None:
    (tmp_path / "owners.csv").write_text("machine,time,keyboard,load\na,0,1,0\nb,0,0,0\n")
    (tmp_path / "pool.toml").write_text(POOL)
    host = MemoryHost(files={**HOST.files, str(tmp_path / "node.config"): "use POLICY : Always_Run_Jobs\n"})
    plan = plan_of(Request(configs=("/old",), pool=str(tmp_path / "pool.toml"), days=1.0), host)
    assert [(machine.name, len(machine.slots)) for machine in plan.machines] == [
        ("a", 1),
        ("b", 1),
        ("node0", 2),
        ("node1", 2),
        ("lap0", 1),
    ]
    assert plan.machines[2].sensors.owner.present == ()
    assert plan.machines[4].sensors.owner.present != ()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", r"no \[\[machines\]\]"),
        ("[[machines]]\ncpu = 1\n", r"pool\.toml:2: unknown key 'cpu'; did you mean 'cpus'"),
        ("[[machines]]\ncount = 0\n", r"pool\.toml:2: count must be a positive"),
        ("[[machines]]\n[[machines]]\n", "two groups have the name 'm'; use unique names"),
        ("[[machines]]\nowners = 'cats'\n", "diurnal"),
        ("[[machines]]\nhabits = { weekday = 2 }\n", "at most 1"),
        ("[[machines]]\ncount = 100001\n", "more than 100,000"),
        ("[[machines]\n", "it is not TOML"),
        ("[[machines]]\nname = 'm1'\n[[machines]]\nname = 'm'\ncount = 12\n", "2 machines have the name 'm10'"),
    ],
)
def test_a_bad_pool_file_is_refused_with_place_and_remedy(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "pool.toml"
    path.write_text(text)
    with pytest.raises(LabError, match=complaint):
        plan_of(Request(configs=("/old",), pool=str(path), days=0.1), HOST)


@pytest.mark.parametrize(
    "words",
    [
        "--machines 0",
        "--days 0",
        "--days nan",
        "--lost 1.5",
        "--lost 0.6 --late 0.6",
        "--machine-death 0.1",
        "--pool x --machines 2",
        "--jobs x.swf --count 3",
        "--count -1",
    ],
)
def test_options_that_mean_nothing_are_refused(words: str, tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    lab.add_parser(parser.add_subparsers())
    arguments = ["lab", "simulate", "--config", "/old", "--out", str(tmp_path), *words.split()]
    with pytest.raises(CommandError, match="--"):
        lab.run(parser.parse_args(arguments))


@pytest.mark.parametrize("words", ["--count 1000000000", "--machines 100000 --days 3660"])
def test_more_jobs_than_fit_into_memory_are_refused(words: str, tmp_path: Path) -> None:
    config = tmp_path / "pool.config"
    config.write_text("use POLICY : Desktop\n")
    parser = argparse.ArgumentParser()
    lab.add_parser(parser.add_subparsers())
    arguments = ["lab", "simulate", "--config", str(config), "--out", str(tmp_path / "out"), *words.split()]
    with pytest.raises(CommandError, match="jobs exceed 2,000,000; use --count"):
        lab.run(parser.parse_args(arguments))


def test_a_picture_of_rows_is_a_png() -> None:
    data = png([bytes((0, 1, 2)), bytes((2, 1, 0))], ["#000000", "#ffffff", "#2a9d73"])
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert data[16:24] == bytes((0, 0, 0, 3, 0, 0, 0, 2))
    assert b"\x00\x00\x00\xff\xff\xff\x2a\x9d\x73" in data


@pytest.mark.parametrize("end_s", [60, 3600, 86_400, 7 * 86_400, 90 * 86_400, 3660 * 86_400])
def test_marks_of_time_are_few_and_in_order(end_s: float) -> None:
    marks = ticks(end_s)
    times = [tick.at_s for tick in marks]
    assert times[0] == 0
    assert times == sorted(times)
    assert 5 <= len([tick for tick in marks if tick.label]) <= 16
    assert len(marks) <= 121


def test_weeks_are_marked_with_their_days_and_minutes_where_there_is_room() -> None:
    assert [tick.label for tick in ticks(16 * 86_400)] == ["week 1", *[""] * 6, "week 2", *[""] * 6, "week 3", "", ""]
    assert [tick.label for tick in ticks(1200)][:3] == ["Mon", "0:02", "0:04"]
    assert [clock(each) for each in (3605, 9 * 86_400)] == ["Mon 1:00:05", "Wed of week 2 0:00:00"]


def test_a_report_has_a_dash_where_there_is_nothing_to_tell(tmp_path: Path) -> None:
    simulate(Request(configs=("/old",), machines=1, days=0.01, mix="long", jobs=1), HOST, tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())["summary"]
    assert in_words("slowdown_median", summary) == "–"
    assert any(line.startswith("slowdown, median") and line.endswith("–") for line in summary_lines(summary))
    assert "<b>–</b><span>median slowdown" in (tmp_path / "report.html").read_text()


TOML = """# a
policy = '''
x = [ { "]
'''
[jobs.a] # b
run = "3h"
[[scenario]]
steps = [
  { at = 1, expect = { jobs = { a = "b" } } },
  # {
  { at = 2 }, { at = 3 },
]
[[scenario]]
name = "]"
[[scenario.steps]]
at = 1
"""


def test_lines_of_a_toml_file_are_found() -> None:
    found = places(TOML)
    assert [found["scenario", 0, "steps", index] for index in range(3)] == [9, 11, 11]
    assert (found["policy",], found["jobs", "a", "run"], found["scenario", 1, "name"]) == (2, 6, 14)
    assert found["scenario", 1, "steps", 0, "at"] == 16


def test_a_policy_that_cannot_be_read_is_refused_with_its_places(tmp_path: Path) -> None:
    host = MemoryHost(files={"/bad": "START = Key <\n\nSTARTER_EVICT = (\n"})
    with pytest.raises(LabError, match=r"(?s)/bad:1:1: START is not an expression.*/bad:3:1: STARTER_EVICT"):
        plan_of(Request(configs=("/bad",), machines=1, days=0.1), host)


@pytest.mark.parametrize("line", ["cell_resources = lic=1", '+CellQueues = strcat("a", ".q")'])
def test_jobs_that_ask_for_something_of_a_cell_are_refused(line: str) -> None:
    text = f"executable = a\n{line}\nqueue\n"
    with pytest.raises(LabError, match=r"job.sub: Cell\w+ requires a Grid Engine cell, but the pool has none"):
        clusters_of(text, "job.sub")
