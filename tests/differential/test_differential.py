"""Random cases come out the same in simulation and on real daemons."""

from __future__ import annotations

import hashlib
from pathlib import Path

from roost.lab.worker_pool import RunOptions, WorkerPool
from tests.differential.__main__ import EXCUSED, LIMIT_S, differing, shown
from tests.differential.cases import DAG_SEEDS, PLAIN_SEEDS, POLICIES, WIDE_SEEDS, case_of

#: Cases of each run of the tests; `make differential` runs more.
SEEDS = (*range(1, 21), *range(WIDE_SEEDS + 1, WIDE_SEEDS + 5), *range(DAG_SEEDS + 1, DAG_SEEDS + 4))


def test_a_seed_is_one_case_and_cases_differ_in_their_policies(tmp_path: Path) -> None:
    assert case_of(7) == case_of(7)
    firsts = {case_of(seed).text.splitlines()[0].removeprefix("# ") for seed in range(60)}
    assert firsts == set(POLICIES)
    for seed in range(60):
        assert case_of(seed).scenario(tmp_path).name == f"case {seed}"


def test_cases_of_higher_seeds_change_policies_and_have_descriptions(tmp_path: Path) -> None:
    texts = []
    for seed in range(PLAIN_SEEDS + 1, PLAIN_SEEDS + 81):
        assert case_of(seed).scenario(tmp_path).name == f"case {seed}"
        texts.append(case_of(seed).text)
    assert {text.splitlines()[0].removeprefix("# ") for text in texts} == set(POLICIES)
    parts = (
        "description =", "queue 2", "PREEMPT = ($(PREEMPT))", "STARTER_EVICT =", "on_exit_remove", "drain =",
        "[machines.m2]", 'on = "m1"',
    )  # fmt: skip
    for part in parts:
        assert any(part in text for text in texts), part


def test_cases_of_the_highest_seeds_have_cells(tmp_path: Path) -> None:
    texts = []
    for seed in range(DAG_SEEDS + 1, DAG_SEEDS + 81):
        scenario = case_of(seed).scenario(tmp_path)
        assert scenario.cell is not None
        assert scenario.unreplayed == ""
        texts.append(case_of(seed).text)
    parts = (
        "subordinate_list  b.q", "subordinate_list  slots=2(", "calendar  hour", "=suspended", "resource_quotas/",
        "-pe pe0", "allocation_rule  $round_robin", "-t 1-4 -tc 2", "-hold_jid a", "-l lic=1", "-l excl=true", "-R y",
        "max_reservation",
        'qmod = "-d', 'qmod = "-e', 'qmod = "-sq', 'qmod = "-sj', 'qmod = "-rj', "qconf =", "exit_code = [99, 0]",
    )  # fmt: skip
    for part in parts:
        assert any(part in text for text in texts), part


def test_cases_of_higher_seeds_have_dags(tmp_path: Path) -> None:
    texts = []
    for seed in range(WIDE_SEEDS + 1, WIDE_SEEDS + 121):
        scenario = case_of(seed).scenario(tmp_path)
        assert scenario.dags["flow"].dag.nodes
        assert scenario.unreplayed == ""
        texts.append(case_of(seed).text)
    parts = (
        "RETRY A", "SCRIPT PRE", "SCRIPT POST", "SCRIPT HOLD", "DEFER 4", "PRE_SKIP", "FINAL F", "ABORT-DAG-ON", "VARS",
        'hold = "flow.A"', "NOOP", "MAXJOBS", "UNLESS-EXIT", "DAGMAN_ALWAYS_RUN_POST", "remove_dag =",
        "exit_code = [1, 0]",
    )  # fmt: skip
    for part in parts:
        assert any(part in text for text in texts), part


def test_what_lower_seeds_draw_stays_as_it_is() -> None:
    drawn = hashlib.sha256("".join(case_of(seed).text for seed in (*range(1, 61), *range(1001, 1061))).encode())
    assert drawn.hexdigest() == "1776e61d89344035ee656e92ae57755e798a804d391f5766b09c1b1728b512ee"


def test_nothing_is_excused_without_a_reason() -> None:
    assert all(reason.strip() for reason in EXCUSED.values())


def test_random_cases_are_the_same_in_both_worlds(tmp_path: Path) -> None:
    cases = [case_of(seed) for seed in SEEDS]
    with WorkerPool(RunOptions(real=True, limit_s=LIMIT_S), 1) as workers:
        outcomes = workers.outcomes([case.scenario(tmp_path) for case in cases], lambda progress: None)
        for case, outcome in zip(cases, outcomes, strict=True):
            assert not differing(outcome, case.seed), "\n".join((f"seed {case.seed}", *shown(outcome)))
