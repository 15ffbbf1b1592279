"""The lab as users have it: simulate, test, compare."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import roost.lab
from roost.cli.lab import command as lab
from roost.cli.terminal import CommandError
from roost.config import MemoryHost
from roost.lab.compare import compare, student_t
from roost.lab.inputs.durations import seconds_of, shown
from roost.lab.machines import LabError
from roost.lab.report.comparison import comparison_data, comparison_text
from roost.lab.report.palette import COLOURS
from roost.lab.report.timelines import Timelines
from roost.lab.scenario.coverage import Coverage
from roost.lab.scenario.file import read_scenarios
from roost.lab.scenario.run import run_scenario
from roost.lab.simulate import Request, simulate

SHIPPED = sorted((Path(roost.lab.__file__).parent / "scenarios").glob("*.toml"))
HOST = MemoryHost(files={"/old": "use POLICY : Desktop\n", "/new": "use POLICY : Desktop\nMaxSuspendTime = 3600\n"})


def _command(*words: str) -> int:
    parser = argparse.ArgumentParser()
    lab.add_parser(parser.add_subparsers())
    return lab.run(parser.parse_args(["lab", *words]))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_policies_do_what_their_scenarios_say(path: Path) -> None:
    coverage = Coverage()
    for scenario in read_scenarios(path):
        verdict = run_scenario(scenario, HOST, coverage)
        assert verdict.passed, [(each.wanted, each.found, each.timeline) for each in verdict.failures]
        assert verdict.checked > 0
    assert coverage.share >= 0.69, coverage.untried


def test_a_failed_scenario_shows_the_timeline_and_explains_the_expression(tmp_path: Path) -> None:
    text = SHIPPED_DESKTOP.replace('at = "1h9m", expect = "Claimed/Suspended"', 'at = "1h9m", expect = "Claimed/Busy"')
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    verdicts = [run_scenario(each, HOST, Coverage()) for each in read_scenarios(path)]
    (failed,) = [each for each in verdicts if not each.passed]
    (failure,) = failed.failures
    assert (failure.wanted, failure.found) == ("Claimed/Busy", "Claimed/Suspended")
    assert any("[14]" in line for line in failure.timeline)
    assert "Transition 15 to Claimed/Busy waits until CONTINUE is TRUE" in failure.explanation
    assert "KeyboardIdle is 0" in failure.explanation


SHIPPED_DESKTOP = next(path for path in SHIPPED if path.stem == "desktop").read_text()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "name the policy"),
        ("policy = ''", "no \\[\\[scenario\\]\\]"),
        ("policy = ''\nscenario = [{ stepz = [] }]", "unknown key 'stepz'"),
        ("policy = ''\nscenario = [{ steps = [{ at = 'soon', keys = 1 }] }]", "at must be a duration"),
        ("policy = ''\nscenario = [{ steps = [{ at = 9, keys = 1 }, { at = 1, keys = 1 }] }]", "put steps in order"),
        ("policy = ''\nscenario = [{ steps = [{ at = 1, submit = 'x' }] }]", "no job 'x'"),
        ("policy = ''\nscenario = [{ steps = [{ at = 1, expect = 'Busy' }] }]", "is not a valid state"),
        ("policy = ''\nscenario = [{ begins = 'noon', steps = [{ at = 1, expect = 'Owner' }] }]", "Tue 22:00"),
        ("policy = ''\nscenario = [{ steps = [{ at = 1, expect = 'Claimd/Busy' }] }]", "did you mean 'Claimed/Busy'"),
        (
            "policy = ''\n[[scenario]]\nname = 'x'\nsteps = [{ at = 9, keys = 1 }]",
            "wrong.toml:2: .*it has no expectations",
        ),
        ("policy = '", "wrong.toml"),
    ],
)
def test_a_bad_scenario_file_is_refused_with_a_remedy(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(LabError, match=complaint):
        read_scenarios(path)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("[jobs.a]\nRun = '5m'\n", "wrong.toml:3: job 'a': unknown key 'Run'; did you mean 'run'"),
        ("[machine]\nCpus = 2\n", "wrong.toml:3: machine: unknown key 'Cpus'; did you mean 'cpus'"),
        ("[machines.m]\nIdle = '2h'\n", "wrong.toml:3: machine 'm': unknown key 'Idle'"),
    ],
)
def test_a_key_with_a_capital_letter_is_no_attribute(table: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(f"policy = ''\n{table}[[scenario]]\nname = 'x'\nsteps = [{{ at = 1, expect = 'Owner' }}]\n")
    with pytest.raises(LabError, match=complaint):
        read_scenarios(path)


def test_a_simulation_leaves_records_figures_and_a_report(tmp_path: Path) -> None:
    request = Request(configs=("/old",), machines=2, days=0.8, seed=4)
    result = simulate(request, HOST, tmp_path)
    assert result.outcome.problems == ()
    lines = (tmp_path / "records.jsonl").read_text().splitlines()
    assert len(lines) == result.outcome.records
    numbered = [each for each in map(json.loads, lines) if each["what"] == "transition"]
    assert all(each["number"] and each["reason"] for each in numbered)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["digest"] == result.outcome.digest
    assert "--seed 4" in summary["command"]
    report = (tmp_path / "report.html").read_text()
    assert "<svg" in report
    assert "http" not in report.replace('xmlns="http', "")
    assert summary["command"] in report


def test_without_matplotlib_it_is_told_why_there_are_no_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import roost.lab.report.pictures
    import roost.lab.simulate

    for module in (roost.lab.report.pictures, roost.lab.simulate):
        monkeypatch.setattr(module, "can_draw", lambda: False)
    config = tmp_path / "<b>pool.config"
    config.write_text("use POLICY : Desktop\n")
    words = f"simulate --config {config} --machines 1 --days 0.1 --no-progress --out {tmp_path}/out".split()
    assert _command(*words) == 0
    # A name does not write HTML.
    report = (tmp_path / "out/report.html").read_text()
    assert "<b>pool" not in report and "&lt;b&gt;pool.config" in report
    assert (
        "no PNG files were written because matplotlib is not installed; install roost[lab]" in capsys.readouterr().out
    )
    assert not list((tmp_path / "out").glob("*.png"))


def test_a_simulation_is_repeated_by_its_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "pool.config"
    config.write_text("use POLICY : Desktop\n")
    line = f"simulate --config {config} --machines 2 --days 0.5 --seed 9 --no-progress --json --out".split()
    assert _command(*line, str(tmp_path / "a")) == 0
    command = json.loads((tmp_path / "a" / "summary.json").read_text())["command"]
    capsys.readouterr()
    assert _command(*command.split()[2:], "--no-progress", "--json", "--out", str(tmp_path / "b")) == 0
    again = json.loads(capsys.readouterr().out)["digest"]
    assert again == json.loads((tmp_path / "a" / "summary.json").read_text())["digest"]


def test_a_violated_invariant_fails_and_says_how_to_repeat_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from roost.sim.checkers import Checker

    monkeypatch.setattr(Checker, "check_all", lambda self: self.problems.append("at 1 s: something is wrong"))
    config = tmp_path / "pool.config"
    config.write_text("use POLICY : Desktop\n")
    words = f"simulate --config {config} --machines 1 --days 0.1 --seed 3 --no-progress --out {tmp_path}/out".split()
    assert _command(*words) == 1
    said = capsys.readouterr().err
    assert "something is wrong" in said
    assert f"reproduce it with: roost lab simulate --config {config} --machines 1" in said
    assert "--days 0.1 --seed 3" in said


def test_whoever_interrupts_a_run_is_told_how_far_it_came(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from roost.sim.world import World

    def interrupted(self: World, progress: Callable[[float], None]) -> None:
        progress(0.25)
        raise KeyboardInterrupt

    monkeypatch.setattr(World, "run", interrupted)
    config = tmp_path / "pool.config"
    config.write_text("use POLICY : Desktop\n")
    with pytest.raises(KeyboardInterrupt):
        _command(*f"simulate --config {config} --machines 1 --days 0.1 --no-progress --out {tmp_path}/out".split())
    assert f"interrupted at 25%: the files in {tmp_path}/out are incomplete" in capsys.readouterr().err


def test_a_policy_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "bad.config"
    config.write_text("use POLICY : Nonsense\n")
    with pytest.raises(CommandError, match=r"bad\.config"):
        _command("simulate", "--config", str(config), "--out", str(tmp_path / "out"))


def test_comparing_a_policy_with_itself_finds_nothing() -> None:
    request = Request(configs=("/old",), machines=2, days=0.6)
    found = compare(request, request, range(2), HOST)
    assert found.partings == ()
    assert all(each.change == 0 for each in found.differences)
    assert "No decision changed." in comparison_text(found)


def test_a_comparison_explains_the_decisions_that_changed() -> None:
    old = Request(configs=("/old",), machines=3, days=0.7)
    new = Request(configs=("/new",), machines=3, days=0.7)
    found = compare(old, new, range(2), HOST)
    first = next(each for each in found.partings if "PREEMPT true" in each.old)
    assert first.new == "stays in Claimed/Suspended"
    assert not found.alike
    assert "EnteredCurrentActivity" in first.example
    assert "old: PREEMPT = true\n  PREEMPT is TRUE [/old:1 (in POLICY:Desktop:" in first.example
    assert "new: PREEMPT = false\n  PREEMPT is FALSE [/new:" in first.example


GIVEN_JOBS = """
Owner = "ben"
SimSubmitTime = 60
SimRunTime = 7200

Owner = "vip"
SimSubmitTime = 3600
SimRunTime = 3600
"""


def test_a_comparison_shows_the_retirement_that_makes_the_difference_and_that_seeds_make_none(tmp_path: Path) -> None:
    (tmp_path / "jobs.ads").write_text(GIVEN_JOBS)
    policy = 'START = True\nRANK = TARGET.Owner == "vip"\nMAXJOBRETIREMENTTIME = '
    host = MemoryHost(files={"/old": f"{policy}0\n", "/new": f"{policy}24 * 3600\n"})
    given = {"machines": 1, "days": 0.3, "owners": "nobody", "workload": (str(tmp_path / "jobs.ads"),)}
    old, new = (Request(configs=(name,), **given) for name in ("/old", "/new"))  # type: ignore[arg-type]
    found = compare(old, new, range(2), host)
    example = next(each.example for each in found.partings if "Retiring" in each.old)
    assert "old: MaxJobRetirementTime = 0\n  MaxJobRetirementTime is 0 [/old:3]" in example
    assert "new: MaxJobRetirementTime = 86400\n  MaxJobRetirementTime is 86400 [/new:3]" in example
    assert found.alike
    assert {(each.margin, each.verdict) for each in found.differences} == {(None, "")}
    assert any(each.change for each in found.differences)
    text = comparison_text(found)
    assert "All seeds give the same figures" in text
    assert "±" not in text


def test_a_comparison_shows_what_the_pools_policy_forbids() -> None:
    forbids = "NEGOTIATOR_PE_JOB_EXPR = false\n"
    host = MemoryHost(files={"/old": "use POLICY : Always_Run_Jobs\n"})
    host.files["/new"] = host.files["/old"] + forbids
    requests = [Request(configs=(name,), machines=2, days=0.3) for name in ("/old", "/new")]
    found = compare(requests[0], requests[1], range(2), host)
    causes = {cause: (old, new) for cause, old, new in found.refusals}
    assert causes["pool-policy-job"][0] == 0 < causes["pool-policy-job"][1]
    text = comparison_text(found)
    assert f"{causes['pool-policy-job'][1]:>12,}   NEGOTIATOR_PE_JOB_EXPR forbids it" in text
    # Of jobs that never start no wait is known, neither a good one nor a bad one.
    wait = next(each for each in comparison_data(found)["figures"] if each["name"] == "wait_min_mean")
    assert wait["old"] is not None
    assert (wait["new"], wait["change"], wait["margin"], wait["verdict"]) == (None, None, None, "")


def test_spans_and_shares_of_a_timeline_add_up() -> None:
    timelines = Timelines(slots=["slot1@m"], end_s=1000.0, bin_s=300.0)
    for at, pair in ((100.0, "Unclaimed/Idle"), (250.5, "Claimed/Busy"), (950.0, "Owner/Idle")):
        timelines.take(_moved(at, "slot1@m", pair))
    timelines.close()
    assert sum(sum(row) for row in timelines.bins.values()) == pytest.approx(1000.0)
    assert [sum(shares) for shares in zip(*map(timelines.shares, timelines.bins), strict=True)] == pytest.approx(
        [1] * 4
    )
    assert [span.pair for span in timelines.spans["slot1@m"]] == [
        "Owner/Idle",
        "Unclaimed/Idle",
        "Claimed/Busy",
        "Owner/Idle",
    ]


def test_confidence_widens_with_few_seeds_only() -> None:
    tables = {1: 12.706, 15: 2.131, 16: 2.120, 29: 2.045, 99: 1.984}
    assert {freedom: student_t(freedom) for freedom in tables} == pytest.approx(tables, abs=0.002)


def _moved(at: float, slot: str, pair: str) -> dict[str, object]:
    what = {"what": "transition", "number": "1", "reason": "r", "expression": None, "value": None, "job": None}
    return {"t": at, "slot": slot, "source": "?", "target": pair, **what}


def test_each_slot_has_a_row_of_its_own() -> None:
    timelines = Timelines(slots=["slot1@a", "slot1@b"], end_s=200.0, bin_s=100.0)
    timelines.take(_moved(50.0, "slot1@b", "Claimed/Busy"))
    timelines.take(_moved(120.0, "slot1@b", "Unclaimed/Idle"))
    timelines.close()
    owner, free = (list(COLOURS).index(each) for each in ("Owner/Idle", "Unclaimed/Idle"))
    assert timelines.rows() == [bytes((owner, owner)), bytes((owner, free))]


def test_the_cores_of_a_dynamic_slot_are_taken_from_its_parent_and_given_back() -> None:
    timelines = Timelines(
        slots=["slot1@m"], end_s=300.0, bin_s=100.0, cores={"slot1@m": 4.0}, partitionable=frozenset({"slot1@m"})
    )
    timelines.cores_of = {"slot1_1@m": 3.0}.__getitem__
    timelines.take(_moved(0.0, "slot1@m", "Unclaimed/Idle"))
    timelines.take(_moved(100.0, "slot1_1@m", "Claimed/Busy"))
    timelines.take(_moved(200.0, "slot1_1@m", "Owner/Idle"))
    timelines.close()
    assert timelines.bins == {"Unclaimed/Idle": [400.0, 100.0, 400.0], "Claimed/Busy": [0.0, 300.0, 0.0]}
    free, busy = (list(COLOURS).index(each) for each in ("Unclaimed/Idle", "Claimed/Busy"))
    assert timelines.rows() == [bytes((free, free, free)), *[bytes((free, busy, free))] * 3]
    assert timelines.sample == ["slot1@m"]


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), (5, 5), ("1h30m", 5400), ("2d", 172800), ("1.5s", 1.5)])
def test_durations_are_read(text: object, seconds: float) -> None:
    assert seconds_of(text) == seconds


def test_what_is_no_duration_is_none() -> None:
    assert [seconds_of(each) for each in ("", "soon", "5x", True, None, "1h!")] == [None] * 6
    assert [shown(each) for each in (0, 65, 5400, 3610.2)] == ["0s", "1m5s", "1h30m", "1h10s"]
