"""The transcripts of Grid Engine 8.1.9, played again in a pool of four hosts: it prints the same, or the list says why.

`make test` plays those that depend least on how fast a machine is. ``ROOST_TEST_TRANSCRIPTS=all`` plays all of
them, in half an hour, and names choose others; `make gridengine-conformance` does so. In the recordings jobs of a few
seconds are watched with commands that took 10 ms. Here the time of the jobs goes on only as the recorded commands
sleep, and queries are asked again until they show what was recorded; if they do not, a few seconds more pass for jobs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.transcripts.reading import RECORDED, names, read, steps
from tests.transcripts.replay import DIFFERENCES, differs, play, shown
from tests.transcripts.world import World, world

QUICK = (
    "16-jsv 00-setup 12-qmod-states 03-forced-complex 05-exclusive-host 01-cluster-queue-vs-queue-instance "
    "06-resource-quota-sets 09-parallel-environments 15-more-features 14-qacct"
)
CHOSEN = os.environ.get("ROOST_TEST_TRANSCRIPTS", QUICK).split()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The four hosts."""
    with world(tmp_path_factory.mktemp("transcripts") / "world") as made:
        yield made


@pytest.mark.parametrize("name", names() if CHOSEN == ["all"] else CHOSEN)
def test_a_pool_prints_what_grid_engine_printed(place: World, name: str) -> None:
    place.reset()
    wrong = [pair for pair in play(place, name) if differs(*pair)]
    excused = DIFFERENCES.get(name, {})
    report = "\n".join(shown(*pair) for pair in wrong if str(pair[0].command.number) not in excused)
    assert not report, f"{name} prints something else:\n{report}"


def test_each_difference_is_about_a_command() -> None:
    for name, reasons in DIFFERENCES.items():
        numbers = {str(command.number) for command in read(name)}
        assert reasons.keys() <= numbers, f"{name} has no commands {sorted(reasons.keys() - numbers)}"
        assert all(len(reason) > 10 for reason in reasons.values())


@pytest.mark.parametrize("name", names())
def test_a_transcript_is_read_whole(name: str) -> None:
    lines = [line for line in (RECORDED / f"{name}.txt").read_text("utf-8").splitlines() if line.strip()]
    commands = read(name)
    kept = [line for each in commands for line in (*each.text.splitlines(), *filter(str.strip, each.output))]
    comments = sum(line.startswith("# ") for line in lines) - sum(line.startswith("# ") for line in kept)
    assert len(kept) + comments == len(lines)
    _, hidden = steps(name)
    assert hidden.keys() <= {command.number for command in commands}
