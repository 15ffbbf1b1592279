"""The program behind ``make sim``: how it counts, tells and ends."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.faults import many as fault_runs
from tests.faults.cells import world_of
from tests.faults.many import attempt
from tests.faults.run import SeedOutcome, run_seed

ROOT = Path(__file__).resolve().parents[2]


def _broken(seed: int, **_: object) -> SeedOutcome:
    raise ZeroDivisionError(f"in seed {seed}")


def _sound(seed: int, **_: object) -> SeedOutcome:
    return SeedOutcome(
        seed=seed, layout="x", policy="y", digest="z", problems=(), mishaps=2, transitions=Counter({"1": 3})
    )


def test_sound_seeds_end_with_0(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(fault_runs, "run_seed", _sound)
    assert fault_runs.main(["--seed", "5", "--count", "9", "--processes", "1"]) == 0
    said = capsys.readouterr().out
    assert "9 seeds from 5" in said
    assert "18 mishaps; 27 transitions of 1 kinds" in said
    assert "no invariant was violated" in said


def test_a_seed_gives_the_same_in_a_process_of_its_own() -> None:
    there = {each.seed: each.digest for each in fault_runs.outcomes([2, 3], 2)}
    assert sorted(there) == [2, 3]
    assert there[2] == run_seed(2).digest


def test_a_seed_that_fails_is_told_with_the_line_that_runs_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fault_runs, "run_seed", _broken)
    assert fault_runs.main(["--seed", "5", "--count", "2", "--processes", "1"]) == 1
    said = capsys.readouterr().out
    assert "ZeroDivisionError: in seed 5" in said
    assert "rerun it with: make sim SEED=6 N=1" in said
    assert "FAILED: 2 seeds: 5, 6" in said


@pytest.mark.parametrize("words", [["--count", "0"], ["--processes", "0"], ["--count", "many"]])
def test_bad_usage_ends_with_2(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        fault_runs.main(words)
    assert ended.value.code == 2


def test_the_target_of_the_makefile_calls_it() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "-m tests.faults --seed $(SEED) --count" in text


def test_every_tenth_seed_has_a_cell_which_recovers() -> None:
    assert [seed for seed in range(1, 31) if world_of(seed).plan.cell is not None] == [10, 20, 30]
    outcome = attempt(60)
    assert (outcome.policy, outcome.problems) == ("cell", ())
    assert outcome.mishaps > 0
