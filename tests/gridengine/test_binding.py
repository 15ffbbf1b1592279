"""`-binding` is read as Grid Engine 8.1.9 reads it: what `qstat -j` shows, or the words of the refusal."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd
from roost.cli.gridengine.job_xml import _binding
from roost.gridengine.commands.binding import binding_of
from roost.gridengine.commands.errors import Failure
from roost.gridengine.commands.options import Given, taken
from roost.gridengine.commands.qsub import OPTIONS


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("linear:1", "set linear:1"),
        ("linear:1:", "set linear:1"),
        ("linear:1:0,0:1,1", "set linear:1:0,0"),
        ("linear_automatic:1", "set linear:1"),
        ("linear", "set linear:slots"),
        ("env linear:1", "env linear:1"),
        ("pe linear:2", "pe linear:2"),
        ("striding:1:0", "set striding:1:0"),
        ("striding:2:1:0,0", "set striding:2:1:0,0"),
        ("explicit:0,0:", "set explicit:0,0:"),
        ("explicit:0,0:0,1", "set explicit:0,0:0,1"),
    ],
)
def test_what_is_asked_for_is_shown_in_one_form(given: str, shown: str) -> None:
    assert binding_of(given) == shown


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("nonsense:1", "couldn't parse binding parameter (no strategy found)"),
        ("set", "couldn't parse binding parameter (no strategy found)"),
        ("LINEAR:1", "couldn't parse binding parameter (no strategy found)"),
        ("linear:-1", "couldn't parse amount (linear)"),
        ("linear:1:0", "couldn't parse core number (linear)"),
        ("striding:1", "couldn't parse amount (striding)"),
        ("striding:1:1:0", "couldn't parse core number (striding)"),
        ("explicit", "'explicit:' not found in string!"),
        ("explicit:", "No <socket,core> pair given!"),
        ("explicit:0", "Missing first core number!"),
        ("explicit:0,x", "First core is not a number!"),
        ("explicit:0,0:1", "No core for a given socket!"),
        ("explicit:0,0:0,0", "<socket,core> pairs are not unique!"),
    ],
)
def test_what_cannot_be_is_refused_in_grid_engines_words(given: str, problem: str) -> None:
    with pytest.raises(Failure) as refusal:
        binding_of(given)
    assert (str(refusal.value), refusal.value.status) == (f"qsub: -binding option contains errors: {problem}", 2)


def test_no_cores_at_all_are_refused_by_the_queue() -> None:
    with pytest.raises(Failure, match="binding parameter not consistent with strategy"):
        binding_of("linear:0")


def test_the_way_is_a_word_of_its_own() -> None:
    given, rest = taken("qsub", ["-binding", "env", "linear:1", "-h", "job.sh"], OPTIONS)
    assert (given, rest) == ([Given("binding", ("env", "linear:1")), Given("h")], ["job.sh"])


@pytest.mark.parametrize(
    ("shown", "strategy", "numbers"),
    [
        ("env linear:2:0,1", "linear", [2, 2, 0, 1, 0]),
        ("set linear:slots", "linear_automatic", [3, 2147483647, 0, 0, 0]),
        ("pe striding:2:1:0,0", "striding", [1, 2, 0, 0, 1]),
        ("set striding:2:3", "striding_automatic", [3, 2, 0, 0, 3]),
        ("set explicit:0,0:0,1", "explicit", [3, 0, 0, 0, 0]),
    ],
)
def test_the_elements_are_those_of_grid_engine(shown: str, strategy: str, numbers: list[int]) -> None:
    values = [value for _, value in _binding(ClassAd(CellBinding=shown))]
    assert values[:6] == [strategy, *numbers]
    assert values[6:] == ["explicit:0,0:0,1"] * (strategy == "explicit")
